// Lineages, with the real daemon's commands and a folder as the replica.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspectReplica, readCatalog, writeCatalog } from "../../../../src/backup/litestream/catalog.ts";
import { getDaemonVersion } from "../../../../src/backup/litestream/executable.ts";
import { findExpired, findLocalLineage, Lineages } from "../../../../src/backup/litestream/lineages.ts";
import { findGap, type Lineage, restoreLineage } from "../../../../src/backup/litestream/replica.ts";
import { openTools } from "../../../../src/backup/litestream/tools.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { newId } from "../../../../src/platform/uuid.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

setDefaultTimeout(60_000);

const hasDaemon = getDaemonVersion() !== null;
const LIMIT_MS = 30_000;
const HOUR_MS = 3_600_000;
const RETENTION_MS = 72 * HOUR_MS;

test("steps lead on from the replica's last one where none between is missing", () => {
  expect(findGap([], 0)).toBeNull();
  expect(findGap([12], 12)).toBeNull();
  expect(findGap([9, 10, 11], 8)).toBeNull();
  expect(findGap([5], 12)).toBe("it ends at step 12, and what is here ends at 5");
  expect(findGap([], 12)).toBe("it ends at step 12, and what is here ends at 0");
  expect(findGap([9, 10, 12], 8)).toBe("step 11 was lost here before it was copied");
  expect(findGap([70], 0)).toBe("step 1 was lost here before it was copied");
});

test("a lineage expires when one behind it has been whole for the retention, and never the last whole one", () => {
  const made = (id: string, wholeAt: number | null) => ({ id, wholeAt }) as Lineage;
  const all = [made("a", 0), made("b", null), made("c", 10 * HOUR_MS), made("d", null)];
  const expired = (now: number) => findExpired(all, now, RETENTION_MS).map(({ id }) => id);
  expect(expired(81 * HOUR_MS)).toEqual([]);
  expect(expired(82 * HOUR_MS)).toEqual(["a", "b"]);
  expect(expired(10_000 * HOUR_MS)).toEqual(["a", "b"]);
  // A clock that was set back.
  expect(expired(-HOUR_MS)).toEqual([]);
  expect(findExpired([made("a", null)], 10_000 * HOUR_MS, RETENTION_MS)).toEqual([]);
});

