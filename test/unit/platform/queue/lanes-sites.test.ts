import { describe, expect, test } from "bun:test";
import { Lanes } from "../../../../src/platform/queue/lanes.ts";
import type { Lane } from "../../../../src/platform/queue/lane.ts";
import type { SiteLimits } from "../../../../src/platform/queue/site-limits.ts";
import { seeded } from "../../../support/db/temporary.ts";

// Lanes that lead to sites: what a site allows is asked before anything is claimed.

const PLENTY = 10_000;
/** An expiry that does not come. */
const FAR = 1e9;
const LIMIT = 40;

function start(workspaceOf: (laneId: number) => number = () => 1) {
  const jobs = new Map<string, number>();
  const blocked = new Map<string, number>();
  const gate: SiteLimits = {
    getMaxJobs: (site) => jobs.get(site) ?? 10,
    getBlockEnd: (site) => blocked.get(site) ?? null,
  };
  const lanes = new Lanes(LIMIT, workspaceOf, gate);
  return {
    lanes,
    jobs,
    blocked,
    /** Takes and commits all that may start; the jobs started, by lane. Lanes keep a row due. */
    startAll(now = 0, free = PLENTY): number[] {
      const started: number[] = [];
      for (let next = lanes.take(now, free - started.length); next !== null;) {
        lanes.claimed(next.lane, next.room, next.room, { dueAt: 0, expiresAt: null });
        for (let i = 0; i < next.room; i++) started.push(next.lane.id);
        next = started.length < free ? lanes.take(now, free - started.length) : null;
      }
      return started;
    },
  };
}

test("a lane whose site is not known runs one job, and what its site allows once it is", () => {
  const on = start();
  on.lanes.wake(1, 0);
  expect(on.startAll()).toEqual([1]);
  expect(on.startAll()).toEqual([]);
  on.lanes.locate(1, "site");
  expect(on.startAll()).toHaveLength(9);
});

test("the site of an idle lane is remembered", () => {
  const on = start();
  on.lanes.wake(1, 0);
  const next = on.lanes.take(0, PLENTY);
  on.lanes.claimed(next!.lane, 1, 1, null);
  on.lanes.locate(1, "site");
  on.lanes.ended(1, true);
  expect(on.lanes.size).toBe(0);
  on.lanes.wake(1, 0);
  expect(on.startAll()).toHaveLength(10);
});

test("the lanes of one site share its places, and a lane that stood aside starts when one is free", () => {
  const on = start();
  on.jobs.set("site", 4);
  for (const id of [1, 2, 3]) {
    on.lanes.locate(id, "site");
    on.lanes.wake(id, 0);
  }
  const started = on.startAll();
  expect(started).toHaveLength(4);
  on.lanes.ended(started[0] ?? 0, true);
  expect(on.startAll()).toHaveLength(1);
});

test("of two workspaces at one full site each gets its turn", () => {
  const on = start((laneId) => laneId);
  on.jobs.set("site", 2);
  for (const id of [1, 2]) {
    on.lanes.locate(id, "site");
    on.lanes.wake(id, 0);
  }
  const running = on.startAll();
  const turns: number[] = [];
  for (let i = 0; i < 20; i++) {
    on.lanes.ended(running.shift() ?? 0, true);
    const [next] = on.startAll();
    turns.push(next ?? 0);
    running.push(next ?? 0);
  }
  expect(turns.filter((id) => id === 1).length).toBeGreaterThanOrEqual(8);
  expect(turns.filter((id) => id === 2).length).toBeGreaterThanOrEqual(8);
});

test("at one full site workspaces take turns, however many lanes each has there", () => {
  const LANES_OF_A = 1_000;
  const on = start((laneId) => (laneId === 0 ? 2 : 1));
  on.jobs.set("site", 10);
  for (let id = 1; id <= LANES_OF_A; id++) {
    on.lanes.locate(id, "site");
    on.lanes.wake(id, 0, FAR);
  }
  const running = on.startAll();
  on.lanes.locate(0, "site");
  on.lanes.wake(0, 0, FAR);
  let ofB = 0;
  for (let i = 0; i < 1_000; i++) {
    on.lanes.ended(running.shift() ?? 0, true);
    const next = on.startAll();
    ofB += next.filter((id) => id === 0).length;
    running.push(...next);
  }
  expect(ofB).toBeGreaterThan(400);
});

