import { describe, expect, test } from "bun:test";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { type Db, openDatabase } from "../../../../../src/platform/db/open.ts";
import { emailQueue } from "../../../../../src/platform/db/schema/schema.ts";
import { type EmailJob, openQueueStore, type QueueStore } from "../../../../../src/modules/emails/queue/store.ts";
import { cpuTime } from "../../../../support/cpu-time.ts";

const NOW = Date.UTC(2026, 10, 21);
const MINUTE = 60_000;
const LIFE = 72 * 60 * MINUTE;

interface Queue extends Disposable {
  db: Db;
  store: QueueStore;
  /** A lane of its own. */
  lane: number;
  row(id: number): typeof emailQueue.$inferSelect | undefined;
  add(id: number, nextAt?: number, laneId?: number): void;
  claim(now?: number, limit?: number, laneId?: number): EmailJob[];
}

function queue(log?: (sql: string) => void): Queue {
  const db = openDatabase(":memory:");
  const orm = log === undefined ? db.orm : drizzle(db.sqlite, { logger: { logQuery: log } });
  const store = openQueueStore({ ...db, orm });
  const lane = store.laneFor(1, "example.com");
  return {
    db,
    store,
    lane,
    row: (id) =>
      db.orm
        .select()
        .from(emailQueue)
        .all()
        .find((row) => row.id === id),
    add: (id, nextAt = NOW, laneId = lane) =>
      store.add({ workspaceId: 1, domainId: 1, createdAt: NOW, id, laneId, nextAt, expiresAt: NOW + LIFE }),
    claim: (now = NOW, limit = 10, laneId = lane) =>
      store.claim({ laneId, now, limit, retryAt: (attempt) => now + attempt * MINUTE }),
    [Symbol.dispose]: () => db.close(),
  };
}

function only(jobs: EmailJob[]): EmailJob {
  expect(jobs).toHaveLength(1);
  return jobs[0]!;
}

test("a workspace has one lane for each destination", () => {
  using on = queue();
  expect(on.store.laneFor(1, "example.com")).toBe(on.lane);
  const others = [on.store.laneFor(2, "example.com"), on.store.laneFor(1, "example.net")];
  expect(new Set([on.lane, ...others]).size).toBe(3);
});

test("a lane knows its workspace, and one that is not there belongs to none", () => {
  using on = queue();
  expect(on.store.findWorkspace(on.lane)).toBe(1);
  expect(on.store.findWorkspace(on.store.laneFor(2, "example.com"))).toBe(2);
  expect(on.store.findWorkspace(12_345)).toBe(0);
});

describe("a claim", () => {
  test("counts the attempt and postpones the row before anything is sent", () => {
    using on = queue();
    on.add(1);
    const job = only(on.claim());
    expect(job).toEqual({
      id: 1,
      laneId: on.lane,
      attempt: 1,
      startedAt: NOW,
      dueAt: NOW,
      nextAt: NOW + MINUTE,
      expiresAt: NOW + LIFE,
      state: { lastReply: null, badDomainAt: null },
    });
    expect(on.row(1)).toMatchObject({ attempts: 1, inFlight: true, startedAt: NOW, nextAt: NOW + MINUTE, dotAt: null });
  });

  test("takes due rows only, the longest due first, then in the order of their ids, as many as asked for", () => {
    using on = queue();
    on.add(1, NOW);
    on.add(2, NOW - 5);
    on.add(3, NOW - 5);
    on.add(4, NOW + 1);
    on.add(5, NOW, on.store.laneFor(1, "example.net"));
    expect(on.claim(NOW, 2).map((job) => job.id)).toEqual([2, 3]);
    expect(on.claim(NOW, 2).map((job) => job.id)).toEqual([1]);
    expect(on.store.findHead(on.lane)?.dueAt).toBe(NOW + 1);
  });

  test("never takes a row whose attempt runs, however long that takes", () => {
    using on = queue();
    on.add(1);
    only(on.claim());
    expect(on.claim(NOW + LIFE * 10)).toEqual([]);
    expect(on.store.findHead(on.lane)).toBeNull();
  });

  test("never postpones a row past the end of its life, where it has to be told off on time", () => {
    using on = queue();
    on.add(1);
    const late = NOW + LIFE - 10;
    expect(only(on.claim(late)).nextAt).toBe(NOW + LIFE);
  });

  test("of a row that is past the end of its life postpones it all the same, so that it cannot come at once for ever", () => {
    using on = queue();
    on.add(1);
    const late = NOW + LIFE + 10;
    expect(only(on.claim(late)).nextAt).toBe(late + 1);
  });
});

