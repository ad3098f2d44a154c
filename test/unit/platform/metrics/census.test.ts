import { expect, test } from "bun:test";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Db } from "../../../../src/platform/db/open.ts";
import { QueueDepthSampler } from "../../../../src/modules/emails/queue/depth-sampler.ts";
import { openEmailAdminStore, type QueuePlace } from "../../../../src/modules/emails/queue/admin-store.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const START = Date.UTC(2026, 0, 1);
const SLICE_ROWS = 2_000;

interface Row {
  laneId: number;
  nextAt?: number;
  sendAt?: number;
}

/** Email n (1, 2, …) was accepted n seconds after the start. */
function fill(db: Db, rows: Row[]): void {
  const queued = db.sqlite.prepare<unknown, [number, number, number, number | null]>(
    "INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at, send_at) VALUES (?, ?, 1, 1, 0, ?, 0, ?)",
  );
  const email = db.sqlite.prepare<unknown, [number, string, number]>(
    `INSERT INTO email (id, uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient, recipient_address, subject, return_path, created_at, status)
     VALUES (?, ?, 1, 1, 'a', 'a', 'b', 'c', 'c', 'd', 'e', ?, 'queued')`,
  );
  db.sqlite.transaction(() => {
    for (const [index, { laneId, sendAt = null, nextAt = sendAt ?? 0 }] of rows.entries()) {
      const id = index + 1;
      queued.run(id, laneId, nextAt, sendAt);
      email.run(id, `uid ${id}`, START + id * 1_000);
    }
  })();
}

function start(rows: Row[], findSite: (laneId: number) => string | null = (laneId) => `site${laneId}.test`) {
  const database = temporaryDatabase();
  fill(database.db, rows);
  const store = openEmailAdminStore(database.db);
  const clock = fakeClock(START);
  const slices: number[] = [];
  const counting: typeof store = {
    ...store,
    countSlice(from, limit, now) {
      const slice = store.countSlice(from, limit, now);
      slices.push(slice.lanes.reduce((sum, { depth, scheduled }) => sum + depth + scheduled, 0));
      return slice;
    },
  };
  const census = new QueueDepthSampler({ store: counting, findSite, clock });
  return { ...database, census, clock, slices, [Symbol.dispose]: () => database[Symbol.dispose]() };
}

test("an empty queue has a depth of 0, and nothing is known before the first count", async () => {
  using on = start([]);
  expect(on.census.sites).toBeNull();
  await on.census.refresh();
  expect(on.census.sites).toEqual([{ site: "other", depth: 0, oldestAt: null }]);
});

test("depth and oldest are told by site, the deepest first, whatever the order of the attempts", async () => {
  // The oldest of a lane is due last: it has been put back.
  const rows = [
    { laneId: 2, nextAt: 900 },
    { laneId: 1, nextAt: 800 },
    { laneId: 2, nextAt: 100 },
    { laneId: 2, nextAt: 100 },
    { laneId: 3, nextAt: 0 },
    { laneId: 9, nextAt: 0 },
  ];
  using on = start(rows, (laneId) => (laneId === 9 ? null : laneId === 3 ? "site2.test" : `site${laneId}.test`));
  await on.census.refresh();
  expect(on.census.sites).toEqual([
    { site: "site2.test", depth: 4, oldestAt: START + 1_000 },
    { site: "site1.test", depth: 1, oldestAt: START + 2_000 },
    { site: "unknown", depth: 1, oldestAt: START + 6_000 },
    { site: "other", depth: 0, oldestAt: null },
  ]);
});

test("what is scheduled for later is counted apart, and what was is as old as its time", async () => {
  const HOUR = 3_600_000;
  const rows = [
    // Accepted first of all.
    { laneId: 1, sendAt: START + HOUR },
    { laneId: 1, sendAt: START - 2 * HOUR },
    { laneId: 1, sendAt: START - HOUR, nextAt: START + HOUR },
    { laneId: 2, sendAt: START + 1 },
    { laneId: 3, nextAt: START + HOUR },
    { laneId: 3, sendAt: START },
  ];
  using on = start(rows);
  expect(on.census.scheduled).toBeNull();
  await on.census.refresh();
  expect(on.census.scheduled).toBe(2);
  expect(on.census.sites).toEqual([
    { site: "site1.test", depth: 2, oldestAt: START - 2 * HOUR },
    { site: "site3.test", depth: 2, oldestAt: START },
    { site: "other", depth: 0, oldestAt: null },
  ]);
});

