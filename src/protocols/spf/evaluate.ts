/**
 * check_host() of RFC 7208 §4: whether an address may send for a domain. In order: the one record of the domain, its
 * syntax as a whole, its mechanisms from left to right, its redirect. All of an evaluation, with what it includes, shares
 * one count of look-ups, since receivers do the same and give up at ten.
 */
import { isIPv6 } from "node:net";
import { getNetwork, isWithin, parseRanges, reverseName } from "../../platform/ip/address.ts";
import type { Lookup, Resolver } from "../dns/lookup.ts";
import { expandDomain, type MacroValues, needsValidatedName } from "./macros.ts";
import { type Mechanism, parseRecord, type Qualifier, selectRecords, type SpfRecord } from "./record.ts";

/** §4.6.4. */
const LOOKUPS_LIMIT = 10;
const VOID_LIMIT = 2;
const NAMES_LIMIT = 10;

export type SpfOutcome = "none" | "neutral" | "pass" | "fail" | "softfail" | "temperror" | "permerror";

export interface SpfResult {
  outcome: SpfOutcome;
  /** Why, as the end of a sentence about the domain; strangers' text may be in it. */
  reason: string;
  /** Terms that cost a look-up, of which receivers allow 10, and those without an answer, of which they allow 2. */
  lookups: number;
  voids: number;
  /** The term that decided, as it stands in its record; null: none did. */
  term: string | null;
}

export interface SpfQuestion {
  ip: string;
  domain: string;
  /** The envelope sender; an address without a local part is postmaster's. */
  sender: string;
  helo: string;
  resolver: Pick<Resolver, "a" | "aaaa" | "mx" | "txt" | "ptr">;
  signal?: AbortSignal;
}

/** Never rejects. */
export async function evaluateSpf(question: SpfQuestion): Promise<SpfResult> {
  const { domain, helo, resolver, signal } = question;
  // §5: an IPv4 address in IPv6 notation is one of IPv4.
  const network = getNetwork(question.ip);
  const ip = network === null || network.includes("/") ? question.ip : network;
  const sender = /^[^@].*@/.test(question.sender) ? question.sender : `postmaster@${question.sender.replace(/^@/, "")}`;
  const state: State = { ip, sender, helo, resolver, signal, lookups: 0, voids: 0, validated: null };
  try {
    const { outcome, reason, term } = await checkHost(domain, state);
    return { outcome, reason, term, lookups: state.lookups, voids: state.voids };
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    const { outcome, message: reason } = error;
    return { outcome, reason, term: null, lookups: state.lookups, voids: state.voids };
  }
}

interface State {
  ip: string;
  sender: string;
  helo: string;
  resolver: SpfQuestion["resolver"];
  signal: AbortSignal | undefined;
  lookups: number;
  voids: number;
  /** The validated name of the address; null: not looked for yet. */
  validated: string | null;
}

/** Ends the whole evaluation (§2.6.6, §2.6.7). */
class Stop extends Error {
  readonly outcome: "temperror" | "permerror";

  constructor(outcome: "temperror" | "permerror", reason: string) {
    super(reason);
    this.outcome = outcome;
  }
}

type Checked = Pick<SpfResult, "outcome" | "reason" | "term">;

const OUTCOMES: Record<Qualifier, SpfOutcome> = { "+": "pass", "-": "fail", "~": "softfail", "?": "neutral" };

async function checkHost(domain: string, state: State): Promise<Checked> {
  const name = domain.replace(/\.$/, "");
  // §4.3: what cannot be a domain has no record.
  const isDomain = name.includes(".") && name.split(".").every((label) => label.length > 0 && label.length <= 63);
  if (!isDomain || name.length > 253) return { outcome: "none", reason: "it is no domain name", term: null };
  const record = await readRecord(name, state);
  if (record === null) return { outcome: "none", reason: `${name} has no SPF record`, term: null };
  for (const mechanism of record.mechanisms) {
    if (!(await matches(mechanism, name, state))) continue;
    const { qualifier, text: term } = mechanism;
    return { outcome: OUTCOMES[qualifier], reason: `“${term}” in the record of ${name} decides`, term };
  }
  const hasAll = record.mechanisms.some((mechanism) => mechanism.name === "all");
  if (record.redirect === null || hasAll)
    return { outcome: "neutral", reason: `nothing in the record of ${name} matches`, term: null };
  countLookup(state);
  const target = await expand(record.redirect, name, state);
  const redirected = await checkHost(target, state);
  if (redirected.outcome === "none") throw new Stop("permerror", `redirect=${target} leads to no SPF record`);
  return redirected;
}

async function readRecord(name: string, { resolver, signal }: State): Promise<SpfRecord | null> {
  const lookup = await resolver.txt(name, signal);
  if (lookup.kind === "failed") throw new Stop("temperror", lookup.reason);
  const records = lookup.kind === "found" ? selectRecords(lookup.records) : [];
  const [text] = records;
  if (text === undefined) return null;
  if (records.length > 1) throw new Stop("permerror", `${name} has ${records.length} SPF records`);
  const record = parseRecord(text);
  if (typeof record === "string") throw new Stop("permerror", `in the record of ${name}, ${record}`);
  return record;
}

