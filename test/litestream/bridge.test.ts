import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bridgeNumbers, isDamageWords } from "../../src/backup/litestream/bridge.ts";
import { placesOf } from "../../src/backup/litestream/config.ts";
import { emptyStep, stepName } from "../../src/backup/litestream/empty-ltx.ts";
import type { Ran } from "../../src/backup/litestream/run.ts";
import type { DaemonTools } from "../../src/backup/litestream/tools.ts";

const AT = 1_795_355_329_711;
const GOLDEN = [
  "4c54583100000002000010000000000900000000000000070000000000000007000001a2038444af00000000000000000000",
  "0000000000200000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
  "000000000000000000000000000001000000000000000087ca7c13909291b2",
].join("");
const PLACES = placesOf("/var/lib/pombo", "/var/lib/pombo/pombo.db");
const OPTIONS = { at: AT, limitMs: 1_000, isDamaged: false };
const number = (value: number) => value.toString(16).padStart(16, "0");

/** A data directory with a database of some pages, and a replica of which the daemon says what the test wants. */
function withReplica(says: { copy?: number; steps?: number; fails?: string }) {
  const dataDir = mkdtempSync(join(tmpdir(), "pombo-bridge-"));
  const places = placesOf(dataDir, join(dataDir, "pombo.db"));
  mkdirSync(join(dataDir, "litestream"));
  for (const file of [places.database, places.owner]) {
    const database = new Database(file);
    database.run("CREATE TABLE a (b TEXT) STRICT");
    database.close();
  }
  const asked: string[] = [];
  const tools: DaemonTools = {
    path: "",
    places,
    folder: join(dataDir, "litestream"),
    environment: {},
    host: "",
    run([command = ""], [database = ""]): Promise<Ran> {
      asked.push(`${command} ${database === places.database ? "main" : "owner"}`);
      if (says.fails !== undefined) return Promise.resolve({ code: 1, out: "", err: says.fails });
      const isMain = database === places.database;
      if (command === "ltx") {
        const out = JSON.stringify(isMain && says.steps !== undefined ? [{ max_txid: number(says.steps) }] : []);
        return Promise.resolve({ code: 0, out, err: "" });
      }
      if (!isMain || says.copy === undefined)
        return Promise.resolve({ code: 1, out: "", err: "no matching backup files available" });
      const plan = { max_txid: number(says.copy), files: [{ timestamp: new Date(AT).toISOString() }] };
      return Promise.resolve({ code: 0, out: JSON.stringify(plan), err: "" });
    },
  };
  const steps = (state = places.state) => {
    const folder = join(state, "ltx/0");
    return existsSync(folder) ? readdirSync(folder).toSorted() : [];
  };
  const keep = (transaction: number, content = emptyStep({ transaction, pageBytes: 4096, pages: 2, at: AT })) => {
    mkdirSync(join(places.state, "ltx/0"), { recursive: true });
    writeFileSync(join(places.state, "ltx/0", stepName(transaction)), content);
  };
  return { tools, places, steps, keep, asked, [Symbol.dispose]: () => rmSync(dataDir, { recursive: true }) };
}

test("an empty step is a file as the daemon writes it", () => {
  // Read by the format's own library: verified, no pages, number 7.
  expect(emptyStep({ transaction: 7, pageBytes: 4096, pages: 9, at: AT }).toString("hex")).toBe(GOLDEN);
});

const WHOLE = { pageBytes: 4096, pages: 2, at: AT };

test("numbers between the last step and a whole copy ahead of it, and one more, are taken by empty steps", async () => {
  using replica = withReplica({ copy: 12, steps: 9 });
  expect(await bridgeNumbers(replica.tools, OPTIONS)).toEqual([
    { database: replica.places.database, from: 10, to: 13 },
  ]);
  expect(replica.steps()).toEqual([10, 11, 12, 13].map(stepName));
  const written = readFileSync(join(replica.places.state, "ltx/0", stepName(12)));
  expect(written.equals(emptyStep({ transaction: 12, ...WHOLE }))).toBe(true);
});

test("where nothing is here, the first step of its own is behind all that is in the replica; in an empty one the first", async () => {
  using level = withReplica({ copy: 12, steps: 12 });
  expect(await bridgeNumbers(level.tools, OPTIONS)).toMatchObject([{ from: 13, to: 13 }]);
  expect(level.steps()).toEqual([stepName(13)]);
  using empty = withReplica({});
  expect(await bridgeNumbers(empty.tools, OPTIONS)).toEqual([]);
  expect(empty.steps()).toEqual([]);
});

