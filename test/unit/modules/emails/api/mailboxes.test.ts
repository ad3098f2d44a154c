import { expect, test } from "bun:test";
import { listRecipients, parseGiven } from "../../../../../src/modules/emails/api/mailboxes.ts";
import { formatMailbox } from "../../../../../src/protocols/mime/address.ts";

test.each([
  "maria@example.com",
  "Maria <maria@example.com>",
  '"Silva, Maria" <maria@example.com>',
  '"Maria \\"Mimi\\" \\\\ Silva" <maria@example.com>',
  "Zé 😀 d'Água <ze@xn--gua-ela.example>",
  "J. Doe <j@example.com>",
  '"a@b.example: c;" <maria@example.com>',
])("%s is written as it is read", (written) => {
  const parsed = parseGiven(written);
  if (parsed.kind === "fault") throw new Error(parsed.message);
  const { address, displayName } = parsed.mailbox;
  expect(formatMailbox(address, displayName)).toBe(written);
});

test.each([
  ["  Maria   Silva  <maria@EXAMPLE.com> ", "Maria Silva <maria@example.com>"],
  ["<maria@example.com>", "maria@example.com"],
  ['"" <maria@example.com>', "maria@example.com"],
])("%s is written anew, not echoed", (given, written) => {
  const parsed = parseGiven(given);
  if (parsed.kind === "fault") throw new Error(parsed.message);
  expect(formatMailbox(parsed.mailbox.address, parsed.mailbox.displayName)).toBe(written);
});

test("recipients come in the order to, cc, bcc, with their place; a bare address stays as it was given", () => {
  const found = listRecipients({ to: ["A@Example.com", "B <b@EXAMPLE.com>"], bcc: "c@example.com" });
  expect(found.map(({ kind, address, comparable, index }) => [kind, address, comparable, index])).toEqual([
    ["to", "A@Example.com", "a@example.com", 0],
    ["to", "b@example.com", "b@example.com", 1],
    ["bcc", "c@example.com", "c@example.com", null],
  ]);
});
