// What the daemon goes on with, by the real one: whatever was put back, lost or changed in between, the replica holds
// what the database holds, or says that it does not. Each of these gave out numbers twice or mixed two states before.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { readCatalog } from "../../../src/backup/litestream/catalog.ts";
import { getStateFolder } from "../../../src/backup/litestream/config.ts";
import { openControl } from "../../../src/backup/litestream/control.ts";
import { spawnDaemon } from "../../../src/backup/litestream/daemon-process.ts";
import { getDaemonVersion } from "../../../src/backup/litestream/executable.ts";
import { findLocalLineage, Lineages } from "../../../src/backup/litestream/lineages.ts";
import { inspectLineages, restoreLineage } from "../../../src/backup/litestream/replica.ts";
import { RestorableCheck } from "../../../src/backup/litestream/restorable.ts";
import { Supervisor } from "../../../src/backup/litestream/supervisor.ts";
import { openTools } from "../../../src/backup/litestream/tools.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { waitUntil } from "../../support/peers/process.ts";

setDefaultTimeout(240_000);

const LIMIT_MS = 90_000;
const hasDaemon = getDaemonVersion() !== null;
if (!hasDaemon) console.warn("SKIPPED: replication needs Litestream: script/litestream brings it.");

/** A data directory with a database of its own, replicated to folders beside it. */
async function makeDirectory({ syncIntervalMs = 100, snapshotIntervalMs = 86_400_000 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "pombo-goes-on-"));
  const dataDir = join(folder, "data");
  mkdirSync(join(dataDir, "litestream"), { recursive: true });
  const replication = {
    ...{ url: join(folder, "A"), endpoint: null, region: "", sftpKeyFile: null, sftpHostKey: null },
    ...{ accessKeyId: null, secretAccessKeyFile: null, acknowledge: "disk" as const },
    ...{ syncIntervalMs, snapshotIntervalMs, retentionMs: 3 * 86_400_000 },
  };
  const tools = await openTools(replication, { dataDir, database: join(dataDir, "pombo.db") });
  const { places } = tools;
  for (const file of [places.database, places.owner]) {
    using database = new Database(file);
    database.run("PRAGMA journal_mode = WAL");
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, n INTEGER) STRICT");
    for (let row = 0; row < 100; row += 1) database.run("INSERT INTO t (v, n) VALUES (?, 0)", ["x".repeat(400)]);
  }
  const events: string[] = [];
  const control = openControl(places.socket);
  const steps = () => join(getStateFolder(places, findLocalLineage(places) ?? "", "database"), "ltx/0");
  const lineage = () => join(replication.url, findLocalLineage(places) ?? "");
  const content = (file: string) => {
    using database = new Database(file);
    return database.query("SELECT COUNT(*) AS count, SUM(n) AS sum, MAX(id) AS last FROM t").get();
  };
  return {
    folder,
    dataDir,
    places,
    events,
    content,
    replicateTo: (name: string) => void (replication.url = join(folder, name)),
    removeStep: (name: string) => rmSync(join(steps(), name)),
    cutStep: (name: string, size: number) => truncateSync(join(steps(), name), size),
    steps: () => readdirSync(steps()).toSorted(),
    replica: () => replication.url,
    lineage,
    snapshots: () => (existsSync(join(lineage(), "ltx/9")) ? readdirSync(join(lineage(), "ltx/9")) : []),
    stepsCopied: () => readdirSync(join(lineage(), "ltx/0")),
    begun: () => events.filter((each) => each.startsWith("replication.lineage ")).length,
    /** A pombo's database and supervisor for as long as `work` takes; then all is copied, or it says that it is not. */
    async running(
      work: (on: { write: () => void; copied: () => Promise<void>; supervisor: Supervisor }) => Promise<void>,
    ): Promise<void> {
      const database = new Database(places.database);
      database.run("PRAGMA wal_autocheckpoint = 0");
      // The daemon's checkpoints lock it for a moment.
      database.run("PRAGMA busy_timeout = 10000");
      const log = {
        event: (name: string, fields: unknown) => void events.push(`${name} ${JSON.stringify(fields)}`),
        error: (where: string, error: unknown) => void events.push(`bug ${where} ${String(error)}`),
      };
      const edges = { clock: systemClock, random: systemRandom, log };
      const lineages = new Lineages({
        tools,
        instance: "i",
        boot: "b",
        limitMs: LIMIT_MS,
        steady: systemClock,
        ...edges,
      });
      const supervisor = new Supervisor({
        restorable: new RestorableCheck({
          inspect: () => lineages.inspect(),
          isRenewalDue: () => lineages.renewalWaitMs === 0,
          settle: (inspected) => lineages.settle(inspected),
          ...{ clock: systemClock, log, everyMs: 500, recheckEveryMs: 500 },
        }),
        lineages,
        spawn: (line) => spawnDaemon(tools, line),
        control,
        databases: { main: places.database, owner: places.owner },
        checkpoints: { leave: () => undefined, take: () => undefined, walBytes: () => 0 },
        clock: systemClock,
        steady: systemClock,
        log,
      });
      supervisor.start();
      const write = () => {
        database.run("INSERT INTO t (v, n) VALUES (?, 1)", ["y".repeat(500)]);
        database.run("UPDATE t SET n = n + 1000 WHERE id = 1 + ABS(RANDOM()) % (SELECT MAX(id) FROM t)");
      };
      /** One step more is in the replica. */
      const copied = async () => {
        write();
        const wanted = Date.now() + 1_500 + syncIntervalMs;
        await waitUntil("it is copied", LIMIT_MS, async () => {
          await supervisor.look();
          return (supervisor.status.lastSyncAt ?? 0) > wanted;
        }).catch((error: unknown) => {
          throw new Error(`${String(error)}: ${JSON.stringify(supervisor.status)}\n${events.slice(-30).join("\n")}`);
        });
      };
      try {
        await work({ write, copied, supervisor });
      } finally {
        database.close();
        await supervisor.stop(35_000);
      }
    },
    /** What a restore brings back, which must be possible. */
    async restored(): Promise<unknown> {
      const file = join(folder, `${Bun.randomUUIDv7()}.db`);
      const catalog = await readCatalog(tools, LIMIT_MS);
      const found = await inspectLineages(tools, catalog.kind === "read" ? catalog.lineages : [], {
        limitMs: LIMIT_MS,
      });
      expect(found).toMatchObject({ kind: "backup" });
      const { lineage: from } = found as { lineage: string };
      expect(await restoreLineage(tools, from, { to: file, how: "full" })).toBeNull();
      return content(file);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

test.skipIf(!hasDaemon)(
  "one replica, another, and the first again: it has all, though its steps are long gone",
  async () => {
    using at = await makeDirectory();
    const steps = async (count: number) =>
      at.running(async ({ copied }) => {
        for (let step = 0; step < count; step += 1) await copied();
      });
    /** As time does: what has been copied for five minutes is not kept here. */
    const forget = () => {
      for (const name of at.steps().slice(0, -1)) at.removeStep(name);
    };
    await steps(2);
    forget();
    at.replicateTo("B");
    await steps(4);
    expect(await at.restored()).toEqual(at.content(at.places.database));
    forget();
    at.replicateTo("A");
    await steps(2);
    expect(await at.restored()).toEqual(at.content(at.places.database));
  },
);

test.skipIf(!hasDaemon).each([
  ["costs a whole copy, and not the replica", {}],
  ["costs one too where a snapshot holds it", { snapshotIntervalMs: 1_000 }],
])("a step that is lost before it was copied %s", async (_, snapshots) => {
  using at = await makeDirectory({ syncIntervalMs: 2_500, ...snapshots });
  await at.running(async ({ copied, write }) => {
    await copied();
    // Put down here each second, and copied each two and a half: the first of those that wait is lost.
    const waiting = () => at.steps().filter((name) => !at.stepsCopied().includes(name));
    await waitUntil("some wait", LIMIT_MS, () => {
      write();
      return waiting().length >= 2;
    });
    at.removeStep(waiting()[0] ?? "");
    for (let step = 0; step < 2; step += 1) await copied();
  });
  expect(at.begun()).toBe(2);
  expect(await at.restored()).toEqual(at.content(at.places.database));
});

test.skipIf(!hasDaemon)(
  "a data directory that was put back with its log is copied whole, and nothing of two states is mixed",
  async () => {
    using at = await makeDirectory();
    await at.running(({ copied }) => copied());
    const backup = join(at.folder, "backup");
    cpSync(at.dataDir, backup, { recursive: true });
    await at.running(async ({ copied }) => {
      for (let step = 0; step < 3; step += 1) await copied();
    });
    rmSync(at.dataDir, { recursive: true });
    cpSync(backup, at.dataDir, { recursive: true });
    {
      // What a start writes takes the log past the end of what is in the replica.
      using database = new Database(at.places.database);
      database.run("PRAGMA wal_autocheckpoint = 0");
      database.run("UPDATE t SET n = n + 1000 WHERE id = 90");
      for (let change = 0; change < 40; change += 1) database.run("UPDATE t SET n = n + 1 WHERE id = 1");
      await at.running(({ copied }) => copied());
    }
    expect(await at.restored()).toEqual(at.content(at.places.database));
  },
);

test.skipIf(!hasDaemon)(
  "a last step that a cut left half-written, empty or full of zeros is no step: the replica goes on",
  async () => {
    using at = await makeDirectory();
    // As a file's length may be on the disk before its content.
    for (const [size, length] of [
      [0, 0],
      [60, 60],
      [0, 4_096],
    ] as const) {
      await at.running(({ copied }) => copied());
      at.cutStep(at.steps().at(-1) ?? "", size);
      at.cutStep(at.steps().at(-1) ?? "", length);
      await at.running(({ copied }) => copied());
      expect(await at.restored()).toEqual(at.content(at.places.database));
    }
  },
);

test.skipIf(!hasDaemon)("a last step of the owner that a cut left empty begins a new lineage too", async () => {
  using at = await makeDirectory();
  await at.running(({ copied }) => copied());
  const folder = join(getStateFolder(at.places, findLocalLineage(at.places) ?? "", "owner"), "ltx/0");
  truncateSync(join(folder, readdirSync(folder).toSorted().at(-1) ?? ""), 0);
  await at.running(async ({ supervisor }) => {
    await waitUntil("a new lineage", LIMIT_MS, async () => {
      await supervisor.look();
      return at.begun() === 2;
    });
  });
  expect(await at.restored()).toEqual(at.content(at.places.database));
});

test.skipIf(!hasDaemon)("a daemon whose number cannot be noted is ended: it would go on beside the next", async () => {
  using at = await makeDirectory();
  // Where the number is written to there is a folder.
  mkdirSync(join(at.dataDir, "litestream/pid"));
  const isOne = () =>
    readdirSync("/proc").some((pid) => {
      const file = `/proc/${pid}/cmdline`;
      return /^\d+$/.test(pid) && existsSync(file) && readFileSync(file, "utf8").includes(at.places.config);
    });
  await at.running(async () => {
    await waitUntil("it is told", LIMIT_MS, () => at.events.some((each) => each.startsWith("replication.waits")));
    await waitUntil("none runs", LIMIT_MS, () => !isOne());
  });
});

/** The daemon may put a file into a folder while it is emptied: that is done again. */
const removeFolder = (folder: string) => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });

