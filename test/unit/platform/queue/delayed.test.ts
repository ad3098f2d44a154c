import { describe, expect, test } from "bun:test";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import type { Job } from "../../../../src/platform/queue/job.ts";
import { openQueueStore, type QueueStore } from "../../../../src/modules/emails/queue/store.ts";

const NOW = Date.UTC(2026, 10, 21);

interface Queue extends Disposable {
  store: QueueStore;
  /** What it told of rows so far, with whose they were; without a state: of delayed ones. */
  told: [workspaceId: number, domainId: number, change: number, state?: "scheduled"][];
  add(id: number, sendAt?: number): void;
  claim(): Job[];
}

function queue(): Queue {
  const db = openDatabase(":memory:");
  const told: Queue["told"] = [];
  const store = openQueueStore(db, {
    changed: ({ workspaceId, domainId }, state, change) =>
      void told.push([
        workspaceId,
        domainId,
        change,
        ...(state === "scheduled" ? [state] : []),
      ] as Queue["told"][number]),
  });
  const laneId = store.laneFor(7, "example.com");
  return {
    store,
    told,
    add: (id, sendAt) =>
      store.add({
        ...{ workspaceId: 7, domainId: 8, createdAt: NOW, id, laneId, nextAt: NOW, expiresAt: NOW + 1e9 },
        ...(sendAt === undefined ? {} : { sendAt }),
      }),
    claim: () => store.claim({ laneId, now: NOW, limit: 10, retryAt: () => NOW }),
    [Symbol.dispose]: () => db.close(),
  };
}

function only(jobs: Job[]): Job {
  const [job, ...others] = jobs;
  if (job === undefined || others.length > 0) throw new Error(`${jobs.length} were claimed`);
  return job;
}

const MORE: Queue["told"][number] = [7, 8, 1];
const LESS: Queue["told"][number] = [7, 8, -1];
const MORE_SCHEDULED: Queue["told"][number] = [7, 8, 1, "scheduled"];
const LESS_SCHEDULED: Queue["told"][number] = [7, 8, -1, "scheduled"];

describe("of delayed rows the queue tells", () => {
  const later = { nextAt: NOW, state: { lastReply: null, badDomainAt: null } };

  test("nothing while a row comes in, is tried once and is done", () => {
    using on = queue();
    on.add(1);
    const job = only(on.claim());
    on.store.markPointOfNoReturn(job, NOW);
    on.store.complete(job);
    expect(on.told).toEqual([]);
  });

  test("when its first attempt puts it off, and not again at the next ones", () => {
    using on = queue();
    on.add(1);
    for (let attempt = 1; attempt <= 3; attempt++) on.store.retry(only(on.claim()), later);
    on.store.retryNow(1, NOW);
    on.store.release(only(on.claim()));
    expect(on.told).toEqual([MORE]);
    on.store.complete(only(on.claim()));
    expect(on.told).toEqual([MORE, LESS]);
  });

  test("nothing of a first attempt that is given back, or of a row taken off before it", () => {
    using on = queue();
    on.add(1);
    on.store.release(only(on.claim()));
    on.store.removeWaiting(1);
    expect(on.told).toEqual([]);
  });

  test("when a delayed row is taken off", () => {
    using on = queue();
    on.add(1);
    on.store.retry(only(on.claim()), later);
    expect(on.store.removeWaiting(1)).toBe(1);
    expect(on.told).toEqual([MORE, LESS]);
  });

  test("when a first attempt is freed after a crash; what its attempt says then changes nothing twice", () => {
    using on = queue();
    for (const id of [1, 2, 3]) on.add(id);
    const jobs = on.claim();
    for (const { id, attempt } of jobs) on.store.freeInterrupted({ id, attempts: attempt }, NOW);
    expect(on.told).toEqual([MORE, MORE, MORE]);
    on.told.length = 0;
    const [first, second, third] = jobs;
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were claimed");
    on.store.retry(first, later);
    on.store.release(second);
    on.store.complete(third);
    // All three wait as they were freed, and stay delayed.
    expect(on.told).toEqual([]);
  });

  test("nothing when the row is no longer the attempt's", () => {
    using on = queue();
    on.add(1);
    const old = only(on.claim());
    on.store.freeInterrupted({ id: 1, attempts: old.attempt }, NOW);
    on.claim();
    on.told.length = 0;
    on.store.retry(old, later);
    on.store.release(old);
    on.store.complete(old);
    expect(on.told).toEqual([]);
  });
});

describe("of scheduled rows the queue tells", () => {
  const later = { nextAt: NOW, state: { lastReply: null, badDomainAt: null } };

  test("when one comes in, and when it is done, whether its attempt runs or not", () => {
    using on = queue();
    on.add(1, NOW);
    on.add(2, NOW);
    on.store.removeWaiting(2);
    const job = only(on.claim());
    expect(on.told).toEqual([MORE_SCHEDULED, MORE_SCHEDULED, LESS_SCHEDULED]);
    on.store.complete(job);
    expect(on.told.at(-1)).toEqual(LESS_SCHEDULED);
  });

  test("that its first attempt made a delayed one of it", () => {
    using on = queue();
    on.add(1, NOW);
    on.store.release(only(on.claim()));
    expect(on.told).toEqual([MORE_SCHEDULED]);
    on.store.retry(only(on.claim()), later);
    expect(on.told).toEqual([MORE_SCHEDULED, LESS_SCHEDULED, MORE]);
    on.store.retry(only(on.claim()), later);
    on.store.complete(only(on.claim()));
    expect(on.told).toEqual([MORE_SCHEDULED, LESS_SCHEDULED, MORE, LESS]);
  });
});
