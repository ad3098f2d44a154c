import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { wholeWorkspaceCaller } from "../http/auth.ts";
import { notFound } from "../http/errors.ts";
import { answers, describe } from "../http/openapi.ts";
import { CursorMeta, CursorQuery, cursorOf, cursorPage } from "../http/pagination.ts";
import { requestBody } from "../http/request-body.ts";
import { uuid } from "../http/rules.ts";
import { toAsciiDomain } from "../mime/address.ts";
import type { DomainCheck, RecordCheck } from "./check.ts";
import { createDomain, type CreateParts } from "./create.ts";
import { recordsOf } from "./records.ts";
import { DeletedDomain, type Dns, DomainCreate, DomainInList, DomainWithDns } from "./schema.ts";
import { type DomainRow, isSending } from "./store.ts";
import { type Verification, verifyDomain, type VerifyParts } from "./verify.ts";

const TAG = "Domains";
/** Of which its cursors are. */
const LIST = "domains";

export interface DomainParts extends CreateParts, VerifyParts {
  /** Takes away the API keys restricted to the domain, in the transaction that deletes it. */
  deleteKeysOf: (domainId: number) => void;
  /** Called after a domain is gone, with what still belongs to it. */
  deleted: (domain: DomainRow) => void;
}

export function domainRoutes(parts: DomainParts) {
  return new Elysia({ name: "domains", prefix: "/api/v1/domains" })
    .post(
      "",
      async ({ request, body, set }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const name = toAsciiDomain(body.domain);
        if (name === null) throw new Error("a domain passed its schema and not its parser");
        const domain = await createDomain({ workspaceId, name }, parts);
        set.status = 201;
        return { data: withDns(domain, recordsOf(domain, parts.domains.keysOf(domain.id), parts.settings)) };
      },
      {
        body: requestBody(DomainCreate),
        parse: "json",
        detail: describe({
          tag: TAG,
          summary: "Register a sending domain",
          description: "Answers the DNS records to publish. Then call the verification check.",
          responses: answers(201, DomainWithDns, [400, 401, 402, 403, 409, 413, 415, 422, 503]),
        }),
      },
    )
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const { before, limit } = cursorOf(query, LIST);
        const page = cursorPage(parts.domains.list(workspaceId, before, limit), limit, LIST);
        return { data: page.rows.map(inList), meta: page.meta };
      },
      {
        query: CursorQuery,
        detail: describe({
          tag: TAG,
          summary: "List domains, newest first",
          responses: answers(200, Type.Array(DomainInList), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .post(
      "/:id/verification-checks",
      async ({ request, params }) => {
        const domain = ownDomain(request, params.id, parts);
        const verification = await verifyDomain(domain, parts);
        if (verification === null) throw noSuchDomain();
        const checked = withDns(verification.domain, dnsAfterCheck(verification.check));
        const hint = verificationHint(verification);
        return { data: hint === null ? checked : { ...checked, hint } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          tag: TAG,
          summary: "Check a domain's DNS records",
          description: "The RSA DKIM record decides; the others advise.",
          responses: answers(200, DomainWithDns, [400, 401, 403, 404, 413, 415, 422, 503]),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        const domain = ownDomain(request, params.id, parts);
        await parts.commit(() => {
          parts.deleteKeysOf(domain.id);
          parts.domains.delete(domain.id);
        });
        parts.keychain.forget(domain.id);
        parts.deleted(domain);
        return { data: { id: domain.uid, deleted: true } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          tag: TAG,
          summary: "Delete a domain",
          description: "Destroys its signing keys and the API keys restricted to it; queued email from it fails.",
          responses: answers(200, DeletedDomain, [401, 403, 404, 422, 503]),
        }),
      },
    );
}

function ownDomain(request: Request, id: string, parts: DomainParts): DomainRow {
  const { workspaceId } = wholeWorkspaceCaller(request);
  const domain = parts.domains.byUid(workspaceId, id.toLowerCase());
  if (domain === undefined) throw noSuchDomain();
  return domain;
}

function noSuchDomain() {
  return notFound("There is no domain with this id in this workspace");
}

function inList(domain: DomainRow): typeof DomainInList.static {
  return {
    id: domain.uid,
    domain: domain.name,
    status: domain.status,
    createdAt: timeOf(domain.createdAt),
    verifiedAt: verifiedAt(domain),
  };
}

function withDns(domain: DomainRow, dns: typeof Dns.static): typeof DomainWithDns.static {
  return {
    id: domain.uid,
    domain: domain.name,
    createdAt: timeOf(domain.createdAt),
    verifiedAt: verifiedAt(domain),
    dns,
  };
}

/** What stands in the way of sending, or would still make it better; null when nothing does. */
function verificationHint({ domain, check, isTaken }: Verification): string | null {
  if (isTaken) return "Another workspace sends from this domain; it can be verified here once that ends.";
  const [rsa, ed25519] = check.dkim;
  if (!isSending(domain)) {
    return rsa.status === "unknown"
      ? "Not verified yet: DNS did not answer. Call this check again in a minute."
      : `Not verified yet: ${rsa.name} is ${rsa.status === "missing" ? "missing" : "not as it should be"}. Publish it, then call this check again.`;
  }
  const open = [ed25519, check.spf, check.dmarc].filter(({ status }) => status === "missing" || status === "mismatch");
  return open.length === 0
    ? null
    : `Verified: you can send. Still recommended: ${open.map(({ name }) => name).join(", ")}.`;
}

function dnsAfterCheck(check: DomainCheck): typeof Dns.static {
  return { dkim: check.dkim.map(shown), spf: shown(check.spf), dmarc: shown(check.dmarc) };
}

/** A record whose look-up failed has no status: nothing is known of it, and the hint says so. */
function shown({ status, ...record }: RecordCheck): typeof Dns.static.spf {
  return status === "unknown" ? record : { ...record, status };
}

function verifiedAt(domain: DomainRow): string | null {
  return domain.verifiedAt === null ? null : timeOf(domain.verifiedAt);
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
