import { expect, test } from "bun:test";
import { encodeSubmit, relativeValidity } from "../../../../../src/protocols/smpp/pdu/submit-sm.ts";
import { CASES, SUBMIT } from "../../../../support/smpp/codec-cases.ts";

for (const [name, run] of Object.entries(CASES)) test(name, async () => void (await run()));

test("what may not go on the wire is refused, with its field: the package would write something else", () => {
  const cases = [
    ["source", { source: { ton: 5, npi: 0, address: "Água" } }],
    ["source", { source: { ton: 5, npi: 0, address: "a".repeat(21) } }],
    ["destination", { destination: { ton: 1, npi: 1, address: "" } }],
    ["destination", { destination: { ton: 1, npi: 1, address: "25884\u0000" } }],
    ["validityPeriod", { validityPeriod: "1" }],
    ["shortMessage", { shortMessage: Buffer.alloc(255) }],
    ["messagePayload", { messagePayload: Buffer.alloc(10) }],
    ["sar", { esmClass: 0x40, sar: { reference: 1, total: 2, seq: 1 } }],
  ] as const;
  for (const [field, change] of cases) expect(() => encodeSubmit(1, { ...SUBMIT, ...change })).toThrow(field);
  expect(encodeSubmit(1, { ...SUBMIT, shortMessage: Buffer.alloc(254) }).length).toBeGreaterThan(254);
});

test("a validity is what is left, of at least a minute and at most thirty days", () => {
  const day = 86_400_000;
  expect(relativeValidity(day)).toBe("000001000000000R");
  expect(relativeValidity(600_000)).toBe("000000001000000R");
  expect(relativeValidity(day + 3_600_000 * 5 + 60_000 * 4 + 3_999)).toBe("000001050403000R");
  expect(relativeValidity(-1)).toBe("000000000100000R");
  expect(relativeValidity(400 * day)).toBe("000030000000000R");
});
