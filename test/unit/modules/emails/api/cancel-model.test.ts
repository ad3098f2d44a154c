// Random cancels and retries among claims, attempts, crashes and stops, against one rule book: an
// email answered `canceled` is never attempted again, nothing runs twice at once, nothing is lost.
import { expect, test } from "bun:test";
import { DiskGuard } from "../../../../../src/platform/db/disk-guard.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { cancelEmail } from "../../../../../src/modules/emails/api/cancel.ts";
import { retryEmail } from "../../../../../src/modules/emails/api/retry.ts";
import { endEmail } from "../../../../../src/modules/emails/events.ts";
import { getStatus } from "../../../../../src/modules/emails/api/serialize.ts";
import { type EmailStore, openEmailStore, USUAL } from "../../../../../src/modules/emails/store/store.ts";
import type { AttemptContext, JobResult } from "../../../../../src/platform/queue/handler.ts";
import {
  type EmailJob,
  type EmailState,
  openQueueStore,
  type QueueStore,
} from "../../../../../src/modules/emails/queue/store.ts";
import { Worker } from "../../../../../src/platform/queue/worker.ts";
import { seeded, type TemporaryDatabase, temporaryDatabase, turn } from "../../../../support/db/temporary.ts";
import { type FakeClock, fakeClock } from "../../../../support/fakes/clock.ts";
import { countRows } from "../../../../support/queue/kit.ts";

const STEPS = 500;
const MINUTE = 60_000;
const SCOPE = { workspaceId: 1, domainId: null };
const FINALS = ["delivered", "bounced", "canceled"];

/** From a start to the crash or stop that ends it. */
interface Life {
  isOver: boolean;
  worker: Worker;
}

interface Attempt {
  job: EmailJob;
  context: AttemptContext;
  end(result: JobResult<EmailState>): void;
  fail(error: Error): void;
  isEnding: boolean;
}

interface World extends Disposable {
  of: TemporaryDatabase;
  emails: EmailStore;
  recordEvent: () => void;
  queue: QueueStore;
  clock: FakeClock;
  guard: DiskGuard;
  random: () => number;
  uids: string[];
  running: Map<number, Attempt>;
  /** How often the recipient's server took each email whole, by its integer id. */
  arrivals: Map<number, number>;
  /** Answered with 200. */
  canceled: Set<number>;
  /** What broke the rules. */
  breaches: string[];
  answers: Record<string, number>;
}

