// kill -9 under load, again and again. What was answered with 202 arrives; what arrives twice is
// exactly what was between its final dot and the record of its answer when the process was killed
//, and says so; a request repeated under its Idempotency-Key is one email.
import { expect, setDefaultTimeout, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { spawnPombo, within } from "./child.ts";
import { type Arrival, type CountingMx, startCountingMx } from "./counting-mx.ts";
import { type Load, startLoad } from "./load.ts";
import { queueDepth, readEmails, type StoredEmail } from "./stored.ts";
import { bugsOf, call, createWorld, type Served, type World } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const CUSTOMERS = 6;
const ROUND_LIMIT_MS = 30_000;
const DRAIN_LIMIT_MS = 60_000;
/** The mail server takes this long at most over a dot, so that kills find messages in between. */
const SLOWEST_ANSWER_MS = 30;
const REPEATED = 200;
/** A kill comes at most so many answers, or arrivals, after a start, or so long after the process was made. */
const LATEST = { answers: 300, arrivals: 300, bootMs: 400 };

setDefaultTimeout((ROUNDS + 3) * ROUND_LIMIT_MS);

/** What a kill left: read before the next start. */
interface Remains {
  /** Messages seen at the mail server until then, by id. */
  arrivals: Map<string, number>;
  emails: Map<string, StoredEmail>;
}

test("after kill -9 at any moment nothing accepted is lost, and only what was in between arrives twice", async () => {
  console.log(`kill: ${ROUNDS} rounds, SEED=${SEED}`);
  const random = seeded(SEED);
  const answerTimes = seeded(SEED + 1);
  await using mx = await startCountingMx(() => answerAfter(answerTimes() * SLOWEST_ANSWER_MS));
  await using world = await createWorld({ mxPort: mx.port });

  let serving = Promise.withResolvers<Served>();
  const load = startLoad({
    key: world.key,
    customers: CUSTOMERS,
    url: async () => (await serving.promise).url,
    delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
  });
  const remains: Remains[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const moment = chooseMoment(random);
    if (moment.kind === "boot") {
      await killAtBoot(world, moment.afterMs);
    } else {
      await using process = await world.serve();
      serving.resolve(process);
      await within(ROUND_LIMIT_MS, `${moment.count} ${moment.kind}`, waitFor(moment, load, mx));
      serving = Promise.withResolvers<Served>();
      process.signal("SIGKILL");
      expect(await process.ended).toEqual({ code: null, signal: "SIGKILL" });
      expect(bugsOf(process)).toEqual([]);
    }
    remains.push(await readRemains(world, mx));
  }

  await using last = await world.serve();
  serving.resolve(last);
  const before = load.accepted.size;
  await within(
    ROUND_LIMIT_MS,
    "more answers",
    load.until(() => load.accepted.size > before + 20),
  );
  await load.stop();
  await waitUntil("the queue is empty", DRAIN_LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  await expectDoublesMarked(last, world, mx);
  await expectReplays(load);
  last.signal("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(last)).toEqual([]);

  const stored = readEmails(world.dataDir);
  expectNothingLost(load, mx, stored);
  expectOneEmailPerKey(load, stored);
  expectDoublesExplained(mx, remains, stored);
  tell(load, mx, remains);
});

type Moment = { kind: "answers" | "arrivals"; count: number } | { kind: "boot"; afterMs: number };

function chooseMoment(random: () => number): Moment {
  const choice = random();
  if (choice < 0.2) return { kind: "boot", afterMs: Math.floor(random() * LATEST.bootMs) };
  const kind = choice < 0.5 ? "answers" : "arrivals";
  return { kind, count: 1 + Math.floor(random() * LATEST[kind]) };
}

function waitFor(moment: Exclude<Moment, { kind: "boot" }>, load: Load, mx: CountingMx): Promise<void> {
  const isAnswers = moment.kind === "answers";
  const count = () => (isAnswers ? load.accepted.size : mx.arrivals.length);
  const target = count() + moment.count;
  return (isAnswers ? load : mx).until(() => count() >= target);
}

/** Whatever it was doing by then: opening the database, freeing what an earlier kill left, or sending already. */
async function killAtBoot(world: World, afterMs: number): Promise<void> {
  await using process = spawnPombo(["serve", "--config", world.configFile]);
  await answerAfter(afterMs);
  process.signal("SIGKILL");
  await process.ended;
  expect(bugsOf(process)).toEqual([]);
}

function answerAfter(delayMs: number): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve("250 2.0.0 Ok"), delayMs));
}

/** What arrived and what the database says, while nothing runs. */
async function readRemains(world: World, mx: CountingMx): Promise<Remains> {
  // What the killed process had written may still be on its way through the kernel.
  await within(
    ROUND_LIMIT_MS,
    "the end of the connections",
    mx.until(() => mx.openConnections === 0),
  );
  return { arrivals: countById(mx.arrivals), emails: readEmails(world.dataDir) };
}

