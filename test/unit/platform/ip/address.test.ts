import { expect, test } from "bun:test";
import {
  isRefusedAddress,
  isWithin,
  getNetwork,
  getNetworks,
  parseRanges,
} from "../../../../src/platform/ip/address.ts";

const none = parseRanges([]);

test("addresses that no stranger's MX or webhook may point to are refused, with the reason (R8)", () => {
  const cases: [ip: string, what: string][] = [
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "unspecified"],
    ["10.0.0.1", "private"],
    ["10.255.255.255", "private"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.127.255.255", "carrier-grade NAT"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["169.254.169.254", "link-local"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.0.0.8", "protocol assignment"],
    ["192.0.2.1", "documentation"],
    ["192.88.99.1", "6to4 relay"],
    ["192.168.1.1", "private"],
    ["198.18.0.1", "benchmarking"],
    ["198.19.255.255", "benchmarking"],
    ["198.51.100.1", "documentation"],
    ["203.0.113.1", "documentation"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.255", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "broadcast"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["::127.0.0.1", "IPv4-compatible"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::FFFF:10.1.2.3", "private"],
    ["0:0:0:0:0:ffff:c0a8:101", "private"],
    ["::ffff:0:10.0.0.1", "IPv4-translated"],
    ["64:ff9b::10.0.0.1", "NAT64"],
    ["64:ff9b::808:808", "NAT64"],
    ["64:ff9b:1::1", "local NAT64"],
    ["2002:a00:1::1", "6to4"],
    ["2001:0:53aa:64c::1", "Teredo"],
    ["100::1", "discard"],
    ["2001:2::1", "benchmarking"],
    ["2001:1ff::1", "protocol assignment"],
    ["2001:db8::1", "documentation"],
    ["3fff:fff::1", "documentation"],
    ["fc00::1", "private"],
    ["fdff::1", "private"],
    ["fe80::1", "link-local"],
    ["febf::1", "link-local"],
    ["fec0::1", "site-local"],
    ["ff02::1", "multicast"],
    ["4000::1", "reserved"],
    ["5f00::1", "reserved"],
    ["64:ff9c::1", "reserved"],
  ];
  for (const [ip, what] of cases) expect(isRefusedAddress(ip, none)).toContain(what);
});

test("addresses of the internet are let through, right up to the borders of the refused ranges", () => {
  const addresses = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "2001:200::1",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2a00:1450:4001:80f::1b",
    "3fff:1000::1",
  ];
  for (const ip of addresses) expect(isRefusedAddress(ip, none)).toBeNull();
});

test("what is not a plain IP address is refused, however a URL parser would read it", () => {
  const texts = [
    "",
    "localhost",
    "0177.0.0.1",
    "2130706433",
    "0x7f.1",
    "127.1",
    "1.2.3.4.5",
    "fe80::1%eth0",
    "[::1]",
    " 1.1.1.1",
    "1.1.1.1/32",
  ];
  for (const text of texts) expect(isRefusedAddress(text, none)).toContain("is not an IP address");
});

test("an allowed range opens what is refused, also through a mapped address, and nothing beside it", () => {
  const lab = parseRanges(["127.0.0.0/8", "10.1.2.3", "fd00:1::/32"]);
  for (const ip of ["127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3", "fd00:1:2::3"]) {
    expect(isRefusedAddress(ip, lab)).toBeNull();
  }
  for (const ip of ["10.1.2.4", "fd00:2::1", "::1", "192.168.0.1"]) expect(isRefusedAddress(ip, lab)).not.toBeNull();
  expect(isRefusedAddress("10.0.0.1", parseRanges(["0.0.0.0/0"]))).toBeNull();
  expect(isRefusedAddress("::1", parseRanges(["0.0.0.0/0"]))).not.toBeNull();
  expect(isRefusedAddress("::1", parseRanges(["::/0"]))).toBeNull();
});

test("bits beyond the prefix of a range do not matter", () => {
  expect(isRefusedAddress("10.9.9.9", parseRanges(["10.1.2.3/8"]))).toBeNull();
});

test("a malformed range is refused with a sentence that shows how to write one", () => {
  for (const cidr of [
    "",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0/8",
    "::/129",
    "10.0.0.0/8/8",
    "lan",
    "10.0.0.0/-1",
    "10.0.0.0/1e1",
  ]) {
    expect(() => parseRanges([cidr])).toThrow(/is not an address range: write an IP address, a slash/);
  }
});

test("an address lies in a range however it is written, and what is no address lies in none", () => {
  const proxies = parseRanges(["10.0.0.0/8", "fd00:1::/32", "192.0.2.7"]);
  for (const ip of ["10.1.2.3", "::ffff:10.1.2.3", "::ffff:a01:203", "FD00:1::9", "192.0.2.7"])
    expect([ip, isWithin(ip, proxies)]).toEqual([ip, true]);
  for (const ip of ["11.0.0.1", "192.0.2.8", "fd00:2::1", "::1", "", "unknown", "10.1.2", "fe80::1%eth0"])
    expect([ip, isWithin(ip, proxies)]).toEqual([ip, false]);
  expect(isWithin("::ffff:10.1.2.3", parseRanges(["::ffff:0:0/96"]))).toBe(true);
  expect(isWithin("10.1.2.3", none)).toBe(false);
});

test("a client is an IPv4 address or the /64 of an IPv6 one, in one spelling", () => {
  const cases: [ip: string, network: string | null][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["255.255.255.255", "255.255.255.255"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::ffff:c000:207", "192.0.2.7"],
    ["2001:db8:1:2::7", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::7", "2001:db8:1:3::/64"],
    ["::1", "0:0:0:0::/64"],
    ["", null],
    ["unknown", null],
    ["192.0.2.7:80", null],
    ["fe80::1%eth0", null],
  ];
  for (const [ip, network] of cases) expect([ip, getNetwork(ip)]).toEqual([ip, network]);
});

test("the networks that an address lies in are the same for its neighbours, and for each way to write it", () => {
  const shared = (one: string, other: string) =>
    getNetworks(one).filter((network) => getNetworks(other).includes(network));
  const cases: [one: string, other: string, count: number][] = [
    ["192.0.2.7", "::ffff:192.0.2.7", 3],
    ["192.0.2.7", "192.0.2.8", 2],
    ["192.0.2.7", "192.0.3.7", 1],
    ["192.0.2.7", "192.1.2.7", 0],
    ["2001:db8:1:2::1", "2001:DB8:1:2:ffff::", 3],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", 2],
    ["2001:db8:1:2::1", "2001:db8:2::1", 1],
    ["2001:db8::", "2001:db9::", 0],
    ["0.0.0.1", "::1", 0],
    ["no address", "no address", 0],
  ];
  for (const [one, other, count] of cases) expect([one, other, shared(one, other).length]).toEqual([one, other, count]);
});
