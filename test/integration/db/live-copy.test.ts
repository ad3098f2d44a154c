import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyLiveDatabase } from "../../../src/platform/db/file/live-copy.ts";
import { databaseFile } from "../../../src/platform/db/open.ts";
import { startInstance } from "../../support/fakes/instance.ts";

function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "pombo-copy-"));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

describe("a copy of a database in use", () => {
  test("is whole, has all that was accepted before it, and only its owner may read it", async () => {
    using at = scratch();
    await using pombo = await startInstance();
    const send = () => pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    const accepted = await Promise.all(Array.from({ length: 20 }, send));
    const copy = join(at.folder, "copy.db");
    // Others are accepted beside it.
    const beside = Promise.all(Array.from({ length: 20 }, send));
    expect(copyLiveDatabase(databaseFile(pombo.directory), copy)).toBe(statSync(copy).size);
    for (const { status } of await beside) expect(status).toBe(202);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    using sqlite = new Database(copy, { readonly: true });
    expect(sqlite.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    const kept = new Set((sqlite.query("SELECT uid FROM email").all() as { uid: string }[]).map(({ uid }) => uid));
    for (const { body } of accepted) expect(kept.has(body.data.id)).toBe(true);
  });

  test("leaves the log as it is where nobody else has the database open", async () => {
    using at = scratch();
    await using pombo = await startInstance();
    await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    // As a process that was killed leaves them.
    const file = join(at.folder, "pombo.db");
    for (const end of ["", "-wal"]) cpSync(databaseFile(pombo.directory) + end, file + end);
    const before = await Bun.file(`${file}-wal`).bytes();
    expect(before.length).toBeGreaterThan(0);
    copyLiveDatabase(file, join(at.folder, "copy.db"));
    expect(Buffer.compare(await Bun.file(`${file}-wal`).bytes(), before)).toBe(0);
    using sqlite = new Database(join(at.folder, "copy.db"), { readonly: true });
    expect(sqlite.query("SELECT COUNT(*) AS count FROM email").get()).toEqual({ count: 1 });
  });

  test("replaces no file, and leaves nothing where it cannot be made", async () => {
    using at = scratch();
    await using pombo = await startInstance();
    const file = databaseFile(pombo.directory);
    const taken = join(at.folder, "taken");
    writeFileSync(taken, "kept");
    expect(() => copyLiveDatabase(file, taken)).toThrow("exists already");
    expect(await Bun.file(taken).text()).toBe("kept");
    const beside = join(at.folder, "beside.db.new");
    writeFileSync(beside, "somebody's");
    copyLiveDatabase(file, join(at.folder, "beside.db"));
    expect(await Bun.file(beside).text()).toBe("somebody's");
    const nowhere = join(at.folder, "missing/copy.db");
    expect(() => copyLiveDatabase(file, nowhere)).toThrow(/^No copy was made at .*ENOENT/);
    expect(() => copyLiveDatabase(file, join(taken, "copy.db"))).toThrow(/^No copy was made at .*ENOTDIR/);
    const foreign = join(at.folder, "foreign.db");
    writeFileSync(foreign, "no database");
    expect(() => copyLiveDatabase(foreign, join(at.folder, "copy.db"))).toThrow(
      /^No copy was made at .*not a database/,
    );
    expect(readdirSync(at.folder).toSorted()).toEqual(["beside.db", "beside.db.new", "foreign.db", "taken"]);
  });
});
