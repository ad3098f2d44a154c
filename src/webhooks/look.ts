import type { Resolver } from "../dns/lookup.ts";
import type { Look } from "./target.ts";

/** Every address of a name, IPv4 first, by our own resolver. */
export function lookBy(resolver: Pick<Resolver, "a" | "aaaa">): Look {
  return async (hostname) => {
    const answers = await Promise.all([resolver.a(hostname), resolver.aaaa(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.kind === "found" ? answer.records : []));
    if (addresses.length > 0) return { kind: "found", addresses };
    const failed = answers.find((answer) => answer.kind === "failed");
    if (failed?.kind === "failed")
      return { kind: "failed", reason: `DNS did not answer for ${hostname}: ${failed.reason}` };
    const isMissing = answers.every((answer) => answer.kind === "no_name");
    return {
      kind: "failed",
      reason: isMissing ? `${hostname} does not exist in DNS` : `${hostname} has no address in DNS`,
    };
  };
}
