import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import type { Plan } from "../../config/config.ts";
import type { Context } from "../../platform/context.ts";
import type { RecordAudit } from "../audit/record.ts";
import type { DomainStore } from "../domains/store.ts";
import { AppError } from "../../platform/errors.ts";
import { requireFreshProof, wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { answers, Deleted, describe } from "../../platform/http/openapi.ts";
import { type ListPages, CursorMeta, CursorQuery } from "../../platform/http/pagination.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../platform/http/times.ts";
import { requireBelowLimit } from "../plans/limit.ts";
import { insertKey } from "./create.ts";
import { formatKeyName } from "./key.ts";
import { CreatedKey, KeyCreate, KeyInList } from "./schema.ts";
import type { ApiKeyRow, KeyStore, ListedKey } from "./store.ts";

const TAG = "API keys";
const LIST = "keys";

export interface KeyDeps extends Pick<Context, "commit" | "clock" | "random"> {
  pages: ListPages;
  keys: KeyStore;
  domains: DomainStore;
  findPlan: (workspaceId: number) => Plan;
  recordAudit: RecordAudit;
}

export function keyRoutes(deps: KeyDeps) {
  return new Elysia({ name: "keys", prefix: "/api/v1/auth/keys" })
    .post(
      "",
      async ({ request, body, set }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        requireFreshProof(request);
        const created = await deps.commit(() => {
          const domain =
            typeof body.domainId === "string" ? deps.domains.byUid(workspaceId, body.domainId.toLowerCase()) : null;
          if (domain === undefined) throw noSuchDomain();
          requireBelowLimit("API key", deps.findPlan(workspaceId).apiKeys, () =>
            deps.keys.countForWorkspace(workspaceId),
          );
          return insertKey({ workspaceId, name: body.name, domain, request }, deps);
        });
        set.status = 201;
        return { data: created };
      },
      {
        ...jsonBody(KeyCreate),
        detail: describe({
          id: "createApiKey",
          tag: TAG,
          summary: "Create an API key",
          description: "The key is shown only in this answer.",
          responses: answers(201, CreatedKey, [400, 401, 402, 403, 404, 413, 415, 422, 503]),
        }),
      },
    )
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        return deps.pages.list(query, LIST, (before, limit) => deps.keys.list(workspaceId, before, limit), inList);
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listApiKeys",
          tag: TAG,
          summary: "List API keys, newest first",
          description: "Keys are not stored; `prefix` identifies them.",
          responses: answers(200, Type.Array(KeyInList), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        requireFreshProof(request);
        const uid = params.id.toLowerCase();
        await deps.commit(() => {
          const { name, prefix } = deleteKey(workspaceId, uid, deps);
          const target = formatKeyName(name, prefix);
          deps.recordAudit({ workspaceId, request, action: "api_key.deleted", target, detail: { id: uid } });
        });
        return { data: { id: uid, deleted: true } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "deleteApiKey",
          tag: TAG,
          summary: "Delete an API key",
          description: "It is invalid after the answer. The last key without domainId cannot be deleted.",
          responses: answers(200, Deleted, [401, 403, 404, 409, 422, 503]),
        }),
      },
    );
}

function noSuchDomain(): AppError {
  return new AppError("NOT_FOUND", "This workspace has no domain with this domainId", {
    field: "domainId",
    hint: "GET /api/v1/domains shows the ids.",
  });
}

function inList(key: ListedKey): typeof KeyInList.static {
  return {
    id: key.uid,
    name: key.name,
    domainId: key.domainUid,
    prefix: key.prefix,
    createdAt: toIsoTime(key.createdAt),
    lastUsedAt: toIsoTimeOrNull(key.lastUsedAt),
  };
}

/** Without the last key that is for the whole workspace nobody could make another. */
function deleteKey(workspaceId: number, uid: string, { keys }: KeyDeps): ApiKeyRow {
  const row = keys.byUid(workspaceId, uid);
  if (row === undefined) throw notFound("This workspace has no API key with this id");
  if (row.domainId === null && keys.countUnrestricted(workspaceId) === 1) {
    throw new AppError("LAST_KEY", "This is the workspace's last key that is not restricted to a domain", {
      hint: "First create another key with POST /api/v1/auth/keys, then delete this one with it.",
    });
  }
  keys.delete(row);
  return row;
}