test("a workspace that holds its share elsewhere does not keep another's mail from a free site", () => {
  const on = start((laneId) => (laneId === 0 ? 2 : 1));
  on.jobs.set("site", 10).set("slow", 1_000);
  for (let id = 1; id <= 500; id++) {
    on.lanes.locate(id, "site");
    on.lanes.wake(id, 0, FAR);
  }
  const first = on.startAll(0, 200);
  on.lanes.locate(0, "site");
  on.lanes.wake(0, 0, FAR);
  expect(on.lanes.take(0, 190)).toBeNull();
  // The rest of the share of A goes to a slow site.
  for (let id = 1_001; id <= 1_200; id++) {
    on.lanes.locate(id, "slow");
    on.lanes.wake(id, 0, FAR);
  }
  const slow = on.startAll(0, 200 - first.length);
  expect(slow.length).toBeGreaterThan(50);
  for (const id of first) on.lanes.ended(id, true);
  expect(on.startAll(0, 200 - slow.length)).toContain(0);
});

test("nothing is claimed for a blocked site until its time is over, and other sites go on", () => {
  const on = start();
  on.blocked.set("dead", 500);
  for (let id = 1; id <= 1_000; id++) {
    on.lanes.locate(id, id === 7 ? "well" : "dead");
    on.lanes.wake(id, 0, FAR);
  }
  expect(new Set(on.startAll())).toEqual(new Set([7]));
  expect(on.lanes.nextInHeapAt()).toBe(500);
  on.blocked.delete("dead");
  on.jobs.set("dead", 1);
  expect(on.startAll(500).filter((id) => id !== 7)).toHaveLength(1);
});

test("a row of a blocked site that expires is claimed at that time, to fail, and the lane is held again", () => {
  const on = start();
  on.blocked.set("dead", 5_000);
  on.lanes.locate(1, "dead");
  on.lanes.wake(1, 0, 700);
  expect(on.lanes.take(0, PLENTY)).toBeNull();
  expect(on.lanes.nextInHeapAt()).toBe(700);
  const next = on.lanes.take(700, PLENTY);
  expect(next?.lane.id).toBe(1);
  // One of two rows had expired, the other is given back.
  on.lanes.claimed(next!.lane, next!.room, 2, null);
  on.lanes.ended(1, null);
  on.lanes.wake(1, 0, 900);
  on.lanes.ended(1, null);
  expect(on.lanes.take(700, PLENTY)).toBeNull();
  expect(on.lanes.nextInHeapAt()).toBe(900);
});

test("a lane of a blocked site whose rows' expiry is not known is claimed once, to learn it", () => {
  const on = start();
  on.blocked.set("dead", 5_000);
  on.lanes.locate(1, "dead");
  on.lanes.wake(1, 0);
  const next = on.lanes.take(0, PLENTY);
  expect(next?.lane.id).toBe(1);
  on.lanes.claimed(next!.lane, next!.room, 1, { dueAt: 0, expiresAt: 900 });
  on.lanes.wake(1, 0, 800);
  on.lanes.ended(1, null);
  expect(on.lanes.take(0, PLENTY)).toBeNull();
  expect(on.lanes.nextInHeapAt()).toBe(800);
});

test("a lane that moves to another site takes its places along", () => {
  const on = start();
  on.jobs.set("old", 2).set("new", 3);
  for (const id of [1, 2]) {
    on.lanes.locate(id, "old");
    on.lanes.wake(id, 0);
  }
  const first = on.startAll();
  expect(first).toHaveLength(2);
  const moved = first[0] ?? 0;
  on.lanes.locate(moved, "new");
  const more = on.startAll();
  const isMoved = (id: number) => id === moved;
  expect([...first, ...more].filter(isMoved)).toHaveLength(3);
  expect([...first, ...more].filter((id) => !isMoved(id))).toHaveLength(2);
});