async function matches(mechanism: Mechanism, domain: string, state: State): Promise<boolean> {
  switch (mechanism.name) {
    case "all":
      return true;
    case "ip4":
    case "ip6":
      return isIPv6(state.ip) === (mechanism.name === "ip6") && isWithin(state.ip, parseRanges([mechanism.range]));
    case "include":
      return await matchesInclude(mechanism.domain, domain, state);
    case "exists": {
      countLookup(state);
      const found = await findRecords(
        (name) => state.resolver.a(name, state.signal),
        [await expand(mechanism.domain, domain, state), state],
      );
      return found.length > 0;
    }
    case "a": {
      countLookup(state);
      const target = mechanism.domain === null ? domain : await expand(mechanism.domain, domain, state);
      return hasOwn(await findAddresses(target, state), mechanism, state);
    }
    case "mx":
      return await matchesMx(mechanism, domain, state);
    case "ptr": {
      countLookup(state);
      const target = mechanism.domain === null ? domain : await expand(mechanism.domain, domain, state);
      const names = await findValidatedNames(state);
      return names.some((name) => isUnder(name, target.toLowerCase()));
    }
  }
}

async function matchesInclude(spec: string, domain: string, state: State): Promise<boolean> {
  countLookup(state);
  const target = await expand(spec, domain, state);
  const { outcome } = await checkHost(target, state);
  if (outcome === "none") throw new Stop("permerror", `include:${target} leads to no SPF record`);
  return outcome === "pass";
}

async function matchesMx(
  mechanism: Extract<Mechanism, { name: "a" | "mx" }>,
  domain: string,
  state: State,
): Promise<boolean> {
  countLookup(state);
  const target = mechanism.domain === null ? domain : await expand(mechanism.domain, domain, state);
  const hosts = await findRecords((name) => state.resolver.mx(name, state.signal), [target, state]);
  if (hosts.length > NAMES_LIMIT) throw new Stop("permerror", `${target} has more than ${NAMES_LIMIT} MX records`);
  for (const { exchange } of hosts)
    if (exchange !== "" && hasOwn(await findAddresses(exchange, state), mechanism, state)) return true;
  return false;
}

function hasOwn(
  addresses: readonly string[],
  { bits4, bits6 }: { bits4: number; bits6: number },
  { ip }: State,
): boolean {
  const bits = isIPv6(ip) ? bits6 : bits4;
  return addresses.some((address) => isWithin(ip, parseRanges([`${address}/${bits}`])));
}

/** Of the family of the address that sends (§5). */
function findAddresses(name: string, state: State): Promise<string[]> {
  const { ip, resolver, signal } = state;
  return findRecords((asked) => (isIPv6(ip) ? resolver.aaaa(asked, signal) : resolver.a(asked, signal)), [name, state]);
}

/** None is a void look-up, of which there may be two (§4.6.4). */
async function findRecords<T>(
  ask: (name: string) => Promise<Lookup<T>>,
  [name, state]: [name: string, state: State],
): Promise<T[]> {
  const lookup = await ask(name);
  if (lookup.kind === "failed") throw new Stop("temperror", lookup.reason);
  if (lookup.kind === "found") return lookup.records;
  state.voids += 1;
  if (state.voids > VOID_LIMIT) throw new Stop("permerror", `more than ${VOID_LIMIT} of its look-ups find nothing`);
  return [];
}

function countLookup(state: State): void {
  state.lookups += 1;
  if (state.lookups > LOOKUPS_LIMIT) throw new Stop("permerror", `it needs more than ${LOOKUPS_LIMIT} look-ups`);
}

async function expand(spec: string, domain: string, state: State): Promise<string> {
  const { sender, ip, helo } = state;
  if (state.validated === null && needsValidatedName(spec)) state.validated = await findOneName(domain, state);
  const values: MacroValues = { sender, domain, ip, helo, validated: state.validated ?? "unknown" };
  return expandDomain(spec, values);
}

/** §7.3: the domain itself before names under it, those before others. */
async function findOneName(domain: string, state: State): Promise<string> {
  const names = await findValidatedNames(state);
  return names.find((name) => name === domain) ?? names.find((name) => isUnder(name, domain)) ?? names[0] ?? "unknown";
}

/** Names of the address that lead back to it (§5.5); a DNS error only leaves a name out. */
async function findValidatedNames(state: State): Promise<string[]> {
  const { ip, resolver, signal } = state;
  const lookup = await resolver.ptr(reverseName(ip) ?? "", signal);
  if (lookup.kind !== "found") {
    if (lookup.kind !== "failed") state.voids += 1;
    return [];
  }
  const names: string[] = [];
  for (const name of lookup.records.slice(0, NAMES_LIMIT)) {
    const back = await (isIPv6(ip) ? resolver.aaaa(name, signal) : resolver.a(name, signal));
    if (back.kind === "found" && hasOwn(back.records, { bits4: 32, bits6: 128 }, state)) names.push(name);
  }
  return names;
}

function isUnder(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}