async function makeReplicated() {
  const folder = mkdtempSync(join(tmpdir(), "pombo-lineages-"));
  const url = join(folder, "copies");
  const clock = fakeClock();
  const events: { name: string; fields: Record<string, unknown> }[] = [];
  const log = {
    event: (name: string, fields = {}) => void events.push({ name, fields }),
    error: (_: string, error: unknown) => {
      throw error;
    },
  };
  const open = async (name: string) => {
    const dataDir = join(folder, name);
    mkdirSync(dataDir);
    const replication = { url, endpoint: null, region: "", sftpKeyFile: null, sftpHostKey: null };
    const times = { syncIntervalMs: 100, snapshotIntervalMs: HOUR_MS, retentionMs: RETENTION_MS };
    const keys = { accessKeyId: null, secretAccessKeyFile: null };
    const database = join(dataDir, "pombo.db");
    const tools = await openTools({ ...replication, ...times, ...keys }, { dataDir, database });
    for (const file of [tools.places.database, tools.places.owner]) {
      using made = new Database(file);
      made.run("PRAGMA journal_mode = WAL");
      made.run("CREATE TABLE t (v TEXT)");
    }
    const deps = { tools, instance: "i", boot: name, limitMs: LIMIT_MS, clock, random: systemRandom, log };
    const lineages = new Lineages(deps);
    return {
      tools,
      dataDir,
      lineages,
      /** One change, copied as the daemon does it. */
      async copy(value: string) {
        using file = new Database(tools.places.database);
        file.run("PRAGMA wal_autocheckpoint = 0");
        file.run("INSERT INTO t VALUES (?)", [value]);
        const config = await Bun.file(tools.places.config).text();
        const { code, err } = await tools.run(["replicate", "-once"], [], { config, limitMs: LIMIT_MS });
        expect({ code, err }).toMatchObject({ code: 0 });
      },
      /** As the check each minute does, here with the current lineage whole. */
      async settle() {
        await lineages.inspect();
        await lineages.settle(findLocalLineage(tools.places) ?? "");
      },
      async catalog() {
        const catalog = await readCatalog(tools, LIMIT_MS);
        return catalog.kind === "read" ? catalog.lineages : [];
      },
      /** What a restore brings back. */
      async restored(): Promise<string[] | string> {
        const { replica } = await inspectReplica(tools, { limitMs: LIMIT_MS });
        if (replica.kind !== "backup") return replica.kind;
        const to = join(folder, `${Bun.randomUUIDv7()}.db`);
        expect(await restoreLineage(tools, replica.lineage, { to, how: "full" })).toBeNull();
        using file = new Database(to);
        return file
          .query<{ v: string }, []>("SELECT v FROM t")
          .all()
          .map(({ v }) => v);
      },
    };
  };
  return { url, clock, events, open, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

test.skipIf(!hasDaemon)("a restore takes the lineage before until the new one is whole, and then that", async () => {
  using at = await makeReplicated();
  const old = await at.open("old");
  expect(await old.lineages.prepare(null)).toBeNull();
  await old.copy("old");
  // Not recorded as whole yet: what a restore would find counts.
  expect(await old.restored()).toEqual(["old"]);
  await old.settle();
  const restored = await at.open("restored");
  expect(await restored.lineages.prepare(null)).toBeNull();
  expect(await old.restored()).toEqual(["old"]);
  await restored.copy("new");
  expect(await old.restored()).toEqual(["new"]);
  // The old machine was not gone: it writes to its own lineage, and to nothing else.
  await old.copy("too late");
  expect(await old.restored()).toEqual(["new"]);
  // Its next start finds that the replica went on elsewhere.
  expect(await old.lineages.prepare(null)).toBeNull();
  const begun = at.events.filter(({ name }) => name === "replication.lineage");
  expect(begun.map(({ fields }) => fields["reason"])).toEqual([
    "the replica is empty",
    "nothing here leads on from what is in the replica",
    "nothing here leads on from what is in the replica",
  ]);
});

test.skipIf(!hasDaemon)("a time is looked for in all lineages, from the newest to the oldest", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  const hoursAgo = (hours: number) => Date.now() - hours * HOUR_MS;
  for (const name of readdirSync(at.url, { recursive: true, encoding: "utf8" }))
    utimesSync(join(at.url, name), hoursAgo(2) / 1_000, hoursAgo(2) / 1_000);
  await pombo.lineages.prepare("for the test");
  await pombo.copy("2");
  const [older, newer] = (await pombo.catalog()).map(({ id }) => id);
  const found = async (time: number | null) => (await inspectReplica(pombo.tools, { limitMs: LIMIT_MS, time })).replica;
  expect(await found(null)).toMatchObject({ kind: "backup", lineage: newer });
  expect(await found(hoursAgo(1))).toMatchObject({ kind: "backup", lineage: older });
  expect(await found(hoursAgo(3))).toEqual({ kind: "empty" });
  // One that began later is damaged: it does not stand in the way.
  await pombo.settle();
  for (const name of readdirSync(join(at.url, newer!), { recursive: true, encoding: "utf8" }))
    if (/\/0{15}1-[0-9a-f]+\.ltx$/.test(name)) rmSync(join(at.url, newer!, name));
  expect(await found(null)).toMatchObject({ kind: "broken", lineage: newer });
  expect(await found(hoursAgo(1))).toMatchObject({ kind: "backup", lineage: older });
});

test.skipIf(!hasDaemon)("a lineage that was whole and lost its files is not passed over in silence", async () => {
  using at = await makeReplicated();
  const first = await at.open("first");
  await first.lineages.prepare(null);
  await first.copy("1");
  await first.settle();
  await first.lineages.prepare("for the test");
  await first.copy("2");
  await first.settle();
  rmSync(join(at.url, findLocalLineage(first.tools.places) ?? ""), { recursive: true });
  expect(await first.restored()).toBe("broken");
});

test.skipIf(!hasDaemon)("a lineage that began while the one before was inspected is not marked as whole", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  const inspected = await pombo.lineages.inspect();
  await pombo.lineages.prepare("for the test");
  await pombo.lineages.settle(inspected.kind === "backup" ? inspected.lineage : "");
  expect(await pombo.catalog()).toMatchObject([{ wholeAt: at.clock.now() }, { wholeAt: null }]);
});

