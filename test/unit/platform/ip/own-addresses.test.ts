import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { defaultConfig } from "../../../../src/config/config.ts";
import { ownAddresses, requireSources } from "../../../../src/platform/ip/own-addresses.ts";

const email = (changes: object) => ({
  ...defaultConfig({ hostname: "mail.example.net", dataDir: "/tmp/x" }).email,
  ...changes,
});

test("a source address that the machine does not have is refused with the addresses it has", () => {
  expect(() => requireSources(email({ sourceIpv4: "203.0.113.9" }))).toThrow(
    /source_ipv4 is 203\.0\.113\.9.*127\.0\.0\.1/s,
  );
  expect(() => requireSources(email({ sourceIpv6: "2001:db8::9" }))).toThrow("source_ipv6");
});

test("one that it has, or none, is fine", () => {
  requireSources(email({ sourceIpv4: "127.0.0.1" }));
  requireSources(email({}));
});

test("loopback is not among the addresses by which the machine is reached", () => {
  expect(ownAddresses()).not.toContain("127.0.0.1");
  const outside = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal }) => !internal);
  expect(ownAddresses()).toHaveLength(outside.length);
});
