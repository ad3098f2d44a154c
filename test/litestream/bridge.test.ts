import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bridgeNumbers } from "../../src/litestream/bridge.ts";
import { placesOf } from "../../src/litestream/config.ts";
import { emptyStep, stepName } from "../../src/litestream/empty-step.ts";
import type { DaemonTools, Ran } from "../../src/litestream/tools.ts";

const AT = 1_795_355_329_711;
const GOLDEN = [
  "4c54583100000002000010000000000900000000000000070000000000000007000001a2038444af00000000000000000000",
  "0000000000200000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
  "000000000000000000000000000001000000000000000087ca7c13909291b2",
].join("");
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
  const keep = (transaction: number) => {
    mkdirSync(join(places.state, "ltx/0"), { recursive: true });
    writeFileSync(join(places.state, "ltx/0", stepName(transaction)), "a step of its own");
  };
  return { tools, places, steps, keep, asked, [Symbol.dispose]: () => rmSync(dataDir, { recursive: true }) };
}

test("an empty step is a file as the daemon writes it", () => {
  // Read by the format's own library: verified, no pages, number 7.
  expect(emptyStep({ transaction: 7, pageBytes: 4096, pages: 9, at: AT }).toString("hex")).toBe(GOLDEN);
});

test("numbers between the last step and a whole copy ahead of it are taken by empty steps", async () => {
  using replica = withReplica({ copy: 12, steps: 9 });
  expect(await bridgeNumbers(replica.tools, AT, 1_000)).toEqual([
    { database: replica.places.database, from: 10, to: 12 },
  ]);
  expect(replica.steps()).toEqual([10, 11, 12].map(stepName));
  const written = readFileSync(join(replica.places.state, "ltx/0", stepName(12)));
  expect(written.equals(emptyStep({ transaction: 12, pageBytes: 4096, pages: 2, at: AT }))).toBe(true);
});

test("nothing is written where the steps reach the copy, where there is none, and where its own reach it", async () => {
  using level = withReplica({ copy: 12, steps: 12 });
  using empty = withReplica({});
  using own = withReplica({ copy: 12, steps: 9 });
  own.keep(12);
  for (const replica of [level, empty, own]) expect(await bridgeNumbers(replica.tools, AT, 1_000)).toEqual([]);
  expect([level.steps(), empty.steps(), own.steps()]).toEqual([[], [], [stepName(12)]]);
  expect(own.asked).not.toContain("ltx main");
});

test("own steps behind the copy, as of a data directory put back, make room for the empty ones", async () => {
  using replica = withReplica({ copy: 12, steps: 9 });
  replica.keep(5);
  expect(await bridgeNumbers(replica.tools, AT, 1_000)).toHaveLength(1);
  expect(replica.steps()).toEqual([10, 11, 12].map(stepName));
});

test("a replica that cannot be seen is waited for, unless the daemon has steps of its own to go on from", async () => {
  using replica = withReplica({ fails: "Error: no route to host" });
  expect(await bridgeNumbers(replica.tools, AT, 1_000)).toContain("no route to host");
  using other = withReplica({ fails: "Error: no route to host" });
  other.keep(5);
  mkdirSync(join(other.places.ownerState, "ltx/0"), { recursive: true });
  writeFileSync(join(other.places.ownerState, "ltx/0", stepName(1)), "");
  expect(await bridgeNumbers(other.tools, AT, 1_000)).toEqual([]);
});

test("a replica whose steps are gone is not filled up with millions of files: another path is asked for", async () => {
  using replica = withReplica({ copy: 1_000_000 });
  expect(await bridgeNumbers(replica.tools, AT, 1_000)).toContain("give [replication] url another path");
  expect(replica.steps()).toEqual([]);
});
