import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { DomainStore } from "../domains/store.ts";
import type { KeyStore } from "../api-keys/store.ts";
import type { Log } from "../../platform/log.ts";
import type { RemovalStore } from "./purge-store.ts";
import type { WorkspaceStore } from "./store.ts";

// The slow end of a deleted workspace (delete.ts): its rows go a share at a time, with pauses in which
// the others are served. First its emails, but for those that are being sent: what their attempts write
// needs them, and they are waited for. Then its lanes, then all else, at last the workspace itself, whose
// row says until then that there is something to do. So a process that ends in the middle goes on at its
// next start.

/** Between two shares, each of which takes some milliseconds. */
const PAUSE_MS = 20;
/** Attempts that run are looked at again. */
const BUSY_MS = 1_000;
/** After trouble with the storage. */
const AGAIN_MS = 60_000;

export interface WorkspacePurgeDeps {
  removals: RemovalStore;
  workspaces: WorkspaceStore;
  keys: KeyStore;
  domains: DomainStore;
  commit: Commit;
  clock: Clock;
  log: Log;
  /** These lanes are gone. */
  forgetLanes: (workspaceId: number, laneIds: number[]) => void;
}

type Share =
  | { kind: "more"; laneIds?: number[] }
  /** Attempts are running. */
  | { kind: "busy" }
  | { kind: "gone" };

/** Removes what belonged to deleted workspaces. */
export class WorkspacePurge {
  readonly #deps: WorkspacePurgeDeps;
  #isLooking = false;
  #isAsked = false;
  #isStopped = false;
  /** Ends the wait that is under way. */
  #wake: () => void = () => undefined;
  #cancel: () => void = () => undefined;

  constructor(deps: WorkspacePurgeDeps) {
    this.#deps = deps;
  }

  /** There may be something to remove. */
  look(): void {
    this.#isAsked = true;
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    this.#cancel();
    void this.#lookAll().then((againMs) => {
      this.#isLooking = false;
      if (this.#isStopped) return;
      if (this.#isAsked) return this.look();
      if (againMs !== null) this.#cancel = this.#deps.clock.after(againMs, () => this.look());
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#wake();
  }

  /** When to look again; null: there is nothing left. Never rejects. */
  async #lookAll(): Promise<number | null> {
    const { workspaces, log } = this.#deps;
    this.#isAsked = false;
    let isBusy = false;
    try {
      for (const workspace of workspaces.deleted()) {
        const end = await this.#remove(workspace.id);
        if (end === "gone") log.event("workspace.removed", { workspace: workspace.uid });
        else isBusy = true;
      }
      return isBusy ? BUSY_MS : null;
    } catch (error) {
      if (!isStorageError(error)) log.error("removal", error);
      return AGAIN_MS;
    }
  }

  async #remove(workspaceId: number): Promise<"gone" | "busy"> {
    const { commit, forgetLanes } = this.#deps;
    while (!this.#isStopped) {
      const share = await commit(() => removeShare(workspaceId, this.#deps));
      if (share.kind !== "more") return share.kind;
      if (share.laneIds !== undefined) forgetLanes(workspaceId, share.laneIds);
      await this.#pause();
    }
    return "busy";
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(PAUSE_MS, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

function removeShare(workspaceId: number, deps: WorkspacePurgeDeps): Share {
  const { removals, keys, domains, workspaces } = deps;
  // Counters come in a later transaction than the last email: those of this one are written at its end.
  if (removals.removeEmails(workspaceId) > 0) return { kind: "more" };
  if (removals.isQueued(workspaceId)) return { kind: "busy" };
  const laneIds = removals.removeLanes(workspaceId);
  if (laneIds.length > 0) return { kind: "more", laneIds };
  if (removals.removeRest(workspaceId) > 0) return { kind: "more" };
  // Gone since the first transaction, but for what came in beside it.
  keys.deleteOfWorkspace(workspaceId);
  domains.deleteOfWorkspace(workspaceId);
  workspaces.remove(workspaceId);
  return { kind: "gone" };
}
