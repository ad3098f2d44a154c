import type { Owner } from "./replica-owner.ts";
import type { ReplicaLook } from "./replica.ts";

// Whether this instance may write to the replica, from what is found there. Pure.

export interface Findings {
  look: ReplicaLook;
  /** Null: the replica does not say. */
  owner: Owner | null;
  /** The fact instance_id. */
  instance: string;
  /** The starts of this database, the newest first; empty: it was never started. */
  boots: readonly string[];
  /** The daemon's number of the last transaction put down here; null: none. */
  local: number | null;
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

/** What to do with a database of which nothing may be lost. */
export function judgeReplica(findings: Findings): Verdict {
  const { look, boots, url, startEmpty } = findings;
  if (boots.length === 0) return judgeEmpty(look, url, startEmpty);
  // Mail does not wait for the replica: what is there is seen when it can be reached.
  if (look.kind === "empty" || look.kind === "unreachable") return { kind: "go" };
  const strangers = strangersOf(findings, look.transaction);
  if (strangers !== null) return { kind: "refused", words: strangers };
  // What the daemon keeps here may be lost (damaged files, an operator's hand) without anything being of an earlier time.
  const isLast = findings.local === null && findings.owner?.boot === boots[0];
  if (look.transaction > (findings.local ?? 0) && !isLast) {
    const reason = `the replica holds more than this database, as after putting back a backup: what was delivered since would be sent again.`;
    return { kind: "behind", reason };
  }
  return { kind: "go" };
}

/** For a data directory without a database, or with one that was never started. */
export function judgeEmpty(look: ReplicaLook, url: string, startEmpty: boolean): Verdict {
  switch (look.kind) {
    case "empty":
      return { kind: "go" };
    case "unreachable":
      return {
        kind: "refused",
        words:
          `The data directory is empty, and whether the replica at ${url} holds a backup cannot be seen: ${look.reason}. ` +
          'Correct [replication] or make the replica reachable; without replication ([replication] url = "") pombo starts empty.',
      };
    case "broken":
      return startEmpty
        ? { kind: "go" }
        : {
            kind: "refused",
            words:
              `The data directory is empty, and the replica at ${url} holds a damaged backup: ${look.reason}. ` +
              "To restore an earlier state: pombo restore --at TIME. To give the backup up and start empty: pombo serve --ignore-existing-backup.",
          };
    case "backup":
      return startEmpty
        ? { kind: "go" }
        : {
            kind: "refused",
            words:
              `The data directory is empty, but the replica at ${url} holds a backup of ${timeOf(look.at)}. ` +
              "To bring it back: pombo restore. To begin anew and give the backup up: pombo serve --ignore-existing-backup.",
          };
  }
}

/** Why the replica is somebody else's; null: it is not. */
function strangersOf(findings: Findings, transaction: number): string | null {
  const { owner, instance, boots, local, url, takeOver } = findings;
  if (takeOver) return null;
  const cure =
    "Give this one a [replication] url of its own; or, if the other will never run again: pombo serve --take-over.";
  if (owner === null) {
    // The first start was cut off before it had said whose it is.
    if (local !== null && local >= transaction) return null;
    return `The replica at ${url} holds a backup that does not say whose it is. ${cure}`;
  }
  const who = `on ${owner.host} since ${timeOf(owner.startedAt)}`;
  if (owner.instance !== instance)
    return `The replica at ${url} belongs to another instance of pombo (${who}). ${cure}`;
  if (boots.includes(owner.boot) || owner.endedAt !== null) return null;
  return `The replica at ${url} is written to by another copy of this instance (${who}), which has not ended. ${cure}`;
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