describe("the end of an attempt", () => {
  test("takes the row off the queue", () => {
    using on = queue();
    on.add(1);
    const job = only(on.claim());
    expect(on.store.complete(job)).toBe(true);
    expect(on.row(1)).toBeUndefined();
    expect(on.store.complete(job)).toBe(false);
  });

  test("or puts it back, with what the next attempt has to know", () => {
    using on = queue();
    on.add(1);
    const job = only(on.claim());
    on.store.markPointOfNoReturn(job, NOW + 5);
    expect(on.store.retry(job, { nextAt: NOW + 7, state: { lastReply: "451 later", badDomainAt: NOW } })).toBe(true);
    expect(on.row(1)).toMatchObject({
      nextAt: NOW + 7,
      lastReply: "451 later",
      badDomainAt: NOW,
      inFlight: false,
      dotAt: null,
      attempts: 1,
    });
    expect(on.store.findHead(on.lane)?.dueAt).toBe(NOW + 7);
    expect(only(on.claim(NOW + 7))).toMatchObject({ attempt: 2, state: { lastReply: "451 later", badDomainAt: NOW } });
  });

  test("or gives it back as it was before the claim", () => {
    using on = queue();
    on.add(1, NOW - 3);
    on.store.retry(only(on.claim()), { nextAt: NOW - 1, state: { lastReply: "451", badDomainAt: null } });
    const before = on.row(1);
    on.store.release(only(on.claim()));
    expect(on.row(1)).toEqual({ ...before!, startedAt: NOW });
    expect(on.row(1)).toMatchObject({ attempts: 1, nextAt: NOW - 1, inFlight: false });
  });

  test("notes the dot while the row is still this attempt's", () => {
    using on = queue();
    on.add(1);
    const job = only(on.claim());
    expect(on.store.markPointOfNoReturn(job, NOW + 5)).toBe(true);
    expect(on.row(1)?.dotAt).toBe(NOW + 5);
  });

  test("does nothing to a row that meanwhile belongs to a later attempt", () => {
    using on = queue();
    on.add(1);
    const old = only(on.claim());
    on.store.freeInterrupted({ id: 1, attempts: old.attempt }, NOW);
    const current = only(on.claim());
    expect(current.attempt).toBe(2);
    const before = on.row(1);
    expect(on.store.markPointOfNoReturn(old, NOW)).toBe(false);
    expect(on.store.complete(old)).toBe(false);
    expect(on.store.retry(old, { nextAt: NOW, state: { lastReply: null, badDomainAt: null } })).toBe(false);
    on.store.release(old);
    expect(on.row(1)).toEqual(before);
    expect(on.store.complete(current)).toBe(true);
  });
});

test("a row can be taken off while it waits, but not while its attempt runs", () => {
  using on = queue();
  on.add(1);
  const job = only(on.claim());
  expect(on.store.removeWaiting(1)).toBeNull();
  on.store.retry(job, { nextAt: NOW, state: { lastReply: null, badDomainAt: null } });
  expect(on.store.removeWaiting(1)).toBe(1);
  expect(on.row(1)).toBeUndefined();
  expect(on.store.removeWaiting(1)).toBeNull();
});

test("a row that waits for another attempt can be made due now, and keeps its attempts and its place when it is due already", () => {
  using on = queue();
  on.add(1);
  expect([on.store.retryNow(1, NOW), on.store.retryNow(2, NOW)]).toEqual([null, null]); // before its first; unknown
  const job = only(on.claim());
  expect(on.store.retryNow(1, NOW + 1)).toBeNull();
  on.store.retry(job, { nextAt: NOW + MINUTE, state: { lastReply: "later", badDomainAt: 7 } });
  expect(on.claim(NOW + 1)).toEqual([]);
  for (const now of [NOW + 1, NOW + 5]) {
    expect(on.store.retryNow(1, now)?.laneId).toBe(on.lane);
    expect(on.row(1)).toMatchObject({
      nextAt: NOW + 1,
      attempts: 1,
      inFlight: false,
      lastReply: "later",
      badDomainAt: 7,
    });
  }
  expect(only(on.claim(NOW + 5))).toMatchObject({ id: 1, attempt: 2, dueAt: NOW + 1, nextAt: NOW + 5 + 2 * MINUTE });
});

test("after five attempts a retry comes no sooner than a minute after the last", () => {
  using on = queue();
  on.add(1);
  for (let attempt = 1; attempt <= 6; attempt++) {
    const job = only(on.claim(NOW + attempt));
    on.store.retry(job, { nextAt: NOW + LIFE, state: { lastReply: "later", badDomainAt: null } });
    const isFree = attempt <= 5;
    expect(on.store.retryNow(1, NOW + attempt + 1)?.dueAt).toBe(NOW + attempt + (isFree ? 1 : MINUTE));
  }
});

