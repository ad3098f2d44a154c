// What a start makes of the journal of an update that was cut off, stage by stage.
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSetting } from "../../../../src/platform/db/instance-settings.ts";
import { copyDatabase } from "../../../../src/platform/db/file/snapshot.ts";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { StartError } from "../../../../src/platform/errors.ts";
import { takeLock } from "../../../../src/platform/instance-lock.ts";
import {
  type Journal,
  readJournal,
  snapshotFile,
  STAGES,
  writeJournal,
} from "../../../../src/platform/update/journal.ts";
import { isRolledBack, hashFile, type UpdateOutcome, settleUpdate } from "../../../../src/platform/update/recover.ts";

const ID = "01a1fd60-a478-7fc3-8fd7-7499a9ff2c17";
const NEW = "a".repeat(64);
let dataDir = "";
let database = "";
/** What stood in the database each time when the daemon was ended. */
let daemonSaw: string[] = [];

beforeEach(async () => {
  daemonSaw = [];
  dataDir = mkdtempSync(join(tmpdir(), "pombo-settle-"));
  database = join(dataDir, "pombo.db");
  openDatabase(database).close();
  set("last_write", "before");
  await copyDatabase(database, snapshotFile(dataDir));
  set("last_write", "after");
});
afterEach(() => rmSync(dataDir, { recursive: true }));

function set(name: string, value: string): void {
  const sqlite = new Database(database);
  sqlite.run("INSERT OR REPLACE INTO instance (name, value) VALUES (?, ?)", [name, value]);
  sqlite.close();
}

function leave(stage: Journal["stage"]): void {
  writeJournal(dataDir, { id: ID, stage, sha256: NEW, from: "0.1.0", to: "0.2.0", unit: null });
}

async function start(own: string, updateId: string | null = null): Promise<UpdateOutcome | null> {
  return settleUpdate({
    dataDir,
    databaseFile: database,
    takeUpdateLock: () => takeLock(dataDir, "command", "update.lock"),
    log: { event: () => undefined, error: () => undefined },
    updateId,
    ownSha256: () => Promise.resolve(own),
    endDaemon: () => Promise.resolve(daemonSaw.push(readSetting(database, "last_write") ?? "")),
  });
}

const OLD = "b".repeat(64);
const cases: { stage: Journal["stage"]; own: string; isTouched?: boolean; settled: UpdateOutcome }[] = [
  { stage: "stopping", own: OLD, settled: "forward" },
  { stage: "stopping", own: NEW, settled: "forward" },
  { stage: "probing", own: OLD, settled: "back" },
  { stage: "probing", own: NEW, settled: "forward" },
  { stage: "starting", own: OLD, settled: "back" },
  { stage: "starting", own: OLD, isTouched: true, settled: "kept" },
  { stage: "starting", own: NEW, settled: "forward" },
  { stage: "starting", own: NEW, isTouched: true, settled: "forward" },
  { stage: "going-back", own: OLD, settled: "back" },
  { stage: "going-back", own: NEW, settled: "back" },
];

for (const { stage, own, isTouched = false, settled } of cases) {
  const who = own === NEW ? "new" : "old";
  test(`cut off at ${stage}${isTouched ? ", something was accepted" : ""}; the ${who} executable starts: ${settled}`, async () => {
    set("update_probation", isTouched ? "" : ID);
    mkdirSync(join(dataDir, "litestream/state"), { recursive: true });
    leave(stage);
    expect(await start(own)).toBe(settled);
    expect(readSetting(database, "last_write")).toBe(settled === "back" ? "before" : "after");
    expect(readJournal(dataDir)).toBeNull();
    // With what the replicating daemon has counted: begun anew it would use numbers twice.
    expect(existsSync(join(dataDir, "litestream/state"))).toBe(true);
    expect(isRolledBack(dataDir)).toBe(settled === "back");
    // One that outlived its pombo is ended while its database is in its place.
    expect(daemonSaw).toEqual(settled === "back" ? ["after"] : []);
    expect(await start(own)).toBeNull();
  });
}

test("going back is done to its end when it was cut off after its last step, and leaves no log of the other database", async () => {
  leave("going-back");
  writeFileSync(`${database}-wal`, "of another database");
  await start(OLD);
  expect(readSetting(database, "last_write")).toBe("before");
  expect(readdirSync(dataDir).filter((name) => /-wal$|-shm$|before-update/.test(name))).toEqual([]);
  leave("going-back");
  expect(await start(OLD)).toBe("back");
  expect(readSetting(database, "last_write")).toBe("before");
});

test("while the update lives nobody opens the database but its own probe, and the new executable once it is to start", async () => {
  const lock = takeLock(dataDir, "command", "update.lock");
  try {
    for (const stage of STAGES) {
      leave(stage);
      await expect(start(OLD)).rejects.toThrow(StartError);
      if (stage === "starting") expect(await start(NEW)).toBeNull();
      else await expect(start(NEW)).rejects.toThrow("is under way");
      if (stage === "probing") expect(await start(NEW, ID)).toBeNull();
      else await expect(start(NEW, ID)).rejects.toThrow("is over");
      expect(readJournal(dataDir)?.stage).toBe(stage);
    }
  } finally {
    if (lock.kind === "locked") lock.release();
  }
  await expect(start(NEW, "of another update")).rejects.toThrow("is over");
});

test("a journal that is none stops the start, with what to do", async () => {
  for (const text of ["", "{}", "[]", '{"id":"x","stage":"done"}', `"${"x".repeat(20_000)}"`]) {
    writeFileSync(join(dataDir, "update.json"), text);
    await expect(start(OLD)).rejects.toThrow("delete");
  }
});

test("a copy is refused while something else has the database open and its log cannot be brought in", async () => {
  const other = new Database(database);
  other.run("PRAGMA journal_mode = WAL");
  other.run("BEGIN");
  other.query("SELECT * FROM instance").all();
  const writer = new Database(database);
  writer.run("INSERT OR REPLACE INTO instance (name, value) VALUES ('last_write', 'log')");
  const before = readFileSync(snapshotFile(dataDir));
  await expect(copyDatabase(database, snapshotFile(dataDir), 0)).rejects.toThrow("has");
  expect(readFileSync(snapshotFile(dataDir))).toEqual(before);
  other.close();
  writer.close();
});

test("a file's checksum is that of its bytes", async () => {
  const file = join(dataDir, "file");
  writeFileSync(file, "abc");
  expect(await hashFile(file)).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
