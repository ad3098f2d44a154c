// The operator's commands as an operator has them: the binary, against an instance that runs, against its data
// while none does, and in between.
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UNKNOWN_ID } from "../../support/api/kit.ts";
import type { Json } from "../../support/fakes/instance.ts";
import { runPombo, spawnPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { bugsOf, call, createWorld, hasLogged, type Served, type World } from "./world.ts";

setDefaultTimeout(120_000);

const IS_ROOT = process.geteuid?.() === 0;
const NOBODY = 65_534;

async function withWorld(test_: (world: World) => Promise<void>): Promise<void> {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await test_(world);
}

/** Runs a command for the world's instance. */
function pombo(world: World, args: string[], input?: string) {
  return runPombo([...args, "--config", world.configFile], input === undefined ? {} : { input });
}

/** The `data` of a command that must succeed: one line on standard output and nothing else. */
async function ask(world: World, args: string[], input?: string): Promise<Json> {
  const { code, stdout, stderr } = await pombo(world, [...args, "--json"], input);
  expect([args, code, stderr]).toEqual([args, 0, ""]);
  expect([args, stdout.split("\n").length]).toEqual([args, 2]);
  return JSON.parse(stdout);
}

/** What a command that must succeed says to a person. */
async function said(world: World, args: string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await pombo(world, args, input);
  expect([args, code, stderr]).toEqual([args, 0, ""]);
  return stdout;
}

async function refused(world: World, args: string[], code = 1): Promise<string> {
  const ended = await pombo(world, args);
  expect([args, ended.code, ended.stdout]).toEqual([args, code, ""]);
  expect(ended.stderr).not.toMatch(/^\s+at /m);
  return ended.stderr;
}

/** The life of a workspace, by commands alone. Returns the keys that must work and must not in the end. */
async function operate(
  world: World,
): Promise<{ valid: string[]; invalid: string[]; operatorKey: string; kept: string }> {
  const shop = await ask(world, ["workspace", "create", "Loja da Maria", "--plan", "starter"]);
  const id: string = shop.workspaceId;
  expect(shop).toMatchObject({ workspaceName: "Loja da Maria", apiKey: { name: "default" } });
  expect(await refused(world, ["workspace", "create", "x", "--plan", "none"])).toContain("plan must be one of");

  // By id, by its beginning, by name.
  for (const wanted of [id, id.slice(0, 18), "Loja da Maria"])
    expect((await ask(world, ["workspace", "show", wanted])).id).toBe(id);
  expect(await said(world, ["workspace", "show", id])).toContain("Plan        starter");
  expect(await refused(world, ["workspace", "show", UNKNOWN_ID])).toContain("There is no workspace with this id");
  const listed = (await said(world, ["workspace", "list"])).trimEnd().split("\n");
  expect(listed.map((line) => line.split("\t").length)).toEqual(listed.map(() => 7));
  expect(listed[0]).toStartWith(`${id}\t`);

  expect((await ask(world, ["workspace", "plan", id, "growth"])).plan).toBe("growth");
  expect(await said(world, ["workspace", "rename", id, "Maria & Filhos"])).toContain("is now called Maria & Filhos.");
  expect((await ask(world, ["workspace", "block", id, "--reason", "unpaid", "--hold"])).blocks).toMatchObject([
    { by: "operator", reason: "unpaid", holdsQueue: true },
  ]);
  expect(await said(world, ["workspace", "show", id])).toContain("its queue is held: unpaid");
  expect((await ask(world, ["workspace", "unblock", id])).blocks).toEqual([]);

  const second = await ask(world, ["key", "create", id, "second"]);
  expect(second.key).toMatch(/^svc_/);
  const { operatorKey } = await ask(world, ["operator-key", "rotate"]);

  expect((await ask(world, ["credits", "grant", id, "500", "--note", "invoice 7"])).balance).toBe(500);
  expect(await said(world, ["credits", "deduct", id, "20"])).toContain("has 480 credits");
  expect(await refused(world, ["credits", "deduct", id, "481"])).toContain("amount");
  expect((await ask(world, ["credits", "list", id])).map(({ amount }: Json) => amount)).toEqual([-20, 500]);

  expect(await ask(world, ["sender", "add", id, "MARIA"])).toEqual({ name: "MARIA", isDefault: true, priority: null });
  expect(await ask(world, ["sender", "add", id, "Loja 1&2", "--default"])).toEqual({
    name: "Loja 1&2",
    isDefault: true,
    priority: null,
  });
  expect((await said(world, ["sender", "list", id])).trimEnd().split("\n").toSorted()).toEqual([
    "no\t-\tMARIA",
    "yes\t-\tLoja 1&2",
  ]);
  await ask(world, ["sender", "remove", id, "Loja 1&2"]);
  expect(await ask(world, ["sender", "list", id])).toEqual([{ name: "MARIA", isDefault: true, priority: null }]);

  await suppress(world, id);

  await suspend(world);

  const gone = await ask(world, ["workspace", "create", "Gone"]);
  expect(await refused(world, ["workspace", "delete", "Gone"], 2)).toContain(
    `pombo workspace delete ${gone.workspaceId} --yes`,
  );
  expect(await ask(world, ["workspace", "delete", "Gone", "--yes"])).toEqual({ id: gone.workspaceId, deleted: true });
  expect(await refused(world, ["workspace", "show", gone.workspaceId])).toContain("There is no workspace");
  return { valid: [shop.apiKey.key, second.key], invalid: [gone.apiKey.key, world.operatorKey], operatorKey, kept: id };
}

async function suppress(world: World, id: string): Promise<void> {
  const file = join(world.folder, "list.csv");
  writeFileSync(file, "address,reason\r\nA@x.test,complaint\r\n");
  expect(await ask(world, ["suppression", "import", id, file])).toMatchObject({ imported: 1, alreadyThere: 0 });
  expect(await said(world, ["suppression", "import", id, "-"], "a@x.test\nb@x.test\n")).toBe(
    "1 address imported; 1 was on the list already.\n",
  );
  expect((await said(world, ["suppression", "list", id])).trimEnd().split("\n")).toHaveLength(2);
  const csv = await said(world, ["suppression", "export", id, "--channel", "email"]);
  expect(csv).toMatch(/^address,channel,reason,suppressedAt,list\r\n(.+,email,.+Z,\r\n){2}$/);
  expect(csv).toContain("\r\na@x.test,email,complaint,");
  const faulty = await pombo(world, ["suppression", "import", id, "-"], "c@x.test\nnobody\n");
  expect([faulty.code, faulty.stdout]).toEqual([1, ""]);
  expect(faulty.stderr).toStartWith("line 2: address is neither");
  expect(await ask(world, ["suppression", "list", id])).toHaveLength(2);
  expect(await ask(world, ["suppression", "held", id])).toEqual([]);
  expect(await ask(world, ["suppression", "held", "--apply", "--all"])).toEqual({ applied: 0 });
  expect(await ask(world, ["suppression", "held", id, "--drop", "--site", "mx.test"])).toEqual({ dropped: 0 });
}

/** The domain that the world's own workspace has verified. */
async function suspend(world: World): Promise<void> {
  const [domain] = await ask(world, ["domain", "list", "Scenario"]);
  expect(domain).toMatchObject({ domain: "loja.test", status: "verified" });
  expect(await ask(world, ["domain", "suspend", "loja.test"])).toMatchObject({ id: domain.id, status: "suspended" });
  expect(await said(world, ["domain", "list"])).toContain("\tsuspended\t");
  expect((await ask(world, ["domain", "resume", domain.id.slice(0, 18)])).status).toMatch(/^(pending|verified)$/);
  expect(await refused(world, ["domain", "suspend", "other.test"])).toContain('There is no domain "other.test"');
  await addDomain(world);
}

/** A domain from its first command to its records in DNS. */
async function addDomain(world: World): Promise<void> {
  const args = ["--workspace", "Scenario"];
  const added = await ask(world, ["domain", "add", "nova.test", ...args]);
  expect(added).toMatchObject({ domain: "nova.test", status: "pending" });
  expect(await refused(world, ["domain", "add", "nova.test", ...args])).toContain("nova.test is already registered");
  const missing = await pombo(world, ["domain", "check", "nova.test"]);
  expect([missing.code, missing.stderr]).toEqual([1, ""]);
  const rows = missing.stdout.trimEnd().split("\n");
  expect(rows.map((row) => row.split("\t").slice(0, 3))).toEqual([
    ["missing", "TXT", "pombo1._domainkey.nova.test"],
    ["missing", "TXT", "pombo2._domainkey.nova.test"],
    ["missing", "CNAME", "bounce.nova.test"],
    ["missing", "TXT", "_dmarc.nova.test"],
  ]);
  const zone = (await pombo(world, ["domain", "check", "nova.test", "--zone"])).stdout.trimEnd().split("\n");
  for (const line of zone.slice(1)) {
    const [, name = "", type = "", data = ""] = /^(\S+)\. 3600 IN (TXT|CNAME) (.+)$/.exec(line) ?? [];
    const strings = [...data.matchAll(/"([^"]*)"/g)].map(([, text = ""]) => text);
    world.dns.zone[name] = type === "TXT" ? { TXT: [strings] } : { CNAME: data.replace(/\.$/, "") };
  }
  expect((await ask(world, ["domain", "check", added.id.slice(0, 13)])).dns.dkim).toMatchObject([
    ...[{ status: "found" }, { status: "found" }],
  ]);
  expect(await said(world, ["domain", "list"])).toContain("nova.test\tverified\t");
}

/** What `operate` did holds for whoever asks over HTTP. */
async function expectKept(served: Served, done: Awaited<ReturnType<typeof operate>>): Promise<void> {
  const status = async (key: string) => (await call(served.url, key, { path: "/api/v1/emails" })).status;
  for (const key of done.valid) expect(await status(key)).toBe(200);
  for (const key of done.invalid) expect(await status(key)).toBe(401);
  const record = await call(served.url, done.operatorKey, { path: `/api/v1/operator/workspaces/${done.kept}` });
  expect(record.body.data).toMatchObject({ name: "Maria & Filhos", plan: "growth", smsCredits: 480, blocks: [] });
}

test("every command, over the socket of an instance that runs", () =>
  withWorld(async (world) => {
    await using served = await world.serve();
    const done = await operate(world);
    await expectKept(served, done);
    expect(bugsOf(served)).toEqual([]);
  }));

test("every command, while no instance runs; the one that starts then knows all of it", () =>
  withWorld(async (world) => {
    const before = readdirSync(world.dataDir);
    const done = await operate(world);
    expect(readdirSync(world.dataDir)).toEqual(before);
    await using served = await world.serve();
    await expectKept(served, done);
    expect(bugsOf(served)).toEqual([]);
  }));

test("several at once: over the socket side by side, and without an instance one after the other", () =>
  withWorld(async (world) => {
    const create = (name: string) => ask(world, ["workspace", "create", name]);
    const ids = new Set((await Promise.all(["a", "b", "c"].map(create))).map(({ workspaceId }) => workspaceId));
    await using served = await world.serve();
    for (const { workspaceId } of await Promise.all(["d", "e", "f", "g"].map(create))) ids.add(workspaceId);
    expect(ids.size).toBe(7);
    expect(await ask(world, ["workspace", "list"])).toHaveLength(8);
    expect(served.isAlive).toBe(true);
  }));

test("while instances start, stop and are killed, each command is done once, or says that it was not", () =>
  withWorld(async (world) => {
    let isOver = false;
    const outcomes: { name: string; code: number | null; stderr: string }[] = [];
    const work = async (worker: string) => {
      for (let number = 0; !isOver; number += 1) {
        const name = `${worker}${number}`;
        const { code, stderr } = await pombo(world, ["workspace", "create", name, "--json"]);
        outcomes.push({ name, code, stderr });
      }
    };
    const working = Promise.all(["a", "b"].map(work));
    for (const signal of ["SIGTERM", "SIGKILL", "SIGTERM", "SIGKILL"] as const) {
      // A command may hold the directory just then: it is waited for.
      const served = await world.serve();
      await within(
        20_000,
        "commands",
        until(() => outcomes.length % 3 === 2),
      );
      served.signal(signal);
      await served.ended;
      expect(bugsOf(served)).toEqual([]);
    }
    isOver = true;
    await working;
    const names = (await ask(world, ["workspace", "list"])).map(({ name }: Json) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(outcomes.some(({ code }) => code === 0)).toBe(true);
    for (const { name, code, stderr } of outcomes) {
      if (code === 0) expect(names).toContain(name);
      // Only whoever was being answered as the instance died cannot know.
      else expect([name, code, stderr]).toEqual([name, 1, expect.stringMatching(/The request may have taken effect/)]);
    }
  }));

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(5);
}

test("nobody but its owner can open the socket, also where others may enter the directory", () =>
  withWorld(async (world) => {
    chmodSync(world.folder, 0o755);
    chmodSync(world.dataDir, 0o755);
    await using served = await world.serve({ through: ["sh", "-c", 'umask 000; exec "$@"', "sh"] });
    const socket = lstatSync(join(world.dataDir, "pombo.sock"));
    expect([socket.isSocket(), socket.mode & 0o777]).toEqual([true, 0o600]);
    if (IS_ROOT) {
      const through = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
      const stranger = await runPombo(["workspace", "list", "--data-dir", world.dataDir], { through });
      expect(stranger).toMatchObject({ code: 1, stdout: "" });
      expect(stranger.stderr).toContain("run the command as the service's user, or as root.");
    }
    served.signal("SIGTERM");
    expect(await served.ended).toEqual({ code: 0, signal: null });
    expect(readdirSync(world.dataDir)).not.toContain("pombo.sock");
  }));

test("the socket of an instance that was killed stops neither a command nor the next start", () =>
  withWorld(async (world) => {
    const socket = join(world.dataDir, "pombo.sock");
    await using first = await world.serve();
    first.signal("SIGKILL");
    await first.ended;
    expect(lstatSync(socket).isSocket()).toBe(true);
    await ask(world, ["workspace", "create", "offline"]);
    await using second = await world.serve();
    await ask(world, ["workspace", "create", "online"]);
    expect(hasLogged(second, "pombo.started")).toBe(true);
    const names = (await ask(world, ["workspace", "list"])).map(({ name }: Json) => name);
    expect(names).toEqual(["online", "offline", "Scenario"]);
  }));

test("what is not pombo's and stands in the socket's place stays there, and the start says what to do", () =>
  withWorld(async (world) => {
    const socket = join(world.dataDir, "pombo.sock");
    writeFileSync(socket, "precious", { mode: 0o644 });
    if (IS_ROOT) chownSync(socket, NOBODY, NOBODY);
    const start = await runPombo(["serve", "--config", world.configFile]);
    expect(start).toMatchObject({ code: 1, stdout: "" });
    expect(start.stderr).toBe(
      `${socket} is a file that pombo did not make, where its socket for the operator's commands belongs. Look at it, then move it away or delete it.\n`,
    );
    expect(readFileSync(socket, "utf8")).toBe("precious");
    // A command needs no socket for what it does itself.
    await ask(world, ["workspace", "create", "offline"]);
    rmSync(socket);
    await using served = await world.serve();
    expect(served.isAlive).toBe(true);
  }));

test.skipIf(!IS_ROOT)("root may work on a directory of pombo's user, and leaves nothing that is root's", () =>
  withWorld(async (world) => {
    const files = readdirSync(world.dataDir);
    for (const name of [".", ...files]) chownSync(join(world.dataDir, name), NOBODY, NOBODY);
    chmodSync(world.folder, 0o755);
    await ask(world, ["workspace", "create", "by root"]);
    const owners = readdirSync(world.dataDir).map((name) => [name, lstatSync(join(world.dataDir, name)).uid]);
    expect(owners).toEqual(files.map((name) => [name, NOBODY]));
    const through = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
    await using served = await world.serve({ through });
    expect(await ask(world, ["workspace", "list"])).toHaveLength(2);
    expect(served.isAlive).toBe(true);
  }),
);

/** Names with everything that a list could stumble over. */
function longList(): string {
  const lines = Array.from({ length: 100_000 }, (_, number) => {
    const address = number % 1_000 === 0 ? `"""odd, ${number}""@x.test"` : `a${number}@x${number % 97}.test`;
    const [reason, list] =
      [
        ["hard_bounce", ""],
        ["complaint", ""],
        ["unsubscribe", "news"],
      ][number % 3] ?? [];
    return `${address},email,${reason},2026-01-31T08:15:00.000Z,${list}\r\n`;
  });
  return `address,channel,reason,suppressedAt,list\r\n${lines.join("")}`;
}

test.skipIf(Number(process.env["ROUNDS"] ?? 5) <= 5)(
  "a hundred thousand suppressions go in and come out again as they were",
  () =>
    withWorld(async (world) => {
      await using served = await world.serve();
      const [{ id }] = await ask(world, ["workspace", "list"]);
      const list = longList();
      expect(await ask(world, ["suppression", "import", id, "-"], list)).toEqual({
        imported: 100_000,
        alreadyThere: 0,
        skipped: 0,
      });
      const sorted = (text: string) => text.split("\r\n").toSorted();
      const exported = await said(world, ["suppression", "export", id]);
      expect(sorted(exported)).toEqual(sorted(list));
      // Its reader takes its time.
      await using slow = spawnPombo(["suppression", "export", id, "--json", "--config", world.configFile], {
        through: ["sh", "-c", '"$@" | (sleep 1; wc -l)', "sh"],
      });
      await slow.ended;
      expect([slow.stdout().trim(), slow.stderr()]).toEqual(["100000", ""]);
      // One that has seen enough ends the command without a word.
      await using brief = spawnPombo(["suppression", "export", id, "--config", world.configFile], {
        through: ["sh", "-c", '"$@" | head -1', "sh"],
      });
      await brief.ended;
      expect([brief.stdout(), brief.stderr()]).toEqual(["address,channel,reason,suppressedAt,list\r\n", ""]);
      expect(bugsOf(served)).toEqual([]);
      served.signal("SIGTERM");
      await served.ended;
      expect(await said(world, ["suppression", "import", id, "-"], exported)).toBe(
        "0 addresses imported; 100,000 were on the list already.\n",
      );
    }),
);
