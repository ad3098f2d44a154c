import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { AppError } from "../../platform/errors.ts";
import { requireFreshProof, wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { answers, Deleted, describe } from "../../platform/http/openapi.ts";
import { type ListPages, CursorMeta, CursorQuery } from "../../platform/http/pagination.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { toIsoTimeOrNull } from "../../platform/http/times.ts";
import { toAsciiDomain } from "../../protocols/mime/address.ts";
import { auditDomain, createDomain, type CreateDeps } from "./create.ts";
import type { Keychain } from "./signing-keys.ts";
import { buildRecords } from "./records.ts";
import { DomainCreate, DomainInList, DomainRecord, DomainWithDns } from "./schema.ts";
import { countFound, hinted, hintFor, inList, parseDns, withDns, withLastCheck } from "./serialize.ts";
import type { Shares } from "./share.ts";
import type { DomainRow, DomainStore } from "./store.ts";
import type { Verifier } from "./verify.ts";

const TAG = "Domains";
const LIST = "domains";

export interface DomainDeps extends CreateDeps {
  pages: ListPages;
  verifier: Verifier;
  keychain: Keychain;
  settings: { bounceHost: string; dmarcRua: string | null };
  keys: { deleteOfDomain(domainId: number): void };
  /** Called after a domain is gone: its mail is still there. */
  deleted: () => void;
  shares: Pick<Shares, "endsAt">;
}

export function domainRoutes(deps: DomainDeps) {
  return new Elysia({ name: "domains", prefix: "/api/v1/domains" })
    .post(
      "",
      async ({ request, body, set }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const name = toAsciiDomain(body.domain);
        if (name === null) throw new Error("a domain passed its schema and not its parser");
        const { domain, keys } = await createDomain({ workspaceId, name, request }, deps);
        set.status = 201;
        return { data: withDns(domain, buildRecords(domain, keys, deps.settings)) };
      },
      {
        ...jsonBody(DomainCreate),
        detail: describe({
          id: "createDomain",
          tag: TAG,
          summary: "Register a sending domain",
          description: "The answer lists the DNS records to publish. Then request a verification check.",
          example: { verifiedAt: null },
          responses: answers(201, DomainWithDns, [400, 401, 402, 403, 409, 413, 415, 422, 503]),
        }),
      },
    )
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        return deps.pages.list(
          query,
          LIST,
          (before, limit) => deps.domains.list(workspaceId, before, limit),
          (domain) => ({
            ...inList(domain),
            recordsFound: countFound(parseDns(deps.domains.findLastCheck(domain.id))),
          }),
        );
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listDomains",
          tag: TAG,
          summary: "List domains, newest first",
          description: "Without their records, which GET /api/v1/domains/{id} shows.",
          responses: answers(200, Type.Array(DomainInList), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .get(
      "/:id",
      ({ request, params }) => {
        const domain = ownDomain(request, params.id, deps);
        const records = buildRecords(domain, deps.domains.listKeys(domain.id), deps.settings);
        const dns = withLastCheck(records, parseDns(deps.domains.findLastCheck(domain.id)));
        const isTaken = dns.dkim[0]?.status === "found" && deps.domains.isTakenElsewhere(domain);
        const { checkedAt, nextCheckAt } = domain;
        const times = { lastCheckedAt: toIsoTimeOrNull(checkedAt), nextCheckAt: toIsoTimeOrNull(nextCheckAt) };
        const sharedUntil = toIsoTimeOrNull(deps.shares.endsAt(domain.id));
        return { data: { ...inList(domain), ...times, sharedUntil, dns, ...hinted(hintFor(domain, dns, isTaken)) } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getDomain",
          tag: TAG,
          summary: "Get a domain",
          description: "With its records, as the last check found them.",
          responses: answers(200, DomainRecord, [401, 403, 404, 422]),
        }),
      },
    )
    .post(
      "/:id/verification-checks",
      async ({ request, params }) => {
        const domain = ownDomain(request, params.id, deps);
        const verification = await deps.verifier.verify(domain.id);
        if (verification === null) throw noSuchDomain();
        const { domain: checked, dns, isTaken } = verification;
        return { data: { ...withDns(checked, dns), ...hinted(hintFor(checked, dns, isTaken)) } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "checkDomain",
          tag: TAG,
          summary: "Check a domain's DNS records",
          description:
            "The RSA DKIM record decides; the others are advice. Domains are also checked automatically: every minute at first, at least hourly for 14 days, daily once verified.",
          responses: answers(200, DomainWithDns, [400, 401, 403, 404, 413, 415, 422, 503]),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        const domain = ownDomain(request, params.id, deps);
        requireFreshProof(request);
        await deps.commit(() => {
          refuseSuspended(domain.id, deps);
          deps.keys.deleteOfDomain(domain.id);
          deps.domains.delete(domain.id);
          auditDomain(domain, { request, action: "domain.deleted" }, deps);
        });
        deps.keychain.forget(domain.id);
        deps.deleted();
        return { data: { id: domain.uid, deleted: true } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "deleteDomain",
          tag: TAG,
          summary: "Delete a domain",
          description: "Destroys its signing keys and the API keys restricted to it; queued email from it fails.",
          responses: answers(200, Deleted, [401, 403, 404, 422, 503]),
        }),
      },
    );
}

/** Registering it again would undo what the operator has done. */
function refuseSuspended(id: number, { domains }: DomainDeps): void {
  if (domains.byId(id)?.status !== "suspended") return;
  throw new AppError("SENDING_BLOCKED", "The operator has suspended this domain, so it cannot be deleted", {
    hint: "Ask the operator to lift the suspension first.",
  });
}

/** The caller's domain of this id. Throws 404. */
export function ownDomain(request: Request, id: string, deps: { domains: Pick<DomainStore, "byUid"> }): DomainRow {
  const { workspaceId } = wholeWorkspaceCaller(request);
  const domain = deps.domains.byUid(workspaceId, id.toLowerCase());
  if (domain === undefined) throw noSuchDomain();
  return domain;
}

function noSuchDomain() {
  return notFound("This workspace has no domain with this id");
}
