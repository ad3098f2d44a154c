// Looks up the addresses of a receiver by our own resolver.

import type { Clock } from "../../../platform/clock.ts";
import type { Resolver } from "../../../protocols/dns/lookup.ts";
import type { LookUpAddresses } from "./target.ts";

/** For all addresses of a name: what is not known by then is given up, and holds up nobody else. */
const TIMEOUT_MS = 5_000;

/** Every address of a name, IPv4 first. */
export function createAddressLookup(
  resolver: Pick<Resolver, "a" | "aaaa">,
  clock: Pick<Clock, "after">,
): LookUpAddresses {
  return async (hostname) => {
    const late = new AbortController();
    const cancel = clock.after(TIMEOUT_MS, () => late.abort());
    const { signal } = late;
    const answers = await Promise.all([resolver.a(hostname, signal), resolver.aaaa(hostname, signal)]);
    cancel();
    const addresses = answers.flatMap((answer) => (answer.kind === "found" ? answer.records : []));
    // Addresses of one family are enough where the servers do not answer for the other.
    if (addresses.length > 0) return { kind: "found", addresses };
    if (signal.aborted)
      return { kind: "failed", reason: `DNS did not answer for ${hostname} within 5 s`, isTimeout: true };
    const failed = answers.find((answer) => answer.kind === "failed");
    if (failed?.kind === "failed")
      return { kind: "failed", reason: `DNS did not answer for ${hostname}: ${failed.reason}`, isTimeout: false };
    const isMissing = answers.every((answer) => answer.kind === "no_name");
    const reason = isMissing ? `${hostname} does not exist in DNS` : `${hostname} has no address in DNS`;
    return { kind: "failed", reason, isTimeout: false };
  };
}
