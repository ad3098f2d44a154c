// `pombo update` with real executables: a next one that is good, and next ones that fail before they have accepted
// anything (all goes back) and after (nothing goes back). What was accepted is delivered, each time.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AUTHORITY, RELAY_CERTIFICATE } from "../../support/fakes/certificates.ts";
import { makeReleaseKey } from "../../support/fakes/release-key.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Child, within } from "./child.ts";
import { buildThis, NEXT_VERSION } from "./next-build.ts";
import { daemonPid, findDaemon, isDaemon, stopInOrder, subjectsInReplica } from "./replicated.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { type Builds, createUpdateWorld, LIMIT_MS, makeBuilds, type UpdateWorld } from "./update-world.ts";
import { call, emailTo } from "./world.ts";

setDefaultTimeout(120_000);

const ROUNDS = Number(process.env["ROUNDS"] ?? 1);
const LONG_RUN = 30;

let folder = "";
let builds: Builds;
let oldVersion = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pombo-update-"));
  builds = await makeBuilds(folder);
  const { stdout } = Bun.spawnSync([builds.old, "version", "--json"]);
  oldVersion = (JSON.parse(stdout.toString()) as { version: string }).version;
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

async function send(at: UpdateWorld, subject: string): Promise<string> {
  const body = emailTo(`${subject}@one.test`, subject);
  const answer = await call(at.url, at.world.key, { method: "POST", path: "/api/v1/emails", body });
  expect(answer.status).toBe(202);
  return answer.body.data.id;
}

function end(child: Child) {
  return within(LIMIT_MS * 2, "the update", child.ended);
}

const isUp = (at: UpdateWorld) =>
  fetch(`${at.url}/health`).then(
    (response) => response.ok,
    () => false,
  );

async function untilDelivered(at: UpdateWorld, subject: string): Promise<void> {
  await waitUntil(`${subject} is delivered`, LIMIT_MS, () =>
    [...readEmails(at.world.dataDir).values()].some((each) => each.subject === subject && each.status === "delivered"),
  );
}

/** The replicating daemon that was started last. */
/** Nothing of an update is left but what is meant to be. */
function leftovers(at: UpdateWorld): string[] {
  const inData = readdirSync(at.world.dataDir).filter((name) => /update\.json|\.new$/.test(name));
  return [...inData, ...readdirSync(join(at.world.folder, "bin")).filter((name) => name.endsWith(".new"))];
}

test("an update keeps what is queued and known, tries the new executable first and starts it as the old one was", async () => {
  await using at = await createUpdateWorld(builds);
  const served = await at.serve();
  const id = await send(at, "before");
  await untilDelivered(at, "before");

  await using child = at.update(builds.next);
  expect(await end(child)).toEqual({ code: 0, signal: null });
  expect(child.stdout()).toContain(`to ${NEXT_VERSION} (commit test)`);
  expect(await at.version()).toBe(NEXT_VERSION);
  expect(at.holder()).not.toBe(served.pid);
  expect((await call(at.url, at.world.key, { path: `/api/v1/emails/${id}` })).body.data.status).toBe("delivered");
  // Standing ready changes nothing: until it accepts or sends something, it could still have gone back.
  expect(at.probation()).not.toBe("");
  await send(at, "after");
  expect(at.probation()).toBe("");
  await untilDelivered(at, "after");
  expect(at.mx.arrivals.map(({ subject }) => subject)).toEqual(["before", "after"]);
  expect(at.schema()).toBe(2);
  expect(leftovers(at)).toEqual([]);
  expect(existsSync(`${at.binary}.previous`)).toBe(true);
  expect(statSync(join(at.world.dataDir, "pombo.db.before-update")).mode & 0o777).toBe(0o600);
});

test("what cannot be the next pombo is refused before anything is stopped", async () => {
  await using at = await createUpdateWorld(builds);
  const served = await at.serve();
  const text = join(folder, "no-pombo");
  writeFileSync(text, "#!/bin/sh\necho pombo\n");
  const foreign = join(folder, "arm64");
  const header = Buffer.alloc(64);
  header.write("\x7fELF", "latin1");
  header.writeUInt16LE(process.arch === "x64" ? 183 : 62, 18);
  writeFileSync(foreign, header);
  const cases: [string[], RegExp][] = [
    [[join(folder, "nothing")], /cannot be fetched/],
    [[text], /not an executable for Linux/],
    [[foreign], /is for (arm64|x64), and this machine is/],
    [[process.execPath], /not a pombo executable .*it may be truncated, or for another platform/],
    [[builds.next, "--sha256", "0".repeat(64)], /does not match its checksum/],
    [[builds.next, "--sha256", "abc"], /64 hexadecimal digits/],
    [["http://127.0.0.1:1/pombo"], /not https/],
    [["https://127.0.0.1:1/pombo"], /built without the public key of its releases/],
  ];
  for (const [[file = "", ...more], words] of cases) {
    await using child = at.update(file, more);
    expect((await end(child)).code).toBeGreaterThan(0);
    expect(child.stderr()).toMatch(words);
  }
  await using same = at.update(builds.old);
  expect((await end(same)).code).toBe(0);
  expect(same.stdout()).toContain("already");
  expect(at.holder()).toBe(served.pid);
  expect(leftovers(at)).toEqual([]);
});

