// The way from a command to the instance: the socket, the lock, and what lies between the two.
import { expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setUpInstance } from "../../../src/cli/commands/setup/setup.ts";
import { CommandError } from "../../../src/cli/framework/definition.ts";
import { openOperatorApi } from "../../../src/cli/client/instance-client.ts";
import { findInstance } from "../../../src/cli/client/settings.ts";
import { defaultConfig } from "../../../src/config/config.ts";
import { takeLock } from "../../../src/platform/instance-lock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { runHere, startDesk, workspaceRecord } from "../../support/cli/kit.ts";

const HOSTNAME = "mail.pombo.test";

interface Place extends Disposable {
  folder: string;
  dataDir: string;
  config: string;
}

/** An instance that was set up and does not run. */
function setUp(): Place {
  const folder = mkdtempSync(join(tmpdir(), "pombo-place-"));
  const dataDir = join(folder, "data");
  setUpInstance(defaultConfig({ hostname: HOSTNAME, dataDir }), { random: systemRandom, now: 0, givenKey: undefined });
  const config = join(folder, "pombo.toml");
  writeFileSync(config, `hostname = "${HOSTNAME}"\ndata_dir = "${dataDir}"\n`);
  return { folder, dataDir, config, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

const create = (config: string, name = "Loja") => runHere(["workspace", "create", name, "--json", "--config", config]);

test("while no instance runs the command does it itself, and leaves the directory free", async () => {
  using place = setUp();
  const made = await create(place.config);
  expect([made.code, made.err]).toEqual([0, ""]);
  expect(JSON.parse(made.out).apiKey.key).toMatch(/^svc_/);
  const refused = await runHere(["workspace", "create", "Loja", "--plan", "none", "--config", place.config]);
  expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringContaining("plan must be one of") });
  const lock = takeLock(place.dataDir);
  expect(lock.kind).toBe("locked");
  if (lock.kind === "locked") lock.release();
});

test("two commands at once, without an instance, are done one after the other", async () => {
  using place = setUp();
  const all = await Promise.all(["a", "b", "c", "d"].map((name) => create(place.config, name)));
  expect(all.map(({ code, err }) => [code, err])).toEqual(Array.from({ length: 4 }, () => [0, ""]));
  expect(new Set(all.map(({ out }) => JSON.parse(out).workspaceId)).size).toBe(4);
});

test("one that holds the directory and is silent is waited for, then named", async () => {
  using place = setUp();
  const lock = takeLock(place.dataDir);
  const clock = fakeClock();
  const said: string[] = [];
  const terminal = { ...NOBODY, err: (text: string) => void said.push(text) };
  const api = openOperatorApi(findInstance({ config: place.config, dataDir: undefined }, {}), terminal, clock);
  const asking = api.call("POST", "/workspaces", { name: "x" }).then(
    () => null,
    (error: unknown) => error as CommandError,
  );
  let refused: CommandError | null = null;
  void asking.then((error) => (refused = error));
  let waitedMs = 0;
  while (refused === null && waitedMs < 60_000) {
    await new Promise<void>((next) => setImmediate(next));
    if (clock.pending > 0) {
      clock.advance(100);
      waitedMs += 100;
    }
  }
  expect(waitedMs).toBe(10_000);
  expect(await asking).toBeInstanceOf(CommandError);
  expect((await asking)?.message).toBe(
    `Another pombo (process ${process.pid}) uses ${place.dataDir} and does not take commands: it is starting or stopping, or another command runs. Nothing was done; try again later.`,
  );
  expect(said).toEqual([
    `Another pombo (process ${process.pid}) uses ${place.dataDir} and does not take commands yet: waiting …`,
  ]);
  await api.close();
  if (lock.kind === "locked") lock.release();
});

test("one that lets go of the directory meanwhile is followed", async () => {
  using place = setUp();
  const lock = takeLock(place.dataDir);
  const making = create(place.config);
  // The command finds it held, and the lock goes once it has.
  await new Promise<void>((next) => setImmediate(next));
  if (lock.kind === "locked") lock.release();
  expect((await making).code).toBe(0);
});

