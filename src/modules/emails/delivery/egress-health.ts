// The egresses whose proxy does not work. Mail that would leave by one waits, without an attempt counted and without a
// word against any site; one message at a time tries whether it works again. A proxy that works but will not lead to
// some server holds up the mail to that server alone.

import type { Clock } from "../../../platform/clock.ts";
import type { HealthIssue } from "../../../platform/health-issue.ts";
import type { Log } from "../../../platform/log.ts";
import type { EgressFault } from "../../../protocols/smtp/session/connection.ts";
import { egressOf } from "../../../protocols/smtp/site-name.ts";

/** After a failure, by how many came in a row. */
const PAUSES_MS = [5_000, 15_000, 30_000, 60_000];
/** While one message tries, the others ask again after this. */
const TRYING_MS = 1_000;
const RULES_MS = 60_000;
/** Sites that proxies will not lead to, remembered; the oldest go first. */
const MAX_REFUSED = 1_000;

interface Trouble {
  reason: string;
  /** Unix ms. */
  since: number;
  failures: number;
  /** By the steady clock: the next message may try then. */
  until: number;
  isTried: boolean;
}

export interface EgressHealthDeps {
  clock: Pick<Clock, "now">;
  /** Measures how long an egress is left alone. */
  steady: Pick<Clock, "now">;
  log: Log;
}

export class EgressHealth {
  readonly #deps: EgressHealthDeps;
  readonly #troubles = new Map<string, Trouble>();
  /** Sites that a proxy will not lead to: until when, by the steady clock. */
  readonly #refused = new Map<string, number>();

  constructor(deps: EgressHealthDeps) {
    this.#deps = deps;
  }

  /** Unix ms: nothing goes to the site before, for its egress's sake; null: it may. */
  findPause(site: string): number | null {
    if (this.#troubles.size === 0 && this.#refused.size === 0) return null;
    const now = this.#deps.steady.now();
    const trouble = this.#troubles.get(egressOf(site) ?? "");
    const ofEgress = trouble === undefined ? 0 : trouble.isTried ? now + TRYING_MS : trouble.until;
    const until = Math.max(ofEgress, this.#refused.get(site) ?? 0);
    return until > now ? this.#deps.clock.now() + Math.ceil(until - now) : null;
  }

  /** A message is about to leave by it: if it did not work, this is the one that tries. Call `leave` afterwards. */
  enter(egress: string): void {
    const trouble = this.#troubles.get(egress);
    if (trouble !== undefined) trouble.isTried = true;
  }

  leave(egress: string): void {
    const trouble = this.#troubles.get(egress);
    if (trouble !== undefined) trouble.isTried = false;
  }

  /** Learns from what became of a message to the site; `fault` null: the proxy led there. */
  learn(egress: string, site: string, fault: { kind: EgressFault; reason: string } | null): void {
    const trouble = this.#troubles.get(egress);
    if (fault?.kind === "proxy") return this.#fail(egress, fault.reason);
    if (trouble !== undefined) {
      this.#troubles.delete(egress);
      this.#deps.log.event("egress.works", { egress });
    }
    this.#refused.delete(site);
    if (fault === null) return;
    const [oldest] = this.#refused.keys();
    if (this.#refused.size >= MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
    this.#refused.set(site, this.#deps.steady.now() + RULES_MS);
    this.#deps.log.event("egress.refused", { egress, site, reason: fault.reason });
  }

  get issues(): HealthIssue[] {
    return [...this.#troubles].map(([name, { reason, since }]) => ({
      component: "egress",
      kind: name,
      reason: `Emails do not leave by the egress ${name}, whose proxy does not work: ${reason}. They wait, and lose no attempt. Look at the proxy, or take its [[egress]] out of the configuration and restart pombo: its mail then leaves by another address.`,
      since,
      isAdvisory: true,
    }));
  }

  #fail(egress: string, reason: string): void {
    const { clock, steady, log } = this.#deps;
    const before = this.#troubles.get(egress);
    const now = steady.now();
    // Messages that were on their way together are one failure.
    if (before !== undefined && !before.isTried && before.until > now) return;
    const failures = (before?.failures ?? 0) + 1;
    const until = now + (PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1] ?? 0);
    this.#troubles.set(egress, { reason, since: before?.since ?? clock.now(), failures, until, isTried: false });
    if (before === undefined) log.event("egress.failed", { egress, reason });
  }
}