test("an executable comes from the network with its signature, and not without", async () => {
  const key = makeReleaseKey();
  await using at = await createUpdateWorld({ ...builds, old: await buildThis(folder, key.publicKey) });
  const authority = join(folder, "authority.pem");
  writeFileSync(authority, AUTHORITY);
  const pages = new Map<string, string | Blob>([["/pombo-next", Bun.file(builds.next)]]);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: RELAY_CERTIFICATE,
    fetch: ({ url }) => {
      const page = pages.get(new URL(url).pathname);
      return page === undefined ? new Response(null, { status: 404 }) : new Response(page);
    },
  });
  const tryIt = async () => {
    const args = ["update", `${server.url.href}pombo-next`, "--config", at.world.configFile];
    await using child = at.run(args, { NODE_EXTRA_CA_CERTS: authority });
    const { code } = await end(child);
    return { code, stdout: child.stdout(), stderr: child.stderr() };
  };
  try {
    expect(await tryIt()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/signature .* could not be fetched/),
    });
    const content = readFileSync(builds.next);
    pages.set("/pombo-next.minisig", key.sign(content, "version:0.3.0\tfile:pombo-next"));
    expect(await tryIt()).toMatchObject({ code: 1, stderr: expect.stringContaining("the executable is 0.2.0") });
    expect(leftovers(at)).toEqual([]);
    pages.set("/pombo-next.minisig", key.sign(content, "version:0.2.0\tfile:pombo-next"));
    // It did not run, and so was not started.
    expect(await tryIt()).toMatchObject({ code: 0, stdout: expect.stringContaining("none was started"), stderr: "" });
    expect(await at.version()).toBe(NEXT_VERSION);
    expect(at.holder()).toBeNull();
    // The first start settles what the update has noted.
    await at.serve();
    await send(at, "fresh");
    await untilDelivered(at, "fresh");
    expect(leftovers(at)).toEqual([]);
  } finally {
    await server.stop(true);
  }
});

for (const fault of ["migration", "probe", "start", "silent"] as const) {
  // Half a minute is waited for one that is silent: in the long run only.
  const isLong = fault === "silent";
  test.skipIf(isLong && ROUNDS < LONG_RUN)(
    `a new executable that fails before it has accepted anything (${fault}): the old one is back, with its database`,
    async () => {
      await using at = await createUpdateWorld(builds);
      const served = await at.serve(fault);
      await send(at, "before");
      await untilDelivered(at, "before");
      await using child = at.update(builds.next);
      expect((await end(child)).code).toBe(1);
      expect(child.stderr()).toContain("with its database unchanged");
      await waitUntil("the old one is up", LIMIT_MS, () => isUp(at));
      expect(await at.version()).toBe(oldVersion);
      expect(at.schema()).toBe(1);
      expect(at.holder()).not.toBe(served.pid);
      await send(at, "after");
      await untilDelivered(at, "after");
      expect(at.mx.arrivals.map(({ subject }) => subject)).toEqual(["before", "after"]);
      expect(leftovers(at)).toEqual([]);
    },
  );
}

test.skipIf(!(await findDaemon()))(
  "a new executable that had begun to replicate when it died: the old one is back, delivers, and goes on in the replica",
  async () => {
    const replica = mkdtempSync(join(tmpdir(), "pombo-replica-"));
    try {
      await using at = await createUpdateWorld(builds, { replication: { url: replica } });
      await at.serve("late");
      await send(at, "before");
      await untilDelivered(at, "before");
      await waitUntil("a daemon", LIMIT_MS, () => isDaemon(daemonPid(at.world)));
      const first = daemonPid(at.world);
      await using child = at.update(builds.next);
      await waitUntil("the new one replicates", LIMIT_MS, () => daemonPid(at.world) !== first);
      const orphan = daemonPid(at.world);
      expect((await end(child)).code).toBe(1);
      // It outlived the new executable: going on after its database was put away, it would spoil the replica.
      expect(isDaemon(orphan)).toBe(false);
      expect(child.stderr()).toMatch(/ended with SIGKILL.*with its database unchanged/);
      await waitUntil("the old one is up", LIMIT_MS, () => isUp(at));
      expect(at.schema()).toBe(1);
      await send(at, "after");
      // Not paused, as it would be behind a database put back by hand.
      await untilDelivered(at, "after");
      const ready = await fetch(`${at.url}/ready`);
      expect(await ready.text()).not.toContain("paused");
      // Whole at each look, for all that it holds two timelines.
      await waitUntil("the replica has it", LIMIT_MS, () => subjectsInReplica(at.world).has("after"));
      expect(at.mx.arrivals.map(({ subject }) => subject)).toEqual(["before", "after"]);
      // Nor at a start after that.
      const pid = at.holder();
      if (pid !== null) process.kill(pid, "SIGTERM");
      await waitUntil("it has ended", LIMIT_MS, async () => !(await isUp(at)) && at.holder() === null);
      await at.serve();
      await send(at, "last");
      await untilDelivered(at, "last");
    } finally {
      rmSync(replica, { recursive: true, force: true });
    }
  },
);

