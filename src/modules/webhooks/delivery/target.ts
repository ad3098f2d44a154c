// The protection against SSRF: which URLs a workspace may have called from inside our network. Only public ones, over
// https. The URL is parsed once, by the rules of browsers, which turn every spelling of an address (decimal, octal, hex,
// short) into one. Addresses are checked when the webhook is created and again when it is called; the checked address is
// the one that is dialled, so that a name that changes between the two gains nothing.

import { isIP } from "node:net";
import { type AddressRanges, isAmong, isRefusedAddress, isWithin } from "../../../platform/ip/address.ts";

const MAX_URL = 2048;

/** A URL that may be called, but for the addresses of its name, which are checked apart. */
export interface Target {
  isSecure: boolean;
  /** Lower case; an IPv6 address without brackets. */
  hostname: string;
  /** The host is an address. */
  isAddress: boolean;
  port: number;
  /** Path and query. */
  path: string;
  /** Name and, where it is not the usual one, port: the header Host. */
  host: string;
}

export type ParsedTarget = { kind: "target"; target: Target } | { kind: "fault"; message: string; hint?: string };

/** What the operator allows beside public https. */
export interface TargetRules {
  allowHttp: boolean;
  allowed: AddressRanges;
  /** This machine: its addresses, and its public names, whose addresses may be those of a router before it. */
  own?: { addresses: readonly string[]; names: readonly string[] };
}

export interface LookUpAddresses {
  /** Every address of a name, by DNS. */
  (
    hostname: string,
  ): Promise<{ kind: "found"; addresses: string[] } | { kind: "failed"; reason: string; isTimeout: boolean }>;
}

export type ResolvedTarget =
  /** Dial one of these, at least one. */
  | { kind: "addresses"; addresses: string[] }
  /** It must not be called. */
  | { kind: "refused"; reason: string }
  /** Not known now. */
  | { kind: "trouble"; reason: string; isTimeout: boolean };

const NO_URL = "must be a URL such as https://example.com/hook";

/** The message follows the member's name. */
function fault(message: string, hint?: string): ParsedTarget {
  return { kind: "fault", message, ...(hint === undefined ? {} : { hint }) };
}

export function parseTarget(text: string, rules: TargetRules): ParsedTarget {
  if (text.length > MAX_URL) return fault(`must have at most ${MAX_URL} characters`);
  // Browsers drop these silently; two parsers of one URL must not see two hosts.
  if (/[\p{Cc}\s\\]/u.test(text)) return fault("must not hold spaces, backslashes or control characters");
  const url = URL.parse(text);
  if (url === null) return fault(NO_URL);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && rules.allowHttp))
    return fault("must begin with https://", "Events must not cross the network in the clear.");
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/*[^/?#]*@/i.test(text)) {
    return fault(
      "must not hold a user name or password",
      "Calls are signed: check the header webhook-signature with the webhook's secret.",
    );
  }
  if (url.hash !== "" || text.includes("#")) return fault("must not hold a fragment (#…)");
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const isAddress = isIP(hostname) !== 0;
  const refused = isAddress ? findRefusal(hostname, rules, rules.own?.addresses ?? []) : null;
  if (hostname === "" || url.port === "0") return fault(NO_URL);
  if (refused !== null) return fault(`resolves to ${refused}`, "Use an address that is reachable from the internet.");
  const isSecure = url.protocol === "https:";
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  return {
    kind: "target",
    target: { isSecure, hostname, isAddress, port, path: url.pathname + url.search, host: url.host },
  };
}

/** The addresses to dial for a target, checked now. One special address among public ones refuses the name: chance must not decide which is dialled. */
export async function resolveTarget(
  target: Target,
  rules: TargetRules,
  look: LookUpAddresses,
): Promise<ResolvedTarget> {
  const found = target.isAddress
    ? { kind: "found" as const, addresses: [target.hostname] }
    : await look(target.hostname);
  if (found.kind === "failed") return { kind: "trouble", reason: found.reason, isTimeout: found.isTimeout };
  const own = await lookUpOwnAddresses(rules, look);
  for (const address of found.addresses) {
    const refused = findRefusal(address, rules, own);
    if (refused !== null)
      return { kind: "refused", reason: `${target.hostname}: ${refused}, and such addresses are not called` };
  }
  if (found.addresses.length === 0)
    return { kind: "trouble", reason: `${target.hostname} has no address`, isTimeout: false };
  return { kind: "addresses", addresses: found.addresses };
}

/** Why an address is not called, in a few words; null: it may be. */
function findRefusal(address: string, { allowed }: TargetRules, own: readonly string[]): string | null {
  const refused = isRefusedAddress(address, allowed);
  if (refused !== null || !isAmong(address, own) || isWithin(address, allowed)) return refused;
  return `${address}, an address of this server itself`;
}

/** A name of ours that cannot be looked up now has no addresses. */
async function lookUpOwnAddresses({ own }: TargetRules, look: LookUpAddresses): Promise<string[]> {
  if (own === undefined) return [];
  const found = await Promise.all(own.names.map((name) => look(name)));
  return [...own.addresses, ...found.flatMap((each) => (each.kind === "found" ? each.addresses : []))];
}
