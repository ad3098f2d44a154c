import { describe, expect, test } from "bun:test";
import { Lanes } from "../../../../src/platform/queue/lanes.ts";
import type { Lane } from "../../../../src/platform/queue/lane.ts";
import { seeded } from "../../../support/db/temporary.ts";

// Workspaces whose queue the operator holds.

const FAR = 1e9;
const PLENTY = 1_000;
/** Lane 23 is the third lane of workspace 2. */
const workspaceOf = (laneId: number) => Math.floor(laneId / 10);

function start(siteJobs = PLENTY) {
  const held = new Set<number>();
  let asked = 0;
  const gate = { getMaxJobs: () => siteJobs, getBlockEnd: () => null };
  const lanes = new Lanes(100, workspaceOf, gate, (workspaceId) => {
    asked += 1;
    return held.has(workspaceId);
  });
  const taken = (now = 0, free = PLENTY): number[] => {
    const ids: number[] = [];
    for (let next = lanes.take(now, free); next !== null; next = lanes.take(now, free)) {
      ids.push(next.lane.id);
      lanes.claimed(next.lane, next.room, 0, null);
    }
    return ids;
  };
  return { lanes, held, taken, asked: () => asked };
}

test("nothing of a held workspace starts, others do, and at its release all that is due does", () => {
  const on = start();
  on.held.add(1);
  for (const id of [10, 11, 20, 12]) on.lanes.wake(id, 0);
  on.lanes.wake(13, 50);
  expect(on.taken(10)).toEqual([20]);
  // Nothing of it keeps a timer, nor keeps the worker from being idle.
  expect([on.lanes.nextInHeapAt(), on.lanes.nextDueAt()]).toEqual([50, 50]);
  expect(on.taken(60)).toEqual([]);
  expect([on.lanes.nextInHeapAt(), on.lanes.nextDueAt(), on.lanes.size]).toEqual([null, null, 4]);
  on.held.delete(1);
  on.lanes.release(1);
  expect(on.taken(60).toSorted()).toEqual([10, 11, 12, 13]);
  expect(on.lanes.size).toBe(0);
});

test("a hold that begins while lanes stand in line holds them too, and what runs ends as ever", () => {
  const on = start();
  on.lanes.wake(10, 0);
  const running = on.lanes.take(0, 4);
  on.lanes.claimed(running!.lane, running!.room, 1, { dueAt: 0, expiresAt: FAR });
  on.lanes.locate(10, "site");
  on.lanes.wake(11, 0);
  on.held.add(1);
  expect(on.taken()).toEqual([]);
  on.lanes.wake(10, 0); // it was deferred
  on.lanes.ended(10, true);
  expect(on.taken()).toEqual([]);
  on.held.delete(1);
  on.lanes.release(1);
  expect(on.taken().toSorted()).toEqual([10, 11]);
});

test("a held workspace is asked about once for all its lanes, however often others take their turns", () => {
  const on = start();
  on.held.add(1);
  for (let id = 10; id < 20; id++) on.lanes.wake(id, 0);
  on.taken();
  const before = on.asked();
  for (let round = 0; round < 50; round++) {
    on.lanes.wake(20, 0);
    expect(on.taken()).toEqual([20]);
  }
  // To stand in line, and at its turn.
  expect(on.asked() - before).toBe(100);
});

test("at a full site lanes of a held workspace do not take the turns of those who wait with them", () => {
  const on = start(1);
  for (const id of [20, 10, 11, 12, 30]) on.lanes.locate(id, "site");
  on.lanes.wake(20, 0);
  const running = on.lanes.take(0, PLENTY);
  on.lanes.claimed(running!.lane, 1, 1, null);
  for (const id of [10, 11, 12, 30]) on.lanes.wake(id, 0);
  expect(on.taken()).toEqual([]); // all stand aside
  on.held.add(1);
  on.lanes.ended(20, true);
  // The free place is offered at once, not after all others had their turns.
  on.lanes.wake(40, 0);
  expect(on.taken()).toEqual([30, 40]);
  on.held.delete(1);
  on.lanes.release(1);
  expect(on.taken().toSorted()).toEqual([10, 11, 12]);
});

test("a release of what is not held changes nothing, and a hold that is back before its turn holds", () => {
  const on = start();
  on.lanes.release(1);
  on.held.add(1);
  on.lanes.wake(10, 0);
  expect(on.taken()).toEqual([]);
  on.lanes.release(1); // but it is held again already
  expect(on.taken()).toEqual([]);
  on.held.clear();
  on.lanes.release(1);
  expect(on.taken()).toEqual([10]);
});

