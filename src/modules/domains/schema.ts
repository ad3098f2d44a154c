import { Type } from "@sinclair/typebox";
import { DOMAIN_STATUSES } from "../../platform/db/schema/schema.ts";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { text, uuid } from "../../platform/http/request-schemas.ts";
import { toAsciiDomain } from "../../protocols/mime/address.ts";
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

const DnsRecord = namedObject("DnsRecord", {
  type: oneOf(["TXT", "CNAME"], "The type of the record."),
  name: Type.String({
    description: "The full name, without a dot at the end.",
    examples: ["pombo1._domainkey.news.example.com"],
  }),
  value: Type.String({ description: "The value to publish.", examples: ["v=DKIM1; k=rsa; p=MIIBIjANBgkq…"] }),
  status: Type.Optional(oneOf(["found", "missing", "mismatch"], "After a check; absent when DNS did not answer.")),
  found: Type.Optional(Type.Array(Type.String(), { description: "After a check: the values in DNS under that name." })),
  hint: Type.Optional(Type.String({ description: "What to do." })),
});

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

/** A domain as the list shows it. */
export const DomainInList = namedObject("DomainListItem", {
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

/** A domain by its id: all that is known of it. */
export const DomainRecord = namedObject("Domain", {
  ...DomainInList.properties,
  lastCheckedAt: orNull(Time, "When its records were last looked up."),
  nextCheckAt: orNull(Time, "When it is checked automatically; null: only on request."),
  dns: Dns,
  hint: Type.Optional(Type.String({ description: "What to do." })),
});

/** A domain as the operator sees it. */
export const OperatorDomain = namedObject("OperatorDomain", {
  ...DomainInList.properties,
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
