// What pombo sees itself before it asks an authority, which will look the same way: whether a name leads here, whether CAA
// records allow the authority (RFC 8659), and whether a token comes back over that name. It only says what it saw:
// behind NAT a machine may not see itself.

import { readStart } from "../../platform/http/read-start.ts";
import { getErrorMessage } from "../../platform/errors.ts";
import type { Resolver } from "../../protocols/dns/lookup.ts";

export interface OwnLookDeps {
  resolver: Pick<Resolver, "a" | "aaaa" | "caa">;
  call: typeof globalThis.fetch;
  /** Of this machine. */
  ownAddresses: () => string[];
  /** What CAA records call the authority; none: it does not say. */
  caaIdentities: readonly string[];
  /** Where authorities knock: 80. */
  port: number;
  /** That pombo shows at this moment under its own name. */
  token: string;
  signal: AbortSignal;
}

/** Where an authority looks for what it has given (RFC 8555 §8.3). */
const CHALLENGE_PATH = "/.well-known/acme-challenge/";

const PATIENCE_MS = 5_000;
const MAX_ANSWER_BYTES = 1_024;

/** Sentences, one a thing that may keep the authority from issuing; none: all is as it should be. */
export async function lookOurselves(names: readonly string[], deps: OwnLookDeps): Promise<string[]> {
  const found = await Promise.all(names.flatMap((name) => [lookAtAddresses(name, deps), lookAtCaa(name, deps)]));
  return found.filter((each) => each !== null);
}

async function lookAtAddresses(name: string, deps: OwnLookDeps): Promise<string | null> {
  const { resolver, signal } = deps;
  const lookups = await Promise.all([resolver.a(name, signal), resolver.aaaa(name, signal)]);
  const failed = lookups.find(({ kind }) => kind === "failed");
  const addresses = lookups.flatMap((each) => (each.kind === "found" ? each.records : []));
  if (addresses.length === 0)
    return failed?.kind === "failed"
      ? `${name}: its DNS could not be asked (${failed.reason}).`
      : `${name} has no address in DNS.`;
  const own = deps.ownAddresses();
  const strange = addresses.filter((address) => !own.includes(address));
  const unseen = await Promise.all(addresses.map((address) => lookForToken(name, address, deps)));
  const problem = unseen.find((each) => each !== null) ?? null;
  // Seen from here it works, whoever has that address.
  if (problem === null) return null;
  const elsewhere =
    strange.length > 0
      ? ` ${strange.join(", ")} is no address of this machine; behind NAT that is as it should be.`
      : "";
  return `${problem}${elsewhere}`;
}

/** Null: it came back. */
async function lookForToken(name: string, address: string, deps: OwnLookDeps): Promise<string | null> {
  const { port, token, signal } = deps;
  const host = address.includes(":") ? `[${address}]` : address;
  try {
    const response = await deps.call(`http://${host}:${port}${CHALLENGE_PATH}${token}`, {
      headers: { host: name },
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    const text = await readStart(response, MAX_ANSWER_BYTES);
    if (response.ok && text === token) return null;
    return `${name}: at ${address} another program answers port ${port} (status ${response.status}).`;
  } catch (error) {
    return `${name}: port ${port} of ${address} does not answer from here (${getErrorMessage(error)}).`;
  }
}

/** The records of the nearest name upwards that has any count (RFC 8659 §3). */
async function lookAtCaa(name: string, { resolver, caaIdentities, signal }: OwnLookDeps): Promise<string | null> {
  if (caaIdentities.length === 0) return null;
  const labels = name.split(".");
  for (let above = 0; above < labels.length; above++) {
    const at = labels.slice(above).join(".");
    const lookup = await resolver.caa(at, signal);
    // RFC 8659 §3: an authority that gets no answer must not issue.
    if (lookup.kind === "failed") return `The CAA records of ${at} could not be asked for (${lookup.reason}).`;
    if (lookup.kind === "found")
      return isAllowed(lookup.records, caaIdentities)
        ? null
        : `The CAA records of ${at} do not allow ${caaIdentities.join(" or ")} to issue.`;
  }
  return null;
}

/** Bit 0 of the flags (RFC 8659 §4.1): who does not know the tag must not issue. */
const CRITICAL = 128;
const KNOWN_TAGS = ["issue", "issuewild", "iodef", "issuemail", "issuevmc", "contactemail", "contactphone"];

export function isAllowed(records: readonly string[], identities: readonly string[]): boolean {
  const read = records.map((record) => /^(\d+) (\S+) ?(.*)$/s.exec(record) ?? []);
  if (read.some(([, flags, tag = ""]) => (Number(flags) & CRITICAL) !== 0 && !KNOWN_TAGS.includes(tag))) return false;
  const issuers = read.filter(([, , tag]) => tag === "issue").map(([, , , value = ""]) => value.split(";")[0]?.trim());
  return issuers.length === 0 || issuers.some((issuer) => identities.includes(issuer?.toLowerCase() ?? ""));
}
