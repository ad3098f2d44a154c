import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { CursorMeta, type ListPages } from "../../platform/http/pagination.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { KeyStore } from "../api-keys/store.ts";
import { LoggedRequest, RequestQuery, type STATUS_CLASSES } from "./schema.ts";
import { type ListedRequest, MAX_OF_RING, type RequestFilter, type RequestStore } from "./store.ts";

const LIST = "requests";
/** An id that no key has. */
const NO_KEY = 0;

const CLASSES: Record<(typeof STATUS_CLASSES)[number], [number, number]> = {
  "2xx": [200, 300],
  "4xx": [400, 500],
  "5xx": [500, 600],
  failed: [400, 600],
};
const ALL: [number, number] = [100, 600];

export interface RequestRouteDeps {
  requests: Pick<RequestStore, "list">;
  keys: Pick<KeyStore, "byUid">;
  pages: ListPages;
}

export function requestRoutes({ requests, keys, pages }: RequestRouteDeps) {
  return new Elysia({ name: "requests", prefix: "/api/v1/workspace/requests" }).get(
    "",
    ({ request, query }) => {
      const { workspaceId } = wholeWorkspaceCaller(request);
      const { id, keyId, method, path, status, since, until } = query;
      const filter: RequestFilter = {
        workspaceId,
        uid: id?.toLowerCase() ?? null,
        keyId: keyId === undefined ? null : (keys.byUid(workspaceId, keyId.toLowerCase())?.id ?? NO_KEY),
        method: method ?? null,
        path: path ?? null,
        status: status === undefined ? ALL : CLASSES[status],
        since: since === undefined ? null : Date.parse(since),
        until: until === undefined ? null : Date.parse(until),
      };
      return pages.list(query, LIST, (before, limit) => requests.list(filter, before, limit), show);
    },
    {
      query: RequestQuery,
      detail: describe({
        id: "listRequests",
        tag: "Workspace",
        summary: "List what programs asked of the API, newest first",
        description:
          "Requests with the workspace's API keys, about a second after their answers; not those of people in the dashboard, whose changes the audit has. " +
          `Kept for 30 days: the newest ${MAX_OF_RING.toLocaleString("en")} that succeeded and as many that failed. ` +
          "Of more than 200 in a second only a part is kept, and a crash loses the last second. " +
          "Bodies, addresses and the values of queries are never kept.",
        responses: answers(200, Type.Array(LoggedRequest), [401, 403, 422], CursorMeta),
      }),
    },
  );
}

function show(row: ListedRequest): typeof LoggedRequest.static {
  const { uid, createdAt, key, method, path, status, ms, error } = row;
  return {
    id: uid,
    at: toIsoTime(createdAt),
    key: key === null ? null : { id: key.uid, name: key.name, prefix: key.prefix },
    method,
    path,
    status,
    ms,
    error: error === null ? null : (JSON.parse(error) as NonNullable<typeof LoggedRequest.static.error>),
  };
}
