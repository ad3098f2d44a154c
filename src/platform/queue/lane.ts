// A lane: one workspace's work for one destination, as long as it has rows that wait or run; see lanes.ts.

export interface Lane {
  readonly id: number;
  readonly workspaceId: number;
  /** When its first waiting row is due; null: none is known to wait. */
  dueAt: number | null;
  running: number;
  /** A claim for it is being committed. */
  isClaiming: boolean;
  /** The earliest row announced while a claim was under way, which the claim may not have seen. */
  wokenAt: number | null;
  isReached: boolean;
  /** Nothing of it starts before this time: its destination has just not answered. */
  pausedUntil: number;
  /** When the first of its waiting rows expires; null: not known. A blocked site does not keep that row from failing then. */
  expiresAt: number | null;
  /** Its index in the heap; -1: it is not there. */
  place: number;
  /** Null: not known yet. */
  site: string | null;
  /** Places held: by its running jobs, and by those that its claim may start. */
  held: number;
  /** It waits for a job of its site to end. */
  isAside: boolean;
}

/** Nothing is known to wait in it yet. */
export function newLane(id: number, workspaceId: number, site: string | null): Lane {
  return {
    id,
    workspaceId,
    dueAt: null,
    running: 0,
    isClaiming: false,
    wokenAt: null,
    isReached: true,
    pausedUntil: 0,
    expiresAt: null,
    place: -1,
    site,
    held: 0,
    isAside: false,
  };
}
