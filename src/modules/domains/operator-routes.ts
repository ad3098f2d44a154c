import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import type { Context } from "../../platform/context.ts";
import type { AppError } from "../../platform/errors.ts";
import { operatorCaller } from "../../platform/http/auth.ts";
import { notFound, validationError } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { type ListPages, CursorMeta } from "../../platform/http/pagination.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { toAsciiDomain } from "../../protocols/mime/address.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import { auditDomain, createDomain, type CreateDeps } from "./create.ts";
import { buildRecords } from "./records.ts";
import { DomainChange, DomainCreate, OperatorDomain, OperatorDomainQuery, OperatorDomainWithDns } from "./schema.ts";
import { hinted, hintFor, inList } from "./serialize.ts";
import type { DomainRow } from "./store.ts";
import type { Verifier } from "./verify.ts";

export interface OperatorDomainDeps extends CreateDeps, Pick<Context, "log"> {
  pages: ListPages;
  verifier: Verifier;
  workspaces: Pick<WorkspaceStore, "byUid" | "byId">;
  settings: { bounceHost: string; dmarcRua: string | null };
  /** Called after a suspension is lifted: mail from the domain waits. */
  lifted: (domain: DomainRow) => void;
}

const TAG = "Operator";
const LIST = "all domains";

export function operatorDomainRoutes(deps: OperatorDomainDeps) {
  return new Elysia({ name: "operator-domains", prefix: "/api/v1/operator" })
    .get(
      "/domains",
      ({ request, query }) => {
        operatorCaller(request);
        return deps.pages.list(
          query,
          LIST,
          (before, limit) => {
            const workspaceId = query.workspaceId === undefined ? null : findWorkspaceId(query.workspaceId, deps);
            return deps.domains.listEverywhere(workspaceId, before, limit);
          },
          (domain) => toOperator(domain, deps),
        );
      },
      {
        query: OperatorDomainQuery,
        detail: describe({
          id: "listAllDomains",
          tag: TAG,
          summary: "List the domains of all workspaces, newest first",
          description: "With `workspaceId`, those of one workspace.",
          responses: answers(200, Type.Array(OperatorDomain), [401, 403, 404, 422], CursorMeta),
        }),
      },
    )
    .patch(
      "/domains/:id",
      async ({ request, params, body }) => {
        operatorCaller(request);
        const domain = await setSuspended({ uid: params.id.toLowerCase(), ...body, request }, deps);
        return { data: toOperator(domain, deps) };
      },
      {
        params: Type.Object({ id: uuid() }),
        ...jsonBody(DomainChange),
        detail: describe({
          id: "updateDomain",
          tag: TAG,
          summary: "Suspend a domain, or lift the suspension",
          description:
            "While a domain is suspended, new mail from it is refused, queued mail waits, its workspace cannot delete it, and no other workspace can verify the name. Lifting makes it pending and checks it at once.",
          responses: answers(200, OperatorDomain, [400, 401, 403, 404, 413, 415, 422, 503]),
        }),
      },
    );
}

/** Domains with their records: what a workspace can do itself, for one that asks the operator. */
export function operatorRecordRoutes(deps: OperatorDomainDeps) {
  return new Elysia({ name: "operator-records", prefix: "/api/v1/operator" })
    .post(
      "/workspaces/:id/domains",
      async ({ request, params, body, set }) => {
        operatorCaller(request);
        const name = toAsciiDomain(body.domain);
        if (name === null) throw new Error("a domain passed its schema and not its parser");
        const { domain, keys } = await createDomain(
          { workspaceId: findWorkspaceId(params.id, deps), name, request },
          deps,
        );
        set.status = 201;
        return { data: { ...toOperator(domain, deps), dns: buildRecords(domain, keys, deps.settings) } };
      },
      {
        params: Type.Object({ id: uuid("The workspace.") }),
        ...jsonBody(DomainCreate),
        detail: describe({
          id: "createDomainOfWorkspace",
          tag: TAG,
          summary: "Register a sending domain for a workspace",
          description: "The answer lists the DNS records to publish. Then request a verification check.",
          example: { verifiedAt: null, status: "pending" },
          responses: answers(201, OperatorDomainWithDns, [400, 401, 402, 403, 404, 409, 413, 415, 422, 503]),
        }),
      },
    )
    .post(
      "/domains/:id/verification-checks",
      async ({ request, params }) => {
        operatorCaller(request);
        const found = deps.domains.byUidAnywhere(params.id.toLowerCase());
        const verification = found === undefined ? null : await deps.verifier.verify(found.id);
        if (verification === null) throw noSuchDomain();
        const { domain, dns, isTaken } = verification;
        return { data: { ...toOperator(domain, deps), dns, ...hinted(hintFor(domain, dns, isTaken)) } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "checkDomainOfWorkspace",
          tag: TAG,
          summary: "Check the DNS records of a workspace's domain",
          description: "As its workspace can.",
          example: { verifiedAt: null, status: "pending" },
          responses: answers(200, OperatorDomainWithDns, [400, 401, 403, 404, 413, 415, 422, 503]),
        }),
      },
    );
}

interface Suspension {
  uid: string;
  suspended: boolean;
  request: Request;
}

async function setSuspended({ uid, suspended, request }: Suspension, deps: OperatorDomainDeps): Promise<DomainRow> {
  const { domains, commit, log } = deps;
  const { domain, isChanged } = await commit(() => {
    const found = domains.byUidAnywhere(uid);
    if (found === undefined) throw noSuchDomain();
    if ((found.status === "suspended") === suspended) return { domain: found, isChanged: false };
    if (suspended && domains.isTakenElsewhere(found)) throw heldElsewhere(found);
    const now = deps.clock.now();
    const change = suspended
      ? ({ status: "suspended", warningAt: null, nextCheckAt: null } as const)
      : // In the background too, should the check below be cut off.
        ({ status: "pending", warningAt: null, nextCheckAt: now } as const);
    auditDomain(found, { request, action: suspended ? "domain.suspended" : "domain.lifted" }, deps);
    return { domain: domains.update(found.id, change), isChanged: true };
  });
  if (!isChanged) return domain;
  log.event(suspended ? "domain.suspended" : "domain.lifted", { id: domain.uid, domain: domain.name });
  if (suspended) return domain;
  deps.lifted(domain);
  return (await deps.verifier.verify(domain.id))?.domain ?? domain;
}

function noSuchDomain(): AppError {
  return notFound("There is no domain with this id", "GET /api/v1/operator/domains lists them.");
}

/** A name has one holder: only one workspace's domain may be verified or suspended. */
function heldElsewhere({ name }: DomainRow): Error {
  return validationError([
    {
      path: ["suspended"],
      message: `cannot be set: another workspace has ${name} verified or suspended`,
      hint: "Until then nothing can be sent from this one.",
    },
  ]);
}

function findWorkspaceId(uid: string, { workspaces }: OperatorDomainDeps): number {
  const workspace = workspaces.byUid(uid.toLowerCase());
  if (workspace === undefined) throw notFound("There is no workspace with this id");
  return workspace.id;
}

function toOperator(domain: DomainRow, { workspaces }: OperatorDomainDeps): typeof OperatorDomain.static {
  const { id, ...rest } = inList(domain);
  const workspace = workspaces.byId(domain.workspaceId);
  if (workspace === undefined) throw new Error(`the domain ${domain.name} has no workspace`);
  return { id, workspaceId: workspace.uid, ...rest };
}
