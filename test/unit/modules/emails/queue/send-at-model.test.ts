// Scheduled rows in a random history of claims, deferrals, releases, crashes and retries under a clock that is set on and back:
// no attempt begins before its row's time by the clock of that moment, and none waits longer than it must.

import { expect, test } from "bun:test";
import { openQueueStore, type EmailJob } from "../../../../../src/modules/emails/queue/store.ts";
import { Committer } from "../../../../../src/platform/db/group-commit.ts";
import { openDatabase } from "../../../../../src/platform/db/open.ts";
import { emailQueue } from "../../../../../src/platform/db/schema/schema.ts";
import { freeInterrupted, reschedule } from "../../../../../src/platform/queue/recover.ts";
import { seeded } from "../../../../support/db/temporary.ts";

const STEPS = 1_500;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DELAY = 5 * MINUTE;
const OWNER = { workspaceId: 1, domainId: 1 };
/** Far from the end, where this is about the time. */
const LIFE = 1e12;

for (const seed of [1, 2, 3, 4]) {
  test(`no attempt begins before its time, whatever the clock does (seed ${seed})`, async () => {
    const random = seeded(seed);
    const db = openDatabase(":memory:");
    const { commit } = new Committer(db);
    const counted = { scheduled: 0, delivery_delayed: 0 };
    const queue = openQueueStore(db, { changed: (_, state, change) => void (counted[state] += change) });
    const laneId = queue.laneFor(1, "example.com");
    let now = Date.UTC(2026, 10, 21);
    let nextId = 1;
    let running: EmailJob[] = [];
    const seen = { early: 0, claims: 0, back: 0, rescheduled: 0 };
    const deps = {
      ...{ queue, commit, handler: { recordUncertain: () => undefined } },
      clock: { now: () => now, after: () => () => undefined },
      random: { bytes: (count: number) => new Uint8Array(count), unit: random },
      log: { event: () => undefined, error: () => undefined },
      failed: { keep: () => undefined, has: () => false, getName: String },
      freed: () => undefined,
    };
    const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
    const takeRunning = (): EmailJob | undefined => {
      const job = pick(running);
      running = running.filter((one) => one !== job);
      return job;
    };
    const rows = () => db.orm.select().from(emailQueue).all();

    const steps: (() => unknown)[] = [
      () => {
        const at = random() < 0.3 ? null : now + Math.floor(random() * 3 * HOUR);
        const times = { createdAt: now, nextAt: at ?? now, sendAt: at, expiresAt: (at ?? now) + LIFE };
        queue.add({ ...OWNER, ...times, id: nextId, laneId });
        nextId += 1;
      },
      () => {
        const before = new Map(rows().map((row) => [row.id, row.sendAt]));
        const claimed = queue.claim({ laneId, now, limit: 3, retryAt: () => now + DELAY });
        seen.claims += claimed.length;
        seen.early += claimed.filter(({ id }) => (before.get(id) ?? 0) > now).length;
        running.push(...claimed);
      },
      () => {
        const job = takeRunning();
        if (job !== undefined)
          queue.retry(job, { nextAt: now + DELAY, state: { lastReply: "451 Later", badDomainAt: null } });
      },
      () => {
        const job = takeRunning();
        if (job !== undefined) queue.release({ ...job, dueAt: Math.min(job.dueAt, now) });
      },
      () => {
        const job = random() < 0.3 ? takeRunning() : undefined;
        if (job !== undefined) queue.complete(job);
      },
      // The process dies.
      () => {
        if (random() > 0.2) return;
        running = [];
        return freeInterrupted(deps);
      },
      () => void queue.makeDomainDue(OWNER, now, 5),
      () => void queue.retryNow(Math.floor(random() * nextId), now),
      () => {
        const id = Math.floor(random() * nextId);
        const sendAt = now + Math.floor(random() * HOUR);
        const [row] = rows().filter((one) => one.id === id);
        const isScheduled = row?.sendAt !== null && row?.attempts === 0;
        const head = queue.reschedule(id, { sendAt, expiresAt: sendAt + LIFE });
        expect(head).toEqual(row !== undefined && isScheduled ? { laneId, dueAt: sendAt } : null);
        if (head !== null) seen.rescheduled += 1;
      },
      () => void (now += Math.floor(random() * 20 * MINUTE)),
      // Set on, and back.
      () => void (now += random() < 0.3 ? 24 * HOUR : 0),
      () => {
        if (random() > 0.3) return;
        now -= 24 * HOUR;
        seen.back += 1;
        return reschedule(deps);
      },
    ];
    for (let step = 0; step < STEPS; step += 1) await pick(steps)?.();

    // What is running ends, the clock is right again, and everything goes on its time.
    for (const job of running) queue.release({ ...job, dueAt: Math.min(job.dueAt, now) });
    await reschedule(deps);
    const left = rows();
    expect(counted).toEqual({
      scheduled: left.filter(({ state }) => state === "scheduled").length,
      delivery_delayed: left.filter(({ state }) => state === "delivery_delayed").length,
    });
    for (const { id, nextAt, sendAt } of left)
      expect([id, nextAt <= Math.max(sendAt ?? 0, now + 3 * HOUR)]).toEqual([id, true]);
    now = Math.max(now, ...left.map(({ nextAt }) => nextAt));
    for (const job of queue.claim({ laneId, now, limit: left.length, retryAt: () => now + DELAY })) queue.complete(job);
    expect(rows()).toEqual([]);
    expect(counted).toEqual({ scheduled: 0, delivery_delayed: 0 });
    expect(seen.early).toBe(0);
    expect(seen.claims > 50 && seen.back > 10 && seen.rescheduled > 5).toBe(true);
    db.close();
  });
}

test("a first attempt that a clock set on brought early is not followed by a second one before its time", async () => {
  const db = openDatabase(":memory:");
  const { commit } = new Committer(db);
  const queue = openQueueStore(db);
  const laneId = queue.laneFor(1, "example.com");
  const start = Date.UTC(2026, 10, 21);
  const sendAt = start + 5 * HOUR;
  let now = start;
  const clock = { now: () => now, after: () => () => undefined };
  const claim = () => queue.claim({ laneId, now, limit: 1, retryAt: () => now + MINUTE });
  queue.add({ ...OWNER, id: 1, laneId, createdAt: start, nextAt: sendAt, sendAt, expiresAt: sendAt + LIFE });
  expect(claim()).toEqual([]);
  now = start + 24 * HOUR;
  const [early] = claim();
  if (early === undefined) throw new Error("its time has come by this clock");
  queue.retry(early, { nextAt: now + MINUTE, state: { lastReply: "451 Later", badDomainAt: null } });
  now = start + HOUR;
  await reschedule({ queue, commit, clock });
  expect(queue.findHead(laneId)?.dueAt).toBe(sendAt);
  now = sendAt - 1;
  expect(claim()).toEqual([]);
  now = sendAt;
  expect(claim()).toMatchObject([{ id: 1, attempt: 2 }]);
  db.close();
});
