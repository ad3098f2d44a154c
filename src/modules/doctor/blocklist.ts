/**
 * DNS blocklists, asked as RFC 5782 has it. What a list answers counts only if its test entry is on it and the one that
 * must not be there is not, asked at the same time: lists that were shut down list the world or nothing, and Spamhaus
 * answers resolvers that it refuses with addresses of its own.
 */
import { reverseLabels } from "../../platform/ip/address.ts";
import type { Lookup } from "../../protocols/dns/lookup.ts";
import type { World } from "./world.ts";

export type Listing =
  | { kind: "not_listed" }
  /** `codes`: the addresses that it answers. */
  | { kind: "listed"; codes: string[] }
  /** `reason` goes on after the name of the list. `isRefused`: because of the resolver. */
  | { kind: "not_known"; reason: string; isRefused: boolean };

interface KnownList {
  name: string;
  /** Where a listing is explained and lifted. */
  link: string;
  /** Many receivers refuse by it. */
  isWidelyUsed: boolean;
}

const KNOWN: Record<string, KnownList> = {
  "zen.spamhaus.org": { name: "Spamhaus ZEN", link: "https://check.spamhaus.org/", isWidelyUsed: true },
  "dbl.spamhaus.org": { name: "Spamhaus DBL", link: "https://check.spamhaus.org/", isWidelyUsed: true },
  "bl.spamcop.net": { name: "SpamCop", link: "https://www.spamcop.net/bl.shtml", isWidelyUsed: true },
  "b.barracudacentral.org": {
    name: "Barracuda",
    link: "https://www.barracudacentral.org/rbl/removal-request",
    isWidelyUsed: true,
  },
  "bl.mailspike.net": { name: "Mailspike", link: "https://mailspike.io/ip_verify", isWidelyUsed: false },
  "psbl.surriel.com": { name: "PSBL", link: "https://psbl.org/remove", isWidelyUsed: false },
};

export function describeList(zone: string): KnownList {
  return KNOWN[zone] ?? { name: zone, link: `the page of the list ${zone}`, isWidelyUsed: true };
}

/** The lists of Spamhaus have other names for who has a key. */
const KEYED: Record<string, string> = {
  "zen.spamhaus.org": "zen.dq.spamhaus.net",
  "dbl.spamhaus.org": "dbl.dq.spamhaus.net",
};

export function isSpamhaus(zone: string): boolean {
  return Object.hasOwn(KEYED, zone);
}

/** Of addresses §5: 127.0.0.2 is on each list, 127.0.0.1 on none. */
const LISTED_ADDRESS = "2.0.0.127";
const UNLISTED_ADDRESS = "1.0.0.127";
/** Of names §5: TEST is, INVALID is not. Spamhaus has a name of its own for the first. */
const LISTED_NAME = "test";
const LISTED_NAMES: Record<string, string> = { "dbl.spamhaus.org": "dbltest.com" };
const UNLISTED_NAME = "invalid";

export function askAboutAddress(address: string, zone: string, world: World): Promise<Listing> {
  const labels = reverseLabels(address) ?? "";
  return ask({ entry: labels, listed: LISTED_ADDRESS, unlisted: UNLISTED_ADDRESS }, zone, world);
}

export function askAboutName(name: string, zone: string, world: World): Promise<Listing> {
  const listed = LISTED_NAMES[zone] ?? LISTED_NAME;
  return ask({ entry: name, listed, unlisted: UNLISTED_NAME }, zone, world);
}

async function ask(
  names: Record<"entry" | "listed" | "unlisted", string>,
  zone: string,
  { dns, config }: World,
): Promise<Listing> {
  const key = config.doctor.spamhausKey;
  const asked = key !== null && isSpamhaus(zone) ? `${key}.${KEYED[zone]}` : zone;
  const [entry, listed, unlisted] = await Promise.all(
    [names.entry, names.listed, names.unlisted].map((name) => dns.a(`${name}.${asked}`)),
  );
  for (const lookup of [entry, listed, unlisted]) {
    // Its reason may name the key.
    if (lookup === undefined || lookup.kind === "failed")
      return { kind: "not_known", isRefused: false, reason: "could not be asked: DNS failed" };
    const refusal = findRefusal(lookup);
    if (refusal !== null) return { kind: "not_known", isRefused: true, reason: refusal };
  }
  if (listed?.kind !== "found")
    return {
      kind: "not_known",
      isRefused: true,
      reason: "cannot be asked through this resolver: its own test entry is not on it",
    };
  if (unlisted?.kind === "found")
    return { kind: "not_known", isRefused: false, reason: "lists the whole world, so that it says nothing" };
  return entry?.kind === "found" ? { kind: "listed", codes: entry.records } : { kind: "not_listed" };
}

/** What Spamhaus answers to mistyped zones, to public resolvers and to those who ask too much. */
const REFUSALS: Record<string, string> = {
  "127.255.255.252": "the name of the list is mistyped",
  "127.255.255.254": "it refuses public resolvers, and those of large hosters",
  "127.255.255.255": "it refuses who asks too much",
};

/** Null: it is an answer of the list. */
function findRefusal(lookup: Lookup<string>): string | null {
  if (lookup.kind !== "found") return null;
  for (const address of lookup.records) {
    const refusal = REFUSALS[address];
    if (refusal !== undefined) return `cannot be asked through this resolver: ${refusal} (${address})`;
    // §2.3: entries are in 127.0.0.0/8; others are of a portal, or of who bought the name of a list that is gone.
    if (!address.startsWith("127.")) return `cannot be asked through this resolver: it answers ${address}`;
  }
  return null;
}
