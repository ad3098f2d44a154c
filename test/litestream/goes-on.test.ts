// What the daemon goes on with, by the real one: whatever was put back, lost or changed in between, the replica holds
// what the database holds, or says that it does not. Each of these gave out numbers twice or mixed two states before.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock.ts";
import { bridgeNumbers, isDamageWords } from "../../src/backup/litestream/bridge.ts";
import { daemonConfig, placesOf } from "../../src/backup/litestream/config.ts";
import { controlBy } from "../../src/backup/litestream/control.ts";
import { daemonVersion, openDaemon } from "../../src/backup/litestream/executable.ts";
import { lookAtReplica } from "../../src/backup/litestream/replica.ts";
import { RestorableCheck } from "../../src/backup/litestream/restorable.ts";
import { spawnDaemon } from "../../src/backup/litestream/spawn.ts";
import { Supervisor } from "../../src/backup/litestream/supervisor.ts";
import type { DaemonTools } from "../../src/backup/litestream/tools.ts";
import { waitUntil } from "../peers/process.ts";

setDefaultTimeout(120_000);

const LIMIT_MS = 30_000;
const hasDaemon = daemonVersion() !== null;
if (!hasDaemon) console.warn("SKIPPED: replication needs Litestream: script/litestream brings it.");

/** A data directory with a database of its own, replicated to folders beside it. */
async function makeDirectory(syncIntervalMs = 100) {
  const folder = mkdtempSync(join(tmpdir(), "pombo-goes-on-"));
  const dataDir = join(folder, "data");
  mkdirSync(join(dataDir, "litestream"), { recursive: true });
  const places = placesOf(dataDir, join(dataDir, "pombo.db"));
  for (const file of [places.database, places.owner]) {
    using database = new Database(file);
    database.run("PRAGMA journal_mode = WAL");
    database.run("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, n INTEGER) STRICT");
    for (let row = 0; row < 100; row += 1) database.run("INSERT INTO t (v, n) VALUES (?, 0)", ["x".repeat(400)]);
  }
  const path = await openDaemon(dataDir);
  const events: string[] = [];
  let url = join(folder, "A");
  const configure = () => {
    const replication = { url, endpoint: null, region: "", sftpKeyFile: null, sftpHostKey: null };
    const times = { syncIntervalMs, snapshotIntervalMs: 86_400_000, retentionMs: 3 * 86_400_000 };
    writeFileSync(places.config, daemonConfig({ ...replication, ...times } as never, places));
    const atOnce = { ...replication, ...times, snapshotIntervalMs: 2_000 };
    writeFileSync(places.snapshotConfig, daemonConfig(atOnce as never, places));
  };
  configure();
  const tools: DaemonTools = {
    path,
    places,
    folder: join(dataDir, "litestream"),
    environment: {},
    host: "",
    async run([command = "", ...words], rest, limitMs) {
      const child = Bun.spawn([path, command, "-config", places.config, "-no-expand-env", ...words, ...rest], {
        stdout: "pipe",
        stderr: "pipe",
        env: {},
        timeout: limitMs,
      });
      const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      await child.exited;
      return { code: child.exitCode, out, err };
    },
  };
  const control = controlBy(places.socket);
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
    replicateTo(name: string) {
      url = join(folder, name);
      configure();
    },
    steps: () => readdirSync(join(places.state, "ltx/0")).toSorted(),
    replica: () => url,
    snapshots: () => (existsSync(join(url, "ltx/9")) ? readdirSync(join(url, "ltx/9")) : []),
    stepsCopied: () => readdirSync(join(url, "ltx/0")),
    /** A pombo's database and supervisor for as long as `work` takes; then all is copied, or it says that it is not. */
    async running(
      work: (on: { write: () => void; copied: () => Promise<void>; supervisor: Supervisor }) => Promise<void>,
    ): Promise<void> {
      const database = new Database(places.database);
      database.run("PRAGMA wal_autocheckpoint = 0");
      const log = {
        event: (name: string, fields: unknown) => void events.push(`${name} ${JSON.stringify(fields)}`),
        error: (where: string, error: unknown) => void events.push(`bug ${where} ${String(error)}`),
      };
      const supervisor = new Supervisor({
        restorable: new RestorableCheck({
          look: () => lookAtReplica(tools, { limitMs: LIMIT_MS }),
          clock: systemClock,
          log,
          everyMs: 500,
          recheckEveryMs: 500,
        }),
        prepare: async (isDamaged) => {
          const made = await bridgeNumbers(tools, { at: Date.now(), limitMs: 10_000, isDamaged });
          return typeof made === "string" ? made : null;
        },
        isDamage: (words) => isDamageWords(words, places),
        spawn: (line, snapshotNow) => spawnDaemon(tools, line, snapshotNow),
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
      const words = ["restore", "-integrity-check", "full", "-o", file];
      const { code, err } = await tools.run(words, [places.database], LIMIT_MS);
      expect({ code, err }).toMatchObject({ code: 0 });
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
      for (const name of at.steps().slice(0, -1)) rmSync(join(at.places.state, "ltx/0", name));
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

test.skipIf(!hasDaemon)(
  "a step that is lost before it was copied costs a whole copy, and not the replica",
  async () => {
    using at = await makeDirectory(2_500);
    await at.running(async ({ copied, write }) => {
      await copied();
      // Put down here each second, and copied each two and a half: the first of those that wait is lost.
      const waiting = () => at.steps().filter((name) => !at.stepsCopied().includes(name));
      await waitUntil("some wait", LIMIT_MS, () => {
        write();
        return waiting().length >= 2;
      });
      rmSync(join(at.places.state, "ltx/0", waiting()[0] ?? ""));
      for (let step = 0; step < 2; step += 1) await copied();
    });
    expect(at.events.filter((each) => each.startsWith("replication.damaged"))).toHaveLength(1);
    expect(await at.restored()).toEqual(at.content(at.places.database));
  },
);

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
  "a last step that a cut left half-written or empty is no step: the replica goes on",
  async () => {
    using at = await makeDirectory();
    for (const size of [0, 60]) {
      await at.running(({ copied }) => copied());
      truncateSync(join(at.places.state, "ltx/0", at.steps().at(-1) ?? ""), size);
      await at.running(({ copied }) => copied());
      expect(await at.restored()).toEqual(at.content(at.places.database));
    }
  },
);

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

for (const removed of ["", "ltx/9", "ltx/0"]) {
  test.skipIf(!hasDaemon)(
    `${removed === "" ? "all files" : `the files of ${removed}`} of the replica are removed while it is written to: a new snapshot is taken`,
    async () => {
      using at = await makeDirectory();
      const took = (name: string) => at.events.filter((each) => each.startsWith(name)).length;
      await at.running(async ({ copied, write, supervisor }) => {
        await copied();
        // Whole, so that it lacks the step after it: where it held that too, nothing would be missing.
        await waitUntil("a snapshot", LIMIT_MS, () => at.snapshots().some((name) => name.endsWith(".ltx")));
        await copied();
        rmSync(join(at.replica(), removed), { recursive: true });
        // Level 0 begins with the whole database: what level 9 held is not needed until the former is cleared.
        if (removed === "ltx/9") rmSync(join(at.replica(), "ltx/0"), { recursive: true });
        await waitUntil("it is noticed", LIMIT_MS, async () => {
          write();
          await supervisor.look();
          return took("replication.not_restorable") === 1;
        });
        expect(supervisor.trouble).toMatchObject({ component: "replication", isAdvisory: true });
        expect(supervisor.status.isRestorable).toBe(false);
        await waitUntil("it is mended", LIMIT_MS, async () => {
          write();
          await supervisor.look();
          return took("replication.restorable") === 1;
        });
        expect(supervisor.trouble).toBeNull();
        await copied();
      });
      expect(at.events.filter((each) => each.startsWith("internal_error"))).toEqual([]);
      expect(await at.restored()).toEqual(at.content(at.places.database));
    },
  );
}
