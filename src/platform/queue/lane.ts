// A lane: one workspace's work for one destination, as long as it has rows that wait or run; see lanes.ts.

export class Lane {
  readonly id: number;
  readonly workspaceId: number;
  /** Null: not known yet. */
  site: string | null;
  /** When its first waiting row is due; null: none is known to wait. */
  dueAt: number | null = null;
  running = 0;
  /** A claim for it is being committed. */
  isClaiming = false;
  /** The earliest row announced while a claim was under way, which the claim may not have seen. */
  wokenAt: number | null = null;
  isReached = true;
  /** Nothing of it starts before this time: its destination has just not answered. */
  pausedUntil = 0;
  /** When the first of its waiting rows expires; null: not known. A blocked site does not keep that row from failing then. */
  expiresAt: number | null = null;
  /** Its index in the heap; -1: it is not there. */
  place = -1;
  /** Places held: by its running jobs, and by those that its claim may start. */
  held = 0;
  /** It waits for a job of its site to end. */
  isAside = false;

  constructor(id: number, workspaceId: number, site: string | null) {
    this.id = id;
    this.workspaceId = workspaceId;
    this.site = site;
  }
}
