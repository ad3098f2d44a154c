import { expect, test } from "bun:test";
import { ExpiringNames } from "../../../../src/protocols/smtp/expiring-names.ts";
import { putReachableFirst, UNREACHABLE_MS } from "../../../../src/protocols/smtp/transmit.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const HOSTS = [
  { name: "mx1", addresses: ["192.0.2.1", "192.0.2.2"] },
  { name: "mx2", addresses: ["192.0.2.3"] },
];

test("addresses that did not answer are tried last for ten minutes, never left out", () => {
  const clock = fakeClock();
  const unreachable = new ExpiringNames(clock);
  expect(putReachableFirst(HOSTS, unreachable)).toEqual(HOSTS);
  unreachable.add("192.0.2.1", UNREACHABLE_MS);
  expect(putReachableFirst(HOSTS, unreachable)).toEqual([
    { name: "mx1", addresses: ["192.0.2.2", "192.0.2.1"] },
    { name: "mx2", addresses: ["192.0.2.3"] },
  ]);
  unreachable.add("192.0.2.2", UNREACHABLE_MS);
  expect(putReachableFirst(HOSTS, unreachable).map(({ name }) => name)).toEqual(["mx2", "mx1"]);
  unreachable.add("192.0.2.3", UNREACHABLE_MS);
  expect(putReachableFirst(HOSTS, unreachable)).toEqual(HOSTS);
  unreachable.delete("192.0.2.3");
  expect(putReachableFirst(HOSTS, unreachable).map(({ name }) => name)).toEqual(["mx2", "mx1"]);
  clock.advance(10 * 60_000 + 1);
  expect(putReachableFirst(HOSTS, unreachable)).toEqual(HOSTS);
});
