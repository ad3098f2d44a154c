// What was just made is never told as to come, whatever the browser's clock says.

import { afterEach, describe, expect, test } from "bun:test";
import { noteServerTime, serverNow } from "../../../src/dashboard/web/api/server-clock.ts";
import { formatAgo } from "../../../src/dashboard/web/ui/format-time.ts";

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 10, 24, 12);
const at = (ms: number) => new Date(NOON + ms).toISOString();
const answered = (date: string | null) => ({ headers: new Headers(date === null ? {} : { date }) });
const toDate = (ms: number) => new Date(ms).toUTCString();

afterEach(() => noteServerTime(answered(toDate(Date.now()))));

describe("the server's clock", () => {
  test.each([-1, 1])("is told by its answers, by %p hours from the browser's", (hours) => {
    noteServerTime(answered(toDate(Date.now() + hours * HOUR_MS)));
    expect(Math.abs(serverNow() - Date.now() - hours * HOUR_MS)).toBeLessThan(5_000);
    noteServerTime(answered(null));
    expect(Math.abs(serverNow() - Date.now() - hours * HOUR_MS)).toBeLessThan(5_000);
  });

  test("is the browser's own as long as they agree but for the way of an answer", () => {
    noteServerTime(answered(toDate(NOON)), NOON + 3_000);
    const before = Date.now();
    expect(serverNow() - before).toBeLessThan(1_000);
    expect(serverNow()).toBeGreaterThanOrEqual(before);
  });
});

test("what lies a moment ahead is now, and what lies further ahead is to come", () => {
  Object.defineProperty(navigator, "languages", { value: ["en-GB"], configurable: true });
  expect(formatAgo(at(3_000), NOON)).toBe("now");
  expect(formatAgo(at(-3_000), NOON)).toBe("3 seconds ago");
  expect(formatAgo(at(HOUR_MS), NOON)).toBe("in 1 hour");
});
