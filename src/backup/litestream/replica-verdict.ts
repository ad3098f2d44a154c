// Decides whether this instance may write to the replica, from what is found there. Pure.

import type { Owner, ReplicaState } from "./replica.ts";

export interface Findings {
  replica: ReplicaState;
  /** The owner of the newest lineage; null: the replica does not name one. */
  owner: Owner | null;
  /** The fact instance_id. */
  instance: string;
  /** The starts of this database, the newest first; empty: it was never started. */
  boots: readonly string[];
  /** The newest lineage in the catalog; empty: there is none. */
  newest: string;
  /** The lineage of the daemon's state here, listed or not, and its number of the last transaction; null: there is none. */
  local: { lineage: string; transaction: number } | null;
  url: string;
  /** --ignore-existing-backup, --take-over */
  startEmpty: boolean;
  takeOver: boolean;
}

export type Verdict =
  | { kind: "go" }
  /** It may be used, but the database here is behind what is there: a sentence. */
  | { kind: "behind"; reason: string }
  /** A sentence or several: what is wrong, and what to do. */
  | { kind: "refused"; words: string };

/** For a database that was in use, of which nothing may be lost. */
export function classifyReplica(findings: Findings): Verdict {
  const { replica, boots, url, startEmpty, local, newest, owner } = findings;
  if (boots.length === 0) return classifyForEmpty(replica, url, startEmpty);
  // Mail does not wait for the replica: its content is seen when it can be reached.
  if (replica.kind === "unreachable") return { kind: "go" };
  const refusal = owner === null ? null : refuseStranger(findings, owner);
  if (refusal !== null) return { kind: "refused", words: refusal };
  if (replica.kind === "empty") return { kind: "go" };
  // Where one began after the one here, this state is of an earlier time, though its own may have left the catalog.
  // The daemon's files here may be lost (damage, an operator's hand) without anything being of an earlier time.
  const isOld =
    local === null
      ? owner?.boot !== boots[0]
      : local.lineage < newest || (local.lineage === replica.lineage && replica.transaction > local.transaction);
  if (isOld) {
    const reason = `the replica holds more than this database, as after putting back a backup: what was delivered since would be sent again.`;
    return { kind: "behind", reason };
  }
  return { kind: "go" };
}

/** For a data directory without a database, or with one that was never started. */
export function classifyForEmpty(replica: ReplicaState, url: string, startEmpty: boolean): Verdict {
  switch (replica.kind) {
    case "empty":
      return { kind: "go" };
    case "unreachable":
      return {
        kind: "refused",
        words:
          `The data directory is empty, and whether the replica at ${url} holds a backup cannot be seen: ${replica.reason}. ` +
          'Correct [replication] or make the replica reachable; without replication ([replication] url = "") pombo starts empty.',
      };
    case "broken":
      return startEmpty
        ? { kind: "go" }
        : {
            kind: "refused",
            words:
              `The data directory is empty, and the replica at ${url} holds a damaged backup: ${replica.reason}. ` +
              "To restore an earlier state: pombo restore --at TIME. To give the backup up and start empty: pombo serve --ignore-existing-backup.",
          };
    case "backup":
      return startEmpty
        ? { kind: "go" }
        : {
            kind: "refused",
            words:
              `The data directory is empty, but the replica at ${url} holds a backup of ${formatTime(replica.at)}. ` +
              "To bring it back: pombo restore. To begin anew and give the backup up: pombo serve --ignore-existing-backup.",
          };
  }
}

/** Why the replica belongs to another instance; null: it does not. */
function refuseStranger({ instance, boots, url, takeOver }: Findings, owner: Owner): string | null {
  if (takeOver) return null;
  const cure =
    "Give this one a [replication] url of its own; or, if the other will never run again: pombo serve --take-over.";
  const who = `on ${owner.host} since ${formatTime(owner.startedAt)}`;
  if (owner.instance !== instance)
    return `The replica at ${url} belongs to another instance of pombo (${who}). ${cure}`;
  if (boots.includes(owner.boot) || owner.endedAt !== null) return null;
  return `The replica at ${url} is written to by another copy of this instance (${who}), which has not ended. ${cure}`;
}

function formatTime(at: number): string {
  return new Date(at).toISOString();
}
