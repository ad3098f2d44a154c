// Routes of a domain's records outside: the DNS host, the zone file, the link for whoever owns the DNS.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { answers, describe, errorAnswers, zoneAnswer } from "../../platform/http/openapi.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { HostViews } from "./dns-host/host-views.ts";
import { buildRecords } from "./records.ts";
import { DomainDnsHost, DomainShare, EndedShare, SharedDns } from "./schema.ts";
import { parseDns, showHost, withLastCheck } from "./serialize.ts";
import { SHARE_HEADER, type Shares } from "./share.ts";
import type { DomainRow, DomainStore } from "./store.ts";
import { formatZone } from "./zone.ts";

const TAG = "Domains";

export interface DnsDeps {
  domains: Pick<DomainStore, "findLastCheck" | "listKeys">;
  hosts: Pick<HostViews, "find">;
  shares: Pick<Shares, "create" | "end" | "open">;
  settings: { bounceHost: string; dmarcRua: string | null };
  /** The caller's domain of this id. Throws 404. */
  findOwn: (request: Request, uid: string) => DomainRow;
}

const OneDomain = Type.Object({ id: uuid() });

export function domainDnsRoutes(deps: DnsDeps) {
  const { findOwn } = deps;
  return new Elysia({ name: "domain-dns", prefix: "/api/v1/domains/:id" })
    .get(
      "/dns-host",
      async ({ request, params }) => ({ data: await describeHost(findOwn(request, params.id), deps) }),
      {
        params: OneDomain,
        detail: describe({
          id: "getDomainDnsHost",
          tag: TAG,
          summary: "See where a domain's DNS is kept, and what is there",
          description:
            "Its zone, the host as far as its name servers tell, and the records as these servers have them beside what the world sees. " +
            "They are asked at most every 10 seconds.",
          responses: answers(200, DomainDnsHost, [401, 403, 404, 422]),
        }),
      },
    )
    .get(
      "/zone",
      ({ request, params }) => {
        const domain = findOwn(request, params.id);
        return new Response(`${formatZone({ domain: domain.name, dns: findSeen(domain, deps) })}\n`, {
          headers: {
            "content-type": "text/dns; charset=utf-8",
            "content-disposition": `attachment; filename="${domain.name}.zone"`,
          },
        });
      },
      {
        params: OneDomain,
        detail: describe({
          id: "getDomainZone",
          tag: TAG,
          summary: "Get a domain's records as a zone file",
          description: "For BIND, and DNS hosts that import one. Records that are published already are comments.",
          responses: { 200: zoneAnswer("The file"), ...errorAnswers([401, 403, 404, 422]) },
        }),
      },
    );
}

/** The link for whoever owns the DNS. */
export function domainShareRoutes({ findOwn, shares }: DnsDeps) {
  return new Elysia({ name: "domain-share", prefix: "/api/v1/domains/:id" })
    .post(
      "/share",
      async ({ request, params, set }) => {
        const data = await shares.create(request, findOwn(request, params.id));
        set.status = 201;
        return { data };
      },
      {
        params: OneDomain,
        detail: describe({
          id: "createDomainShare",
          tag: TAG,
          summary: "Make a link to a domain's records",
          description:
            "For whoever owns the DNS: it shows the records and their state, needs no account and works for seven days. It replaces the domain's last one.",
          responses: answers(201, DomainShare, [400, 401, 403, 404, 413, 415, 422, 503]),
        }),
      },
    )
    .delete(
      "/share",
      async ({ request, params }) => {
        const domain = findOwn(request, params.id);
        await shares.end(request, domain);
        return { data: { id: domain.uid, shared: false } };
      },
      {
        params: OneDomain,
        detail: describe({
          id: "endDomainShare",
          tag: TAG,
          summary: "End the link to a domain's records",
          description: "Whoever has its page open sees no more.",
          responses: answers(200, EndedShare, [401, 403, 404, 422, 503]),
        }),
      },
    );
}

/** For whoever has a link. */
export function sharedDnsRoutes(deps: DnsDeps) {
  return new Elysia({ name: "shared-dns", prefix: "/api/v1/dns-share" }).get(
    "",
    async ({ request }) => {
      const { domain, expiresAt } = deps.shares.open(request);
      const dnsHost = await describeHost(domain, deps);
      return { data: { domain: domain.name, status: domain.status, sharedUntil: toIsoTime(expiresAt), dnsHost } };
    },
    {
      detail: describe({
        id: "getSharedDns",
        tag: TAG,
        summary: "See the records that a link shows",
        description: "As the page of the link does. Nothing else of the workspace is shown.",
        isOpen: true,
        headers: [{ name: SHARE_HEADER, description: "The link's token, which stands after its `#`." }],
        responses: answers(200, SharedDns, [403, 410, 429]),
      }),
    },
  );
}

function findSeen(domain: DomainRow, { domains, settings }: DnsDeps) {
  const records = buildRecords(domain, domains.listKeys(domain.id), settings);
  return withLastCheck(records, parseDns(domains.findLastCheck(domain.id)));
}

async function describeHost(domain: DomainRow, deps: DnsDeps): Promise<typeof DomainDnsHost.static> {
  const view = await deps.hosts.find(domain);
  return showHost(view, findSeen(domain, deps));
}
