// How many calls may be under way. A receiver whose last call ended well has places of its own; all receivers whose last
// call timed out share a small pool, so that a thousand dead receivers, each holding a call for fifteen seconds, take
// nothing from the others. A receiver that is not known yet has a few calls while little else is under way, and one while
// much is: the first calls to a thousand receivers that turn out to be dead are nearly all that one workspace may have.

import type { SiteLimits } from "../../../platform/queue/site-limits.ts";

/** Calls under way at once, of all webhooks. */
export const MAX_CALLS = 2_000;
/** How their receivers are looked up. */
export const CALL_DNS = {
  /** All that they can have under way, of two families each: none waits for another's mute DNS. */
  lookupsAtOnce: 2 * MAX_CALLS,
  /** So that another server is asked, or the same one again, before the lookup is given up (address-lookup.ts). */
  timeoutMs: 2_000,
};
/** Jobs of one webhook claimed at once: some wait for their call, others for their result to be recorded. */
export const JOBS_PER_WEBHOOK = 64;
/** Calls to one receiver at once. */
const CALLS_PER_WEBHOOK = 16;
/** To one that is not known yet, while fewer than so many are under way in all. */
const UNKNOWN_CALLS = 4;
const CALM_CALLS = 64;
/** Calls at once to all receivers whose last one timed out. */
const SLOW_CALLS = 100;
const SLOW = "slow";

/** A site, to the worker, is a webhook of its own or the pool of the slow ones. */
export class ConcurrencyLimiter implements SiteLimits {
  /** Webhooks whose last call timed out. */
  readonly #slow = new Set<number>();
  readonly #busy = new Map<number, number>();
  readonly #waiting = new Map<number, (() => void)[]>();

  getMaxJobs(site: string): number {
    return site === SLOW ? SLOW_CALLS : JOBS_PER_WEBHOOK;
  }

  getMaxUnlocatedJobs(held: number): number {
    return held < CALM_CALLS ? UNKNOWN_CALLS : 1;
  }

  /** A call to the webhook ended; returns its site from now on. */
  recordCall(webhookId: number, isSlow: boolean): string {
    if (isSlow) this.#slow.add(webhookId);
    else this.#slow.delete(webhookId);
    return isSlow ? SLOW : `webhook ${webhookId}`;
  }

  isSlow(webhookId: number): boolean {
    return this.#slow.has(webhookId);
  }

  /** The webhook was deleted. */
  forget(webhookId: number): void {
    this.#slow.delete(webhookId);
  }

  /** Resolves when a call to the webhook may begin, in the order of the requests; the result ends it. */
  async begin(webhookId: number): Promise<() => void> {
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
