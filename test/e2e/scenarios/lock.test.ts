// One instance per data directory: a second one says who holds it and goes, having written and sent
// nothing; the first never notices. The lock is the kernel's, so a killed holder leaves none behind.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runPombo, spawnPombo, startLimitMs, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { bugsOf, call, createWorld, emailTo } from "./world.ts";

setDefaultTimeout(60_000);

/** Names, sizes and owners' marks of a directory, but for the files that a running instance writes. */
function photograph(directory: string): string[] {
  const isBusy = /^pombo\.db(-wal|-shm)?$/;
  return readdirSync(directory)
    .sort()
    .map((name) => {
      const { ino, size, mtimeMs } = statSync(join(directory, name));
      return isBusy.test(name) ? `${name} ${ino}` : `${name} ${ino} ${size} ${mtimeMs}`;
    });
}

test("a second pombo serve on a directory in use ends at once, names the holder's PID, writes and sends nothing", async () => {
  await using mx = await startCountingMx();
  await using silent = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await using first = await world.serve();
  const load = startLoad({
    key: world.key,
    customers: 4,
    url: () => Promise.resolve(first.url),
    delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
  });
  await within(
    20_000,
    "the load",
    load.until(() => load.accepted.size > 50),
  );

  // What it would send would go to a mail server of its own.
  const other = world.writeConfig("second.toml", { email: { destination_port: silent.port } });
  const before = photograph(world.dataDir);
  for (const config of [world.configFile, other]) {
    const second = await runPombo(["serve", "--config", config]);
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(second.stderr).toContain(`Another pombo (process ${first.pid}) is running on ${world.dataDir}`);
    expect(second.tookMs).toBeLessThan(startLimitMs());
  }
  expect(photograph(world.dataDir)).toEqual(before);
  expect(readFileSync(join(world.dataDir, "lock.pid"), "utf8")).toBe(`${first.pid}\n`);
  expect(silent.connections).toBe(0);

  const answered = load.accepted.size;
  await within(
    20_000,
    "more load",
    load.until(() => load.accepted.size > answered + 50),
  );
  await load.stop();
  await within(
    20_000,
    "all arrivals",
    mx.until(() => mx.distinct >= load.accepted.size),
  );
  expect([...load.statuses.keys()]).toEqual([202]);
  expect(mx.arrivals).toHaveLength(mx.distinct);
  expect(bugsOf(first)).toEqual([]);
});

test("a holder that was killed leaves no lock behind", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await using first = await world.serve();
  first.signal("SIGKILL");
  await first.ended;
  expect(readFileSync(join(world.dataDir, "lock.pid"), "utf8")).toBe(`${first.pid}\n`);

  await using second = await world.serve();
  const sent = await call(second.url, world.key, {
    method: "POST",
    path: "/api/v1/emails",
    body: emailTo("a@one.test", "after"),
  });
  expect(sent.status).toBe(202);
  await within(
    10_000,
    "the arrival",
    mx.until(() => mx.arrivals.length === 1),
  );
  second.signal("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  // An orderly end takes the PID's file along.
  expect(readdirSync(world.dataDir)).not.toContain("lock.pid");
});

test("a second pombo dev on a sandbox's directory ends, names the holder's PID, and leaves its keys and mail alone", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pombo-lock-"));
  try {
    await using first = spawnPombo(["dev", "--json", "--port", "0", "--data", directory]);
    await first.until("it is ready", () => first.stdout().includes("\n"));
    const { url, apiKey } = JSON.parse(first.stdout()) as { url: string; apiKey: string };
    const second = await runPombo(["dev", "--port", "0", "--data", directory]);
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toContain(`Another pombo (process ${first.pid}) is running on ${directory}`);
    const list = await call(url, apiKey, { path: "/api/v1/emails" });
    expect(list.status).toBe(200);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("pombo dev on the directory of a real instance touches nothing, whether that one runs or not", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  {
    await using served = await world.serve();
    const before = photograph(world.dataDir);
    const refused = await runPombo(["dev", "--port", "0", "--data", world.dataDir]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`Another pombo (process ${served.pid}) is running on ${world.dataDir}`);
    expect(photograph(world.dataDir)).toEqual(before);
    served.signal("SIGTERM");
    await served.ended;
  }
  const kept = readFileSync(join(world.dataDir, "pombo.db"));
  const key = readFileSync(join(world.dataDir, "instance.key"));
  const refused = await runPombo(["dev", "--port", "0", "--data", world.dataDir]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain(`${world.dataDir} belongs to a pombo that is not a sandbox`);
  expect(readFileSync(join(world.dataDir, "pombo.db")).equals(kept)).toBe(true);
  expect(readFileSync(join(world.dataDir, "instance.key")).equals(key)).toBe(true);
  await using again = await world.serve();
  expect((await call(again.url, world.key, { path: "/api/v1/emails" })).status).toBe(200);
});
