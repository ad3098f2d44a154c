import { expect, test } from "bun:test";
import { ClockStepWatch, type SetBack } from "../../../src/platform/clock-step-watch.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { turn } from "../../support/db/temporary.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1, 12);

function watching(follow: (step: SetBack, isStart: boolean) => Promise<void> = () => Promise.resolve()) {
  const steady = fakeClock(0);
  let offset = START;
  const followed: (SetBack & { isStart: boolean })[] = [];
  const [events, bugs]: [string[], unknown[]] = [[], []];
  const watch = new ClockStepWatch({
    clock: { now: () => steady.now() + offset, after: () => () => undefined },
    steady,
    log: { event: (name) => void events.push(name), error: (_, error) => void bugs.push(error) },
    async follow(step, isStart) {
      await follow(step, isStart);
      followed.push({ ...step, isStart });
    },
  });
  return {
    watch,
    followed,
    events,
    bugs,
    set: (byMs: number) => void (offset += byMs),
    async advance(ms: number) {
      for (let passed = 0; passed < ms; passed += 1_000) {
        steady.advance(Math.min(1_000, ms - passed));
        await turn();
      }
    },
  };
}

for (const hours of [1, 24]) {
  test(`a clock that is set back by ${hours} h is seen within a second, followed once, and told for an hour`, async () => {
    const on = watching();
    await on.watch.start(START);
    await on.advance(10_000);
    expect(on.watch.issue).toBeNull();
    on.set(-hours * HOUR);
    await on.advance(1_000);
    expect(on.followed).toEqual([{ fromMs: START + 11_000, toMs: START + 11_000 - hours * HOUR, isStart: false }]);
    const to = new Date(START + 11_000 - hours * HOUR).toISOString().slice(0, 19);
    expect(on.watch.issue).toMatchObject({
      component: "clock",
      isAdvisory: true,
      reason: expect.stringContaining(`set back from 2026-01-01T12:00:11Z to ${to}Z`),
    });
    await on.advance(HOUR);
    expect(on.watch.issue).not.toBeNull();
    await on.advance(2_000);
    expect(on.watch.issue).toBeNull();
    expect(on.followed).toHaveLength(1);
    expect(on.events).toEqual(["clock.set_back"]);
  });
}

test("at a start the last time that the database knows shows the step", async () => {
  const on = watching();
  await on.watch.start(START + HOUR);
  expect(on.followed).toEqual([{ fromMs: START + HOUR, toMs: START, isStart: true }]);
  expect(on.watch.issue).not.toBeNull();
  await on.advance(10_000);
  expect(on.followed).toHaveLength(1);
});

test("a clock that is set forward is reported for an hour, and nothing has to follow", async () => {
  const on = watching();
  await on.watch.start(START);
  on.set(24 * HOUR);
  await on.advance(1_000);
  expect(on.watch.issue).toMatchObject({
    component: "clock",
    isAdvisory: true,
    reason: expect.stringContaining("set forward from 2026-01-01T12:00:01Z to 2026-01-02T12:00:01Z"),
  });
  await on.advance(HOUR + 1_000);
  expect([on.watch.issue, on.followed, on.events]).toEqual([null, [], ["clock.set_forward"]]);
});

test("a first start, a small step, a drift and a clock that is set forward are none", async () => {
  const on = watching();
  await on.watch.start(null);
  on.set(-4_000);
  await on.advance(1_000);
  for (let second = 0; second < 60; second += 1) {
    on.set(-200);
    await on.advance(1_000);
  }
  on.set(24 * HOUR);
  await on.advance(1_000);
  expect(on.followed).toEqual([]);
  on.set(-24 * HOUR);
  await on.advance(1_000);
  expect(on.followed).toHaveLength(1);
});

test("a step that cannot be followed now is followed later, and keeps a start from beginning", async () => {
  let isBroken = true;
  const on = watching(() => (isBroken ? Promise.reject(new Error("no")) : Promise.resolve()));
  expect(on.watch.start(START + HOUR)).rejects.toThrow("no");
  await turn();
  const next = watching(() => (isBroken ? Promise.reject(new Error("no")) : Promise.resolve()));
  await next.watch.start(null);
  next.set(-HOUR);
  await next.advance(3_000);
  expect([next.followed.length, next.bugs.length, next.watch.issue]).toEqual([0, 1, null]);
  isBroken = false;
  await next.advance(60_000);
  expect(next.followed).toHaveLength(1);
  await next.watch.stop();
  next.set(-HOUR);
  await next.advance(2_000);
  expect(next.followed).toHaveLength(1);
});
