import { expect, test } from "bun:test";
import { KnownReporters } from "../../src/inbound/reporters.ts";
import { fakeClock } from "../fakes/clock.ts";

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
  expect([...known, ...strange].filter((address) => reporters.knows(address))).toEqual(known);
  clock.advance(29 * DAY_MS);
  reporters.note("192.0.2.9");
  clock.advance(DAY_MS);
  expect(known.filter((address) => reporters.knows(address))).toEqual(known.slice(0, 2));
});

test("the network that was not heard of for longest is forgotten, of ten thousand", () => {
  const reporters = new KnownReporters(fakeClock());
  const address = (n: number) => `10.${n >> 8}.${n & 255}.1`;
  for (let n = 0; n < 10_000; n++) reporters.note(address(n));
  reporters.note(address(0));
  reporters.note(address(10_000));
  expect([0, 1, 2, 10_000].map((n) => reporters.knows(address(n)))).toEqual([true, false, true, true]);
});