function world(seed: number): World {
  const of = temporaryDatabase();
  const clock = fakeClock();
  const guard = new DiskGuard({
    committer: of.committer,
    probe: () => undefined,
    clock,
    log: { error: () => undefined },
    limits: { minFreeBytes: 0, minFreeInodesPercent: 0 },
    readFree: () => ({ freeBytes: 1e12, freeInodesPercent: 100 }),
    changed: () => undefined,
  });
  return {
    ...{
      of,
      clock,
      guard,
      random: seeded(seed),
      emails: openEmailStore(of.db),
      recordEvent: () => undefined,
      queue: openQueueStore(of.db),
    },
    ...{ uids: [], running: new Map(), arrivals: new Map(), canceled: new Set(), breaches: [], answers: {} },
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

/** The commit and clock of a process that may be killed: what it had queued is then lost with it. */
function mortal(on: World, life: Pick<Life, "isOver">) {
  const commit = <T>(work: () => T): Promise<T> => {
    const alive = () => {
      if (life.isOver) throw new Error("killed");
      return work();
    };
    return new Promise((resolve, reject) => {
      on.of.committer.commit(alive as () => never).then(
        (value) => void (life.isOver || resolve(value)),
        (error: unknown) => void (life.isOver || reject(error as Error)),
      );
    });
  };
  const clock = {
    now: () => on.clock.now(),
    after: (delayMs: number, run: () => void) => on.clock.after(delayMs, () => void (life.isOver || run())),
  };
  return { commit: commit as TemporaryDatabase["committer"]["commit"], clock };
}

function log(on: World) {
  return {
    event: () => undefined,
    error(where: string, error: unknown) {
      if (!String(error).includes("planted")) on.breaches.push(`bug in ${where}: ${String(error)}`);
    },
  };
}

async function begin(on: World): Promise<Life> {
  on.running.clear();
  const life = { isOver: false };
  const worker = new Worker({
    queue: on.queue,
    handler: {
      attempt: (job, context) => {
        expectMayStart(on, job);
        return new Promise((resolve, fail) =>
          on.running.set(job.id, { job, context, end: resolve, fail, isEnding: false }),
        );
      },
      recordUncertain: ({ id }) => on.emails.setPossibleDuplicate(id),
    },
    ...mortal(on, life),
    guard: on.guard,
    random: { bytes: (count) => new Uint8Array(count), unit: on.random },
    log: log(on),
    scheduleMs: [MINUTE, 5 * MINUTE],
    maxJobs: 40,
    maxJobsPerLane: 10,
  });
  const started = Object.assign(life, { worker });
  await worker.start();
  return started;
}

function expectMayStart(on: World, job: EmailJob): void {
  const email = on.emails.findForDelivery(job.id)?.email;
  if (on.canceled.has(job.id) || email?.status !== "queued") on.breaches.push(`${job.id} is begun as ${email?.status}`);
  if (on.running.has(job.id)) on.breaches.push(`${job.id} runs twice`);
}

async function accept(on: World, life: Life): Promise<void> {
  const uid = crypto.randomUUID();
  const destination = `d${Math.floor(on.random() * 4)}.example`;
  const now = on.clock.now();
  const { laneId } = await on.of.committer.commit(() => {
    const id = on.emails.insert({
      ...USUAL,
      ...{
        uid,
        workspaceId: 1,
        domainId: 1,
        sender: "a@loja.test",
        senderAddress: "loja@loja.test",
        senderDomain: "loja.test",
      },
      ...{
        recipient: `x@${destination}`,
        recipientAddress: "maria@example.com",
        subject: "x",
        replyTo: null,
        returnPath: "b@loja.test",
        createdAt: now,
      },
      body: { content: Buffer.from("x"), htmlBytes: null, textBytes: 1, encoding: "plain", mime: null },
    });
    on.emails.addTotal({ workspaceId: 1, domainId: 1, status: "queued" }, 1);
    const lane = on.queue.laneFor(1, destination);
    on.queue.add({ workspaceId: 1, domainId: 1, createdAt: now, id, laneId: lane, nextAt: now, expiresAt: now + 1e9 });
    return { laneId: lane };
  });
  on.uids.push(uid);
  life.worker.nudge(laneId, now);
}

async function ask(on: World, life: Life, what: "cancel" | "retry"): Promise<void> {
  const uid = on.uids[Math.floor(on.random() * on.uids.length)];
  if (uid === undefined) return;
  const nudge = (laneId: number, dueAt: number) => life.worker.nudge(laneId, dueAt);
  const parts = { ...on, ...mortal(on, life), log: log(on), nudge };
  try {
    const found = await (what === "cancel" ? cancelEmail(SCOPE, uid, parts) : retryEmail(SCOPE, uid, parts));
    on.answers[`${what} ok`] = (on.answers[`${what} ok`] ?? 0) + 1;
    if (found === null) on.breaches.push(`${uid} is unknown`);
    else if (what === "cancel") expectCanceled(on, found.email.id);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const state = /^It is (\w+)/.exec(error.hint ?? "")?.[1] ?? error.message;
    on.answers[`${what} ${state}`] = (on.answers[`${what} ${state}`] ?? 0) + 1;
    if (what === "cancel" && (state === "queued" || state === "delivery_delayed"))
      on.breaches.push(`${uid} waits and is not canceled`);
  }
}

function expectCanceled(on: World, id: number): void {
  if (on.canceled.has(id)) on.breaches.push(`${id} is canceled twice`);
  if (on.running.has(id)) on.breaches.push(`${id} is canceled while it runs`);
  on.canceled.add(id);
}

type Result = JobResult<EmailState>;

function resultOf(on: World, attempt: Attempt, action: Result["action"], record: () => void): Result {
  return {
    action,
    isReached: true,
    record(ownsRow) {
      on.running.delete(attempt.job.id);
      if (ownsRow) record();
      else on.breaches.push(`${attempt.job.id} was taken from its attempt`);
    },
  };
}

/** Ends an attempt in one of the ways that an attempt can end. */
async function end(on: World, attempt: Attempt, how = on.random()): Promise<void> {
  attempt.isEnding = true;
  const { id, attempt: attempts } = attempt.job;
  const finish = (status: "delivered" | "bounced") => {
    const times = { endedAt: on.clock.now(), sentAt: null, deliveredAt: null };
    attempt.end(resultOf(on, attempt, { kind: "complete" }, () => endEmail(id, { status, ...times, attempts }, on)));
  };
  const defer = (record: () => void) =>
    attempt.end(
      resultOf(on, attempt, { kind: "retry", at: null, state: { lastReply: "later", badDomainAt: null } }, record),
    );
  if (how < 0.3) return defer(() => undefined);
  if (how < 0.4) return finish("bounced");
  if (how < 0.5) {
    on.running.delete(id);
    return how < 0.45
      ? attempt.fail(new Error("planted"))
      : attempt.end({ action: { kind: "release" }, isReached: null });
  }
  await attempt.context.markPointOfNoReturn();
  on.arrivals.set(id, (on.arrivals.get(id) ?? 0) + 1);
  if (on.canceled.has(id)) on.breaches.push(`${id} arrives after it was canceled`);
  await turn(Math.floor(on.random() * 3));
  if (how < 0.6) defer(() => on.emails.setPossibleDuplicate(id));
  else finish("delivered");
}

/** The next life, after a crash at any moment or a stop in order. */
async function endLife(on: World, life: Life): Promise<Life> {
  if (on.random() < 0.5) {
    life.isOver = true;
    await turn(2);
  } else {
    const stopped = life.worker.stop(0);
    while (on.running.size > 0) {
      for (const attempt of on.running.values()) if (!attempt.isEnding) void end(on, attempt);
      void ask(on, life, on.random() < 0.5 ? "cancel" : "retry");
      await turn();
    }
    await stopped;
    life.isOver = true;
  }
  return begin(on);
}

async function step(on: World, life: Life): Promise<Life> {
  const choice = on.random();
  const idle = [...on.running.values()].filter(({ isEnding }) => !isEnding);
  const attempt = idle[Math.floor(on.random() * idle.length)];
  if (choice < 0.25) void accept(on, life);
  else if (choice < 0.4) void ask(on, life, "cancel");
  else if (choice < 0.6) void ask(on, life, "retry");
  else if (choice < 0.85) void (attempt === undefined ? undefined : end(on, attempt));
  else if (choice < 0.97) on.clock.advance(Math.floor(on.random() * 3 * MINUTE));
  else return endLife(on, life);
  // Often none, so that several of them share a transaction.
  await turn(Math.floor(on.random() * 3));
  return life;
}

/** Lets everything that still waits be delivered. */
async function drain(on: World): Promise<void> {
  for (let round = 0; countRows(on.of.db) > 0; round += 1) {
    if (round > 10_000) throw new Error("it does not come to its end");
    on.clock.advance(MINUTE);
    for (const attempt of on.running.values()) if (!attempt.isEnding) void end(on, attempt, 1);
    await turn(4);
  }
  await turn(4);
}

function expectWhole(on: World): void {
  const counted: Record<string, number> = {};
  for (const uid of on.uids) {
    const found = on.emails.findState(SCOPE, uid);
    if (found === undefined) throw new Error(`${uid} is lost`);
    const { email } = found;
    const state = getStatus(found);
    counted[state] = (counted[state] ?? 0) + 1;
    const arrived = on.arrivals.get(email.id) ?? 0;
    if (!FINALS.includes(state) || found.queue !== null) on.breaches.push(`${email.id} ends as ${state}`);
    if (on.canceled.has(email.id) && state !== "canceled") on.breaches.push(`${email.id} was canceled and is ${state}`);
    const least = state === "delivered" ? 1 : 0;
    if (arrived < least || (arrived > least && !email.possibleDuplicate))
      on.breaches.push(`${email.id} is ${state} and arrived ${arrived} times`);
  }
  const totals = on.of.db.sqlite
    .query<{ status: string; count: number }, []>("SELECT status, count FROM email_total WHERE count <> 0")
    .all();
  expect(Object.fromEntries(totals.map(({ status, count }) => [status, count]))).toEqual(counted);
  expect(on.breaches).toEqual([]);
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`cancels and retries among attempts, crashes and stops lose and double nothing (seed ${seed})`, async () => {
    using on = world(seed);
    on.guard.start();
    let life = await begin(on);
    for (let done = 0; done < STEPS; done += 1) life = await step(on, life);
    await turn(4);
    await drain(on);
    await life.worker.stop(0);
    expectWhole(on);
    // The walk has been to the places it is for.
    for (const answer of ["cancel ok", "cancel sending", "cancel canceled", "retry ok", "retry sending"])
      expect([answer, (on.answers[answer] ?? 0) > 0]).toEqual([answer, true]);
    expect(on.uids.length).toBeGreaterThan(60);
    void on.guard.stop();
  });
}
