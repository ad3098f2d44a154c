import { Elysia } from "elysia";
import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { AppError } from "../../platform/errors.ts";
import { type Caller, getCaller } from "../../platform/http/auth.ts";
import { validationError } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { requestBody } from "../../platform/http/body/validate.ts";
import type { KeyStore } from "../api-keys/store.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import { insertWorkspace } from "./create.ts";
import { requirePlan } from "./plan.ts";
import { CreatedWorkspace, WorkspaceCreate } from "./schema.ts";
import type { WorkspaceStore } from "./store.ts";

export interface WorkspaceDeps {
  workspaces: WorkspaceStore;
  keys: KeyStore;
  commit: Commit;
  clock: Clock;
  random: Random;
  log: Log;
  /** Who may make a workspace. */
  creation: "operator" | "any_key" | "open";
  defaultPlan: string;
  planNames: string[];
}

export const WORKSPACES_PATH = "/api/v1/workspaces";

export function workspaceRoutes(deps: WorkspaceDeps) {
  return new Elysia({ name: "workspaces", prefix: WORKSPACES_PATH }).post(
    "",
    async ({ request, body, set }) => {
      const caller = getCaller(request);
      requireMayCreate(caller, deps.creation);
      const plan = choosePlan(body.plan, caller, deps);
      const created = await deps.commit(() => insertWorkspace({ name: body.name, plan }, deps));
      deps.log.event("workspace.created", { workspace: created.workspaceId, plan });
      set.status = 201;
      return { data: created };
    },
    {
      body: requestBody(WorkspaceCreate),
      parse: "json",
      detail: describe({
        id: "createWorkspace",
        tag: "Workspace",
        summary: "Make a workspace and its first API key",
        description: "By default only the operator key may; the key of the workspace is shown in this answer only.",
        ...(deps.creation === "open" ? { isOpen: true } : {}),
        ...(deps.creation === "any_key" ? { keys: ["operatorKey", "apiKey"] } : {}),
        responses: answers(201, CreatedWorkspace, [400, 401, 403, 413, 415, 422, 503]),
      }),
    },
  );
}

function requireMayCreate(caller: Caller, creation: WorkspaceDeps["creation"]): void {
  const isWholeWorkspace = caller.kind === "key" && caller.domainId === null;
  if (caller.kind === "operator" || creation === "open" || (creation === "any_key" && isWholeWorkspace)) return;
  if (creation === "any_key") {
    throw new AppError("API_KEY_RESTRICTED", "A key that is restricted to one domain may not make workspaces", {
      hint: "Use a key without domainId.",
    });
  }
  throw new AppError("API_KEY_RESTRICTED", "Only the operator key may make workspaces here", {
    hint: "Ask the operator, who can also allow it: [workspaces] creation in the configuration.",
  });
}

function choosePlan(wanted: string | undefined, caller: Caller, deps: WorkspaceDeps): string {
  if (wanted === undefined) return deps.defaultPlan;
  if (caller.kind !== "operator") {
    throw validationError([
      { path: ["plan"], message: "can be chosen with the operator key only", hint: "Leave it out." },
    ]);
  }
  requirePlan(wanted, deps.planNames);
  return wanted;
}
