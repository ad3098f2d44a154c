import { expect, test } from "bun:test";
import { Lanes } from "../../../../../src/platform/queue/lanes.ts";
import {
  ConcurrencyLimiter,
  JOBS_PER_WEBHOOK,
  MAX_CALLS,
} from "../../../../../src/modules/webhooks/delivery/concurrency-limiter.ts";

/** Webhooks of one workspace, each with a backlog, whose calls a test ends. */
function start() {
  const limiter = new ConcurrencyLimiter();
  const lanes = new Lanes(JOBS_PER_WEBHOOK, () => 1, limiter);
  const running = new Map<number, number>();
  let total = 0;
  return {
    lanes,
    limiter,
    running,
    startAll(): void {
      for (let next = lanes.take(0, MAX_CALLS - total); next !== null; next = lanes.take(0, MAX_CALLS - total)) {
        const { lane, room } = next;
        lanes.claimed(lane, room, room, { dueAt: 0, expiresAt: null });
        running.set(lane.id, (running.get(lane.id) ?? 0) + room);
        total += room;
      }
    },
    /** All calls of a webhook end. */
    end(id: number, isSlow = false): void {
      const count = running.get(id) ?? 0;
      if (count > 0) lanes.locate(id, limiter.recordCall(id, isSlow));
      for (let ended = 0; ended < count; ended += 1) lanes.ended(id, !isSlow);
      running.delete(id);
      total -= count;
    },
  };
}

test("a receiver that is not known yet gets four calls at once, and all of its own once it has answered", () => {
  const on = start();
  on.lanes.wake(1, 0);
  on.startAll();
  expect(on.running.get(1)).toBe(4);
  on.lanes.locate(1, on.limiter.recordCall(1, false));
  on.startAll();
  expect(on.running.get(1)).toBe(JOBS_PER_WEBHOOK);
});

test("of a thousand unknown receivers with a backlog, of which nine hundred hang, the others are all served meanwhile", () => {
  for (const shift of [0, 450, 900]) {
    const on = start();
    for (let id = 0; id < 1_000; id += 1) on.lanes.wake(id, 0);
    const isDead = (id: number) => (id + shift) % 1_000 < 900;
    const served = new Set<number>();
    // No time passes: no call that hangs has come to its end.
    for (let round = 0; round < 100 && served.size < 100; round += 1) {
      on.startAll();
      for (const id of Array.from(on.running.keys()).filter((each) => !isDead(each))) {
        served.add(id);
        on.end(id);
      }
    }
    expect([shift, served.size]).toEqual([shift, 100]);
  }
});

test("receivers whose last call timed out share a hundred places", () => {
  const on = start();
  for (let id = 0; id < 300; id += 1) {
    on.lanes.locate(id, on.limiter.recordCall(id, true));
    on.lanes.wake(id, 0);
  }
  on.startAll();
  expect([...on.running.values()].reduce((sum, each) => sum + each, 0)).toBe(100);
});
