import { expect, test } from "bun:test";
import {
  findFailureCategory,
  type FailureCategory,
  isUnknownSubscriber,
  networkErrorText,
  readNetworkError,
} from "../../../../../src/modules/sms/receipts/failure.ts";

const GSM: [numbers: number[], category: FailureCategory | null][] = [
  [[1, 5], "unknown_subscriber"],
  [[6, 27, 31], "absent_subscriber"],
  [[11, 21, 22, 32, 40], "handset_error"],
  [[9, 12, 13], "blocked"],
  [[34, 35, 36, 51], "provider_error"],
  [[0, 2, 100, 999], null],
];

for (const [numbers, category] of GSM) {
  test(`GSM errors ${numbers.join(", ")} are ${category}, in the TLV and by default in the text`, () => {
    for (const code of numbers) {
      const networkError = { network: "gsm", code } as const;
      expect([code, findFailureCategory({ err: null, networkError })]).toEqual([code, category]);
      const err = String(code).padStart(3, "0");
      expect([err, findFailureCategory({ err, networkError: null })]).toEqual([err, category]);
    }
  });
}

test("the TLV counts before the text, unless it says that there is no error", () => {
  const of = (network: "gsm" | "is95", code: number) =>
    findFailureCategory({ err: "001", networkError: { network, code } });
  expect(of("gsm", 27)).toBe("absent_subscriber");
  expect(of("gsm", 0)).toBe("unknown_subscriber");
  // Another network's numbers are not GSM's.
  expect(of("is95", 27)).toBe(null);
});

test("a route's own words come first, with or without zeros", () => {
  const overrides = new Map<string, FailureCategory>([
    ["69", "blocked"],
    ["0A7", "absent_subscriber"],
    ["001", "absent_subscriber"],
  ]);
  const of = (err: string) => findFailureCategory({ err, networkError: null }, overrides);
  expect([of("069"), of("69"), of("0A7"), of("001"), of("1"), of("005"), of("ABC")]).toEqual([
    ...(["blocked", "blocked", "absent_subscriber", "absent_subscriber"] as const),
    ...(["unknown_subscriber", "unknown_subscriber", null] as const),
  ]);
  expect(findFailureCategory({ err: null, networkError: { network: "gsm", code: 69 } }, overrides)).toBe("blocked");
});

test("network_error_code is a network and a number (SMPP 3.4 §5.3.2.31)", () => {
  const text = (...octets: number[]) => {
    const error = readNetworkError(Uint8Array.from(octets));
    return error === null ? null : networkErrorText(error);
  };
  expect([text(3, 0, 27), text(1, 1, 0), text(2, 0, 5), text(4, 0, 1), text(0, 0, 1)]).toEqual([
    ...["gsm:27", "ansi136:256", "is95:5", "reserved:1", "reserved:1"],
  ]);
  expect([text(3, 27), text(), text(3, 0, 0, 27)]).toEqual([null, null, null]);
});

test("a number is nobody's by the network's own word or by one that the route knows, not by a vendor's alone", () => {
  const of = (err: string | null, gsm: number | null, words: [string, FailureCategory][] = []) => {
    const networkError = gsm === null ? null : ({ network: "gsm", code: gsm } as const);
    return isUnknownSubscriber({ err, networkError }, new Map(words));
  };
  expect([of(null, 1), of("069", 1), of("69", null, [["069", "unknown_subscriber"]])]).toEqual([true, true, false]);
  expect([of("069", null, [["69", "unknown_subscriber"]]), of("1", null, [["1", "unknown_subscriber"]])]).toEqual([
    ...[true, true],
  ]);
  expect([of("001", null), of(null, 5), of(null, 27), of("001", 27), of(null, null)]).toEqual(Array(5).fill(false));
  expect([of(null, 1, [["1", "absent_subscriber"]]), of("001", 0)]).toEqual([false, false]);
});
