// How many invitations of a workspace are mailed: pombo's own mail has no quota, and must not become a way to send.

import type { Clock } from "../../platform/clock.ts";
import { TokenBuckets } from "../../platform/http/token-buckets.ts";

const PER_HOUR = 20;

/** Takes one of the workspace's mails; false: there is none left now, and the link is only shown. */
export type MailLimit = (workspaceId: number) => boolean;

export function createMailLimit(clock: Pick<Clock, "now">): MailLimit {
  const rate = { name: "invitations", rate: PER_HOUR, perMs: 60 * 60_000, burst: PER_HOUR };
  const buckets = new TokenBuckets<number>(rate);
  return (workspaceId) => buckets.take(workspaceId, clock.now()) === 0;
}
