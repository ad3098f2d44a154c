import { expect, test } from "bun:test";
import { KnownReporters } from "../../../../../src/modules/inbound-mail/server/known-reporters.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const DAY_MS = 24 * 60 * 60_000;

test("who took mail or brought a report is known with its neighbours, for as long as a return path holds", () => {
  const clock = fakeClock();
  const reporters = new KnownReporters(clock);
  reporters.note("192.0.2.7");
  reporters.note("::ffff:198.51.100.7");
  reporters.note("2001:db8:1:2::1");
  reporters.note("no address");
  const known = ["192.0.2.200", "::ffff:192.0.2.1", "198.51.100.1", "2001:db8:1:ffff::1"];
  const strange = ["192.0.3.7", "2001:db8:2::1", "", "no address"];
  expect([...known, ...strange].filter((address) => reporters.timesHeard(address) > 0)).toEqual(known);
  clock.advance(29 * DAY_MS);
  reporters.note("192.0.2.9");
  clock.advance(DAY_MS);
  expect(known.filter((address) => reporters.timesHeard(address) > 0)).toEqual(known.slice(0, 2));
});

test("how often a network was heard of counts, until it is forgotten", () => {
  const clock = fakeClock();
  const reporters = new KnownReporters(clock);
  for (let n = 0; n < 5; n++) reporters.note(`192.0.2.${n}`);
  expect(["192.0.2.9", "192.0.3.1"].map((address) => reporters.timesHeard(address))).toEqual([5, 0]);
  clock.advance(31 * DAY_MS);
  reporters.note("192.0.2.1");
  expect(reporters.timesHeard("192.0.2.1")).toBe(1);
});

test("of ten thousand of the widest networks the one that was not heard of for longest is forgotten", () => {
  const reporters = new KnownReporters(fakeClock());
  const address = (n: number) => `${10 + (n >> 8)}.${n & 255}.1.1`;
  for (let n = 0; n < 10_000; n++) reporters.note(address(n));
  reporters.note(address(0));
  reporters.note(address(10_000));
  expect([0, 1, 2, 10_000].map((n) => reporters.timesHeard(address(n)) > 0)).toEqual([true, false, true, true]);
});

test("a provider whose networks all take mail washes nobody else out", () => {
  const reporters = new KnownReporters(fakeClock());
  reporters.note("192.0.2.7");
  reporters.note("2001:db8:1::1");
  const site = (n: number) => `2a00:1:${n.toString(16)}::1`;
  for (let n = 0; n < 20_000; n++) reporters.note(site(n));
  const kept = Array.from({ length: 20_000 }, (_, n) => n).filter((n) => reporters.timesHeard(site(n)) > 0);
  expect([kept.length, kept[0]]).toEqual([256, 20_000 - 256]);
  expect(["192.0.2.7", "2001:db8:1::1"].map((address) => reporters.timesHeard(address) > 0)).toEqual([true, true]);
});
