// check_host() of RFC 7208, section by section.
import { describe, expect, test } from "bun:test";
import { evaluateSpf, type SpfOutcome } from "../../../../src/protocols/spf/evaluate.ts";
import { createFakeResolver, type Zone } from "../../../support/fakes/resolver.ts";

const D = "example.com";
const IP = "192.0.2.3";

interface Case {
  name: string;
  record?: string | string[];
  zone?: Zone;
  ip?: string;
  sender?: string;
  helo?: string;
  domain?: string;
  failures?: Record<string, string>;
  is: SpfOutcome;
}

function evaluate({
  record,
  zone = {},
  failures = {},
  ip = IP,
  sender = `joe@${D}`,
  helo = "mx.example.com",
  domain = D,
}: Case) {
  const records = record === undefined ? [] : [record].flat();
  const whole: Zone = {
    [D]: { ...zone[D], TXT: records },
    ...Object.fromEntries(Object.entries(zone).filter(([name]) => name !== D)),
  };
  return evaluateSpf({ ip, domain, sender, helo, resolver: createFakeResolver(whole, failures) });
}

const A: Zone = { [D]: { A: [IP] } };
const many = (count: number, term: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => term(at)).join(" ");

const SECTIONS: Record<string, Case[]> = {
  "the domain and its record (§4.3 to §4.6)": [
    { name: "no TXT record at all", is: "none" },
    { name: "no SPF record among others", record: ["google-site-verification=x", "v=spf10 -all"], is: "none" },
    { name: "a version with nothing behind it", record: "v=spf1", is: "neutral" },
    { name: "the version in capitals", record: "V=SPF1 +all", is: "pass" },
    { name: "two records", record: ["v=spf1 -all", "v=spf1 +all"], is: "permerror" },
    { name: "a DNS failure", failures: { [`TXT ${D}`]: "SERVFAIL" }, is: "temperror" },
    { name: "a name of one label", domain: "localhost", is: "none" },
    { name: "a label that is too long", domain: `${"a".repeat(64)}.com`, is: "none" },
    { name: "an empty label", domain: "a..example.com", is: "none" },
    { name: "a fault behind a match is a fault of all", record: "v=spf1 +all nonsense:", is: "permerror" },
  ],
  "mechanisms (§5)": [
    { name: "all", record: "v=spf1 ?all", is: "neutral" },
    { name: "all with a domain", record: "v=spf1 -all:foo.example", is: "permerror" },
    { name: "ip4", record: `v=spf1 ip4:${IP} -all`, is: "pass" },
    { name: "ip4 of a range", record: "v=spf1 ip4:192.0.2.0/24 -all", is: "pass" },
    { name: "ip4 of another range", record: "v=spf1 ip4:192.0.3.0/24 ~all", is: "softfail" },
    { name: "ip4 with too many bits", record: "v=spf1 ip4:192.0.2.0/33 -all", is: "permerror" },
    { name: "ip4 with a leading nought", record: "v=spf1 ip4:192.0.2.0/024 -all", is: "permerror" },
    { name: "ip4 without an address", record: "v=spf1 ip4 -all", is: "permerror" },
    { name: "ip4 that is written as a name", record: "v=spf1 ip4:mx.example.com -all", is: "permerror" },
    { name: "ip6", record: "v=spf1 ip6:2001:db8::/32 -all", ip: "2001:db8::1", is: "pass" },
    { name: "ip6 is not for IPv4", record: "v=spf1 ip6:::/0 -all", is: "fail" },
    { name: "an IPv4 address in IPv6 notation", record: `v=spf1 ip4:${IP} -all`, ip: `::ffff:${IP}`, is: "pass" },
    { name: "a", record: "v=spf1 a -all", zone: A, is: "pass" },
    { name: "a of a range", record: "v=spf1 a/24 -all", zone: { [D]: { A: ["192.0.2.99"] } }, is: "pass" },
    {
      name: "a of another name",
      record: "v=spf1 a:w.example.com -all",
      zone: { "w.example.com": { A: [IP] } },
      is: "pass",
    },
    {
      name: "a of both families",
      record: "v=spf1 a/24//64 -all",
      ip: "2001:db8::5",
      zone: { [D]: { AAAA: ["2001:db8::1"] } },
      is: "pass",
    },
    { name: "a with a port", record: "v=spf1 a:example.com:80 -all", is: "permerror" },
    { name: "a of digits only", record: "v=spf1 a:111.222.33.44 -all", is: "permerror" },
    { name: "a without a name behind the colon", record: "v=spf1 a: -all", is: "permerror" },
    { name: "a of which DNS fails", record: "v=spf1 a -all", failures: { [`A ${D}`]: "SERVFAIL" }, is: "temperror" },
    {
      name: "mx",
      record: "v=spf1 mx -all",
      zone: { [D]: { MX: [[10, "m.example.com"]] }, "m.example.com": { A: [IP] } },
      is: "pass",
    },
    { name: "mx that is null", record: "v=spf1 mx -all", zone: { [D]: { MX: [[0, "."]] } }, is: "fail" },
    {
      name: "mx of eleven hosts",
      record: "v=spf1 mx -all",
      zone: { [D]: { MX: Array.from({ length: 11 }, (_, at) => [at, `m${at}.example.com`] as [number, string]) } },
      is: "permerror",
    },
    {
      name: "exists",
      record: "v=spf1 exists:%{i}.ok.example.com -all",
      zone: { [`${IP}.ok.example.com`]: { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "exists asks for A though IPv6 sends",
      record: "v=spf1 exists:e.example.com -all",
      ip: "2001:db8::1",
      zone: { "e.example.com": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "ptr",
      record: "v=spf1 ptr -all",
      zone: { "3.2.0.192.in-addr.arpa": { PTR: ["m.example.com"] }, "m.example.com": { A: [IP] } },
      is: "pass",
    },
    {
      name: "ptr that does not lead back",
      record: "v=spf1 ptr -all",
      zone: { "3.2.0.192.in-addr.arpa": { PTR: ["m.example.com"] } },
      is: "fail",
    },
    {
      name: "ptr whose DNS fails",
      record: "v=spf1 ptr -all",
      failures: { "3.2.0.192.in-addr.arpa": "SERVFAIL" },
      is: "fail",
    },
    { name: "one that nobody knows", record: "v=spf1 ipv4:192.0.2.3 -all", is: "permerror" },
  ],
  "include and redirect (§5.2, §6.1)": [
    {
      name: "an include that passes",
      record: "v=spf1 include:i.example -all",
      zone: { "i.example": { TXT: ["v=spf1 +all"] } },
      is: "pass",
    },
    {
      name: "an include that fails is no match",
      record: "v=spf1 include:i.example ~all",
      zone: { "i.example": { TXT: ["v=spf1 -all"] } },
      is: "softfail",
    },
    { name: "an include without a record", record: "v=spf1 include:i.example -all", is: "permerror" },
    {
      name: "an include of which DNS fails",
      record: "v=spf1 include:i.example -all",
      failures: { "i.example": "SERVFAIL" },
      is: "temperror",
    },
    { name: "an include of itself ends", record: `v=spf1 include:${D} -all`, is: "permerror" },
    {
      name: "a redirect",
      record: "v=spf1 redirect=r.example",
      zone: { "r.example": { TXT: ["v=spf1 ~all"] } },
      is: "softfail",
    },
    { name: "a redirect before all is passed over", record: "v=spf1 redirect=r.example -all", is: "fail" },
    { name: "a redirect without a record", record: "v=spf1 redirect=r.example", is: "permerror" },
    { name: "two redirects", record: "v=spf1 redirect=a.example redirect=b.example", is: "permerror" },
    { name: "two explanations", record: "v=spf1 exp=a.example exp=b.example -all", is: "permerror" },
    { name: "a modifier that nobody knows", record: "v=spf1 moo=cow +all", is: "pass" },
    { name: "a modifier with a broken macro", record: "v=spf1 moo=%abc +all", is: "permerror" },
  ],
  "limits (§4.6.4)": [
    {
      name: "ten look-ups",
      record: `v=spf1 ${many(10, () => "a")} -all`,
      zone: { [D]: { A: ["192.0.2.9"] } },
      is: "fail",
    },
    {
      name: "eleven",
      record: `v=spf1 ${many(11, () => "a")} -all`,
      zone: { [D]: { A: ["192.0.2.9"] } },
      is: "permerror",
    },
    { name: "eleven, with a match before", record: `v=spf1 a ${many(11, () => "a")} -all`, zone: A, is: "pass" },
    { name: "two without an answer", record: "v=spf1 a:x.example a:y.example -all", is: "fail" },
    { name: "three", record: "v=spf1 a:x.example a:y.example a:z.example -all", is: "permerror" },
  ],
  "macros (§7)": [
    {
      name: "the local part",
      record: "v=spf1 exists:%{l}.x.example -all",
      zone: { "joe.x.example": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "the sender's domain, cut and turned",
      record: "v=spf1 exists:%{o1r}.x.example -all",
      zone: { "example.x.example": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "the address turned",
      record: "v=spf1 exists:%{ir}.%{v}.x.example -all",
      zone: { "3.2.0.192.in-addr.x.example": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "parts at other signs",
      record: "v=spf1 exists:%{l1r-}.x.example -all",
      sender: `joe-list@${D}`,
      zone: { "joe.x.example": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "HELO",
      record: "v=spf1 exists:%{h}.x.example -all",
      helo: "h.example",
      zone: { "h.example.x.example": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "no local part is postmaster's",
      record: "v=spf1 exists:%{l}.x.example -all",
      sender: `@${D}`,
      zone: { "postmaster.x.example": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    {
      name: "no validated name",
      record: "v=spf1 exists:%{p}.x.example -all",
      zone: { "unknown.x.example": { A: ["127.0.0.2"] } },
      is: "pass",
    },
    { name: "a letter that nobody knows", record: "v=spf1 exists:%{q}.x.example -all", is: "permerror" },
    { name: "a letter for explanations only", record: "v=spf1 exists:%{t}.x.example -all", is: "permerror" },
    { name: "nought labels", record: "v=spf1 exists:%{d0}.x.example -all", is: "permerror" },
    { name: "a lone percent sign", record: "v=spf1 exists:%.x.example -all", is: "permerror" },
  ],
};

for (const [section, cases] of Object.entries(SECTIONS))
  describe(section, () => {
    for (const each of cases)
      test(each.name, async () => {
        const { outcome, reason } = await evaluate(each);
        expect([reason, outcome]).toEqual([expect.stringMatching(/\S/), each.is]);
      });
  });

test("the look-ups are counted, and the term that decides is named", async () => {
  const result = await evaluate({
    name: "",
    record: "v=spf1 a mx include:i.example ip4:192.0.2.3 -all",
    zone: { [D]: { A: ["192.0.2.9"] }, "i.example": { TXT: ["v=spf1 a:gone.example -all"] } },
    is: "pass",
  });
  expect(result).toEqual({
    outcome: "pass",
    lookups: 4,
    voids: 2,
    term: "ip4:192.0.2.3",
    reason: expect.stringContaining("ip4:192.0.2.3"),
  });
});
