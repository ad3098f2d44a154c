import type { SiteGate } from "../queue/lanes.ts";

// How many calls may be under way: a receiver whose last call ended well has places of its own; all whose
// last call timed out share a small pool, so that a thousand dead receivers, each holding a call for
// fifteen seconds, take nothing from the others. A receiver that is not known yet has one call.

/** Calls under way at once, of all webhooks. */
export const MAX_CALLS = 2_000;
/** Calls of one webhook at once. */
export const CALLS_PER_WEBHOOK = 16;
/** Calls at once to all receivers whose last one timed out. */
const SLOW_CALLS = 100;
const SLOW = "slow";

/** The pool of a webhook after its last call. */
export function poolOf(webhookId: number, isTimeout: boolean): string {
  return isTimeout ? SLOW : `webhook ${webhookId}`;
}

/** The pools as the worker asks for them. */
export const POOLS: SiteGate = {
  jobsOf: (pool) => (pool === SLOW ? SLOW_CALLS : CALLS_PER_WEBHOOK),
  blockedUntil: () => null,
};
