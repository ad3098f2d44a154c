// [replication] acknowledge = "replica": a machine that is lost with its disk takes nothing with it that was answered
// 202, and no final dot that the replica knows nothing of. While the replica takes nothing, nothing is accepted and no
// dot goes out; then all goes on by itself.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { type Load, startLoad } from "./load.ts";
import { daemonPid, emailsInReplica, expectAllInReplica, findDaemon, isDaemon, stopInOrder } from "./replicated.ts";
import { bugsOf, call, createWorld, emailTo, type Served } from "./world.ts";

const ROUNDS = Math.ceil((3 * Number(process.env["ROUNDS"] ?? 5)) / 5);
const LIMIT_MS = 60_000;
setDefaultTimeout((ROUNDS + 3) * LIMIT_MS);

const hasDaemon = await findDaemon();

async function createKept() {
  const mx = await startCountingMx();
  const replica = mkdtempSync("/tmp/pombo-replica-");
  const copies = join(replica, "copies");
  const world = await createWorld({
    mxPort: mx.port,
    settings: { replication: { url: copies, acknowledge: "replica" } },
  });
  return {
    world,
    mx,
    copies,
    load: (url: () => Promise<string>): Load =>
      startLoad({
        key: world.key,
        customers: 16,
        url,
        delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
      }),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await mx[Symbol.asyncDispose]();
      rmSync(replica, { recursive: true, force: true });
    },
  };
}

/** The process and its daemon at once, as when the machine loses its power. */
function loseMachine(served: Served, daemon: number): Promise<unknown> {
  process.kill(daemon, "SIGKILL");
  served.signal("SIGKILL");
  return served.ended;
}

test.skipIf(!hasDaemon)("a lost machine takes nothing with it that was acknowledged", async () => {
  let [accepted, dots, doubtful] = [0, 0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    await using of = await createKept();
    const { world, mx } = of;
    await using served = await world.serve();
    const lost = Promise.withResolvers<string>();
    lost.promise.catch(() => undefined);
    let isLost = false;
    const load = of.load(() => (isLost ? lost.promise : Promise.resolve(served.url)));
    load.until(() => false).catch(() => undefined);
    await within(
      LIMIT_MS,
      "enough emails",
      load.until(() => load.accepted.size > 150 + 70 * round),
    );
    const daemon = daemonPid(world);
    expect(isDaemon(daemon)).toBe(true);
    isLost = true;
    await loseMachine(served, daemon);
    lost.reject(new Error("the machine is lost"));
    await load.stop().catch(() => undefined);
    expect(bugsOf(served)).toEqual([]);
    const known = emailsInReplica(world);
    for (const subject of load.accepted.keys()) expect(known.has(subject)).toBe(true);
    // Whoever takes over sends none of them again unmarked.
    for (const { subject } of mx.arrivals) {
      const queue = known.get(subject)?.queue;
      const isKnown = queue === null || (queue?.isInFlight === true && queue.dotAt !== null);
      expect({ subject, isKnown }).toEqual({ subject, isKnown: true });
      if (queue !== null) doubtful += 1;
    }
    accepted += load.accepted.size;
    dots += mx.arrivals.length;
  }
  console.log(`machines lost: ${ROUNDS}; ${accepted} answered 202, ${dots} dots, ${doubtful} of them in doubt`);
  expect(dots).toBeGreaterThan(0);
});

test.skipIf(!hasDaemon)("while the replica takes nothing, nothing is accepted and no dot goes out", async () => {
  await using of = await createKept();
  const { world, mx, copies } = of;
  await using served = await world.serve();
  const load = of.load(() => Promise.resolve(served.url));
  await within(
    LIMIT_MS,
    "some emails",
    load.until(() => load.accepted.size > 50),
  );
  renameSync(copies, `${copies}.away`);
  writeFileSync(copies, "no folder");
  const post = (subject: string) =>
    call(served.url, world.key, {
      method: "POST",
      path: "/api/v1/emails",
      body: emailTo("a@one.test", subject),
      idempotencyKey: subject,
    });
  await waitUntil("it is noticed", 9_000, async () => !(await fetch(`${served.url}/ready`)).ok);
  const refused = await post("refused");
  expect([refused.status, refused.body.errors[0].code]).toEqual([503, "UNAVAILABLE"]);
  const ready = await fetch(`${served.url}/ready`);
  expect([ready.status, JSON.stringify(await ready.json())]).toEqual([
    503,
    expect.stringMatching(/the replica is more than 5 s behind/),
  ]);
  // Who was answered before the replica went may still be on its way; then it is quiet.
  await Bun.sleep(1_000);
  const before = mx.arrivals.length;
  await Bun.sleep(3_000);
  expect(mx.arrivals.length).toBe(before);
  rmSync(copies);
  renameSync(`${copies}.away`, copies);
  await waitUntil("it goes on", LIMIT_MS, async () => (await post("refused")).status === 202);
  await waitUntil("it is ready", LIMIT_MS, async () => (await fetch(`${served.url}/ready`)).ok);
  await load.stop();
  await within(
    LIMIT_MS,
    "all mail",
    mx.until(() => mx.distinct >= load.accepted.size + 1),
  );
  // Nobody was in doubt: what waited had not sent its dot.
  expect(mx.arrivals.length).toBe(mx.distinct);
  await stopInOrder(served);
  expectAllInReplica(world, load);
});
