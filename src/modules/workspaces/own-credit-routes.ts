// The route of a workspace's own ledger of SMS credits.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { CursorMeta, CursorQuery, type ListPages } from "../../platform/http/pagination.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { CreditStore, ListedCredit } from "./credit-store.ts";
import { OwnCreditEntry } from "./schema.ts";

const LIST = "own credits";

export interface OwnCreditDeps {
  credits: Pick<CreditStore, "list">;
  pages: ListPages;
}

export function ownCreditRoutes({ credits, pages }: OwnCreditDeps) {
  return new Elysia({ name: "own credits", prefix: "/api/v1/workspace/credits" }).get(
    "",
    ({ request, query }) => {
      const { workspaceId } = wholeWorkspaceCaller(request);
      return pages.list(query, LIST, (before, limit) => credits.list(workspaceId, before, limit), showCredit);
    },
    {
      query: CursorQuery,
      detail: describe({
        id: "listOwnCreditEntries",
        tag: "Workspace",
        summary: "List the changes of the workspace's SMS credits, newest first",
        description:
          "What the operator granted or deducted, what its SMS took, and what was given back, each with the balance then. " +
          "`GET /workspace/usage` has the balance of now.",
        responses: answers(200, Type.Array(OwnCreditEntry), [401, 403, 422], CursorMeta),
      }),
    },
  );
}

/** Without the note, which is the operator's own. */
export function showCredit(row: ListedCredit): typeof OwnCreditEntry.static {
  const { kind, amount, balance, smsUid, segments, createdAt } = row;
  return { kind, amount, balance, smsId: smsUid, segments, createdAt: toIsoTime(createdAt) };
}
