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

interface Refused {
  egress: string;
  reason: string;
  /** By the steady clock: nothing goes there before. */
  until: number;
  /** Unix ms. */
  since: number;
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
  /** Sites that a proxy will not lead to. */
  readonly #refused = new Map<string, Refused>();

  constructor(deps: EgressHealthDeps) {
    this.#deps = deps;
  }

  /** Unix ms: nothing goes to the site before, for its egress's sake; null: it may. */
  findPause(site: string): number | null {
    if (this.#troubles.size === 0 && this.#refused.size === 0) return null;
    const now = this.#deps.steady.now();
    const trouble = this.#troubles.get(egressOf(site) ?? "");
    const ofEgress = trouble === undefined ? 0 : trouble.isTried ? now + TRYING_MS : trouble.until;
    const until = Math.max(ofEgress, this.#refused.get(site)?.until ?? 0);
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

  /** Its proxy has led to a server. */
  works(egress: string): void {
    if (!this.#troubles.delete(egress)) return;
    this.#deps.log.event("egress.works", { egress });
  }

  /** A message to the site reached nobody. */
  failed(egress: string, site: string, { kind, reason }: { kind: EgressFault; reason: string }): void {
    if (kind === "proxy") return this.#fail(egress, reason);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size >= MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
    const { clock, steady, log } = this.#deps;
    const before = this.#refused.get(site);
    const until = steady.now() + RULES_MS;
    this.#refused.set(site, { egress, reason, until, since: before?.since ?? clock.now() });
    if (before === undefined) log.event("egress.refused", { egress, site, reason });
  }

  get issues(): HealthIssue[] {
    const dead = [...this.#troubles].map(([name, { reason, since }]) => ({
      component: "egress" as const,
      kind: name,
      reason: `Emails do not leave by the egress ${name}, whose proxy does not work: ${reason}. They wait, and lose no attempt. Look at the proxy, or take its [[egress]] out of the configuration and restart pombo: its mail then leaves by another address.`,
      since,
      isAdvisory: true as const,
    }));
    return [...dead, ...this.#describeRefused()];
  }

  #describeRefused(): HealthIssue[] {
    const now = this.#deps.steady.now();
    const byEgress = new Map<string, Refused[]>();
    for (const [site, refused] of this.#refused) {
      // Tried again since, and nothing was refused any more; or no mail goes there.
      if (refused.until + RULES_MS < now) this.#refused.delete(site);
      else byEgress.set(refused.egress, [...(byEgress.get(refused.egress) ?? []), refused]);
    }
    return [...byEgress].map(([name, all]) => ({
      component: "egress",
      kind: `${name}.rules`,
      reason: `The proxy of the egress ${name} does not lead to ${all.length} ${all.length === 1 ? "destination" : "destinations"}: ${all[0]?.reason}. Mail to there waits, and loses no attempt. Let the proxy CONNECT to every mail server.`,
      since: Math.min(...all.map(({ since }) => since)),
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
