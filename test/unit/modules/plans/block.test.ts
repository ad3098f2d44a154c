import { expect, test } from "bun:test";
import { findRefusal, type Standing } from "../../../../src/modules/plans/sending-refusal.ts";

const FREE: Standing = { blockedAt: null, blockReason: null, rateBlockedAt: null, rateBlockReason: null };
const AT = Date.UTC(2026, 10, 21, 23, 59);

test("who is not blocked is not refused", () => {
  expect(findRefusal(FREE)).toBeNull();
  // A reason alone blocks nobody.
  expect(findRefusal({ ...FREE, blockReason: "x", rateBlockReason: "y" })).toBeNull();
});

test("each block is told with its day, its reason and who lifts it; the operator's own comes first", () => {
  const cases: [Partial<Standing>, string][] = [
    [{ blockedAt: AT }, "The operator has blocked sending since 2026-11-21"],
    [{ blockedAt: AT, blockReason: "Unpaid" }, "The operator has blocked sending since 2026-11-21: Unpaid"],
    [{ rateBlockedAt: AT, rateBlockReason: "9 % bounced" }, "Sending is blocked since 2026-11-21: 9 % bounced"],
    [{ rateBlockedAt: AT }, "Sending is blocked since 2026-11-21: too many emails bounced or were complained about"],
    [{ blockedAt: AT, rateBlockedAt: AT, rateBlockReason: "x" }, "The operator has blocked sending since 2026-11-21"],
  ];
  for (const [blocks, message] of cases) {
    const refusal = findRefusal({ ...FREE, ...blocks });
    expect([refusal?.code, refusal?.message]).toEqual(["SENDING_BLOCKED", message]);
    expect(refusal?.hint).toContain("operator");
  }
});

test("a workspace that was deleted meanwhile has no valid key any more", () => {
  expect(findRefusal(undefined)?.code).toBe("INVALID_API_KEY");
});
