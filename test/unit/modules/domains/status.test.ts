import { expect, test } from "bun:test";
import {
  type Evidence,
  givenUpAt,
  type VerificationState,
  stateAfterCheck,
  nextCheckAt,
} from "../../../../src/modules/domains/status.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const T = Date.UTC(2026, 0, 5);

const life = (status: VerificationState["status"], changes: Partial<VerificationState> = {}): VerificationState => ({
  status,
  createdAt: T,
  verifiedAt: null,
  warningAt: null,
  ...changes,
});
const seen = (rsa: Evidence["rsa"], isTakenElsewhere = false): Evidence => ({ rsa, isTakenElsewhere });
const once = { verifiedAt: T + HOUR };

test("only a definite answer moves a domain on, and each step is told once", () => {
  const table: [VerificationState, Evidence, number, Partial<VerificationState>, string | null][] = [
    [life("pending"), seen("yes"), T + DAY, { status: "verified", verifiedAt: T + DAY }, "verified"],
    [life("pending"), seen("yes", true), T + 30 * DAY, { status: "pending" }, null],
    [life("pending"), seen("no"), T + 14 * DAY - 1, { status: "pending", warningAt: null }, null],
    [life("pending"), seen("no"), T + 14 * DAY, { status: "failed" }, "failed"],
    [life("pending"), seen("unknown"), T + 30 * DAY, { status: "pending" }, null],
    [life("verified", once), seen("yes"), T + DAY, { status: "verified", ...once }, null],
    [life("verified", once), seen("unknown"), T + DAY, { status: "verified" }, null],
    [life("verified", once), seen("no"), T + DAY, { status: "warning", warningAt: T + DAY, ...once }, "warning"],
    [
      life("warning", { ...once, warningAt: T }),
      seen("no"),
      T + 72 * HOUR - 1,
      { status: "warning", warningAt: T },
      null,
    ],
    [life("warning", { ...once, warningAt: T }), seen("unknown"), T + 90 * HOUR, { status: "warning" }, null],
    [life("warning", { ...once, warningAt: T }), seen("no"), T + 72 * HOUR, { status: "failed", ...once }, "failed"],
    [
      life("warning", { ...once, warningAt: T }),
      seen("yes"),
      T + 90 * HOUR,
      { status: "verified", warningAt: null, ...once },
      "verified",
    ],
    [life("failed", once), seen("no"), T + DAY, { status: "failed" }, null],
    [life("failed", once), seen("yes", true), T + DAY, { status: "failed" }, null],
    [life("failed", once), seen("yes"), T + DAY, { status: "verified", warningAt: null, ...once }, "verified"],
    [life("suspended", once), seen("yes"), T + DAY, { status: "suspended" }, null],
    [life("suspended", once), seen("no"), T + DAY, { status: "suspended" }, null],
  ];
  for (const [before, evidence, now, expected, change] of table) {
    const after = stateAfterCheck(before, evidence, now);
    const name = `${before.status}, ${evidence.rsa}`;
    expect([name, after.life, after.change]).toEqual([name, expect.objectContaining(expected), change]);
  }
});

test("a domain that is pending after a suspension has its 14 days from when its key was first seen missing", () => {
  const lifted = life("pending", once);
  const now = T + 100 * DAY;
  const first = stateAfterCheck(lifted, seen("no"), now);
  expect(first).toEqual({ life: { ...lifted, warningAt: now }, change: null });
  expect(givenUpAt(lifted)).toBeNull();
  expect(givenUpAt(first.life)).toBe(now + 14 * DAY);
  expect(stateAfterCheck(first.life, seen("no"), now + 14 * DAY).change).toBe("failed");
  expect(stateAfterCheck(first.life, seen("yes"), now + DAY).life).toEqual({
    ...lifted,
    status: "verified",
    warningAt: null,
  });
});

test("nothing is planned for what is failed or suspended, and a thousand verified at once are spread over hours", () => {
  const ended = { now: T, isUnknown: false, wasUnknown: false, isAskedFor: false, lastDelayMs: null };
  for (const status of ["failed", "suspended"] as const) {
    for (const isUnknown of [false, true])
      expect(nextCheckAt(life(status, once), { ...ended, isUnknown, chance: 0.5 })).toBeNull();
  }
  const times = Array.from({ length: 1_000 }, (_, index) =>
    nextCheckAt(life("verified", once), { ...ended, chance: index / 1_000 }),
  ).map((at) => (at ?? 0) - T);
  expect(Math.min(...times)).toBe(0.9 * DAY);
  expect(Math.max(...times)).toBeLessThanOrEqual(1.1 * DAY);
  expect(new Set(times.map((at) => Math.floor(at / 1_000))).size).toBe(1_000);
});

test("a clock that was set back makes no minute of what was planned for days", () => {
  const ended = { isUnknown: false, wasUnknown: false, isAskedFor: false, lastDelayMs: -10 * DAY, chance: 0.5 };
  // Made in what is now the future: not eager, which would last until then.
  expect(nextCheckAt(life("pending"), { ...ended, now: T - DAY })).toBe(T - DAY + 5 * 60_000);
});
