import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import { createResolver, type DnsClient, type ResolverOptions } from "./client.ts";
import type { Resolver } from "./lookup.ts";

// Whether DNS answers at all. One lookup without an answer says little, since a resolver may work
// longer on a dead domain than we wait; so our own name is asked for, which it knows or soon finds. If
// that stays without an answer too, no server answers, and it is asked for again until one does.

const AGAIN_MS = 5_000;

/** A resolver, and whether its servers answer; `witness` is a name that exists: our own. */
export function createWatchedResolver(options: Omit<ResolverOptions, "silent"> & { witness: string; log: Log }): {
  resolver: DnsClient;
  watch: ResolverHealth;
} {
  const { witness, clock, log } = options;
  const resolver: DnsClient = createResolver({ ...options, silent: (reason) => watch.suspect(reason) });
  const watch = new ResolverHealth({
    resolver: () => resolver.fresh(0),
    witness,
    serverCount: resolver.serverCount,
    clock,
    changed: (reason) => (reason === null ? log.event("dns.recovered") : log.event("dns.silent", { reason }, "warn")),
  });
  return { resolver, watch };
}

export interface WatchOptions {
  /** Asks the servers, not the cache. */
  resolver: () => Resolver;
  witness: string;
  serverCount: number;
  clock: Clock;
  /** Told once at each change; `reason` is null when a server answers again. */
  changed: (reason: string | null) => void;
}

export class ResolverHealth {
  readonly #options: WatchOptions;
  #isAsking = false;
  #isStopped = false;
  #cancelAgain: (() => void) | null = null;
  #issue: HealthIssue | null = null;
  /** Why the last lookup was without an answer, by server. */
  #lastSilence: string | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Null while DNS answers, as far as is known: it is looked at at the start, and when a lookup had no answer. */
  get issue(): HealthIssue | null {
    return this.#issue;
  }

  /** Asks once, as at a start: without any mail nobody else would notice. */
  start(): void {
    void this.#ask();
  }

  /** No server answered a lookup; `reason` says of each what it did instead. */
  suspect(reason: string): void {
    this.#lastSilence = reason;
    if (!this.#isAsking && this.#cancelAgain === null) void this.#ask();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelAgain?.();
  }

  async #ask(): Promise<void> {
    if (this.#isStopped) return;
    const { resolver, witness, clock } = this.#options;
    this.#isAsking = true;
    this.#lastSilence = null;
    const answer = await resolver().a(witness);
    this.#isAsking = false;
    if (this.#isStopped) return;
    // A failure that nobody reported as silence is an answer too: "I cannot find out".
    const isSilent = answer.kind === "failed" && this.#lastSilence !== null;
    this.#set(isSilent ? this.#lastSilence : null);
    this.#cancelAgain = isSilent ? clock.after(AGAIN_MS, () => this.#again()) : null;
  }

  #again(): void {
    this.#cancelAgain = null;
    void this.#ask();
  }

  #set(silence: string | null): void {
    const { clock, serverCount, changed } = this.#options;
    if ((silence === null) === (this.#issue === null)) return;
    const reason =
      `No DNS server answers (${serverCount} asked), so nothing can be delivered; what is accepted waits. ` +
      "Look at [dns] servers, or the system's own resolvers, and at the network.";
    this.#issue = silence === null ? null : { component: "dns", reason, since: clock.now() };
    changed(silence);
  }
}
