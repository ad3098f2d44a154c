// Deletes workspaces. One transaction makes a workspace unknown: no key opens it, no domain of it signs, nothing of it is
// claimed. Everything else that belongs to it is removed afterwards in batches, with pauses in which the others are served:
// a million emails at once would stop everybody for a minute. Emails go first, but for those that are being sent: their
// attempts still write to them, so they are waited for. Lanes follow, then everything else, and at last the workspace's own
// row. Until then that row says that there is something to do, so a process that ends in the middle goes on at its next start.

import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import type { KeyStore } from "../api-keys/store.ts";
import type { DomainStore } from "../domains/store.ts";
import type { WorkspacePurgeStore } from "./purge-store.ts";
import type { WorkspaceStore } from "./store.ts";

/** Between two batches, each of which takes some milliseconds. */
const PAUSE_MS = 20;
/** Attempts under way are looked at again. */
const BUSY_MS = 1_000;

export interface DeleteDeps {
  workspaces: WorkspaceStore;
  keys: KeyStore;
  domains: DomainStore;
  webhooks: { deleteOfWorkspace(workspaceId: number): void };
  clock: Context["clock"];
}

/** Inside a transaction. The ids of the domains that are gone with it. */
export function deleteWorkspace(id: number, deps: DeleteDeps): number[] {
  deps.keys.deleteOfWorkspace(id);
  deps.webhooks.deleteOfWorkspace(id);
  const domainIds = deps.domains.deleteOfWorkspace(id);
  deps.workspaces.update(id, { deletedAt: deps.clock.now() });
  return domainIds;
}

export interface WorkspacePurgeDeps extends Pick<Context, "commit" | "clock" | "log"> {
  purges: WorkspacePurgeStore;
  workspaces: WorkspaceStore;
  keys: KeyStore;
  domains: DomainStore;
  /** These lanes are gone. */
  forgetLanes: (workspaceId: number, laneIds: number[]) => void;
}

/** Triggered at the start and when a workspace is deleted. */
export function createWorkspacePurge(deps: WorkspacePurgeDeps): BackgroundTask {
  const { workspaces, commit, log, forgetLanes } = deps;
  return new BackgroundTask({
    ...deps,
    name: "workspace purge",
    async run() {
      let isBusy = false;
      for (const { id, uid } of workspaces.deleted()) {
        const batch = await commit(() => removeBatch(id, deps));
        if (batch.kind === "more") {
          if (batch.laneIds !== undefined) forgetLanes(id, batch.laneIds);
          return PAUSE_MS;
        }
        if (batch.kind === "gone") log.event("workspace.removed", { workspace: uid });
        else isBusy = true;
      }
      return isBusy ? BUSY_MS : null;
    },
  });
}

type Batch = { kind: "more"; laneIds?: number[] } | { kind: "busy" } | { kind: "gone" };

function removeBatch(workspaceId: number, { purges, keys, domains, workspaces }: WorkspacePurgeDeps): Batch {
  // Counters come in a later transaction than the last email: those of this one are written at its end.
  if (purges.removeEmails(workspaceId) > 0) return { kind: "more" };
  if (purges.isQueued(workspaceId)) return { kind: "busy" };
  const laneIds = purges.removeLanes(workspaceId);
  if (laneIds.length > 0) return { kind: "more", laneIds };
  if (purges.removeRest(workspaceId) > 0) return { kind: "more" };
  // Gone since the first transaction, but for what came in beside it.
  keys.deleteOfWorkspace(workspaceId);
  domains.deleteOfWorkspace(workspaceId);
  workspaces.remove(workspaceId);
  return { kind: "gone" };
}
