import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { AppError } from "../../../platform/errors.ts";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { validationError } from "../../../platform/http/errors.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { CursorMeta, CursorQuery } from "../../../platform/http/pagination.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import { changeCredits } from "../credit-store.ts";
import { findWorkspace, WorkspacePath } from "../find.ts";
import { CHANGE_ERRORS, READ_ERRORS, TAG, type OperatorWorkspaceDeps } from "./deps.ts";
import { CreditEntry } from "../schema.ts";
import { showCredit } from "../own-credit-routes.ts";
import { CreditsGrant, GrantedCredits } from "./schema.ts";

const LIST = "credits";

export function creditRoutes(deps: OperatorWorkspaceDeps) {
  return new Elysia({ name: "operator credits", prefix: "/api/v1/operator/workspaces/:id/credits" })
    .post(
      "",
      async ({ request, params, body, set }) => {
        operatorCaller(request);
        const { amount, note = null } = body;
        const granted = await deps.commit(() => {
          const workspace = findWorkspace(params.id, deps);
          const createdAt = deps.clock.now();
          const balance = changeCredits({ workspaceId: workspace.id, kind: "grant", amount, note, createdAt }, deps);
          if (balance === null) throw belowZero(workspace.smsCredits);
          const detail = { amount, balance, note };
          deps.recordAudit({ workspaceId: workspace.id, request, action: "credits.granted", target: null, detail });
          return { workspaceId: workspace.uid, amount, balance, note, createdAt: toIsoTime(createdAt) };
        });
        deps.log.event("credits.granted", {
          workspace: granted.workspaceId,
          amount: granted.amount,
          balance: granted.balance,
        });
        set.status = 201;
        return { data: granted };
      },
      {
        params: WorkspacePath,
        ...jsonBody(CreditsGrant),
        detail: describe({
          id: "grantCredits",
          tag: TAG,
          summary: "Grant SMS credits to a workspace, or deduct some",
          description: "A balance never falls below 0.",
          responses: answers(201, GrantedCredits, CHANGE_ERRORS),
        }),
      },
    )
    .get(
      "",
      ({ request, params, query }) => {
        operatorCaller(request);
        return deps.pages.list(
          query,
          LIST,
          (before, limit) => deps.credits.list(findWorkspace(params.id, deps).id, before, limit),
          (row) => ({ ...showCredit(row), note: row.note }),
        );
      },
      {
        params: WorkspacePath,
        query: CursorQuery,
        detail: describe({
          id: "listCreditEntries",
          tag: TAG,
          summary: "List the changes of a workspace's SMS credits, newest first",
          description: "Grants and deductions, and the reservations and refunds of its SMS.",
          responses: answers(200, Type.Array(CreditEntry), READ_ERRORS, CursorMeta),
        }),
      },
    );
}

function belowZero(balance: number): AppError {
  const message = `would deduct more than the balance of ${balance.toLocaleString("en")} credits`;
  return validationError([{ path: ["amount"], message, hint: "A balance is never below 0." }]);
}
