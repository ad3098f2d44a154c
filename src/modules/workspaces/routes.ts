import { Elysia } from "elysia";
import type { Context } from "../../platform/context.ts";
import { AppError } from "../../platform/errors.ts";
import { type Caller, getCaller, requireFreshProof } from "../../platform/http/auth.ts";
import { validationError } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { newId } from "../../platform/uuid.ts";
import type { RecordAudit } from "../audit/record.ts";
import { insertKey } from "../api-keys/create.ts";
import type { KeyStore } from "../api-keys/store.ts";
import type { MemberStore } from "../members/store.ts";
import { requirePlan } from "./find.ts";
import { CreatedWorkspace, WorkspaceCreate } from "./schema.ts";
import type { WorkspaceStore } from "./store.ts";

export interface WorkspaceDeps extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  workspaces: WorkspaceStore;
  keys: KeyStore;
  members: Pick<MemberStore, "insert">;
  recordAudit: RecordAudit;
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
      requireFreshProof(request);
      const plan = choosePlan(body.plan, caller, deps);
      const created = await deps.commit(() => insertWorkspace({ name: body.name, plan }, request, deps));
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
        description:
          "By default this needs the operator key. The key of the workspace is shown only in this answer. A person who creates it becomes its owner.",
        ...(deps.creation === "open" ? { isOpen: true } : {}),
        ...(deps.creation === "any_key" ? { keys: ["operatorKey", "apiKey"] } : {}),
        responses: answers(201, CreatedWorkspace, [400, 401, 403, 413, 415, 422, 503]),
      }),
    },
  );
}

/** Of people only an operator comes so far. */
function isOperator(caller: Caller): boolean {
  return caller.kind === "operator" || caller.kind === "person";
}

function requireMayCreate(caller: Caller, creation: WorkspaceDeps["creation"]): void {
  const isWholeWorkspace = caller.kind === "key" && caller.domainId === null;
  if (isOperator(caller) || creation === "open" || (creation === "any_key" && isWholeWorkspace)) return;
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
  if (!isOperator(caller)) {
    throw validationError([
      { path: ["plan"], message: "can only be chosen with the operator key", hint: "Leave it out." },
    ]);
  }
  requirePlan(wanted, deps.planNames);
  return wanted;
}

/** Makes a workspace and its first key, inside the caller's transaction; a person becomes its owner. */
function insertWorkspace(
  { name, plan }: { name: string; plan: string },
  request: Request,
  deps: WorkspaceDeps,
): typeof CreatedWorkspace.static {
  const now = deps.clock.now();
  const workspace = deps.workspaces.insert({ uid: newId(now, deps.random), name, plan, createdAt: now });
  const { id: workspaceId } = workspace;
  const caller = getCaller(request);
  if (caller.kind === "person")
    deps.members.insert({ workspaceId, userId: caller.userId, role: "owner", createdAt: now });
  deps.recordAudit({ workspaceId, request, action: "workspace.created", target: name, detail: { plan } });
  const apiKey = insertKey({ workspaceId, name: FIRST_KEY_NAME, domain: null, request }, deps);
  return { workspaceId: workspace.uid, workspaceName: workspace.name, apiKey };
}
