// Damaged pages of the database: found by a start after a crash where it stands on them, and by `pombo status --check`
// while all goes on; told with what to do.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { runPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { call, createWorld } from "./world.ts";

setDefaultTimeout(60_000);

/** What stands in a table's first page is garbage from now on. */
function damage(file: string, table: string): void {
  using sqlite = new Database(file, { readonly: true });
  const [[page] = []] = sqlite.query("SELECT rootpage FROM sqlite_schema WHERE name = ?").values(table);
  const [[size] = []] = sqlite.query("PRAGMA page_size").values();
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(Number(size), 0xa5), 0, Number(size), Number(size) * (Number(page) - 1));
  closeSync(descriptor);
}

test("damaged pages are told with what to do: at a start after a crash where it stands on them, else when somebody asks", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  const file = join(world.dataDir, "pombo.db");
  {
    await using first = await world.serve();
    const whole = await runPombo(["status", "--check", "--config", world.configFile]);
    expect([whole.code, whole.stderr]).toEqual([0, ""]);
    damage(file, "attempt");
    const found = await runPombo(["status", "--check", "--config", world.configFile]);
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(/! database: Pages of the database are damaged \(attempt: .*pombo restore --from URL/);
    // What can be read goes on.
    expect((await call(first.url, world.key, { path: "/ready" })).status).toBe(200);
    first.signal("SIGKILL");
    await first.ended;
  }
  {
    await using second = await world.serve();
    second.signal("SIGKILL");
    await second.ended;
  }
  damage(file, "email_queue");
  // It is to be kept as it is, so the start leaves it so, with the log beside it.
  const kept = () => [file, `${file}-wal`].map((each) => Bun.hash(readFileSync(each)));
  const before = kept();
  const refused = await runPombo(["serve", "--config", world.configFile]);
  expect(refused.code).toBe(78);
  expect(refused.stderr).toContain(`Pages of the database ${file} are damaged (email_queue: `);
  expect(refused.stderr).toContain("Nothing was accepted or sent.");
  expect(refused.stderr).toContain("pombo restore --from URL");
  expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(kept()).toEqual(before);
});
