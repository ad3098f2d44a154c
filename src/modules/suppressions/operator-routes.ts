// The operator's side of the suppressions: any workspace's list, taking one over from elsewhere, and
// what is held because a site refused recipients in masses (modules/emails/delivery/refusal-watch.ts).

import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { AppError } from "../../platform/errors.ts";
import { operatorCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { type ListPages, CursorMeta } from "../../platform/http/pagination.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { findWorkspace, WorkspacePath } from "../workspaces/find.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import { applyHeld, dropHeld, type HeldDeps } from "./held-actions.ts";
import { readFilter } from "./filter.ts";
import type { HeldFilter, HeldRow } from "./held-store.ts";
import { importSuppressions } from "./import.ts";
import {
  Applied,
  Dropped,
  HeldChoice,
  HeldQuery,
  HeldSuppression,
  Imported,
  suppressionImport,
} from "./operator-schema.ts";
import { Suppression, SuppressionQuery } from "./schema.ts";
import { showSuppression } from "./serialize.ts";

const TAG = "Operator";
const LIST = "suppressions of a workspace";
const HELD_LIST = "held suppressions";
const CHANGE_ERRORS = [400, 401, 403, 404, 413, 415, 422, 503];
/** Held for so long it is likely to be forgotten. */
const LONG_HELD_MS = 30 * 86_400_000;
const LONG_HELD = "Held for more than 30 days: apply it or drop it.";

export interface OperatorSuppressionDeps extends HeldDeps {
  pages: ListPages;
  workspaces: Pick<WorkspaceStore, "byUid">;
}

export function operatorSuppressionRoutes(deps: OperatorSuppressionDeps) {
  return new Elysia({ name: "operator suppressions", prefix: "/api/v1/operator" })
    .use(listRoutes(deps))
    .use(heldRoutes(deps));
}

function listRoutes(deps: OperatorSuppressionDeps) {
  const SuppressionImport = suppressionImport(() => deps.clock.now());
  return new Elysia({ name: "operator suppression lists" })
    .get(
      "/workspaces/:id/suppressions",
      ({ request, params, query }) => {
        operatorCaller(request);
        const { suppressions } = deps;
        return deps.pages.list(
          query,
          LIST,
          (before, limit) => {
            const filter = readFilter(findWorkspace(params.id, deps).id, query, suppressions);
            return suppressions.list(filter, before, limit);
          },
          showSuppression,
        );
      },
      {
        params: WorkspacePath,
        query: SuppressionQuery,
        detail: describe({
          id: "listWorkspaceSuppressions",
          tag: TAG,
          summary: "List a workspace's suppressions, newest first",
          description: "As the workspace sees them.",
          responses: answers(200, Type.Array(Suppression), [401, 403, 404, 422], CursorMeta),
        }),
      },
    )
    .post(
      "/workspaces/:id/suppressions/import",
      async ({ request, params, body }) => {
        operatorCaller(request);
        return { data: await importSuppressions(() => findWorkspace(params.id, deps), body.suppressions, deps) };
      },
      {
        params: WorkspacePath,
        ...jsonBody(SuppressionImport),
        detail: describe({
          id: "importSuppressions",
          tag: TAG,
          summary: "Import suppressions into a workspace",
          description: "All or none. A suppressed address keeps its first reason.",
          responses: answers(200, Imported, CHANGE_ERRORS),
        }),
      },
    );
}

function heldRoutes(deps: OperatorSuppressionDeps) {
  return new Elysia({ name: "operator held suppressions", prefix: "/held-suppressions" })
    .get(
      "",
      ({ request, query }) => {
        operatorCaller(request);
        const now = deps.clock.now();
        return deps.pages.list(
          query,
          HELD_LIST,
          (before, limit) =>
            deps.held.list(toHeldFilter(query, deps), before, limit).map((row) => ({ ...row.held, ...row })),
          (row) => showHeld(row, now),
        );
      },
      {
        query: HeldQuery,
        detail: describe({
          id: "listHeldSuppressions",
          tag: TAG,
          summary: "List held hard bounces, newest first",
          description:
            "Their site refused recipients in masses, so they may be wrong: they suppress nobody until you apply them.",
          responses: answers(200, Type.Array(HeldSuppression), [401, 403, 404, 422], CursorMeta),
        }),
      },
    )
    .post(
      "/apply",
      async ({ request, body }) => {
        operatorCaller(request);
        return { data: { applied: await applyHeld(toHeldFilter(body, deps), deps) } };
      },
      {
        ...jsonBody(HeldChoice),
        detail: describe({
          id: "applyHeldSuppressions",
          tag: TAG,
          summary: "Apply held bounces",
          description: "If it is interrupted, the same request does the rest.",
          responses: answers(200, Applied, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/drop",
      async ({ request, body }) => {
        operatorCaller(request);
        return { data: { dropped: await dropHeld(toHeldFilter(body, deps), deps) } };
      },
      {
        ...jsonBody(HeldChoice),
        detail: describe({
          id: "dropHeldSuppressions",
          tag: TAG,
          summary: "Drop held bounces",
          description: "They suppress nobody. If it is interrupted, the same request does the rest.",
          responses: answers(200, Dropped, CHANGE_ERRORS),
        }),
      },
    );
}

function toHeldFilter(given: { workspaceId?: string; site?: string }, deps: OperatorSuppressionDeps): HeldFilter {
  const { workspaceId, site = null } = given;
  if (workspaceId === undefined) return { workspace: null, site };
  const workspace = deps.workspaces.byUid(workspaceId.toLowerCase());
  if (workspace === undefined)
    throw new AppError("NOT_FOUND", "There is no workspace with this workspaceId", { field: "workspaceId" });
  return { workspace, site };
}

function showHeld(row: HeldRow & { workspaceUid: string }, now: number): typeof HeldSuppression.static {
  const { workspaceUid, address, channel, reason, site, createdAt } = row;
  return {
    workspaceId: workspaceUid,
    address,
    channel,
    reason,
    site,
    heldAt: toIsoTime(createdAt),
    ...(now - createdAt > LONG_HELD_MS ? { hint: LONG_HELD } : {}),
  };
}
