import { expect, test } from "bun:test";
import { DEFAULT_SMS_PREFIXES } from "../../../../../src/config/config.ts";
import { isSameNumber, numberAdvice } from "../../../../../src/modules/sms/encoding/phone-number.ts";

const NAMED = "Numbers that can be texted begin with +25882, +25883, +25884, +25885, +25886, +25887.";

test.each([
  ["841234567", "Write + and the country code at its beginning: +258841234567."],
  ["258841234567", "Write + and the country code at its beginning: +258841234567."],
  ["00258841234567", "Write + and the country code at its beginning: +258841234567."],
  ["84123456", "Write + and the country code at its beginning."],
  ["+258 84 123 4567", "Write it without spaces and other signs between the digits: +258841234567."],
  ["(84) 123-4567", "Write it without spaces and other signs between the digits: +258841234567."],
  ["+258841234567\n", "Write it without spaces and other signs between the digits: +258841234567."],
  ["+351 912 345 678", "Write it without spaces and other signs between the digits."],
  ["+25884123456", "It has 11 digits behind the +; such a number has 12."],
  ["+2588412345678", "It has 13 digits behind the +; such a number has 12."],
  ["+351912345678", NAMED],
  ["+258811234567", NAMED],
  [" 258841234567", "In a query a plus is written %2B."],
  ["Maria", null],
  ["", null],
  ["+", null],
])("of %p is said: %p", (value, advice) => {
  expect(numberAdvice(value, { prefixes: DEFAULT_SMS_PREFIXES, length: 12 })).toBe(advice);
});

test("of many prefixes the first ten are named", () => {
  const prefixes = Array.from({ length: 12 }, (_, at) => String(25_800 + at));
  expect(numberAdvice("+351912345678", { prefixes, length: 12 })).toEndWith("+25809, ….");
});

test("numbers are compared by their last nine digits", () => {
  expect(isSameNumber("+258841234567", "841234567")).toBe(true);
  expect(isSameNumber("258841234567", "00258 84 123 4567")).toBe(true);
  expect(isSameNumber("258841234567", "258841234568")).toBe(false);
  expect(isSameNumber("84567", "84567")).toBe(true);
  expect(isSameNumber("84567", "258841284567")).toBe(false);
  expect(isSameNumber("Loja", "")).toBe(false);
});
