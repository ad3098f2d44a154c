// The wall clock jumps by an hour: nothing expires by it, nothing is sent early or all at once, nothing waits longer.
import { expect, setDefaultTimeout, test } from "bun:test";
import { steadyClock } from "../../../src/platform/clock.ts";
import { MessageClock } from "../../../src/modules/sms/queue/message-clock.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { judged, shiftedClock, startTexting } from "../../support/texting/world.ts";

setDefaultTimeout(40_000);

const HOUR = 3_600_000;
const MINUTE = 60_000;

for (const hours of [1, -1, -24]) {
  test(`a jump of ${hours} h neither expires what waits, nor makes it due, nor keeps it`, async () => {
    const clock = shiftedClock();
    await using world = await startTexting({
      script: {
        rules: [
          { to: "258840000001", answer: { status: 0x14 } },
          { count: 1, answer: { status: 0x58 } },
        ],
      },
      instance: { clock, steady: steadyClock },
      configure: (config) => void (config.sms.transactionalLifetimeMs = 10 * MINUTE),
    });
    const full = await world.text({ to: "+258840000001" });
    await world.smsc.until({ answers: 1 });
    const throttled = await world.text({ to: "+258840000002" });
    await world.smsc.until({ answers: 2 });
    clock.shift(hours * HOUR);
    // Accepted in the new time, before the jump was seen.
    const next = await world.text({ to: "+258840000003" });
    for (const id of [throttled, next]) await world.until(id, ({ status }) => status === "delivered");
    const jumped = () => world.instance.events.filter(({ name }) => name === "sms.clock_jumped");
    await waitUntil("the jump is seen", 15_000, () => jumped().length > 0);
    expect(await world.show(full)).toMatchObject({ status: "queued" });
    const [row] = world.segments();
    const waitMs = (row?.next_at ?? 0) - clock.now();
    // 30 s after its answer, by whatever clock.
    expect(waitMs).toBeGreaterThan(5_000);
    expect(waitMs).toBeLessThan(30_000);
    await world.smsc.script({ rules: [] });
    const late = await world.text({ to: "+258840000004" });
    await world.until(late, ({ status }) => status === "delivered");
    expect(jumped()).toMatchObject([{ fields: { byS: hours * 3_600 } }]);
    expect((await world.smsc.state()).counters.submits).toBe(5);
    expect((await judged(world, [full, throttled, next, late])).broken).toEqual([]);
  });
}

test("set back by a day between two runs, texts wait no longer for it", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({
    script: { rules: [{ count: 1, answer: { status: 0x58 } }] },
    instance: { clock, steady: steadyClock },
  });
  const throttled = await world.text({ to: "+258840000002" });
  await world.smsc.until({ answers: 1 });
  await waitUntil("its answer is written", 15_000, () => world.segments()[0]?.state === "ready");
  clock.shift(-24 * HOUR);
  await world.instance.restart();
  await world.until(throttled, ({ status }) => status === "delivered");
  const back = world.instance.events.filter(({ name }) => name === "clock.set_back");
  expect(back).toHaveLength(1);
  await world.instance.restart();
  expect(world.instance.events.filter(({ name }) => name === "clock.set_back")).toEqual(back);
  expect((await judged(world, [throttled])).broken).toEqual([]);
});

test("a small drift is followed, a sleep of many hours is time that has passed", () => {
  const [wall, steady] = [fakeClock(1_000_000), fakeClock(0)];
  const clock = new MessageClock(wall, steady);
  wall.advance(1_000);
  steady.advance(900);
  expect([clock.now(), clock.jump]).toEqual([1_001_000, null]);
  wall.advance(HOUR);
  expect(clock.now()).toBe(1_001_000);
  const { jump } = clock;
  expect(jump).toEqual({ byMs: HOUR, beforeMs: 1_001_000, seenForMs: 0 });
  steady.advance(500);
  wall.advance(500);
  expect(clock.now()).toBe(1_001_500);
  if (jump !== null) clock.follow(jump);
  expect([clock.now(), clock.jump]).toEqual([1_001_500 + HOUR, null]);
  wall.advance(5 * HOUR);
  expect([clock.now(), clock.jump]).toEqual([1_001_500 + 6 * HOUR, null]);
});
