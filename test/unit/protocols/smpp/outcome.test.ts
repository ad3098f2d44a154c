import { expect, test } from "bun:test";
import { nextStep, findStatusRule } from "../../../../src/protocols/smpp/submit-outcome.ts";
import { hex } from "../../../../src/protocols/smpp/pdu/status.ts";
import { type StatusRule, STATUSES } from "../../../../src/protocols/smpp/pdu/status-table.ts";

const FRESH = { retries: 0, canReroute: true, canReencode: true };

/** The rulebook's table. */
const TABLE: [
  codes: number[],
  action: StatusRule["action"],
  category: StatusRule["category"],
  more?: Partial<StatusRule>,
][] = [
  [[0x00], "accept", null],
  [[0x01], "fail", "content_rejected", { isAlarming: true }],
  [[0x02, 0x03], "fail", "protocol_error"],
  [[0x04], "retry", "provider_unavailable"],
  [
    [0x06, 0x07, 0x15, 0x43, 0x54, 0x61, 0x62, 0x63, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4],
    "fail",
    "protocol_error",
    { isAlarming: true },
  ],
  [[0x08], "retry", "provider_error", { retries: 5, delayMs: [5_000, 300_000] }],
  [[0x0a, 0x48, 0x49], "fail", "sender_rejected"],
  [[0x0b], "reroute", "invalid_destination"],
  [[0x50, 0x51], "fail", "invalid_destination"],
  [[0x0d, 0x0e, 0x0f, 0x53], "bind", "provider_auth"],
  [[0x0c, 0x11, 0x13, 0x33, 0x34, 0x40, 0x42, 0x44, 0x55, 0x67], "fail", "protocol_error", { isAlarming: false }],
  [[0x14], "retry", "throttled", { delayMs: [30_000, 180_000], pausesRoute: "when_frequent" }],
  [[0x45, 0xff], "retry", "provider_error", { retries: 2, otherwise: "reroute" }],
  [[0x58], "retry", "throttled", { pausesRoute: "never", isCounted: false, retries: null }],
  [[0x64], "retry", "provider_error", { retries: null }],
  [[0x65, 0x66], "fail", "content_rejected"],
  [[0xfe], "fail", "provider_error"],
  [[0x100, 0x101, 0x103], "fail", "blocked"],
  [[0x102], "retry", "blocked"],
  [[0x104], "reencode", "content_rejected"],
  [[0x400, 0x4ff, 0x500, 0xffff_ffff, 0x09, 0x10], "retry", "provider_error", { retries: 2, otherwise: "fail" }],
];

for (const [codes, action, category, more = {}] of TABLE) {
  test(`${codes.map(hex).join(", ")}: ${action}, ${category}`, () => {
    for (const code of codes) expect([code, findStatusRule(code)]).toMatchObject([code, { action, category, ...more }]);
  });
}

test("every status has its own SMPP name; what has none is named by its number", () => {
  const names = [...STATUSES.values()].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.every((name) => /^ESME_R[A-Z_]+$/.test(name))).toBe(true);
  expect([findStatusRule(0).name, findStatusRule(0x58).name, findStatusRule(0x410).name]).toEqual([
    ...["ESME_ROK", "ESME_RTHROTTLED", "0x00000410"],
  ]);
  expect(hex(0x58)).toBe("0x00000058");
});

test("retries wait longer each time, up to the most, and end where the rule has a number", () => {
  const step = (code: number, retries: number) =>
    nextStep(findStatusRule(code), { ...FRESH, canReroute: false, retries });
  const waits = [0, 1, 5, 6, 60].map((retries) => step(0x64, retries));
  expect(waits.map((each) => (each.kind === "retry" ? each.afterMs : null))).toEqual([
    ...[5_000, 10_000, 160_000, 300_000, 300_000],
  ]);
  expect(step(0x08, 4).kind).toBe("retry");
  expect(step(0x08, 5)).toEqual({ kind: "failed", category: "provider_error" });
  expect(step(0x410, 1).kind).toBe("retry");
  expect(step(0x410, 2)).toEqual({ kind: "failed", category: "provider_error" });
  expect(step(0x58, 1_000)).toMatchObject({ kind: "retry", isCounted: false });
});

test("another route is tried once, where there is one", () => {
  expect(nextStep(findStatusRule(0x0b), FRESH)).toEqual({ kind: "reroute" });
  expect(nextStep(findStatusRule(0x0b), { ...FRESH, canReroute: false })).toEqual({
    ...{ kind: "failed", category: "invalid_destination" },
  });
  expect(nextStep(findStatusRule(0x45), FRESH).kind).toBe("retry");
  expect(nextStep(findStatusRule(0x45), { ...FRESH, retries: 2 })).toEqual({ kind: "reroute" });
  expect(nextStep(findStatusRule(0x45), { ...FRESH, retries: 2, canReroute: false }).kind).toBe("failed");
});

test("what is accepted, refused or to be written anew is so at once", () => {
  expect(nextStep(findStatusRule(0), FRESH)).toEqual({ kind: "accepted" });
  expect(nextStep(findStatusRule(0x0a), FRESH)).toEqual({ kind: "failed", category: "sender_rejected" });
  expect(nextStep(findStatusRule(0x0e), FRESH)).toEqual({ kind: "failed", category: "provider_auth" });
  expect(nextStep(findStatusRule(0x104), FRESH)).toEqual({ kind: "reencode" });
  expect(nextStep(findStatusRule(0x104), { ...FRESH, canReencode: false })).toEqual({
    ...{ kind: "failed", category: "content_rejected" },
  });
});

test("a route's own entries come before the table, member by member", () => {
  const overrides = new Map<number, Partial<StatusRule>>([
    [0x410, { action: "fail", category: "blocked", name: "BLACKLISTED" }],
    [0x58, { delayMs: [3_000, 3_000] }],
  ]);
  expect(findStatusRule(0x410, overrides)).toMatchObject({ action: "fail", category: "blocked", name: "BLACKLISTED" });
  expect(findStatusRule(0x58, overrides)).toMatchObject({ name: "ESME_RTHROTTLED", delayMs: [3_000, 3_000] });
  expect(findStatusRule(0x59, overrides)).toEqual(findStatusRule(0x59));
});