function countById(arrivals: readonly Arrival[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { messageId } of arrivals) counts.set(idOf(messageId), (counts.get(idOf(messageId)) ?? 0) + 1);
  return counts;
}

function idOf(messageId: string): string {
  return messageId.split("@")[0] ?? "";
}

function doublesOf(mx: CountingMx): string[] {
  return [...countById(mx.arrivals)].filter(([, count]) => count > 1).map(([id]) => id);
}

async function expectDoublesMarked(served: Served, world: World, mx: CountingMx): Promise<void> {
  for (const id of doublesOf(mx)) {
    const { body } = await call(served.url, world.key, { path: `/api/v1/emails/${id}` });
    expect(body.data).toMatchObject({ id, status: "delivered", possibleDuplicate: true });
  }
}

/** What was answered before any of the kills is answered the same again, and is nothing new. */
async function expectReplays(load: Load): Promise<void> {
  for (const subject of load.keyed().slice(0, REPEATED)) {
    const reply = await load.repeat(subject);
    expect({
      status: reply.status,
      id: reply.body.data.id,
      isReplay: reply.headers.get("idempotent-replayed"),
    }).toEqual({
      status: 202,
      id: load.accepted.get(subject),
      isReplay: "true",
    });
  }
}

function expectNothingLost(load: Load, mx: CountingMx, stored: Map<string, StoredEmail>): void {
  const arrived = countById(mx.arrivals);
  expect([...load.accepted.values()].filter((id) => !arrived.has(id))).toEqual([]);
  expect([...load.accepted.values()].filter((id) => stored.get(id)?.status !== "delivered")).toEqual([]);
  // Nor anything whose answer the kill took away: it was kept or it was not, and then it was delivered.
  expect([...stored.values()].filter((email) => email.status !== "delivered" || !arrived.has(email.uid))).toEqual([]);
  expect([...arrived.keys()].filter((id) => !stored.has(id))).toEqual([]);
}

function expectOneEmailPerKey(load: Load, stored: Map<string, StoredEmail>): void {
  const bySubject = Map.groupBy(stored.values(), (email) => email.subject);
  expect([...bySubject].filter(([, emails]) => emails.length > 1)).toEqual([]);
  for (const [subject, id] of load.accepted) expect(bySubject.get(subject)?.[0]?.uid).toBe(id);
}

/** What may come twice: in flight at a kill, its dot recorded as about to be written. */
function inBetween({ emails }: Remains): StoredEmail[] {
  return [...emails.values()].filter((email) => email.queue?.isInFlight === true && email.queue.dotAt !== null);
}

function expectDoublesExplained(mx: CountingMx, remains: Remains[], stored: Map<string, StoredEmail>): void {
  const allowed = new Map<string, number>();
  const suspects = new Set<string>();
  for (const [index, remain] of remains.entries()) {
    const earlier = remains[index - 1]?.arrivals;
    for (const { uid } of inBetween(remain)) {
      suspects.add(uid);
      // It did arrive between the last kill and this one, and its answer was not recorded.
      if ((remain.arrivals.get(uid) ?? 0) > (earlier?.get(uid) ?? 0)) allowed.set(uid, (allowed.get(uid) ?? 0) + 1);
    }
  }
  const extra = new Map(
    [...countById(mx.arrivals)].filter(([, count]) => count > 1).map(([id, count]) => [id, count - 1]),
  );
  // Each of them exactly as often as it had to be sent again, and nothing else.
  expect(extra).toEqual(allowed);
  const marked = [...stored.values()].filter((email) => email.possibleDuplicate).map((email) => email.uid);
  expect(new Set(marked)).toEqual(suspects);
  for (const id of extra.keys()) {
    const copies = mx.arrivals.filter((arrival) => idOf(arrival.messageId) === id);
    // The same message in the same envelope (R28, R35).
    expect(new Set(copies.map(({ messageId, from, to }) => `${messageId} ${from} ${to}`)).size).toBe(1);
  }
}

function tell(load: Load, mx: CountingMx, remains: Remains[]): void {
  const unanswered = mx.arrivals.filter((arrival) => arrival.answeredAt === null).length;
  const open = remains.reduce((sum, remain) => sum + inBetween(remain).length, 0);
  console.log(
    `kill: ${load.accepted.size} accepted, ${load.retries} requests repeated under their key (${load.replays} got the first answer again), ${load.unknown.size} without an answer; ` +
      `${remains.length} kills, ${open} messages between dot and record at a kill, ${mx.arrivals.length} arrivals, ` +
      `${doublesOf(mx).length} arrived twice (${unanswered} arrivals had not been answered when the connection broke)`,
  );
}

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
