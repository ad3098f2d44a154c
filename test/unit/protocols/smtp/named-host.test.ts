import { expect, test } from "bun:test";
import { findNamedHost } from "../../../../src/protocols/smtp/mx-lookup.ts";
import { createFakeResolver } from "../../../support/fakes/resolver.ts";

const resolver = createFakeResolver({
  "relay.test": { A: ["10.0.0.1", "192.0.2.1"], AAAA: ["fd00::1"] },
  "half.test": { A: ["10.0.0.1", "192.0.2.1"], AAAA: ["fd00::1"] },
  "alias.test": { CNAME: "relay.test" },
  "many.test": { A: ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"] },
  "bare.test": { TXT: ["nothing"] },
  neighbour: { A: ["172.17.0.2"] },
});

test("a host that the operator named has all its addresses, private ones too, IPv4 first (R7, R8)", async () => {
  const addresses = ["10.0.0.1", "192.0.2.1", "fd00::1"];
  expect(await findNamedHost("relay.test", resolver)).toEqual({ kind: "addresses", addresses });
  expect(await findNamedHost("alias.test", resolver)).toEqual({ kind: "addresses", addresses });
  expect(await findNamedHost("neighbour", resolver)).toEqual({ kind: "addresses", addresses: ["172.17.0.2"] });
});

test("at most five addresses are tried (R6)", async () => {
  const found = await findNamedHost("many.test", resolver);
  expect(found.kind === "addresses" && found.addresses).toHaveLength(5);
});

test("an address and localhost are not looked up (RFC 6761 §6.3)", async () => {
  const asked = resolver.lookups.length;
  for (const [name, addresses] of [
    ["192.168.1.5", ["192.168.1.5"]],
    ["fd00::5", ["fd00::5"]],
    ["localhost", ["127.0.0.1", "::1"]],
  ] as const) {
    expect(await findNamedHost(name, resolver)).toEqual({ kind: "addresses", addresses: [...addresses] });
  }
  expect(resolver.lookups).toHaveLength(asked);
});

test("whatever DNS says against it is trouble that may pass, never a bad domain (R1)", async () => {
  resolver.failures["broken.test"] = "SERVFAIL";
  for (const [name, words] of [
    ["missing.test", "missing.test has no address"],
    ["bare.test", "bare.test has no address"],
    ["broken.test", "SERVFAIL"],
  ] as const) {
    expect(await findNamedHost(name, resolver)).toMatchObject({
      kind: "temporary_failure",
      reason: expect.stringContaining(words),
    });
  }
});

test("one family that fails does not hide the addresses of the other", async () => {
  resolver.failures["AAAA half.test"] = "no answer";
  expect(await findNamedHost("half.test", resolver)).toMatchObject({
    kind: "addresses",
    addresses: ["10.0.0.1", "192.0.2.1"],
  });
});
