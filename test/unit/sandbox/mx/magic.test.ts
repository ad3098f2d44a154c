import { expect, test } from "bun:test";
import { Greylist, MAGIC_NAMES, findBehaviour } from "../../../../src/sandbox/mx/magic-addresses.ts";
import { MAX_REMEMBERED_TRIES } from "../../../../src/sandbox/tries.ts";
import { buildPage } from "../../../../src/sandbox/web/assets.ts";

test("a magic recipient is known by its local part, in any domain, case and with any tag", () => {
  const expected: [string, string][] = [
    ["bounce@example.com", "bounce"],
    ["BOUNCE@example.org", "bounce"],
    ["bounce+tag@example.com", "bounce"],
    ["defer@a.b.example", "defer"],
    ["defer+1+2@example.com", "defer"],
    ["Slow+x@example.com", "slow"],
    ["bouncer@example.com", "accept"],
    ["ada+bounce@example.com", "accept"],
    ["ada@bounce.example", "accept"],
    ["+bounce@example.com", "accept"],
    ["bounce", "accept"],
    ["", "accept"],
  ];
  for (const [address, behaviour] of expected) {
    expect([address, findBehaviour(address)]).toEqual([address, behaviour]);
  }
});

test("a greylisted pair comes back twice and is then welcome for good", () => {
  const greylist = new Greylist();
  const tries = Array.from({ length: 5 }, () => greylist.mustComeBack("a@x", "defer@y"));
  expect(tries).toEqual([true, true, false, false, false]);
});

test("each return path and each recipient is counted on its own", () => {
  const greylist = new Greylist();
  greylist.mustComeBack("a@x", "defer@y");
  greylist.mustComeBack("a@x", "defer@y");
  expect(greylist.mustComeBack("b@x", "defer@y")).toBe(true);
  expect(greylist.mustComeBack("a@x", "defer+1@y")).toBe(true);
  expect(greylist.mustComeBack("a@x", "DEFER@Y")).toBe(false);
});

test("the greylist forgets the oldest pair when it is full", () => {
  const greylist = new Greylist();
  greylist.mustComeBack("first@x", "defer@y");
  greylist.mustComeBack("first@x", "defer@y");
  for (let i = 0; i < MAX_REMEMBERED_TRIES; i++) greylist.mustComeBack(`${i}@x`, "defer@y");
  expect(greylist.mustComeBack("first@x", "defer@y")).toBe(true);
});

test("the page tells of every name that behaves on purpose", () => {
  const html = buildPage({ domain: "sandbox.test", ownNumber: null });
  for (const name of MAGIC_NAMES) expect(html).toContain(`<dt>${name}@any.domain</dt>`);
});
