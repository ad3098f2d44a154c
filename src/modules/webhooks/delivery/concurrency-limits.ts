import type { SiteGate } from "../../../platform/queue/site-limits.ts";

// How many calls may be under way: a receiver whose last call ended well has places of its own; all whose
// last call timed out share a small pool, so that a thousand dead receivers, each holding a call for
// fifteen seconds, take nothing from the others. A receiver that is not known yet has a few calls while
// little else is under way, and one while much is: of a thousand that turn out to be dead the first calls
// alone are nearly all that a lone workspace may have under way.

/** Calls under way at once, of all webhooks. */
export const MAX_CALLS = 2_000;
/** How their receivers are looked up. */
export const CALL_DNS = {
  /** All that they can have under way, of two families each: none waits for another's mute DNS. */
  lookupsAtOnce: 2 * MAX_CALLS,
  /** So that another server is asked, or the same one again, before the look-up is given up (resolve-target.ts). */
  timeoutMs: 2_000,
};
/** Of one webhook, taken off the queue at once: some wait for their turn, others for what came of them to be written. */
export const JOBS_PER_WEBHOOK = 64;
/** Calls to one receiver at once. */
const CALLS_PER_WEBHOOK = 16;
/** Of a webhook that is not known yet, while fewer than so many are under way in all. */
const UNKNOWN_CALLS = 4;
const CALM_CALLS = 64;
/** Calls at once to all receivers whose last one timed out. */
const SLOW_CALLS = 100;
const SLOW = "slow";

/** The pool of a webhook after its last call. */
export function poolOf(webhookId: number, isTimeout: boolean): string {
  return isTimeout ? SLOW : `webhook ${webhookId}`;
}

/** The pools as the worker asks for them. */
export const POOLS: SiteGate = {
  jobsOf: (pool) => (pool === SLOW ? SLOW_CALLS : JOBS_PER_WEBHOOK),
  blockedUntil: () => null,
  unlocatedJobs: (held) => (held < CALM_CALLS ? UNKNOWN_CALLS : 1),
};

/** Turns at the receivers: so many calls to each at once, in the order in which they are asked for. */
export class ConcurrencyLimiter {
  readonly #busy = new Map<number, number>();
  readonly #waiting = new Map<number, (() => void)[]>();

  /** Resolves when a call to the webhook may begin; the result ends the turn. */
  async take(webhookId: number): Promise<() => void> {
    const busy = this.#busy.get(webhookId) ?? 0;
    if (busy < CALLS_PER_WEBHOOK) this.#busy.set(webhookId, busy + 1);
    else {
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiting = this.#waiting.get(webhookId);
      if (waiting === undefined) this.#waiting.set(webhookId, [resolve]);
      else waiting.push(resolve);
      await promise;
    }
    return () => this.#end(webhookId);
  }

  #end(webhookId: number): void {
    const waiting = this.#waiting.get(webhookId);
    const next = waiting?.shift();
    if (waiting?.length === 0) this.#waiting.delete(webhookId);
    if (next !== undefined) return next();
    const busy = (this.#busy.get(webhookId) ?? 1) - 1;
    if (busy > 0) this.#busy.set(webhookId, busy);
    else this.#busy.delete(webhookId);
  }
}
