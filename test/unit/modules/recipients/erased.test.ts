import { expect, test } from "bun:test";
import { ERASED, ERASED_RECIPIENT, eraseWords } from "../../../../src/modules/recipients/erased.ts";
import { readAddress } from "../../../../src/modules/suppressions/address.ts";

test("the placeholders are an address and a number that every reader takes", () => {
  expect(readAddress(ERASED_RECIPIENT.email)).toMatchObject({ channel: "email", address: ERASED_RECIPIENT.email });
  expect(readAddress(ERASED_RECIPIENT.sms)).toMatchObject({ channel: "sms", address: ERASED_RECIPIENT.sms });
});

test("words that are not there stay so", () => {
  expect([eraseWords("550 maria@"), eraseWords(null)]).toEqual([ERASED, null]);
});
