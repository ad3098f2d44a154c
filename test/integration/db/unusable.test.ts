// A database that cannot be used ends in a sentence with its path, what it means and the way out.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { closeDatabase, openDatabase } from "../../../src/platform/db/open.ts";
import { requireDatabaseFile, toStartError } from "../../../src/platform/db/file/unusable-file.ts";
import { FinalStartError, StartError } from "../../../src/platform/errors.ts";
import { flicker } from "../../support/fakes/flicker.ts";
import { temporaryFolder } from "../../support/db/temporary.ts";

/** A folder with a whole database in it. */
function withDatabase() {
  const folder = temporaryFolder();
  const file = join(folder.path, "pombo.db");
  closeDatabase(openDatabase(file));
  return Object.assign(folder, { file });
}

/** What opening it throws. */
function refusal(file: string): unknown {
  try {
    openDatabase(file).close();
  } catch (error) {
    return error;
  }
  return null;
}

function expectFinal(error: unknown, file: string, ...words: string[]): void {
  expect(error).toBeInstanceOf(FinalStartError);
  for (const word of [file, ...words]) expect(String(error)).toContain(word);
}

test("an empty file is refused, and the log beside it kept: SQLite would throw it away", () => {
  using folder = withDatabase();
  const { file } = folder;
  truncateSync(file, 0);
  writeFileSync(`${file}-wal`, "what was committed");
  expectFinal(refusal(file), file, "is empty", "pombo restore", "pombo init");
  expect(readFileSync(`${file}-wal`, "utf8")).toBe("what was committed");
  expect(statSync(file).size).toBe(0);
});

test("a file that was cut off anywhere, or overwritten, is damaged or no database", () => {
  using folder = withDatabase();
  const { file } = folder;
  const whole = readFileSync(file);
  for (const size of [1, 50, 99, 100, 512, 4095]) {
    writeFileSync(file, whole.subarray(0, size));
    expectFinal(refusal(file), file, "pombo restore");
  }
  writeFileSync(file, Buffer.concat([Buffer.alloc(100, 0x55), whole.subarray(100)]));
  expectFinal(refusal(file), file, "is not a database", "pombo restore");
  writeFileSync(file, Buffer.concat([whole.subarray(0, 100), Buffer.alloc(4_000, 0x55), whole.subarray(4_100)]));
  expectFinal(refusal(file), file, "damaged", "pombo restore");
});

test("half a database is refused, also where its first pages are whole", () => {
  using folder = withDatabase();
  const { file } = folder;
  truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096);
  expectFinal(refusal(file), file, "damaged", "cut off", "pombo restore");
});

test("a database of another program is refused and left as it was", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "pombo.db");
  for (const version of [0, 1, 7]) {
    const sqlite = new Database(file, { create: true });
    sqlite.run("CREATE TABLE IF NOT EXISTS bookmarks (url TEXT)");
    sqlite.run(`PRAGMA user_version = ${version}`);
    sqlite.close();
    const before = readFileSync(file);
    expectFinal(refusal(file), file, "not pombo's", "data_dir");
    expect(readFileSync(file)).toEqual(before);
  }
});

test("a folder, a link and a pipe in the place of a file of the database are refused, and not waited for", () => {
  for (const end of ["", "-wal", "-shm"]) {
    using folder = withDatabase();
    const path = folder.file + end;
    const aside = join(folder.path, "aside");
    renameSync(path, aside);
    symlinkSync(aside, path);
    expectFinal(refusal(folder.file), path, "is a link");
    renameSync(path, join(folder.path, "link"));
    mkdirSync(path);
    expectFinal(refusal(folder.file), path, "is a folder");
    renameSync(path, join(folder.path, "folder"));
    Bun.spawnSync(["mkfifo", path]);
    expectFinal(refusal(folder.file), path, "no plain file");
  }
});

// Root may open what belongs to anybody: its own case is a scenario (scenarios/root.test.ts).
test.skipIf(process.geteuid?.() !== 0)("what root or another has left beside it is named, with the cure", () => {
  const AS = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  const code =
    'const { openDatabase } = await import(process.argv[1]); try { openDatabase(process.argv[2]).close(); console.log("opened"); } catch (error) { console.log(String(error)); }';
  const open = join(import.meta.dir, "../../../src/platform/db/open.ts");
  for (const end of ["", "-wal", "-shm"]) {
    using folder = withDatabase();
    for (const each of [folder.path, ...["", "-wal", "-shm"].map((name) => folder.file + name)])
      chownSync(each, 65_534, 65_534);
    chownSync(folder.file + end, 0, 0);
    const { stdout } = Bun.spawnSync([...AS, process.execPath, "-e", code, open, folder.file], { env: {} });
    const said = stdout.toString();
    expect([end, said]).toEqual([end, expect.stringContaining(`${folder.file}${end} belongs to another user (uid 0)`)]);
    expect(said).toContain(`chown 65534 ${folder.file}${end}`);
  }
});

test("a hard link to a database of one's own is that database", () => {
  using folder = withDatabase();
  linkSync(folder.file, join(folder.path, "other.db"));
  expect(refusal(folder.file)).toBeNull();
  expect(requireDatabaseFile(join(folder.path, "nothing.db"))).toBe(false);
});

test("what is no error of the storage's is left as it is, and one that a driver wraps is known", () => {
  expect(toStartError(new Error("a bug"), "x")).toBeNull();
  using folder = withDatabase();
  truncateSync(folder.file, 5000);
  const sqlite = new Database(folder.file);
  let thrown: unknown;
  try {
    sqlite.query("SELECT * FROM email").all();
  } catch (error) {
    thrown = error;
  }
  sqlite.close();
  expect(toStartError(new Error("wrapped", { cause: thrown }), folder.file)).toBeInstanceOf(StartError);
});

test("a database that comes and goes is told of in words", async () => {
  using at = withDatabase();
  await using _flickering = await flicker(at.file);
  const others: unknown[] = [];
  for (let round = 0; round < 40; round += 1) {
    const error = refusal(at.file);
    if (error !== null && !(error instanceof StartError)) others.push(error);
  }
  expect(others).toEqual([]);
});
