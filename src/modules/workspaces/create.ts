import type { Clock } from "../../platform/clock.ts";
import { newId } from "../../platform/uuid.ts";
import { insertKey } from "../api-keys/create.ts";
import type { KeyStore } from "../api-keys/store.ts";
import type { Random } from "../../platform/random.ts";
import type { CreatedWorkspace } from "./schema.ts";
import type { WorkspaceStore } from "./store.ts";

const FIRST_KEY_NAME = "default";

/** Makes a workspace and its first key, inside the caller's transaction. */
export function insertWorkspace(
  request: { name: string; plan: string },
  deps: { workspaces: WorkspaceStore; keys: KeyStore; clock: Clock; random: Random },
): typeof CreatedWorkspace.static {
  const now = deps.clock.now();
  const workspace = deps.workspaces.insert({
    uid: newId(now, deps.random),
    name: request.name,
    plan: request.plan,
    createdAt: now,
  });
  const apiKey = insertKey({ workspaceId: workspace.id, name: FIRST_KEY_NAME, domain: null }, deps);
  return { workspaceId: workspace.uid, workspaceName: workspace.name, apiKey };
}
