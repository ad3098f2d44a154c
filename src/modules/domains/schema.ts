import { Type } from "@sinclair/typebox";
import { DOMAIN_STATUSES } from "../../platform/db/schema/schema.ts";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { text, uuid } from "../../platform/http/request-schemas.ts";
import { toAsciiDomain } from "../../protocols/mime/address.ts";
import { MISTAKES } from "./compare.ts";
import { bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";

const MAX_NAME = 253;

export const DomainCreate = bodyObject("DomainCreate", {
  domain: text(
    { minLength: 1, maxLength: MAX_NAME, description: "The domain you send from.", examples: ["news.example.com"] },
    (value) => (toAsciiDomain(value) === null ? "must be a domain name, for example example.com" : null),
  ),
});

const Time = dateTime();

/** Members of every representation of a domain. */
const Members = {
  id: identifier("The domain's id."),
  domain: Type.String({ description: "Its name, in any script.", examples: ["news.example.com"] }),
  createdAt: dateTime("When it was registered."),
  verifiedAt: orNull(Time, "When its DKIM record was first found; null: not yet.", "2026-11-21T12:00:00.000Z"),
};

const MISTAKE_WORDS =
  "What went wrong, if it is one of the usual mistakes. `zone_doubled`: the DNS host added the zone to the name or target " +
  "once more; `quotes`: quotation marks inside the value; `cut`: only its first part; `split`: its strings are records of " +
  "their own; `proxied`: addresses in a CNAME's place; `wrong_level`: under another name; `several`: others at the same name; " +
  "`other_value`.";

const RecordMembers = {
  type: oneOf(["TXT", "CNAME"], "The type of the record."),
  name: Type.String({
    description: "The full name, without a dot at the end.",
    examples: ["pombo1._domainkey.news.example.com"],
  }),
  value: Type.String({ description: "The value to publish.", examples: ["v=DKIM1; k=rsa; p=MIIBIjANBgkq…"] }),
  status: Type.Optional(oneOf(["found", "missing", "mismatch"], "After a check; absent when DNS did not answer.")),
  found: Type.Optional(Type.Array(Type.String(), { description: "After a check: the values in DNS under that name." })),
  mistake: Type.Optional(oneOf(MISTAKES, MISTAKE_WORDS)),
  foundAt: Type.Optional(Type.String({ description: "The name under which it was published by mistake." })),
  hint: Type.Optional(Type.String({ description: "What to do." })),
};

const DnsRecord = namedObject("DnsRecord", RecordMembers);

const EXAMPLE_DNS = {
  dkim: [
    { type: "TXT", name: "pombo1._domainkey.news.example.com", value: "v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0…" },
    { type: "TXT", name: "pombo2._domainkey.news.example.com", value: "v=DKIM1; k=ed25519; p=MCowBQYDK2VwAyEA…" },
  ],
  spf: { type: "CNAME", name: "bounce.news.example.com", value: "mail.example.org" },
  dmarc: { type: "TXT", name: "_dmarc.news.example.com", value: "v=DMARC1; p=none" },
};

export const Dns = namedObject(
  "DomainDns",
  {
    dkim: Type.Array(DnsRecord, { description: "The keys that sign its mail. The first one decides." }),
    spf: DnsRecord,
    dmarc: DnsRecord,
  },
  { examples: [EXAMPLE_DNS] },
);

/** A domain as create and check answer it. */
export const DomainWithDns = namedObject("DomainWithDns", {
  ...Members,
  dns: Dns,
  hint: Type.Optional(Type.String({ description: "The reason why it cannot send, or an improvement." })),
});

/** A domain in short. */
export const DomainState = namedObject("DomainState", {
  id: Members.id,
  domain: Members.domain,
  status: oneOf(
    DOMAIN_STATUSES,
    "It can send while it is `verified`, and for 72 hours of `warning`: its DKIM record is no longer found. " +
      "`suspended`: by the operator.",
    "verified",
  ),
  createdAt: Members.createdAt,
  verifiedAt: Members.verifiedAt,
});

/** The same as the list shows it. */
export const DomainInList = namedObject("DomainListItem", {
  ...DomainState.properties,
  recordsFound: orNull(
    Type.Integer({ minimum: 0, maximum: 4 }),
    "How many of its four records the last check found; null: there was none.",
    3,
  ),
});

/** A domain by its id: all that is known of it. */
export const DomainRecord = namedObject("Domain", {
  ...DomainState.properties,
  lastCheckedAt: orNull(Time, "When its records were last looked up."),
  nextCheckAt: orNull(Time, "When it is checked automatically; null: only on request."),
  sharedUntil: orNull(Time, "When the link to its records ends; null: there is none."),
  dns: Dns,
  hint: Type.Optional(Type.String({ description: "What to do." })),
});

/** A domain as the operator sees it. */
export const OperatorDomain = namedObject("OperatorDomain", {
  ...DomainState.properties,
  workspaceId: identifier(),
});

/** The same with its records. */
export const OperatorDomainWithDns = namedObject("OperatorDomainWithDns", {
  ...OperatorDomain.properties,
  dns: Dns,
  hint: Type.Optional(Type.String({ description: "What to do." })),
});

export const DomainChange = bodyObject("DomainChange", {
  suspended: Type.Boolean({ description: "Whether it is suspended." }),
});

export const OperatorDomainQuery = Type.Object({
  ...CursorQuery.properties,
  workspaceId: Type.Optional(uuid("Only the domains of this workspace.")),
});

const DnsHost = namedObject("DnsHost", {
  id: Type.String({ description: "For programs.", examples: ["cloudflare"] }),
  name: Type.String({ description: "For people.", examples: ["Cloudflare"] }),
  place: Type.String({
    description: "Where its pages have the records, in its own words.",
    examples: ["DNS › Records"],
  }),
  add: Type.String({ description: "The button that begins a record.", examples: ["Add record"] }),
  fields: Type.Object(
    {
      name: Type.String({ description: "The field for the name." }),
      value: Type.String({ description: "That for the value of a TXT record." }),
      target: Type.String({ description: "That for the target of a CNAME." }),
    },
    { description: "The names of its fields.", examples: [{ name: "Name", value: "Content", target: "Target" }] },
  ),
  nameForm: oneOf(
    ["relative", "full"],
    "Whether its field takes the part of a name before the zone, or the full name.",
  ),
  hasProxy: Type.Optional(Type.Boolean({ description: "True: its proxy can put addresses in a CNAME's place." })),
});

const RecordAtHost = namedObject("DnsRecordAtHost", {
  ...RecordMembers,
  status: Type.Optional(
    oneOf(["found", "missing", "mismatch"], "As the world sees it; absent when that is not known."),
  ),
  nameAtHost: Type.String({
    description: "The name as this host's field takes it.",
    examples: ["pombo1._domainkey.news"],
  }),
  published: Type.Optional(
    oneOf(["found", "missing", "mismatch"], "As the zone's own name servers have it; absent when none answered."),
  ),
});

/** Where a domain's records are kept, and what is there. */
export const DomainDnsHost = namedObject("DomainDnsHost", {
  zone: orNull(Type.String(), "The zone that holds the domain; null: DNS did not tell.", "example.com"),
  nameServers: Type.Array(Type.String(), {
    description: "The zone's name servers.",
    examples: [["ana.ns.cloudflare.com", "rui.ns.cloudflare.com"]],
  }),
  host: orNull(DnsHost, "Whose name servers these are; null: not known."),
  negativeTtl: orNull(
    Type.Integer({ minimum: 0 }),
    "A record that was just published is seen everywhere after so many seconds, at most; null: not known.",
    840,
  ),
  records: Type.Array(RecordAtHost, { description: "Those to publish: two DKIM keys, the return path, DMARC." }),
});

export const DomainShare = namedObject("DomainShare", {
  url: Type.String({
    description: "Shown this once. Whoever has it reads the records and their state, without an account.",
    examples: ["https://mail.example.net/dashboard/dns#dGhpcyBpcyBub3QgYSB0b2tlbiwganVzdCBhbiBleGE"],
  }),
  expiresAt: dateTime("It works until then."),
});

export const EndedShare = namedObject("EndedDomainShare", {
  id: identifier("The domain's id."),
  shared: Type.Boolean({ description: "Always false.", examples: [false] }),
});

/** All that a shared link shows. */
export const SharedDns = namedObject("SharedDns", {
  domain: Members.domain,
  status: DomainState.properties.status,
  sharedUntil: dateTime("When the link ends."),
  dnsHost: DomainDnsHost,
});