test("a long queue is counted in slices, with turns of the event loop between them", async () => {
  // Lanes that end within a slice, one that is longer than three, and many rows that are due at once.
  const rows = Array.from({ length: 9_001 }, (_, index) => ({
    laneId: index < 7_000 ? 1 : 2 + (index % 7),
    nextAt: index % 3 === 0 ? 5 : index,
  }));
  using on = start(rows);
  let turns = 0;
  let isCounting = true;
  const count = () => {
    turns += 1;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  await on.census.refresh();
  isCounting = false;
  expect(on.slices).toEqual([SLICE_ROWS, SLICE_ROWS, SLICE_ROWS, SLICE_ROWS, 1_001]);
  expect(turns).toBeGreaterThanOrEqual(4);
  const expected = on.db.sqlite
    .query<{ site: string; depth: number; oldestAt: number }, [number]>(
      `SELECT 'site' || lane_id || '.test' AS site, COUNT(*) AS depth, ? + MIN(id) * 1000 AS oldestAt
       FROM email_queue GROUP BY lane_id`,
    )
    .all(START);
  const bySite = (a: { site: string }, b: { site: string }) => a.site.localeCompare(b.site);
  expect(on.census.sites!.filter(({ site }) => site !== "other").toSorted(bySite)).toEqual(expected.toSorted(bySite));
});

test("a slice that ends with the queue's last row is the last", async () => {
  using on = start(Array.from({ length: SLICE_ROWS }, () => ({ laneId: 1 })));
  await on.census.refresh();
  expect(on.slices.filter((rows) => rows > 0)).toEqual([SLICE_ROWS]);
  expect(on.census.sites![0]).toMatchObject({ site: "site1.test", depth: SLICE_ROWS });
});

test("fifty sites are told apart: the smaller ones together are other, and the sum is whole", async () => {
  const rows = Array.from({ length: 300 }, (_, index) => ({ laneId: 1 + (index % 120) }));
  rows.push(...Array.from({ length: 10 }, () => ({ laneId: 77 })));
  using on = start(rows);
  await on.census.refresh();
  const sites = on.census.sites!;
  expect(sites).toHaveLength(51);
  expect(sites[0]).toMatchObject({ site: "site77.test", depth: 12 });
  expect(sites.at(-1)!.site).toBe("other");
  expect(sites.reduce((sum, { depth }) => sum + depth, 0)).toBe(310);
  const told = new Set(sites.map(({ site }) => site));
  const firstUntold = rows.findIndex(({ laneId }) => !told.has(`site${laneId}.test`)) + 1;
  expect(sites.at(-1)!.oldestAt).toBe(START + firstUntold * 1_000);
});

test("where every email has a site of its own, the deep ones are found all the same and nothing is lost", async () => {
  const rows = Array.from({ length: 25_000 }, (_, index) => ({ laneId: index + 1 }));
  rows.push(...Array.from({ length: 40 }, () => ({ laneId: 12_345 })));
  using on = start(rows);
  await on.census.refresh();
  const sites = on.census.sites!;
  expect(sites[0]).toEqual({ site: "site12345.test", depth: 41, oldestAt: START + 12_345_000 });
  expect(sites).toHaveLength(51);
  expect(sites.reduce((sum, { depth }) => sum + depth, 0)).toBe(25_040);
});

test("several that ask share one count, and within ten seconds nobody counts again", async () => {
  using on = start([{ laneId: 1 }]);
  await Promise.all([on.census.refresh(), on.census.refresh(), on.census.refresh()]);
  expect(on.slices).toHaveLength(1);
  on.clock.advance(9_999);
  await on.census.refresh();
  expect(on.slices).toHaveLength(1);
  on.db.sqlite.run("DELETE FROM email_queue");
  on.clock.advance(1);
  await on.census.refresh();
  expect(on.slices).toHaveLength(2);
  expect(on.census.sites).toEqual([{ site: "other", depth: 0, oldestAt: null }]);
});

test("a count that took a second is not repeated for twenty", async () => {
  using on = start(Array.from({ length: 5_000 }, () => ({ laneId: 1 })));
  const counted = on.census.refresh();
  on.clock.advance(1_000);
  await counted;
  expect(on.slices).toHaveLength(3);
  on.clock.advance(19_999);
  await on.census.refresh();
  expect(on.slices).toHaveLength(3);
  on.clock.advance(1);
  await on.census.refresh();
  expect(on.slices).toHaveLength(6);
});

test("a count that is stopped reads nothing more, so that the database can be closed", async () => {
  using on = start(Array.from({ length: 5_000 }, () => ({ laneId: 1 })));
  const counted = on.census.refresh();
  on.census.stop();
  await counted;
  expect(on.slices).toHaveLength(1);
  expect(on.census.sites).toBeNull();
  await on.census.refresh();
  expect(on.slices).toHaveLength(1);
});

test("the walk reads the covering index alone", () => {
  using on = start([{ laneId: 1 }]);
  const { sqlite } = on.db;
  const asked: string[] = [];
  const orm = drizzle(sqlite, { logger: { logQuery: (query) => void asked.push(query) } });
  const store = openEmailAdminStore({ ...on.db, orm });
  store.countSlice({ laneId: 0, nextAt: 0, id: 0 }, 1, START);
  const plans = new Set(
    asked.map((query) => {
      const plan = sqlite.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${query.replaceAll("?", "1")}`).all();
      return plan.map(({ detail }) => detail).join("; ");
    }),
  );
  // Each range by all its columns: else a slice of rows that are due at one time would walk over all of them.
  const by = (columns: string) => `SEARCH email_queue USING COVERING INDEX email_queue_due (${columns})`;
  expect([...plans].toSorted()).toEqual(
    [
      by("(lane_id,next_at)>(?,?)"),
      by("(lane_id,next_at)>(?,?) AND (lane_id,next_at)<(?,?)"),
      by("lane_id=? AND next_at=? AND id>? AND id<?"),
      by("lane_id=? AND next_at=? AND id>?"),
    ].toSorted(),
  );
});

test("rows that are due at one time are counted once each, in slices that begin and end among them", () => {
  using on = temporaryDatabase();
  fill(
    on.db,
    Array.from({ length: 500 }, (_, index) => ({ laneId: index < 30 ? 1 : 2, nextAt: index < 450 ? 5 : 6 })),
  );
  const store = openEmailAdminStore(on.db);
  for (const rows of [1, 7, 30, 100, 499, 500, 501]) {
    const depths = new Map<number, number>();
    for (let place: QueuePlace | null = { laneId: 0, nextAt: 0, id: 0 }; place !== null;) {
      const { lanes, end } = store.countSlice(place, rows, START);
      for (const { laneId, depth } of lanes) depths.set(laneId, (depths.get(laneId) ?? 0) + depth);
      place = end;
    }
    expect([...depths]).toEqual([
      [1, 30],
      [2, 470],
    ]);
  }
});
