import { Type } from "@sinclair/typebox";
import { DOMAIN_STATUSES } from "../db/schema.ts";
import { CursorQuery } from "../http/pagination.ts";
import { text, uuid } from "../http/rules.ts";
import { toAsciiDomain } from "../mime/address.ts";

const MAX_NAME = 253;

export const DomainCreate = Type.Object(
  {
    domain: text(
      { minLength: 1, maxLength: MAX_NAME, description: "The domain you send from.", examples: ["news.example.com"] },
      (value) => (toAsciiDomain(value) === null ? "must be a domain name, for example example.com" : null),
    ),
  },
  { additionalProperties: false },
);

const Time = Type.String({ format: "date-time" });
const NullableTime = Type.Union([Time, Type.Null()]);

const DnsRecord = Type.Object({
  type: Type.Union([Type.Literal("TXT"), Type.Literal("CNAME")]),
  name: Type.String({ description: "The whole name, without a dot at its end." }),
  value: Type.String(),
  status: Type.Optional(
    Type.Union([Type.Literal("found"), Type.Literal("missing"), Type.Literal("mismatch")], {
      description: "After a check; absent when DNS did not answer.",
    }),
  ),
  found: Type.Optional(Type.Array(Type.String(), { description: "After a check: what DNS holds under that name." })),
  hint: Type.Optional(Type.String({ description: "What to do." })),
});

export const Dns = Type.Object({ dkim: Type.Array(DnsRecord), spf: DnsRecord, dmarc: DnsRecord });

/** A domain as create and check answer it. */
export const DomainWithDns = Type.Object({
  id: Type.String({ format: "uuid" }),
  domain: Type.String(),
  createdAt: Time,
  verifiedAt: NullableTime,
  dns: Dns,
  hint: Type.Optional(Type.String({ description: "What stands in the way of sending, or would make it better." })),
});

/** A domain as the list shows it. */
export const DomainInList = Type.Object({
  id: Type.String({ format: "uuid" }),
  domain: Type.String(),
  status: Type.Union(DOMAIN_STATUSES.map((status) => Type.Literal(status))),
  createdAt: Time,
  verifiedAt: NullableTime,
});

/** A domain by its id: all that is known of it. */
export const DomainRecord = Type.Object({
  ...DomainInList.properties,
  lastCheckedAt: NullableTime,
  nextCheckAt: Type.Union([Time, Type.Null()], {
    description: "When it is checked by itself; null: only when asked for.",
  }),
  dns: Dns,
  hint: Type.Optional(Type.String({ description: "What to do." })),
});

/** A domain as the operator sees it. */
export const OperatorDomain = Type.Object({
  ...DomainInList.properties,
  workspaceId: Type.String({ format: "uuid" }),
});

export const DomainChange = Type.Object({ suspended: Type.Boolean() }, { additionalProperties: false });

export const OperatorDomainQuery = Type.Object({
  ...CursorQuery.properties,
  workspaceId: Type.Optional(uuid("Only the domains of this workspace.")),
});

export const DeletedDomain = Type.Object({ id: Type.String({ format: "uuid" }), deleted: Type.Literal(true) });