describe("random histories", () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`no site gets more than it allows, a blocked one nothing, and all rows are done in the end (seed ${seed})`, () => {
      const random = seeded(seed);
      const draw = (below: number) => Math.floor(random() * below);
      const SITES = ["a", "b", "c"];
      const LANES = 12;
      const rows = new Map<number, number>();
      const siteOfLane = (id: number) => SITES[id % SITES.length] ?? "a";
      const on = start((id) => id % 2);
      for (const site of SITES) on.jobs.set(site, 1 + draw(5));
      const running: number[] = [];
      const claims: { lane: Lane; room: number }[] = [];
      let now = 0;
      let done = 0;
      let announced = 0;
      const runningOf = (site: string) =>
        running.filter((id) => siteOfLane(id) === site && on.lanes.getSite(id) !== null).length;
      const finish = () => {
        const [id] = running.splice(draw(running.length), 1);
        if (id === undefined) return;
        on.lanes.locate(id, siteOfLane(id));
        on.lanes.ended(id, draw(4) > 0);
        done += 1;
      };
      const claim = () => {
        const [open] = claims.splice(draw(claims.length), 1);
        if (open === undefined) return;
        const waiting = rows.get(open.lane.id) ?? 0;
        const started = Math.min(waiting, open.room);
        rows.set(open.lane.id, waiting - started);
        for (let i = 0; i < started; i++) running.push(open.lane.id);
        on.lanes.claimed(open.lane, open.room, started, waiting > started ? { dueAt: now, expiresAt: FAR } : null);
      };
      const take = () => {
        const held = claims.reduce((sum, { room }) => sum + room, 0);
        const next = on.lanes.take(now, 20 - running.length - held);
        if (next === null) return false;
        const site = on.lanes.getSite(next.lane.id);
        if (site !== null) {
          expect(on.blocked.get(site) ?? 0).toBeLessThanOrEqual(now);
          const claimed = claims.filter(({ lane }) => siteOfLane(lane.id) === site);
          const others = claimed.reduce((sum, { room }) => sum + room, 0);
          // What ran before its lane was located counts from then on, and may be one too many for a moment.
          expect(next.room + others + runningOf(site)).toBeLessThanOrEqual((on.jobs.get(site) ?? 0) + LANES);
          expect(next.room).toBeLessThanOrEqual(on.jobs.get(site) ?? 0);
        } else expect(next.room).toBe(1);
        claims.push(next);
        return true;
      };
      for (let step = 0; step < 3_000; step++) {
        const kind = draw(100);
        if (kind < 30) {
          const id = draw(LANES);
          rows.set(id, (rows.get(id) ?? 0) + 1);
          announced += 1;
          on.lanes.wake(id, now, FAR);
        } else if (kind < 50) take();
        else if (kind < 70) claim();
        else if (kind < 92) finish();
        else if (kind < 95) on.blocked.set(SITES[draw(3)] ?? "a", now + draw(50));
        else now += draw(30);
      }
      // In the end everything that was announced is done: nobody was forgotten in a line, the heap or aside.
      on.blocked.clear();
      for (let i = 0; i < 100_000 && done < announced; i++) {
        now += 1;
        while (take());
        while (claims.length > 0) claim();
        while (running.length > 0) finish();
      }
      expect(done).toBe(announced);
      expect(on.lanes.size).toBe(0);
    });
  }
});

describe("what a site asks of one workspace", () => {
  function startTwo() {
    const own = new Map<number, number>();
    const blocked = new Map<number, number>();
    const gate: SiteLimits = {
      getMaxJobs: () => 10,
      getMaxOwnJobs: (_, workspaceId) => own.get(workspaceId) ?? Infinity,
      getBlockEnd: (_, workspaceId) => (workspaceId === null ? null : (blocked.get(workspaceId) ?? null)),
    };
    // Lane 1 and 3 are of workspace 1.
    const lanes = new Lanes(LIMIT, (laneId) => 2 - (laneId % 2), gate);
    for (const id of [1, 2, 3]) {
      lanes.locate(id, "site");
      lanes.wake(id, 0, FAR);
    }
    const startAll = (now = 0) => {
      const started: number[] = [];
      for (let next = lanes.take(now, PLENTY); next !== null; next = lanes.take(now, PLENTY)) {
        lanes.claimed(next.lane, next.room, next.room, { dueAt: 0, expiresAt: FAR });
        for (let i = 0; i < next.room; i++) started.push(next.lane.id);
      }
      return started;
    };
    const count = (started: number[]) => [1, 2, 3].map((id) => started.filter((each) => each === id).length);
    return { lanes, own, blocked, startAll, count };
  }

  test("its fewer jobs leave the others all that is left, and it goes on as they end", () => {
    const on = startTwo();
    on.own.set(1, 1);
    const [first = 0, second = 0, third = 0] = on.count(on.startAll());
    expect([first + third, second]).toEqual([1, 9]);
    on.lanes.ended(2, true);
    expect(on.startAll()).toEqual([2]);
    on.lanes.ended(first === 1 ? 1 : 3, true);
    const [one = 0, two = 0, three = 0] = on.count(on.startAll());
    expect([one + three, two]).toEqual([1, 0]);
  });

  test("its block holds up its lanes alone", () => {
    const on = startTwo();
    on.blocked.set(1, 1_000);
    expect(on.count(on.startAll())).toEqual([0, 10, 0]);
    on.blocked.clear();
    // From then on both take turns.
    expect(on.startAll(1_000)).toEqual([]);
    const later: number[] = [];
    for (let i = 0; i < 4; i++) {
      on.lanes.ended(2, true);
      later.push(...on.startAll(1_000));
    }
    expect(later.filter((id) => id !== 2)).toHaveLength(2);
  });
});
