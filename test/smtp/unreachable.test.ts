import { expect, test } from "bun:test";
import { createUnreachable, reachableFirst } from "../../src/protocols/smtp/unreachable-hosts.ts";
import { fakeClock } from "../fakes/clock.ts";

const HOSTS = [
  { name: "mx1", addresses: ["192.0.2.1", "192.0.2.2"] },
  { name: "mx2", addresses: ["192.0.2.3"] },
];

test("addresses that did not answer are tried last for ten minutes, never left out", () => {
  const clock = fakeClock();
  const unreachable = createUnreachable(clock);
  expect(reachableFirst(HOSTS, unreachable)).toEqual(HOSTS);
  unreachable.note("192.0.2.1");
  expect(reachableFirst(HOSTS, unreachable)).toEqual([
    { name: "mx1", addresses: ["192.0.2.2", "192.0.2.1"] },
    { name: "mx2", addresses: ["192.0.2.3"] },
  ]);
  unreachable.note("192.0.2.2");
  expect(reachableFirst(HOSTS, unreachable).map(({ name }) => name)).toEqual(["mx2", "mx1"]);
  unreachable.note("192.0.2.3");
  expect(reachableFirst(HOSTS, unreachable)).toEqual(HOSTS);
  unreachable.clear("192.0.2.3");
  expect(reachableFirst(HOSTS, unreachable).map(({ name }) => name)).toEqual(["mx2", "mx1"]);
  clock.advance(10 * 60_000 + 1);
  expect(reachableFirst(HOSTS, unreachable)).toEqual(HOSTS);
});
