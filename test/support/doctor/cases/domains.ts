// The world broken for one finding at a time: what is about a sending domain.

import { DOMAIN, type DoctorWorld, NOW } from "../world.ts";
import { type Case, DAY_MS, DMARC, failing, txt, well, without } from "./kit.ts";

export const DOMAIN_CASES = {
  dkim: [
    well("both published", /are published/),
    {
      name: "the RSA key is missing",
      level: "problem",
      arrange: without(`pombo1._domainkey.${DOMAIN}`),
      seen: /no DKIM key at pombo1/,
      isCuredByRecord: true,
    },
    {
      name: "the Ed25519 key is missing",
      level: "warning",
      arrange: without(`pombo2._domainkey.${DOMAIN}`),
      seen: /no DKIM key at pombo2/,
      isCuredByRecord: true,
    },
    {
      name: "both are missing, and both are named",
      level: "problem",
      arrange(world) {
        without(`pombo1._domainkey.${DOMAIN}`)(world);
        without(`pombo2._domainkey.${DOMAIN}`)(world);
      },
      seen: /no DKIM key at pombo1.* no DKIM key at pombo2/,
      isCuredByRecord: true,
    },
    {
      name: "another key",
      level: "problem",
      arrange: txt(`pombo1._domainkey.${DOMAIN}`, ["v=DKIM1; k=rsa; p=AAAA"]),
      seen: /not the one that signs/,
      isCuredByRecord: true,
    },
    {
      name: "a key for tests only",
      level: "warning",
      arrange: ({ dns, domains }) =>
        txt(`pombo1._domainkey.${DOMAIN}`, [`${domains[0]?.dkim[0]?.value}; t=y`])({ dns } as DoctorWorld),
      seen: /t=y/,
      isCuredByRecord: true,
    },
    failing("a key", `pombo1._domainkey.${DOMAIN}`),
  ],
  return_path: [
    well("leads to the bounce host", /leads to/),
    {
      name: "missing",
      level: "warning",
      arrange: without(`bounce.${DOMAIN}`),
      seen: /no CNAME/,
      isCuredByRecord: true,
    },
    {
      name: "leads elsewhere",
      level: "warning",
      arrange: ({ dns }) => void (dns.zone[`bounce.${DOMAIN}`] = { CNAME: "other.example" }),
      seen: /in place of/,
      isCuredByRecord: true,
    },
    failing("the return path", `bounce.${DOMAIN}`),
  ],
  dmarc: [
    well("one that parses", /DMARC record of loja\.example is/),
    { name: "none", level: "problem", arrange: without(DMARC), seen: /no DMARC record/, isCuredByRecord: true },
    {
      name: "two",
      level: "problem",
      arrange: txt(DMARC, ["v=DMARC1; p=none", "v=DMARC1; p=reject"]),
      seen: /2 DMARC records/,
    },
    {
      name: "no policy",
      level: "problem",
      arrange: txt(DMARC, ["v=DMARC1; q=none"]),
      seen: /no valid p=/,
      isCuredByRecord: true,
    },
    {
      name: "quotation marks",
      level: "problem",
      arrange: txt(DMARC, ['"v=DMARC1; p=none"']),
      seen: /quotation marks/,
      isCuredByRecord: true,
    },
    failing("the policy", DMARC),
  ],
  dmarc_alignment: [
    well("both", /both aligned/),
    {
      name: "the return path leads elsewhere",
      level: "warning",
      arrange: without(`bounce.${DOMAIN}`),
      seen: /Only DKIM/,
      isCuredByRecord: true,
    },
    {
      name: "strict SPF",
      level: "warning",
      arrange: txt(DMARC, ["v=DMARC1; p=none; aspf=s; rua=mailto:d@loja.example"]),
      seen: /aspf=s/,
    },
    {
      name: "no DKIM",
      level: "warning",
      arrange: without(`pombo1._domainkey.${DOMAIN}`),
      seen: /Only SPF/,
      isCuredByRecord: true,
    },
    {
      name: "neither",
      level: "problem",
      arrange(world) {
        without(`pombo1._domainkey.${DOMAIN}`)(world);
        without(`bounce.${DOMAIN}`)(world);
      },
      seen: /Neither/,
    },
    failing("a key", `pombo1._domainkey.${DOMAIN}`),
  ],
  dmarc_policy: [
    well("none in the first weeks", /first weeks/),
    {
      name: "none for long",
      level: "warning",
      arrange: (world) => void (world.now = NOW + 40 * DAY_MS),
      seen: /still none, 41 days/,
      isCuredByRecord: true,
    },
    {
      name: "tags of the older standard",
      level: "warning",
      arrange: txt(DMARC, ["v=DMARC1; p=reject; pct=10; rua=mailto:d@loja.example"]),
      seen: /pct=/,
      isCuredByRecord: true,
    },
    { name: "reject", level: "ok", arrange: txt(DMARC, ["v=DMARC1; p=reject"]), seen: /is reject/ },
  ],
  dmarc_reports: [
    well("to an own address", /go to mailto:dmarc@loja\.example/),
    { name: "nowhere", level: "warning", arrange: txt(DMARC, ["v=DMARC1; p=none"]), seen: /Nobody gets/ },
    {
      name: "to another's domain that does not want them",
      level: "warning",
      arrange: txt(DMARC, ["v=DMARC1; p=none; rua=mailto:x@reports.example"]),
      seen: /does not say that it wants them/,
      isCuredByRecord: true,
    },
    {
      name: "whether they are wanted cannot be looked up",
      level: "unknown",
      arrange(world) {
        txt(DMARC, ["v=DMARC1; p=none; rua=mailto:x@reports.example"])(world);
        world.dns.failures[`${DOMAIN}._report._dmarc.reports.example`] = "SERVFAIL";
      },
      seen: /could not be looked up/,
    },
  ],
  from_domain: [
    well("an MX", /has an MX/),
    {
      name: "an address",
      level: "ok",
      arrange: ({ dns }) => void (dns.zone[DOMAIN] = { A: ["203.0.113.50"] }),
      seen: /has an address/,
    },
    {
      name: "neither",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[DOMAIN] = {}),
      seen: /neither/,
      isCuredByRecord: true,
    },
    {
      name: "a null MX",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[DOMAIN] = { MX: [[0, "."]] }),
      seen: /null MX/,
      isCuredByRecord: true,
    },
    {
      name: "an MX without an address",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[DOMAIN] = { MX: [[10, "gone.example"]] }),
      seen: /is gone\.example, which has no address/,
      isCuredByRecord: true,
    },
    {
      name: "the second of two has an address, of IPv6",
      level: "ok",
      arrange({ dns }) {
        dns.zone[DOMAIN] = {
          MX: [
            [20, "second.example"],
            [10, "gone.example"],
          ],
        };
        dns.zone["second.example"] = { AAAA: ["2001:db8::9"] };
      },
      seen: /an MX, second\.example,/,
    },
    failing("the MX", DOMAIN),
    failing("the address of the MX", `mx.${DOMAIN}`),
  ],
  domain_blocklist: [
    well("not listed", /loja\.example is not on/),
    {
      name: "listed",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[`${DOMAIN}.dbl.spamhaus.org`] = { A: ["127.0.1.2"] }),
      seen: /loja\.example is on the blocklist/,
    },
    {
      name: "the list says nothing",
      level: "unknown",
      arrange: without("dbltest.com.dbl.spamhaus.org"),
      seen: /test entry/,
    },
  ],
  domain_age: [
    well("an old one", /was registered 2,\d\d\d days ago/),
    {
      name: "a young one",
      level: "warning",
      arrange(world) {
        const eventDate = new Date(NOW - 10 * DAY_MS).toISOString();
        world.rdap = { status: 200, body: { events: [{ eventAction: "registration", eventDate }] } };
      },
      seen: /registered 10 days ago/,
    },
    {
      name: "a registry that does not say",
      level: "unknown",
      arrange: (world) => void (world.rdap = { status: 404, body: {} }),
      seen: /does not say/,
    },
  ],
} satisfies Record<string, Case[]>;
