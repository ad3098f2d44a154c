import { expect, test } from "bun:test";
import { candidateKeys, idKey } from "../../../../../src/modules/sms/receipts/message-id.ts";

/** An id as the answer had it, and as the receipt has it. */
const PAIRS: [what: string, answer: string, receipt: string][] = [
  ["the same", "abc-1_$", "abc-1_$"],
  ["upper case in the receipt", "39f99dd5", "39F99DD5"],
  ["upper case in the answer", "39F99DD5", "39f99dd5"],
  ["zeros in the receipt", "972660181", "0972660181"],
  ["zeros in the answer", "0000001f", "1F"],
  ["hexadecimal in the answer, decimal and padded in the receipt", "39f99dd5", "0972660181"],
  ["decimal in the answer, hexadecimal in the receipt", "972660181", "39F99DD5"],
  ["padded hexadecimal in the answer", "0039F99DD5", "972660181"],
  ["19 digits", "1234567890123456789", "112210f47de98115"],
  ["0x before it", "972660181", "0x39f99dd5"],
  ["nothing but zeros", "000", "0"],
  ["64 characters", "f".repeat(64), "F".repeat(64)],
  ["space around it", " 17", "17 "],
];

for (const [what, answer, receipt] of PAIRS) {
  test(`a receipt finds its message: ${what}`, () => {
    expect(candidateKeys(receipt).map(({ key }) => key)).toContain(idKey(answer)!);
  });
}

test("the id as it is comes first, and each key once; digits may be meant either way", () => {
  expect(candidateKeys("0972660181")).toEqual([
    { key: "972660181", conversion: "same" },
    { key: "40573993345", conversion: "hex_to_decimal" },
    { key: "39f99dd5", conversion: "decimal_to_hex" },
  ]);
  expect(candidateKeys("7")).toEqual([{ key: "7", conversion: "same" }]);
  expect(candidateKeys("x-1")).toEqual([{ key: "x-1", conversion: "same" }]);
});

test("more than twenty digits are converted no more, and an empty id has no key", () => {
  expect(candidateKeys("1".repeat(20))).toHaveLength(3);
  expect(candidateKeys("1".repeat(21))).toHaveLength(1);
  expect(candidateKeys(" ")).toEqual([]);
  expect(idKey("")).toBe(null);
  expect(idKey("A".repeat(500))).toBe("a".repeat(65));
});