describe("after a crash", () => {
  test("the rows in flight are found with what is known of their attempts, and can be freed", () => {
    using on = queue();
    for (const id of [1, 2, 3]) on.add(id);
    const [, second] = on.claim(NOW, 2);
    on.store.markPointOfNoReturn(second!, NOW + 9);
    expect(on.store.listInFlight()).toEqual([
      { id: 1, attempts: 1, startedAt: NOW, uncertainSince: null },
      { id: 2, attempts: 1, startedAt: NOW, uncertainSince: NOW + 9 },
    ]);
    const [lost, marked] = on.store.listInFlight();
    expect(on.store.freeInterrupted(lost!, NOW + 100)).toEqual({ laneId: on.lane, dueAt: NOW + 100 });
    expect(on.store.freeInterrupted(marked!, null)).toEqual({ laneId: on.lane, dueAt: NOW + MINUTE });
    expect(on.store.listInFlight()).toEqual([]);
    expect(on.row(1)).toMatchObject({ nextAt: NOW + 100, attempts: 1, dotAt: null });
    expect(on.row(2)).toMatchObject({ nextAt: NOW + MINUTE, attempts: 1, dotAt: null });
  });

  test("a row is freed once: not where it waits already, nor under its next attempt", () => {
    using on = queue();
    on.add(1);
    on.claim();
    const [lost] = on.store.listInFlight();
    expect(on.store.freeInterrupted(lost!, NOW)).not.toBeNull();
    expect(on.store.freeInterrupted(lost!, NOW + 100)).toBeNull();
    expect(on.row(1)?.nextAt).toBe(NOW);
    on.store.markPointOfNoReturn(only(on.claim()), NOW + 9);
    expect(on.store.freeInterrupted(lost!, NOW)).toBeNull();
    expect(on.row(1)).toMatchObject({ inFlight: true, attempts: 2, dotAt: NOW + 9 });
  });

  test("each lane's first time is found", () => {
    using on = queue();
    const other = on.store.laneFor(1, "example.net");
    on.add(1, NOW + 5);
    on.add(2, NOW + 3);
    on.add(3, NOW + 9, other);
    expect(on.store.listHeads().toSorted((a, b) => a.laneId - b.laneId)).toEqual([
      { laneId: on.lane, dueAt: NOW + 3 },
      { laneId: other, dueAt: NOW + 9 },
    ]);
  });
});

/** SQLite's plan for each statement that `run` makes. */
function plansOf(on: Queue, statements: string[], run: () => void): string[] {
  statements.length = 0;
  run();
  return statements.flatMap((statement) => {
    const parameters = statement.split("?").length - 1;
    const rows = on.db.sqlite
      .query<{ detail: string }, number[]>(`EXPLAIN QUERY PLAN ${statement}`)
      .all(...Array.from({ length: parameters }, () => 1));
    return rows.map((row) => row.detail);
  });
}

describe("with a hundred thousand rows waiting in one lane", () => {
  function crowded(statements: string[]): Queue {
    const on = queue((statement) => statements.push(statement));
    on.db.sqlite.run(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
       INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at) SELECT i, ${on.lane}, 1, 1, i, ${NOW} + i % 1000, ${NOW + LIFE} FROM n`,
    );
    return on;
  }

  test("every statement of a claim goes by an index and sorts nothing, with or without the statistics of ANALYZE", () => {
    const statements: string[] = [];
    using on = crowded(statements);
    for (const analyze of [false, true]) {
      if (analyze) on.db.sqlite.run("ANALYZE");
      const plans = plansOf(on, statements, () => {
        on.claim(NOW + 2_000, 3);
        on.store.findHead(on.lane);
      });
      expect(plans.filter((plan) => plan.includes("email_queue_due"))).toHaveLength(2);
      for (const plan of plans)
        expect(plan).toMatch(
          /^SEARCH email_queue USING (INDEX email_queue_due \(lane_id=\?|COVERING INDEX email_queue_due \(lane_id=\?|INTEGER PRIMARY KEY \(rowid=\?)/,
        );
    }
  });

  test("the look at start walks the index and not the table, and rows in flight have an index of their own", () => {
    const statements: string[] = [];
    using on = crowded(statements);
    expect(plansOf(on, statements, () => on.store.listHeads())).toEqual([
      "SCAN email_queue USING COVERING INDEX email_queue_due",
    ]);
    expect(plansOf(on, statements, () => on.store.listInFlight()).join()).toContain("email_queue_in_flight");
  });

  test("the claims of other lanes stay fast, and so do those of the crowded one", () => {
    using on = crowded([]);
    const other = on.store.laneFor(1, "example.net");
    for (let i = 0; i < 300; i++) on.add(200_000 + i, NOW, other);
    const startedAt = cpuTime();
    for (let i = 0; i < 300; i++) expect(on.claim(NOW + 2_000, 1, other)).toHaveLength(1);
    for (let i = 0; i < 300; i++) expect(on.claim(NOW + 2_000, 1)).toHaveLength(1);
    // A scan of the backlog at each claim would take some ten seconds.
    expect(cpuTime() - startedAt).toBeLessThan(2_000);
  });
});

test("rows in flight whose next time has come do not slow the claims of what waits behind them", () => {
  using on = queue();
  for (let id = 1; id <= 2_000; id++) on.add(id);
  on.claim(NOW, 1_000);
  const startedAt = cpuTime();
  for (let i = 0; i < 500; i++) expect(on.claim(NOW + 2 * MINUTE, 1)).toHaveLength(1);
  expect(cpuTime() - startedAt).toBeLessThan(2_000);
});
