import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { CircuitBreaker } from "../../../../../src/modules/sms/gateway/circuit-breaker.ts";
import { findStatusRule } from "../../../../../src/protocols/smpp/submit-outcome.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const [OK, FULL, ERROR, THROTTLED] = [0x00, 0x14, 0x45, 0x58].map((status) => findStatusRule(status));

function makeHealth(failover = ["other"]) {
  const clock = fakeClock();
  const events: string[] = [];
  const pauses: number[] = [];
  const health = new CircuitBreaker({
    routes: new Map([["own", { config: { ...defaultSmsRoute("own"), failover } }]]),
    steady: clock,
    log: { event: (name) => void events.push(name), error: () => undefined },
    links: { pause: (_, ms) => void pauses.push(ms) },
  });
  const answer = (rule = OK, times = 1) => {
    for (let time = 0; time < times; time += 1) if (rule !== undefined) health.responded("own", rule);
  };
  return { health, clock, events, pauses, answer };
}

test("a full queue is frequent in more than a fifth of the last fifty answers, good ones counted", () => {
  const { health, answer } = makeHealth();
  for (let nth = 0; nth < 50; nth += 1) answer(nth % 5 === 0 ? FULL : OK);
  expect(health.isMostlyFull("own")).toBe(false);
  // The first pushes an older one out.
  answer(FULL);
  expect(health.isMostlyFull("own")).toBe(false);
  answer(FULL);
  expect(health.isMostlyFull("own")).toBe(true);
  // A number that is always full, among many others, is no reason to rest.
  for (let nth = 0; nth < 500; nth += 1) {
    answer(nth % 10 === 0 ? FULL : OK);
    expect(health.isMostlyFull("own")).toBe(false);
  }
  answer(FULL, 8);
  expect(health.isMostlyFull("own")).toBe(true);
  expect(health.isMostlyFull("own")).toBe(false);
});

test("fifty errors among the last hundred answers open the circuit, throttling does not", () => {
  const { health, answer, events, pauses } = makeHealth();
  answer(THROTTLED, 200);
  for (let nth = 0; nth < 300; nth += 1) answer(nth % 3 === 0 ? ERROR : OK);
  expect(health.isOpen("own")).toBe(false);
  answer(ERROR, 25);
  expect(health.isOpen("own")).toBe(true);
  expect([events, pauses]).toEqual([["sms.circuit_open"], [30_000]]);
  expect(health.allowance("own")).toBe(0);
  expect(health.allowance("another")).toBe(Infinity);
});

test("where nothing stands in, nothing opens", () => {
  const { health, answer, events } = makeHealth([]);
  answer(ERROR, 200);
  expect([health.isOpen("own"), events]).toEqual([false, []]);
});

test("after the pause three are tried: good answers close it, one error or none opens it for twice as long", () => {
  const { health, answer, clock, events, pauses } = makeHealth();
  answer(ERROR, 50);
  // On their way when it opened.
  answer(OK, 10);
  clock.advance(30_000);
  expect(health.allowance("own")).toBe(3);
  answer(OK, 10);
  expect(health.isOpen("own")).toBe(true);
  health.sent("own", 3);
  expect(health.allowance("own")).toBe(0);
  answer(OK, 2);
  answer(ERROR);
  expect(pauses).toEqual([30_000, 60_000]);
  clock.advance(60_000);
  health.sent("own", 1);
  health.timedOut("own");
  expect(pauses.at(-1)).toBe(120_000);
  for (let time = 0; time < 5; time += 1) {
    clock.advance(300_000);
    health.sent("own", 1);
    answer(ERROR);
  }
  expect(pauses.at(-1)).toBe(300_000);
  clock.advance(300_000);
  health.sent("own", 3);
  answer(OK, 3);
  expect([health.isOpen("own"), health.allowance("own")]).toEqual([false, Infinity]);
  expect(events.at(-1)).toBe("sms.circuit_closed");
  // All links ask for more, those too that had nothing of the trial.
  expect(pauses.at(-1)).toBe(0);
  // What was before is forgotten.
  answer(ERROR, 49);
  expect(health.isOpen("own")).toBe(false);
});

test("a trial that nothing is heard of is begun anew after a minute", () => {
  const { health, answer, clock } = makeHealth();
  answer(ERROR, 50);
  clock.advance(30_000);
  health.sent("own", 3);
  clock.advance(60_000);
  expect(health.allowance("own")).toBe(0);
  clock.advance(1);
  expect(health.allowance("own")).toBe(3);
});
