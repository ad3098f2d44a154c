import { describe, expect, test } from "bun:test";
import { DEFAULT_SMS_PREFIXES } from "../../../../../src/config/number-prefix.ts";
import { isSameNumber, NumberingPlan, numberKey } from "../../../../../src/modules/sms/encoding/phone-number.ts";

const MOZAMBIQUE = new NumberingPlan(DEFAULT_SMS_PREFIXES);
const NAMED = describeOther("+25882, +25883, +25884, +25885, +25886, +25887");

/** The hint for a number of the right form with another beginning. */
function describeOther(prefixes: string): string {
  return `This instance sends no SMS to numbers that begin so; it sends to ${prefixes}. The operator sets them with [sms] prefixes (in the sandbox: pombo dev --prefixes).`;
}

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
  expect(MOZAMBIQUE.advise(value)).toBe(advice);
});

test("of many prefixes the first ten are named", () => {
  const prefixes = Array.from({ length: 12 }, (_, at) => String(25_800 + at));
  expect(new NumberingPlan(prefixes).advise("+351912345678")).toContain("+25809, …. ");
});

const PORTUGAL = new NumberingPlan(["3519xxxxxxxx"]);
const BRAZIL = new NumberingPlan(["55xx9xxxxxxxx"]);
const BOTH = new NumberingPlan([...DEFAULT_SMS_PREFIXES, "3519xxxxxxxx"]);
/** National numbers of both have nine digits and begin with 9. */
const ANGOLA_TOO = new NumberingPlan(["3519xxxxxxxx", "2449xxxxxxxx"]);

describe("what can be texted", () => {
  test.each([
    [MOZAMBIQUE, String.raw`^\+2588[2-7]\d{7}$`, "+258841234567"],
    [new NumberingPlan(["25888", "258841234567"]), String.raw`^\+(?:25888\d{7}|258841234567\d{0})$`, "+258881234567"],
    [new NumberingPlan(["3519"]), String.raw`^\+(?:3519\d{4,11})$`, "+351912345678"],
    [PORTUGAL, String.raw`^\+(?:3519\d{8})$`, "+351912345678"],
    [BRAZIL, String.raw`^\+(?:55\d{2}9\d{8})$`, "+5512945678901"],
    [BOTH, null, "+258841234567"],
  ])("as a pattern, with an example: %#", (plan, source, example) => {
    if (source !== null) expect(plan.source).toBe(source);
    expect(plan.example).toBe(example);
    expect(example).toMatch(new RegExp(plan.source));
    expect(plan.allows(example)).toBe(true);
    expect(plan.allows(example.slice(1))).toBe(false);
  });

  test.each([
    [
      MOZAMBIQUE,
      ["+258821234567", "+258871234567"],
      ["+258811234567", "+25884123456", "+2588412345678", "+351912345678"],
    ],
    [PORTUGAL, ["+351912345678"], ["+351212345678", "+35191234567", "+3519123456789", "+258841234567"]],
    [BRAZIL, ["+5511987654321"], ["+551133334444", "+551198765432", "+55119876543210"]],
    [new NumberingPlan(["5511"]), ["+551133334444", "+5511987654321", "+55119876"], ["+5521987654321", "+5511987"]],
    [BOTH, ["+351912345678", "+258841234567"], ["+35191234567", "+25884123456", "+34612345678"]],
  ])("takes %#", (plan, taken, refused) => {
    const pattern = new RegExp(plan.source);
    for (const number of taken)
      expect([number, plan.allows(number), pattern.test(number)]).toEqual([number, true, true]);
    for (const number of refused)
      expect([number, plan.allows(number), pattern.test(number)]).toEqual([number, false, false]);
  });
});

test.each([
  [PORTUGAL, "912 345 678", "Write it without spaces and other signs between the digits: +351912345678."],
  [PORTUGAL, "+35191234567", "It has 11 digits behind the +; such a number has 12."],
  [PORTUGAL, "+258841234567", describeOther("+3519")],
  [new NumberingPlan(["3519"]), "+3519123", "It has 7 digits behind the +; such a number has 8 to 15."],
  [BRAZIL, "(011) 98765-4321", "Write it without spaces and other signs between the digits: +5511987654321."],
  [BRAZIL, "+551133334444", describeOther("+55xx9 (x: any digit)")],
  [BRAZIL, "+551198765432", "It has 12 digits behind the +; such a number has 13."],
  [BOTH, "841234567", "Write + and the country code at its beginning: +258841234567."],
  [BOTH, "912345678", "Write + and the country code at its beginning: +351912345678."],
  [ANGOLA_TOO, "912345678", "Write + and the country code at its beginning."],
])("in another country %# is said of %p: %p", (plan, value, advice) => {
  expect(plan.advise(value)).toBe(advice);
});

describe("an address of an SMSC in E.164", () => {
  test.each([
    [MOZAMBIQUE, "841234567", "+258841234567"],
    [MOZAMBIQUE, "+841234567", "+258841234567"],
    [MOZAMBIQUE, "00258841234567", "+258841234567"],
    [MOZAMBIQUE, "811234567", "+258811234567"],
    [MOZAMBIQUE, "351912345678", "+351912345678"],
    [MOZAMBIQUE, "84000", "+84000"],
    [MOZAMBIQUE, "Loja", "Loja"],
    [PORTUGAL, "912345678", "+351912345678"],
    [PORTUGAL, "351912345678", "+351912345678"],
    [PORTUGAL, "00351912345678", "+351912345678"],
    [PORTUGAL, "841234567", "+841234567"],
    [BRAZIL, "11987654321", "+5511987654321"],
    [BRAZIL, "011987654321", "+5511987654321"],
    // Says itself that it is one of North America.
    [BRAZIL, "+11987654321", "+11987654321"],
    [BOTH, "912345678", "+351912345678"],
    [BOTH, "841234567", "+258841234567"],
    // Nobody can tell where it is, or where its country code would end.
    [ANGOLA_TOO, "912345678", "912345678"],
    [new NumberingPlan(["3519"]), "912345678", "+912345678"],
  ])("%#: %p is %p", (plan, address, number) => {
    expect(plan.toE164(address)).toBe(number);
  });
});

test("a number is the same with or without country code, of whatever length, and has one key", () => {
  const same: [string, string][] = [
    ["+258841234567", "841234567"],
    ["258841234567", "00258 84 123 4567"],
    ["84567", "84567"],
    ["+351912345678", "912345678"],
    ["+5511987654321", "011987654321"],
    ["+5511987654321", "987654321"],
    // Cape Verde and Macau: seven and eight digits.
    ["+2389912345", "9912345"],
    ["0085366123456", "66123456"],
  ];
  for (const [a, b] of same) expect([a, b, isSameNumber(a, b), isSameNumber(b, a)]).toEqual([a, b, true, true]);
  for (const [a, b] of same) expect([a, numberKey(a)]).toEqual([a, numberKey(b)]);
});

test.each([
  ["258841234567", "258841234568"],
  ["84567", "258841284567"],
  ["+5511987654321", "+5521987654321"],
  ["+351912345678", "+258912345678"],
  ["Loja", ""],
  ["0", "00"],
])("%p is not %p", (a, b) => {
  expect(isSameNumber(a, b)).toBe(false);
});