test.skipIf(!hasDaemon)("a lineage that another writer of the catalog has dropped is listed again", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  const before = await pombo.catalog();
  await pombo.lineages.prepare("for the test");
  await pombo.copy("1");
  const both = await pombo.catalog();
  expect(await writeCatalog(pombo.tools, before, LIMIT_MS)).toBeNull();
  expect(await pombo.restored()).toBe("empty");
  await pombo.settle();
  expect((await pombo.catalog()).map(({ id }) => id)).toEqual(both.map(({ id }) => id));
  expect(await pombo.restored()).toEqual(["1"]);
});

test.skipIf(!hasDaemon)(
  "the same lineage goes on after an end of any kind; an id sorts last, whatever the clock",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    for (let start = 0; start < 3; start += 1) {
      expect(await pombo.lineages.prepare(null)).toBeNull();
      await pombo.copy(`${start}`);
    }
    expect(await pombo.catalog()).toHaveLength(1);
    at.clock.advance(-1_000 * HOUR_MS);
    await pombo.lineages.prepare("for the test");
    const ids = (await pombo.catalog()).map(({ id }) => id);
    expect([ids.length, ids]).toEqual([2, ids.toSorted()]);
    expect(findLocalLineage(pombo.tools.places)).toBe(ids[1] ?? "");
  },
);

test.skipIf(!hasDaemon)(
  "an older lineage is deleted past the retention, counted from when the new one was whole",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    await pombo.lineages.prepare(null);
    await pombo.copy("1");
    await pombo.settle();
    await pombo.lineages.prepare("for the test");
    at.clock.advance(2 * RETENTION_MS);
    const [older = "", newer = ""] = (await pombo.catalog()).map(({ id }) => id);
    await pombo.copy("2");
    await pombo.settle();
    expect(readdirSync(at.url).toSorted()).toEqual([older, newer, "catalog"].toSorted());
    at.clock.advance(RETENTION_MS);
    await pombo.settle();
    expect(readdirSync(at.url).toSorted()).toEqual([newer, "catalog"].toSorted());
    expect(await pombo.catalog()).toMatchObject([{ id: newer }]);
    expect(await pombo.restored()).toEqual(["1", "2"]);
  },
);

test.skipIf(!hasDaemon)(
  "while the replica cannot be seen, or not be written, no lineage is begun and no daemon runs",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    writeFileSync(at.url, "in the way");
    expect(await pombo.lineages.prepare(null)).toContain("not a directory");
    rmSync(at.url);
    expect(await pombo.lineages.prepare(null)).toBeNull();
    await pombo.copy("1");
    const { run } = pombo.tools;
    pombo.tools.run = (words, ...rest) =>
      words[0] === "replicate"
        ? Promise.resolve({ code: 1, out: "", err: "Error: no space left" })
        : run(words, ...rest);
    const current = findLocalLineage(pombo.tools.places);
    expect(await pombo.lineages.prepare("for the test")).toBe("no space left");
    expect(findLocalLineage(pombo.tools.places)).toBe(current);
    expect(await pombo.catalog()).toHaveLength(1);
    expect(existsSync(pombo.tools.places.config)).toBe(true);
  },
);

test.skipIf(!hasDaemon)("a begin that is cut off leaves nothing here that is older than the catalog says", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  const { run } = pombo.tools;
  let isWritten = false;
  pombo.tools.run = (words, ...rest) => {
    if (isWritten) throw new Error("cut off");
    isWritten = words[0] === "replicate";
    return run(words, ...rest);
  };
  await expect(pombo.lineages.prepare("for the test")).rejects.toThrow("cut off");
  pombo.tools.run = run;
  const [, newest] = await pombo.catalog();
  expect(findLocalLineage(pombo.tools.places)).toBe(newest?.id ?? "");
});

