import { expect, test } from "bun:test";
import { watchEventLoop } from "../../../../src/platform/metrics/event-loop-lag.ts";

test("a loop that stands still is seen to be late by as long", async () => {
  const { promise: late, resolve } = Promise.withResolvers<number>();
  const end = watchEventLoop(resolve);
  const until = performance.now() + 250;
  while (performance.now() < until);
  const seconds = await late;
  end();
  expect(seconds).toBeGreaterThan(0.1);
  expect(seconds).toBeLessThan(5);
});

test("after its end nothing is told", async () => {
  let told = 0;
  const end = watchEventLoop(() => (told += 1));
  end();
  // Two rounds of another watch, so that the first would have told by now.
  await new Promise<void>((resolve) => {
    let rounds = 0;
    const endOther = watchEventLoop(() => {
      rounds += 1;
      if (rounds < 2) return;
      endOther();
      resolve();
    });
  });
  expect(told).toBe(0);
});
