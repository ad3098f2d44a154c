// The names of addresses in the DNS.
import { expect, test } from "bun:test";
import { reverseLabels, reverseName } from "../../../../src/platform/ip/address.ts";

test("an IPv4 address is turned, octet by octet", () => {
  expect(reverseName("192.0.2.7")).toBe("7.2.0.192.in-addr.arpa");
  expect(reverseLabels("127.0.0.2")).toBe("2.0.0.127");
});

test("an IPv6 address is turned, nibble by nibble", () => {
  const nibbles = "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4";
  expect(reverseName("4321:0:1:2:3:4:567:89ab")).toBe(`${nibbles}.ip6.arpa`);
  expect(reverseLabels("2001:db8::7")?.split(".")).toHaveLength(32);
});

test("an IPv4 address in IPv6 notation is one of IPv4, and what is no address has no name", () => {
  expect(reverseName("::ffff:192.0.2.7")).toBe("7.2.0.192.in-addr.arpa");
  for (const text of ["", "mail.example.net", "192.0.2", "fe80::1%eth0"]) expect(reverseName(text)).toBeNull();
});