test.skipIf(!hasDaemon)("a catalog damaged while pombo runs is written anew from the list last read", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  await pombo.settle();
  const listed = await pombo.catalog();
  const folder = join(at.url, "catalog");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".ltx")) truncateSync(join(folder, name), 100);
  expect(await pombo.restored()).toBe("broken");
  at.clock.advance(HOUR_MS);
  // One failed read may be a moment's.
  for (let minute = 0; minute < 2; minute += 1) await pombo.settle();
  expect([await pombo.restored(), pombo.lineages.issue]).toEqual(["broken", null]);
  // Where the daemon may not write, the operator is asked.
  const { run } = pombo.tools;
  pombo.tools.run = (words, ...rest) =>
    words[0] === "replicate" ? Promise.resolve({ code: 1, out: "", err: "Error: no space left" }) : run(words, ...rest);
  await pombo.settle();
  expect(pombo.lineages.issue?.reason).toContain("Delete the folder or prefix catalog");
  pombo.tools.run = run;
  await pombo.settle();
  expect(await pombo.catalog()).toEqual(listed);
  expect(await pombo.restored()).toEqual(["1"]);
  expect(pombo.lineages.issue).toBeNull();
});

test.skipIf(!hasDaemon)("the catalog is read each hour, and when another has written it", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  for (let minute = 0; minute < 3; minute += 1) await pombo.settle();
  const { run } = pombo.tools;
  let reads = 0;
  pombo.tools.run = (words, ...rest) => {
    if (words.includes("-if-replica-exists")) reads += 1;
    return run(words, ...rest);
  };
  const readsOf = async () => {
    reads = 0;
    await pombo.settle();
    return reads;
  };
  expect(await readsOf()).toBe(0);
  at.clock.advance(HOUR_MS);
  expect([await readsOf(), await readsOf()]).toEqual([1, 0]);
  expect(await writeCatalog((await at.open("other")).tools, await pombo.catalog(), LIMIT_MS)).toBeNull();
  expect([await readsOf(), await readsOf()]).toEqual([1, 0]);
});

for (const [who, words] of [
  ["another instance", "Another instance of pombo (on vm2) writes to the replica"],
  ["another copy of this instance", "Another copy of this instance (on vm2) runs"],
] as const) {
  test.skipIf(!hasDaemon)(
    `${who} that begins to write to the replica is an issue, and nothing is deleted`,
    async () => {
      using at = await makeReplicated();
      const pombo = await at.open("data");
      await pombo.lineages.prepare(null);
      await pombo.copy("1");
      await pombo.settle();
      expect(pombo.lineages.issue).toBeNull();
      const [own] = await pombo.catalog();
      const instance = who === "another instance" ? "j" : "i";
      const id = newId(at.clock.now() + 1, systemRandom);
      const other = { ...own!, id, instance, boot: "x", host: "vm2", wholeAt: at.clock.now() };
      expect(await writeCatalog(pombo.tools, [own!, other], LIMIT_MS)).toBeNull();
      await pombo.settle();
      expect(pombo.lineages.issue).toMatchObject({ component: "replication", isAdvisory: true });
      expect(pombo.lineages.issue?.reason).toContain(words);
      expect(pombo.lineages.issue?.reason).toContain("pombo serve --take-over");
      at.clock.advance(2 * RETENTION_MS);
      await pombo.settle();
      expect(await pombo.catalog()).toEqual([own!, other]);
      expect(readdirSync(at.url)).toContain(own!.id);
      // The other one is gone from the list: nothing is wrong any more.
      expect(await writeCatalog(pombo.tools, [own!], LIMIT_MS)).toBeNull();
      await pombo.settle();
      expect(pombo.lineages.issue).toBeNull();
    },
  );
}

for (const removed of ["ltx/0", "ltx/9", "ltx"]) {
  test.skipIf(!hasDaemon)(
    `a catalog that lost ${removed} is read or written anew, and no restore finds an older one`,
    async () => {
      using at = await makeReplicated();
      const pombo = await at.open("data");
      for (let count = 0; count < 3; count += 1) await pombo.lineages.prepare("for the test");
      await pombo.copy("1");
      await pombo.settle();
      rmSync(join(at.url, "catalog", removed), { recursive: true });
      // Where all its files are gone it is read three times, and then written anew with all that it listed.
      for (let read = 0; read < 2 && removed === "ltx"; read += 1)
        expect(await pombo.lineages.prepare("for the test")).toContain("it is empty");
      expect(await pombo.lineages.prepare("for the test")).toBeNull();
      expect(await pombo.catalog()).toHaveLength(4);
      await pombo.copy("2");
      expect(await pombo.restored()).toEqual(["1", "2"]);
    },
  );
}
