// Whether DNS answers at all. One lookup without an answer says little, since a resolver may work
// longer on a dead domain than we wait; so our own name is asked for, which it knows or soon finds. If
// that stays without an answer too, no server answers, and it is asked for again until one does.

import type { Log } from "../../platform/log.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import { createResolver, type DnsClient, type ResolverOptions } from "./client.ts";

const AGAIN_MS = 5_000;

export interface ResolverHealth {
  /** Null while DNS answers, as far as is known: it is looked at at the start, and when a lookup had no answer. */
  readonly issue: HealthIssue | null;
  /** Asks once, as at a start: without any mail nobody else would notice. */
  start(): void;
  stop(): void;
}

/** A resolver, and whether its servers answer; `witness` is a name that exists: our own. */
export function createWatchedResolver(options: Omit<ResolverOptions, "silent"> & { witness: string; log: Log }): {
  resolver: DnsClient;
  watch: ResolverHealth;
} {
  const { witness, clock, log } = options;
  let issue: HealthIssue | null = null;
  let isAsking = false;
  let isStopped = false;
  let cancelAgain: (() => void) | null = null;
  /** Why the last lookup was without an answer, by server. */
  let lastSilence: string | null = null;

  async function ask(): Promise<void> {
    cancelAgain = null;
    if (isStopped) return;
    isAsking = true;
    lastSilence = null;
    // Asks the servers, not the cache.
    const answer = await resolver.fresh(0).a(witness);
    isAsking = false;
    if (isStopped) return;
    // A failure that nobody reported as silence is an answer too: "I cannot find out".
    const silence = answer.kind === "failed" ? lastSilence : null;
    record(silence);
    if (silence !== null) cancelAgain = clock.after(AGAIN_MS, () => void ask());
  }

  /** Logged once at each change. */
  function record(silence: string | null): void {
    if ((silence === null) === (issue === null)) return;
    if (silence === null) {
      issue = null;
      return log.event("dns.recovered");
    }
    const reason =
      `No DNS server answers (${resolver.serverCount} asked), so nothing can be delivered; what is accepted waits. ` +
      "Look at [dns] servers, or the system's own resolvers, and at the network.";
    issue = { component: "dns", reason, since: clock.now() };
    log.event("dns.silent", { reason: silence }, "warn");
  }

  const resolver: DnsClient = createResolver({
    ...options,
    silent(reason) {
      lastSilence = reason;
      if (!isAsking && cancelAgain === null) void ask();
    },
  });
  const watch: ResolverHealth = {
    get issue() {
      return issue;
    },
    start: () => void ask(),
    stop() {
      isStopped = true;
      cancelAgain?.();
    },
  };
  return { resolver, watch };
}