test("a lane that was removed is forgotten wherever it stands, but not while something of it is under way", () => {
  const on = start(1);
  const [later, apart, aside, line, claiming] = [21, 10, 22, 23, 24] as const;
  for (const id of [aside, line, 29]) on.lanes.locate(id, "site");
  on.held.add(1);
  on.lanes.wake(29, 0);
  const full = on.lanes.take(0, PLENTY);
  on.lanes.claimed(full!.lane, 1, 1, null);
  on.lanes.wake(apart, 0);
  on.lanes.wake(aside, 0);
  expect(on.taken()).toEqual([]);
  on.lanes.wake(later, 100);
  on.lanes.wake(claiming, 0);
  const claim = on.lanes.take(0, PLENTY);
  expect(claim?.lane.id).toBe(claiming);
  on.lanes.wake(line, 0);
  for (const id of [later, apart, aside, line, claiming, 29, 99]) on.lanes.forget(id);
  expect([on.lanes.size, on.lanes.nextInHeapAt()]).toEqual([2, null]);
  on.held.clear();
  on.lanes.release(1);
  on.lanes.claimed(claim!.lane, claim!.room, 0, null);
  on.lanes.ended(29, true);
  expect([on.taken(200), on.lanes.size, on.lanes.getSite(aside)]).toEqual([[], 0, null]);
});

describe("random histories", () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`nothing of a held workspace starts, and all rows are done once nobody is held (seed ${seed})`, () => {
      const random = seeded(seed);
      const draw = (below: number) => Math.floor(random() * below);
      const ids = [10, 11, 12, 20, 21, 30, 31, 32, 33];
      const siteOfLane = (id: number) => ["a", "b"][id % 2] ?? "a";
      const held = new Set<number>();
      const gate = { getMaxJobs: (site: string) => (site === "a" ? 2 : 5), getBlockEnd: () => null };
      const lanes = new Lanes(4, workspaceOf, gate, (workspaceId) => held.has(workspaceId));
      const rows = new Map<number, number[]>(ids.map((id) => [id, []]));
      const running: number[] = [];
      const claims: { lane: Lane; room: number }[] = [];
      let [now, announced, done, heldBack] = [0, 0, 0, 0];
      const take = () => {
        const places = claims.reduce((sum, { room }) => sum + room, 0) + running.length;
        const next = places < 12 ? lanes.take(now, 12 - places) : null;
        if (next === null) return false;
        expect(held.has(next.lane.workspaceId)).toBe(false);
        claims.push(next);
        return true;
      };
      const claim = () => {
        const [open] = claims.splice(draw(claims.length), 1);
        if (open === undefined) return;
        const own = (rows.get(open.lane.id) ?? []).toSorted((a, b) => a - b);
        const due = own.filter((at) => at <= now).slice(0, open.room);
        const rest = own.slice(due.length);
        rows.set(open.lane.id, rest);
        for (const _ of due) running.push(open.lane.id);
        const [head] = rest;
        lanes.claimed(open.lane, open.room, due.length, head === undefined ? null : { dueAt: head, expiresAt: FAR });
      };
      const finish = () => {
        const [id] = running.splice(draw(running.length), 1);
        if (id === undefined) return;
        lanes.locate(id, siteOfLane(id));
        lanes.ended(id, draw(5) > 0);
        done += 1;
      };
      const announce = () => {
        const id = ids[draw(ids.length)] ?? 10;
        const dueAt = now + draw(20) - 5;
        rows.get(id)?.push(dueAt);
        announced += 1;
        lanes.wake(id, dueAt, FAR);
      };
      const toggle = () => {
        const workspaceId = 1 + draw(3);
        if (held.delete(workspaceId)) lanes.release(workspaceId);
        else held.add(workspaceId);
        heldBack += 1;
      };
      for (let step = 0; step < 3_000; step++) {
        const kind = draw(100);
        if (kind < 30) announce();
        else if (kind < 50) take();
        else if (kind < 68) claim();
        else if (kind < 88) finish();
        else if (kind < 92) toggle();
        else now += draw(15);
      }
      expect(heldBack).toBeGreaterThan(50);
      for (const workspaceId of held) {
        held.delete(workspaceId);
        lanes.release(workspaceId);
      }
      for (let i = 0; i < 10_000 && (done < announced || lanes.size > 0); i++) {
        now += 1;
        while (take());
        while (claims.length > 0) claim();
        while (running.length > 0) finish();
      }
      expect([done, lanes.size, lanes.nextDueAt()]).toEqual([announced, 0, null]);
    });
  }
});
