import { expect, test } from "bun:test";
import { chooseEgress, type Egress, openEgresses } from "../../../../../src/modules/emails/delivery/egresses.ts";
import { egressOf, siteVia } from "../../../../../src/protocols/smtp/site-name.ts";
import type { EgressConfig } from "../../../../../src/config/egress.ts";
import { findSiteRules, PROVIDERS } from "../../../../../src/protocols/smtp/providers.ts";

const egress = (name: string, changes: Partial<Egress> = {}): Egress => ({
  ...{ name, heloName: `${name}.test`, address: "203.0.113.9", localAddress: null, proxy: null, share: 1, domains: [] },
  ...changes,
});
const DOMAINS = Array.from({ length: 4_000 }, (_, nth) => `shop${nth}.test`);
const choose = (egresses: Egress[]) => DOMAINS.map((domain) => chooseEgress(domain, egresses)?.name);

test("a domain has one egress, and the shares are what was asked for", () => {
  const three = [egress("a"), egress("b"), egress("c", { share: 2 })];
  const chosen = choose(three);
  expect(choose(three.toReversed())).toEqual(chosen);
  const shares = ["a", "b", "c"].map((name) => chosen.filter((each) => each === name).length / DOMAINS.length);
  expect(shares[0]).toBeCloseTo(0.25, 1);
  expect(shares[1]).toBeCloseTo(0.25, 1);
  expect(shares[2]).toBeCloseTo(0.5, 1);
});

test("a further egress takes its share from the others, and moves no other domain", () => {
  const before = choose([egress("a"), egress("b")]);
  const after = choose([egress("a"), egress("b"), egress("c")]);
  const moved = after.filter((name, at) => name !== before[at]);
  expect(new Set(moved)).toEqual(new Set(["c"]));
  expect(moved.length / DOMAINS.length).toBeCloseTo(1 / 3, 1);
});

test("who names a domain has it, and nobody takes what is not his", () => {
  const named = egress("named", { domains: ["loja.test"] });
  expect(chooseEgress("loja.test", [egress("a"), named])?.name).toBe("named");
  expect(chooseEgress("outra.test", [egress("a"), named])?.name).toBe("a");
  expect(chooseEgress("outra.test", [named])).toBeNull();
});

test("a site met from an egress has its own name, and keeps its provider's rules", () => {
  const site = siteVia("aspmx.l.google.com,alt1.aspmx.l.google.com", "lisbon");
  expect(egressOf(site)).toBe("lisbon");
  expect(egressOf("relay smtp.example.net:587")).toBeNull();
  expect(egressOf("mx.example.com")).toBeNull();
  expect(findSiteRules(site, PROVIDERS)?.name).toBe("google");
  expect(findSiteRules(siteVia("aspmx.l.google.com", "lisbon"), PROVIDERS)?.name).toBe("google");
});

test("an address that is not this machine's needs a proxy", () => {
  const config: EgressConfig = {
    ...{
      name: "lisbon",
      address: "203.0.113.9",
      hostname: "mail2.test",
      proxy: null,
      password: null,
      passwordFile: null,
    },
    ...{ share: 1, domains: [] },
  };
  expect(() => openEgresses([config])).toThrow("no address of this machine");
  const proxy = { address: "192.0.2.9", port: 1080, username: null };
  expect(openEgresses([{ ...config, proxy }])).toMatchObject([{ proxy: "192.0.2.9:1080", localAddress: null }]);
  expect(openEgresses([{ ...config, address: "127.0.0.1" }])).toMatchObject([{ localAddress: "127.0.0.1" }]);
});