test.skipIf(!(await findDaemon()))(
  "beside a daemon that outlived a killed pombo an update ends that first, and the replica stays whole",
  async () => {
    const replica = mkdtempSync(join(tmpdir(), "pombo-replica-"));
    await using _gone = { [Symbol.asyncDispose]: async () => rmSync(replica, { recursive: true, force: true }) };
    await using at = await createUpdateWorld(builds, { replication: { url: replica } });
    const served = await at.serve();
    await send(at, "before");
    await untilDelivered(at, "before");
    await waitUntil("a daemon", LIMIT_MS, () => isDaemon(daemonPid(at.world)));
    const orphan = daemonPid(at.world);
    served.signal("SIGKILL");
    await served.ended;
    expect(isDaemon(orphan)).toBe(true);
    await using child = at.update(builds.next);
    const { code } = await end(child);
    expect({ code, said: child.stderr() }).toEqual({ code: 0, said: "" });
    expect(isDaemon(orphan)).toBe(false);
    expect(await at.version()).toBe(NEXT_VERSION);
    await using again = await at.serve();
    await send(at, "after");
    await untilDelivered(at, "after");
    await stopInOrder(again);
    expect([...subjectsInReplica(at.world)].toSorted()).toEqual(["after", "before"]);
  },
);

test("a new executable that fails after its first 202 stays: nothing accepted is lost, and nothing goes back", async () => {
  await using at = await createUpdateWorld(builds);
  await at.serve("accepted");
  await send(at, "before");
  await untilDelivered(at, "before");
  await using child = at.update(builds.next);
  await child.until("it starts the new one", () => child.stdout().includes("Starting"));
  // The first of them, whenever it begins to answer.
  await waitUntil("the new one accepts", LIMIT_MS, () =>
    send(at, "accepted").then(
      () => true,
      () => false,
    ),
  );
  expect((await end(child)).code).toBe(1);
  expect(child.stderr()).toContain("so it stays");
  expect(await at.version()).toBe(NEXT_VERSION);
  expect(at.schema()).toBe(2);
  const stored = [...readEmails(at.world.dataDir).values()];
  expect(stored.map(({ subject }) => subject).sort()).toEqual(["accepted", "before"]);
  // Neither the old executable nor a start after it brings the old database back.
  await using next = at.run(["serve", "--config", at.world.configFile]);
  await next.until("it runs", () => next.stdout().includes("pombo.started"));
  await untilDelivered(at, "accepted");
  expect(at.mx.arrivals.filter(({ subject }) => subject === "accepted").length).toBeLessThanOrEqual(2);
  expect(leftovers(at)).toEqual([]);
});

for (const moment of ["Updating pombo", "Stopping", "Copying", "Trying", "Starting"]) {
  test(`an update killed at "${moment}": a start and another update end well, and nothing is lost or sent twice`, async () => {
    await using at = await createUpdateWorld(builds);
    await at.serve();
    await send(at, "before");
    await untilDelivered(at, "before");
    {
      await using child = at.update(builds.next);
      await child.until(moment, () => child.stdout().includes(moment));
      child.signal("SIGKILL");
      await child.ended;
    }
    await startUnlessRunning(at);
    await send(at, "between");
    await untilDelivered(at, "between");
    expect(at.schema()).toBe((await at.version()) === NEXT_VERSION ? 2 : 1);

    await using again = at.update(builds.next);
    const { code } = await end(again);
    expect({ code, said: again.stderr() }).toEqual({ code: 0, said: "" });
    expect(await at.version()).toBe(NEXT_VERSION);
    await send(at, "after");
    await untilDelivered(at, "after");
    expect(at.mx.arrivals.map(({ subject }) => subject)).toEqual(["before", "between", "after"]);
    expect(queueDepth(at.world.dataDir)).toBe(0);
  });
}

/** As an operator would: whatever ended it, `pombo serve` is tried until something runs. */
async function startUnlessRunning(at: UpdateWorld): Promise<void> {
  // It fails while the one that was asked to stop is not through, or the start of a new one is under way.
  const start = () =>
    at.serve().then(
      () => true,
      () => false,
    );
  await waitUntil("something runs", LIMIT_MS, async () => (await isUp(at)) || start());
}