for (const removed of ["", "catalog", "ltx/9", "ltx/0"]) {
  test.skipIf(!hasDaemon)(
    `${removed === "" ? "all files" : `the files of ${removed}`} of the replica are removed while it is written to: a new lineage is begun`,
    async () => {
      using at = await makeDirectory();
      const took = (name: string) => at.events.filter((each) => each.startsWith(name)).length;
      await at.running(async ({ copied, write, supervisor }) => {
        await copied();
        // Whole, so that it lacks the step after it: where it held that too, nothing would be missing.
        await waitUntil("a snapshot", LIMIT_MS, () => at.snapshots().some((name) => name.endsWith(".ltx")));
        await copied();
        if (removed.startsWith("ltx")) {
          // The first step is the whole database: as long as it is there, what level 9 held is not needed.
          // The daemon compacts the steps into level 1 at each half minute: that holds all that level 0 held.
          const isLost = (level: string) => level !== "9" || removed === "ltx/9";
          for (const level of readdirSync(join(at.lineage(), "ltx")).filter(isLost))
            removeFolder(join(at.lineage(), "ltx", level));
        } else removeFolder(join(at.replica(), removed));
        await waitUntil("it is noticed", LIMIT_MS, async () => {
          write();
          await supervisor.look();
          return took("replication.not_restorable") === 1;
        });
        expect(supervisor.issue).toMatchObject({ component: "replication", isAdvisory: true });
        expect(supervisor.status.isRestorable).toBe(false);
        await waitUntil("it is mended", LIMIT_MS, async () => {
          write();
          await supervisor.look();
          return took("replication.restorable") === 1;
        });
        expect(supervisor.issue).toBeNull();
        await copied();
      });
      expect(at.events.filter((each) => each.startsWith("internal_error"))).toEqual([]);
      expect(await at.restored()).toEqual(at.content(at.places.database));
    },
  );
}
