import { expect, test } from "bun:test";
import { organizationalDomain } from "../../../../src/protocols/dns/organizational-domain.ts";

test.each([
  ["example.com", "example.com"],
  ["a.b.mail.example.com", "example.com"],
  ["loja.co.mz", "loja.co.mz"],
  ["um.dois.co.mz", "dois.co.mz"],
  // Names that a provider gives away are all the provider's.
  ["one.duckdns.org", "duckdns.org"],
  ["two.github.io", "github.io"],
  // A suffix in letters of its own, as an A-label.
  ["a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"],
  // A top-level domain that is in no list.
  ["a.b.unheard-of", "b.unheard-of"],
  ["com", "com"],
  ["localhost", "localhost"],
  ["[192.0.2.7]", "[192.0.2.7]"],
  ["", ""],
])("%s belongs to %s", (name, organization) => {
  expect(organizationalDomain(name)).toBe(organization);
});
