import { Elysia } from "elysia";
import type { Context } from "../../platform/context.ts";
import { AppError } from "../../platform/errors.ts";
import { type Caller, getCaller } from "../../platform/http/auth.ts";
import { validationError } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { newId } from "../../platform/uuid.ts";
import { insertKey } from "../api-keys/create.ts";
import type { KeyStore } from "../api-keys/store.ts";
import { requirePlan } from "./find.ts";
import { CreatedWorkspace, WorkspaceCreate } from "./schema.ts";
import type { WorkspaceStore } from "./store.ts";

export interface WorkspaceDeps extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  workspaces: WorkspaceStore;
  keys: KeyStore;
  /** Who may create a workspace. */
  creation: "operator" | "any_key" | "open";
  defaultPlan: string;
  planNames: string[];
}

export const WORKSPACES_PATH = "/api/v1/workspaces";
const FIRST_KEY_NAME = "default";

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
      ...jsonBody(WorkspaceCreate),
      detail: describe({
        id: "createWorkspace",
        tag: "Workspace",
        summary: "Create a workspace and its first API key",
        description: "By default this needs the operator key. The key of the workspace is shown only in this answer.",
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
    throw new AppError("API_KEY_RESTRICTED", "A key that is restricted to one domain may not create workspaces", {
      hint: "Use a key without domainId.",
    });
  }
  throw new AppError("API_KEY_RESTRICTED", "Only the operator key may create workspaces here", {
    hint: "Ask the operator, who can also allow it: [workspaces] creation in the configuration.",
  });
}

function choosePlan(wanted: string | undefined, caller: Caller, deps: WorkspaceDeps): string {
  if (wanted === undefined) return deps.defaultPlan;
  if (caller.kind !== "operator") {
    throw validationError([
      { path: ["plan"], message: "can only be chosen with the operator key", hint: "Leave it out." },
    ]);
  }
  requirePlan(wanted, deps.planNames);
  return wanted;
}

/** Makes a workspace and its first key, inside the caller's transaction. */
function insertWorkspace(request: { name: string; plan: string }, deps: WorkspaceDeps): typeof CreatedWorkspace.static {
  const now = deps.clock.now();
  const workspace = deps.workspaces.insert({ uid: newId(now, deps.random), ...request, createdAt: now });
  const apiKey = insertKey({ workspaceId: workspace.id, name: FIRST_KEY_NAME, domain: null }, deps);
  return { workspaceId: workspace.uid, workspaceName: workspace.name, apiKey };
}
