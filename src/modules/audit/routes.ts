import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { CursorMeta, CursorQuery, type ListPages } from "../../platform/http/pagination.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { ACTOR_KINDS, AuditRecord } from "./schema.ts";
import type { AuditStore, ListedAudit } from "./store.ts";

const LIST = "audit";

export interface AuditRouteDeps {
  audit: Pick<AuditStore, "list">;
  pages: ListPages;
}

export function auditRoutes({ audit, pages }: AuditRouteDeps) {
  return new Elysia({ name: "audit", prefix: "/api/v1/workspace/audit" }).get(
    "",
    ({ request, query }) => {
      const { workspaceId } = wholeWorkspaceCaller(request);
      return pages.list(query, LIST, (before, limit) => audit.list(workspaceId, before, limit), show);
    },
    {
      query: CursorQuery,
      detail: describe({
        id: "listAudit",
        tag: "Workspace",
        summary: "List who changed what, newest first",
        description:
          "Keys, webhooks, domains, members and the workspace itself, and operators who read messages; not the messages that were sent.",
        responses: answers(200, Type.Array(AuditRecord), [401, 403, 422], CursorMeta),
      }),
    },
  );
}

function show(row: ListedAudit): typeof AuditRecord.static {
  const named = ACTOR_KINDS.find((kind) => kind === row.actor);
  return {
    id: row.uid,
    at: toIsoTime(row.createdAt),
    // A key's name always has its prefix behind it, so that no key is called operator.
    actor: { kind: row.userId === null ? (named ?? "api_key") : "user", name: row.actor, userId: row.userUid },
    action: row.action,
    target: row.target,
    detail: row.detail === null ? null : (JSON.parse(row.detail) as object),
    network: row.network,
  };
}
