import type { Clock } from "../../platform/clock.ts";
import type { DomainStore } from "../domains/store.ts";
import type { KeyStore } from "../api-keys/store.ts";
import type { WorkspaceRow, WorkspaceStore } from "./store.ts";

// Deletes a workspace. One transaction makes it unknown to everybody: no key opens it, no domain of it signs, nothing of
// it is claimed. Everything else that belongs to it is removed afterwards in batches (purge.ts): a million emails would
// stop everybody for a minute.

export interface GoneWorkspace {
  workspace: WorkspaceRow;
  domainIds: number[];
}

export interface DeleteDeps {
  workspaces: WorkspaceStore;
  keys: KeyStore;
  domains: DomainStore;
  webhooks: { deleteOfWorkspace(workspaceId: number): void };
  clock: Pick<Clock, "now">;
}

/** Inside a transaction. */
export function deleteWorkspace(workspace: WorkspaceRow, deps: DeleteDeps): GoneWorkspace {
  const { id } = workspace;
  deps.keys.deleteOfWorkspace(id);
  deps.webhooks.deleteOfWorkspace(id);
  const domainIds = deps.domains.deleteOfWorkspace(id);
  deps.workspaces.update(id, { deletedAt: deps.clock.now() });
  return { workspace, domainIds };
}
