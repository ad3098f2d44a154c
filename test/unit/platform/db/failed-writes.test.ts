import { expect, test } from "bun:test";
import { FailedWrites } from "../../../../src/platform/db/failed-writes.ts";
import { type FakeClock, fakeClock } from "../../../support/fakes/clock.ts";
import { turn } from "../../../support/db/temporary.ts";

const MINUTE = 60_000;

function create(clock: FakeClock) {
  return new FailedWrites<string>({
    clock,
    log: { event: () => undefined, error: () => undefined },
    component: "worker",
    noun: { one: "delivery", many: "deliveries" },
    atNextStart: "tries them again",
    getName: (key) => `the ${key}`,
  });
}

test("what is kept is tried once a minute until it is written, and the oldest is named", async () => {
  const clock = fakeClock();
  const unwritten = create(clock);
  let tries = 0;
  const since = clock.now();
  unwritten.keep("a", () => (++tries < 3 ? Promise.reject(new Error("a bug")) : Promise.resolve()));
  for (let minute = 1; minute <= 5; minute++) {
    expect(unwritten.issue?.since).toBe(minute <= 3 ? since : undefined);
    if (minute <= 3) expect(unwritten.issue?.reason).toContain("one delivery (the first: the a;");
    clock.advance(MINUTE);
    await turn();
  }
  expect([tries, unwritten.size]).toEqual([3, 0]);
});

test("what comes to be kept under a key while an earlier one is written stays, and is written in its turn", async () => {
  const clock = fakeClock();
  const unwritten = create(clock);
  const written: string[] = [];
  const first = Promise.withResolvers<void>();
  unwritten.keep("a", () => first.promise.then(() => written.push("first")));
  clock.advance(MINUTE);
  unwritten.keep("a", () => Promise.resolve(written.push("second")));
  first.resolve();
  await turn();
  expect([written, unwritten.has("a")]).toEqual([["first"], true]);
  clock.advance(MINUTE);
  await turn();
  expect([written, unwritten.has("a")]).toEqual([["first", "second"], false]);
});