test("steps that lead on from what is in the replica stay as they are", async () => {
  using level = withReplica({ copy: 12, steps: 12 });
  level.keep(12);
  using ahead = withReplica({ copy: 11, steps: 9 });
  for (const step of [9, 10, 11, 12]) ahead.keep(step);
  for (const replica of [level, ahead]) expect(await bridgeNumbers(replica.tools, OPTIONS)).toEqual([]);
  expect([level.steps(), ahead.steps()]).toEqual([[stepName(12)], [9, 10, 11, 12].map(stepName)]);
  expect(await bridgeNumbers(level.tools, { ...OPTIONS, isDamaged: true })).toMatchObject([{ from: 13, to: 13 }]);
});

const torn = emptyStep({ transaction: 12, ...WHOLE });
for (const [what, keep] of [
  ["behind the copy, as of a data directory put back", (each) => each.keep(5)],
  ["behind the last step", (each) => each.keep(11)],
  ["not joined to the last step", (each) => [9, 10, 12].map((step) => each.keep(step))],
  ["cut off", (each) => each.keep(12, torn.subarray(0, 60))],
  ["of no bytes", (each) => each.keep(12, Buffer.alloc(0))],
  ["of zeros", (each) => each.keep(12, Buffer.alloc(4096))],
  ["another's", (each) => each.keep(12, emptyStep({ transaction: 3, ...WHOLE }))],
] as [string, (each: ReturnType<typeof withReplica>) => unknown][]) {
  test(`steps that are ${what} are put away, and the whole database follows behind all that is in the replica`, async () => {
    using replica = withReplica({ copy: 12, steps: what.startsWith("not") ? 8 : 12 });
    keep(replica);
    expect(await bridgeNumbers(replica.tools, OPTIONS)).toMatchObject([{ to: 13 }]);
    expect(replica.steps().at(-1)).toBe(stepName(13));
    expect(replica.steps()).not.toContain(stepName(5));
    // It is told once: the next daemon finds what it needs.
    expect(readFileSync(join(replica.places.state, "ltx/0", stepName(13))).length).toBe(131);
  });
}

test("old steps beside an emptied replica are put away: the first step of its own is number 1", async () => {
  using replica = withReplica({});
  replica.keep(70);
  expect(await bridgeNumbers(replica.tools, OPTIONS)).toEqual([]);
  expect(replica.steps()).toEqual([]);
});

test("while the replica cannot be seen no daemon runs, whatever is here: it would count on without it", async () => {
  using replica = withReplica({ fails: "Error: no route to host" });
  replica.keep(5);
  expect(await bridgeNumbers(replica.tools, OPTIONS)).toContain("no route to host");
  expect(replica.steps()).toEqual([stepName(5)]);
});

test("a state folder that cannot be written is told", async () => {
  using replica = withReplica({ copy: 12, steps: 9 });
  writeFileSync(replica.places.state, "a file");
  expect(await bridgeNumbers(replica.tools, OPTIONS)).toContain("cannot be written");
});

test("a replica whose steps are gone is not filled up with millions of files: another path is asked for", async () => {
  using replica = withReplica({ copy: 1_000_000 });
  expect(await bridgeNumbers(replica.tools, OPTIONS)).toContain("give [replication] url another path");
  expect(replica.steps()).toEqual([]);
});

test("damage of what is here is known by the daemon's words, and not taken for trouble elsewhere", () => {
  const { state } = PLACES;
  const says = (words: string) => isDamageWords(words, PLACES);
  expect(says(`sync error: open ltx file ${state}/ltx/0/1-1.ltx: open ${state}/…: no such file or directory`)).toBe(
    true,
  );
  expect(says(`verify ltx file ${state}/ltx/0/1-1.ltx: ltx corrupted: unexpected EOF`)).toBe(true);
  expect(says(`open ltx file ${state}/ltx/0/1-1.ltx: too many open files`)).toBe(false);
  expect(says("write ltx file: no space left on device")).toBe(false);
  expect(says("open ltx file /mnt/copies/ltx/0/1-1.ltx: no such file or directory")).toBe(false);
});
