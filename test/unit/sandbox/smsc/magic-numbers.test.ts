import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SANDBOX_SENDERS, smscAccounts, buildSmsConfig } from "../../../../src/cli/commands/dev/config.ts";
import { DEFAULT_SMS_PREFIXES } from "../../../../src/config/number-prefix.ts";
import {
  findBehaviour,
  DELIVERED,
  findEnd,
  MAGIC_NUMBERS,
  buildNumber,
} from "../../../../src/sandbox/smsc/magic-numbers.ts";
import { MAX_REMEMBERED_TRIES, Tries } from "../../../../src/sandbox/tries.ts";

test("each magic number keeps the interface's rule and is known by its last seven digits, after every operator's prefix", () => {
  for (const row of MAGIC_NUMBERS) {
    for (const prefix of DEFAULT_SMS_PREFIXES) {
      const number = buildNumber(row, `+${prefix}1234567`);
      expect(number).toMatch(/^\+2588[2-7]\d{7}$/);
      expect(findBehaviour(number)).toBe(row.does);
      // As it stands in a submit_sm.
      expect(findBehaviour(number.slice(1))).toBe(row.does);
    }
  }
  expect(new Set(MAGIC_NUMBERS.map(({ ending }) => ending)).size).toBe(MAGIC_NUMBERS.length);
});

test.each(["+258841234567", "+258840000000", "+258840000099", "+258840000101", "+258881000001", "258840100001", ""])(
  "%s is delivered like any other",
  (number) => {
    expect(findBehaviour(number)).toBe(DELIVERED);
  },
);

test("what would harm the others' texts goes by a route and an account of its own, on all prefixes, and the rest by one", () => {
  const apart = MAGIC_NUMBERS.filter(({ isApart }) => isApart);
  expect(apart.map(({ ending }) => ending)).toEqual(["13", "14", "16", "17"]);
  const { routes = [] } = buildSmsConfig({ port: 2775, password: "x" });
  expect(routes.map(({ name }) => name)).toEqual(smscAccounts());
  expect(routes[0]?.prefixes).toEqual([]);
  for (const [at, row] of apart.entries()) {
    const { prefixes = [], links = [] } = routes[at + 1] ?? {};
    expect(prefixes).toEqual(DEFAULT_SMS_PREFIXES.map((prefix) => buildNumber(row, `+${prefix}1234567`).slice(1)));
    expect(links.map(({ systemId }) => systemId)).toEqual([smscAccounts()[at + 1] ?? ""]);
  }
});

test.each([
  ["01", "undelivered, undeliverable, unknown_subscriber"],
  ["03", "expired"],
  ["08", "sent, unknown, receipt_timeout; takes 65 s"],
  ["09", "delivered"],
  ["10", "failed, rejected, invalid_destination"],
])("the end of number %s is told as %p", (ending, words) => {
  const row = MAGIC_NUMBERS.find((each) => each.ending === ending);
  expect(row === undefined ? null : findEnd(row)).toBe(words);
});

test("docs/sms.md names each magic number once, and none that is not there", () => {
  const readme = readFileSync(join(import.meta.dir, "../../../../docs/sms.md"), "utf8");
  const named = [...readme.matchAll(/`…(\d\d)`/g)].map(([, ending = ""]) => ending);
  expect(named.toSorted()).toEqual(MAGIC_NUMBERS.map(({ ending }) => ending));
  expect(readme).toContain(`\`${SANDBOX_SENDERS.number}\``);
});

test("tries are counted for each segment by itself, and anew once it was taken", () => {
  const tries = new Tries();
  expect([tries.count("a"), tries.count("a"), tries.count("b")]).toEqual([1, 2, 1]);
  tries.forget("a");
  expect([tries.count("a"), tries.count("b")]).toEqual([1, 2]);
});

test("of too many segments the oldest is forgotten", () => {
  const tries = new Tries();
  tries.count("first");
  for (let nth = 0; nth < MAX_REMEMBERED_TRIES; nth += 1) tries.count(String(nth));
  expect(tries.count("first")).toBe(1);
});
