import { expect, test } from "bun:test";
import { computeHealth, classify } from "../../../../../src/modules/webhooks/delivery/outcome.ts";
import type { WebhookRow } from "../../../../../src/modules/webhooks/store.ts";

const NOW = Date.UTC(2026, 0, 1);
const DAY = 24 * 3_600_000;

const answer = (status: number, retryAfter: string | null = null, text = "") => ({
  kind: "answer" as const,
  status,
  text,
  body: text,
  retryAfter,
});

test("2xx is success, and nothing else is", () => {
  for (const status of [200, 201, 202, 204, 299])
    expect([status, classify(answer(status), 1, NOW).isDelivered]).toEqual([status, true]);
  for (const status of [100, 199, 300, 301, 304, 400, 404, 410, 429, 500, 503]) {
    expect([status, classify(answer(status), 1, NOW).isDelivered]).toEqual([status, false]);
  }
});

test("after eight attempts an event is given up", () => {
  expect([7, 8].map((attempt) => classify(answer(500), attempt, NOW).isLast)).toEqual([false, true]);
});

test("410 is the end at once", () => {
  expect(classify(answer(410), 1, NOW)).toMatchObject({ isGone: true, isLast: true });
});

/** Retry-After, and how many ms later; null: the schedule. */
const WAITS: [header: string | null, waitMs: number | null][] = [
  ["120", 120_000],
  [" 60 ", 60_000],
  ["86400", DAY],
  ["86401", DAY],
  ["999999999", DAY],
  [new Date(NOW + 90_000).toUTCString(), 90_000],
  [new Date(NOW + 9 * DAY).toUTCString(), DAY],
  [new Date(NOW - 1_000).toUTCString(), null],
  ["0", null],
  ["-5", null],
  ["soon", null],
  ["1e9", null],
  [null, null],
];

test("Retry-After never shortens a wait: a second, eight times, would use all attempts up", () => {
  expect(classify(answer(503, "1"), 1, NOW).retryAt).toBeNull();
  expect(classify(answer(429, "60"), 2, NOW).retryAt).toBeNull();
  expect(classify(answer(429, "600"), 2, NOW).retryAt).toBe(NOW + 600_000);
});

test("Retry-After is followed, up to a day", () => {
  for (const [header, waitMs] of WAITS) {
    const { retryAt } = classify(answer(503, header), 1, NOW);
    expect([header, retryAt === null ? null : retryAt - NOW]).toEqual([header, waitMs]);
  }
});

const row = (change: Partial<WebhookRow>): WebhookRow => ({
  id: 1,
  uid: "u",
  workspaceId: 1,
  url: "https://example.com/",
  events: "[]",
  description: null,
  isEnabled: true,
  disabledReason: null,
  secret: Buffer.alloc(0),
  oldSecrets: "[]",
  createdAt: 0,
  lastDeliveryAt: null,
  lastFailureAt: null,
  lastFailureReason: null,
  failingSince: null,
  deliveryCount: 0,
  ...change,
});

test("nothing but failures for five days turns a webhook off, one success in between does not", () => {
  const failure = classify(answer(500), 1, NOW);
  const lastFailureAt = NOW - DAY;
  expect(computeHealth(row({ lastFailureAt, failingSince: NOW - 5 * DAY + 1 }), failure, NOW).isEnabled).toBe(true);
  expect(computeHealth(row({ lastFailureAt, failingSince: NOW - 5 * DAY }), failure, NOW)).toMatchObject({
    isEnabled: false,
    disabledReason: "Nothing but failures for 5 days",
  });
  const success = computeHealth(row({ failingSince: NOW - 9 * DAY }), classify(answer(200), 1, NOW), NOW);
  expect(success).toMatchObject({ isEnabled: true, failingSince: null, lastDeliveryAt: NOW });
  // Failures of last month, and silence since.
  const old = row({ lastFailureAt: NOW - 30 * DAY, failingSince: NOW - 31 * DAY });
  expect(computeHealth(old, failure, NOW)).toMatchObject({ isEnabled: true, failingSince: NOW });
  expect(computeHealth(row({ ...success }), failure, NOW + DAY)).toMatchObject({
    isEnabled: true,
    failingSince: NOW + DAY,
  });
});

test("one that its owner has turned off meanwhile keeps no reason of ours", () => {
  const health = computeHealth(
    row({ isEnabled: false, failingSince: NOW - 9 * DAY }),
    classify(answer(410), 1, NOW),
    NOW,
  );
  expect(health).toMatchObject({ isEnabled: false, disabledReason: null });
});