test("an instance that runs is asked even when its configuration is wrong by now, or is not said", async () => {
  await using desk = startDesk(() => ({ data: [], meta: { has_more: false, next_cursor: null } }));
  const config = desk.write("pombo.toml", `data_dir = "${desk.folder}"\nnonsense = 1\n[http]\nlisten = 7\n`);
  expect(await runHere(["workspace", "list", "--json", "--config", config])).toEqual({ code: 0, out: "[]\n", err: "" });
  expect((await runHere(["workspace", "list", "--json"], { env: { POMBO_CONFIG: config } })).code).toBe(0);
  expect((await desk.run(["workspace", "list", "--json"])).code).toBe(0);
  // What the file says is wrong is told when it is needed.
  const broken = desk.write("broken.toml", "data_dir = \n");
  expect((await runHere(["workspace", "list", "--config", broken])).err).toContain(
    "Correct this error, then start pombo again",
  );
});

test("a directory and a configuration of another one: the directory counts, with the key in it", async () => {
  using place = setUp();
  const moved = join(place.folder, "moved");
  renameSync(place.dataDir, moved);
  const made = await runHere(["workspace", "create", "x", "--config", place.config, "--data-dir", moved]);
  expect([made.code, made.err]).toEqual([0, ""]);
  const found = await runHere(["workspace", "create", "x", "--data-dir", moved], {
    env: { POMBO_CONFIG: place.config },
  });
  expect(found).toMatchObject({
    code: 1,
    out: "",
    err: `No pombo runs on ${moved}, and the configuration found is of ${place.dataDir}. Name the right one with --config FILE.\n`,
  });
});

test("a directory on which nothing runs, without a configuration: both are said", async () => {
  using place = setUp();
  const missing = join(place.folder, "none.toml");
  expect(await runHere(["queue", "--data-dir", place.dataDir, "--config", missing])).toEqual({
    code: 1,
    out: "",
    err: `No pombo runs on ${place.dataDir}. There is no configuration at ${missing}. Create one with pombo init --config ${missing}, or name another with --config FILE.\n`,
  });
});

test("without a configuration anywhere it is told how a sandbox is reached", async () => {
  expect((await runHere(["status"])).err).toBe(
    "There is no configuration at pombo.toml or /etc/pombo/config.toml or /etc/pombo/pombo.toml. Create one with pombo init, or name it with --config FILE. A sandbox is reached by --data-dir with the Data folder that pombo dev prints.\n",
  );
});

test("a link in the socket's place is not followed", async () => {
  using place = setUp();
  await using desk = startDesk(() => ({ data: workspaceRecord() }));
  symlinkSync(join(desk.folder, "pombo.sock"), join(place.dataDir, "pombo.sock"));
  expect((await create(place.config)).code).toBe(0);
  expect(desk.asked).toEqual([]);
});

test("an instance that ends in the middle of a change: it is not repeated, and the doubt is told", async () => {
  using place = setUp();
  let requests = 0;
  const server = createServer((socket) => socket.once("data", () => ((requests += 1), socket.destroy())));
  const path = join(place.dataDir, "pombo.sock");
  await new Promise<void>((listening) => server.listen(path, listening));
  const made = await create(place.config);
  expect(made).toMatchObject({ code: 1, out: "" });
  expect(made.err).toStartWith(`The instance on ${path} stopped before it answered (`);
  expect(made.err).toEndWith("The request may have taken effect: check before you repeat it.\n");
  expect(requests).toBe(1);
  await new Promise((closed) => server.close(closed));
});

test("what answers and is no pombo is told", async () => {
  using place = setUp();
  const server = Bun.serve({ unix: join(place.dataDir, "pombo.sock"), fetch: () => new Response("<html>") });
  expect((await create(place.config)).err).toBe("The instance answered 200 without JSON: is it pombo?\n");
  await server.stop(true);
});

const NOBODY = {
  args: [],
  env: {},
  out: () => undefined,
  say: () => undefined,
  err: () => undefined,
  write: () => undefined,
  flushed: () => Promise.resolve(),
  width: null,
  input: () => new Blob([]).stream(),
  stopSignal: () => new Promise<string>(() => undefined),
  onUnhandledRejection: () => undefined,
  isInteractive: false,
  setExitCode: () => undefined,
  outliveSession: () => undefined,
  fail: () => undefined,
};
