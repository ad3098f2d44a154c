import type { Clock } from "../clock.ts";
import type { Commit } from "../db/group-commit.ts";
import type { LaneHead, WorkerQueue } from "./job.ts";

/**
 * The clock was set back. A row whose attempt, or acceptance, lies ahead was put off by the time of before: it waits as
 * long from now as it was to wait from then. So nothing waits more than twice its time, and rows that were put off
 * before that keep theirs. In shares; repeated, it changes nothing. Answers where work waits.
 */
export async function bringNear(of: { queue: WorkerQueue; commit: Commit; clock: Clock }): Promise<LaneHead[]> {
  const { queue, commit, clock } = of;
  for (let after: number | null = 0; after !== null;) {
    const from: number = after;
    after = await commit(() => queue.bringNear(from, clock.now()));
  }
  return commit(() => queue.heads());
}
