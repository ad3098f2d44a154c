import { describe, expect, test } from "bun:test";
import { INBOUND_LIMITS } from "../../../../../src/modules/inbound-mail/server/limits.ts";
import { type Place, Places } from "../../../../../src/modules/inbound-mail/server/connection-limits.ts";
import { getNetworks } from "../../../../../src/platform/ip/address.ts";

const MIB = 1024 ** 2;
const visitor = (address: string, timesHeard = 0) => ({ networks: getNetworks(address), timesHeard });

/** Takes places for the addresses in turn until none of them gets another. */
function fill(places: Places, addresses: string[], timesHeard = 0): Place[] {
  const taken: Place[] = [];
  for (let isOver = false; !isOver;) {
    const before = taken.length;
    for (const address of addresses) {
      const place = places.take(visitor(address, timesHeard));
      if (typeof place !== "string") taken.push(place);
    }
    isOver = taken.length === before;
  }
  return taken;
}

/** So many addresses, four in each of the widest networks, or as many as are asked for. */
const addresses = (first: number, count: number, ofWide = 4) =>
  Array.from(
    { length: count },
    (_, n) => `${first + Math.floor(n / ofWide / 250)}.${Math.floor(n / ofWide) % 250}.${n % ofWide}.1`,
  );
const REPORTER = "209.85.128.1";

test("of an address ten get in, of a /16 a quarter of what it leaves free", () => {
  const on = () => new Places(INBOUND_LIMITS);
  expect(fill(on(), ["192.0.2.1"])).toHaveLength(10);
  expect(fill(on(), ["192.0.2.1"], 1_000)).toHaveLength(10);
  const wide = addresses(192, 12, 12);
  expect(fill(on(), wide)).toHaveLength(12);
  expect(fill(on(), wide, 1_000)).toHaveLength(19);
  const site = (n: number) => `2001:db8:${n}::1`;
  expect(fill(on(), [site(1), "2001:db8:1:2::1", "2001:db8:1:3::1"])).toHaveLength(12);
  expect(fill(on(), [site(1), site(2), site(3), site(4)])).toHaveLength(12);
});

test("why there is no place: its network has its share, or there is none for anybody", () => {
  const places = new Places(INBOUND_LIMITS);
  fill(places, addresses(10, 12, 12));
  expect(places.take(visitor("10.0.77.1"))).toBe("network");
  fill(places, addresses(20, 800));
  expect(places.take(visitor("50.0.0.1"))).toBe("all");
  expect(places.take(visitor("50.0.0.1", 1))).not.toBeString();
});

test("eleven widest networks that take all they get, one after the other, shut nobody out, though each took thousands", () => {
  const places = new Places(INBOUND_LIMITS);
  for (let network = 1; network <= 11; network++)
    fill(
      places,
      [1, 2, 3].map((n) => `${network}.0.${n}.1`),
      5_000,
    );
  expect(places.take(visitor("192.0.2.1"))).not.toBeString();
  expect(places.take(visitor(REPORTER, 1_000))).not.toBeString();
});

describe("a reporter that takes many emails finds places", () => {
  test.each([
    ["strangers from two thousand addresses", () => [{ from: addresses(1, 2_000), timesHeard: 0 }]],
    ["ten addresses in three networks that took one email each", () => [{ from: addresses(1, 10), timesHeard: 1 }]],
    ["the same, that took thousands", () => [{ from: addresses(1, 10), timesHeard: 5_000 }]],
    ["two thousand addresses that took one each", () => [{ from: addresses(1, 2_000), timesHeard: 1 }]],
    [
      "both, whoever comes first",
      () => [
        { from: addresses(1, 10), timesHeard: 5_000 },
        { from: addresses(20, 2_000), timesHeard: 3 },
        { from: addresses(40, 2_000), timesHeard: 0 },
      ],
    ],
  ])("among %s", (_, floods) => {
    for (const order of [floods(), floods().toReversed()]) {
      const places = new Places(INBOUND_LIMITS);
      for (const { from, timesHeard } of order) fill(places, from, timesHeard);
      expect(fill(places, [REPORTER], 1_000).length).toBeGreaterThanOrEqual(1);
    }
  });

  test.each([
    ["strangers", 0],
    ["that took thousands", 5_000],
  ])("and room for a bounce, however much eleven widest networks hold: %s", (_, timesHeard) => {
    const places = new Places(INBOUND_LIMITS);
    for (let network = 1; network <= 11; network++)
      for (const place of fill(places, [`${network}.0.0.1`], timesHeard).slice(0, 2))
        for (let bytes = 16 * MIB; bytes >= 1024; bytes /= 2) while (place.takeRoom(bytes));
    const [place] = fill(places, ["192.0.2.1"], timesHeard);
    expect(place?.takeRoom(MIB / 4)).toBe(true);
  });

  test("and room for what it brings", () => {
    const places = new Places(INBOUND_LIMITS);
    const flood = [...fill(places, addresses(1, 10), 5_000), ...fill(places, addresses(20, 2_000), 1)];
    for (const place of flood) while (place.takeRoom(64 * 1024));
    const [place] = fill(places, [REPORTER], 1_000);
    expect(place?.takeRoom(MIB)).toBe(true);
  });
});

test("cheap known networks leave places to strangers", () => {
  const places = new Places(INBOUND_LIMITS);
  fill(places, addresses(1, 10), 5_000);
  expect(fill(places, ["192.0.2.1"])).toHaveLength(6);
});

test("what is given back, once or twice, is free again, and no more than it", () => {
  const places = new Places(INBOUND_LIMITS);
  const sizes = [1, 2, 3].map(() => {
    const all = [...fill(places, addresses(1, 400)), ...fill(places, addresses(20, 400), 9)];
    const rooms = all.filter((place) => place.takeRoom(MIB / 4));
    for (const place of rooms) place.takeRoom(-MIB / 4);
    for (const place of all) for (let time = 0; time < 2; time++) place.release();
    return [all.length, rooms.length];
  });
  expect(sizes[1]).toEqual(sizes[0]);
  expect(sizes[2]).toEqual(sizes[0]);
});
