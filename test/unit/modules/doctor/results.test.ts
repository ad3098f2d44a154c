// What changed from one run to the next, as alerts are to hear of it.
import { expect, test } from "bun:test";
import type { Finding, Level } from "../../../../src/modules/doctor/finding.ts";
import { createResults } from "../../../../src/modules/doctor/results.ts";

const ptr = (level: Level, subject = "203.0.113.7"): Finding => ({
  id: "ptr",
  level,
  subject,
  seen: `${level}.`,
  step: level === "ok" ? null : "do",
});

function follow() {
  const results = createResults();
  const heard: string[] = [];
  results.onChange((worse, better) => {
    for (const { subject, level } of worse) heard.push(`worse ${subject} ${level}`);
    for (const { subject, level } of better) heard.push(`better ${subject} ${level}`);
  });
  const record = (...found: Finding[]) => {
    results.record(found, { at: 0, tookMs: 1 }, () => true);
    return heard.splice(0);
  };
  return { results, record };
}

test("a trouble is told of when it begins, when it changes and when it ends, and never twice", () => {
  const { record } = follow();
  expect(record(ptr("ok"))).toEqual([]);
  expect(record(ptr("warning"))).toEqual(["worse 203.0.113.7 warning"]);
  expect(record(ptr("warning"))).toEqual([]);
  expect(record(ptr("problem"))).toEqual(["worse 203.0.113.7 problem"]);
  expect(record(ptr("problem"))).toEqual([]);
  expect(record(ptr("warning"))).toEqual(["better 203.0.113.7 warning"]);
  expect(record(ptr("ok"))).toEqual(["better 203.0.113.7 ok"]);
  expect(record(ptr("ok"))).toEqual([]);
});

test("what is unknown neither begins a trouble nor ends it", () => {
  const { record, results } = follow();
  expect(record(ptr("unknown"))).toEqual([]);
  expect(record(ptr("problem"))).toEqual(["worse 203.0.113.7 problem"]);
  expect(record(ptr("unknown"))).toEqual([]);
  expect(results.findings()).toEqual([ptr("unknown")]);
  expect(record(ptr("problem"))).toEqual([]);
  expect(record(ptr("ok"))).toEqual(["better 203.0.113.7 ok"]);
});

test("the trouble of what is gone ends, even where it was last unknown", () => {
  const { record, results } = follow();
  record(ptr("problem"), ptr("problem", "203.0.113.8"));
  record(ptr("unknown"), ptr("problem", "203.0.113.8"));
  expect(record(ptr("problem", "203.0.113.8"))).toEqual(["better 203.0.113.7 ok"]);
  expect(results.findings().map(({ subject }) => subject)).toEqual(["203.0.113.8"]);
});

test("what a run did not look at stays", () => {
  const { results } = follow();
  results.record([ptr("problem")], { at: 1, tookMs: 1 }, () => true);
  const other: Finding = { id: "memory", level: "ok", seen: "ok.", step: null };
  results.record([other], { at: 2, tookMs: 1 }, ({ id }) => id === "memory");
  expect(results.findings().map(({ id }) => id)).toEqual(["ptr", "memory"]);
  expect(results.lastRun?.at).toBe(2);
});

test("who no longer listens hears nothing", () => {
  const results = createResults();
  let calls = 0;
  const stop = results.onChange(() => (calls += 1));
  results.record([ptr("problem")], { at: 0, tookMs: 1 }, () => true);
  stop();
  results.record([ptr("ok")], { at: 0, tookMs: 1 }, () => true);
  expect(calls).toBe(1);
});

test("one that is unknown as a whole ends no trouble of its subjects, and what was known stays a trouble", () => {
  const { record, results } = follow();
  const blank: Finding = { id: "ptr", level: "unknown", seen: "The time was over.", step: null };
  expect(results.isKnown({ id: "ptr", subject: "203.0.113.7" })).toBe(false);
  record(ptr("problem"));
  expect(record(blank)).toEqual([]);
  expect(results.troubles()).toEqual([ptr("problem")]);
  expect(results.isKnown({ id: "ptr", subject: "203.0.113.8" })).toBe(false);
  expect(record(ptr("ok"))).toEqual(["better 203.0.113.7 ok"]);
  expect(results.troubles()).toEqual([]);
  expect(results.isKnown({ id: "ptr", subject: "203.0.113.8" })).toBe(true);
});
