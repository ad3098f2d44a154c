/**
 * Looks up the records of a sending domain. The lookups run side by side, and compare.ts classifies each answer; for a
 * missing record the usual mistakes are looked for, so that the hint can name them. A lookup that failed is "unknown",
 * never "missing": a DNS failure must not change a domain's state.
 */
import type { Resolver } from "../../protocols/dns/client.ts";
import { compareDkim, compareDmarc } from "./compare.ts";
import type { Comparison, Mistake } from "./compare.ts";
import { namesUpwards } from "./dns-host/zone-cut.ts";
import type { DnsRecord, DomainRecords } from "./records.ts";

/** Records shown of what DNS holds, and characters of each. */
const FOUND_LIMIT = 10;
const FOUND_LENGTH = 1000;
/** CNAMEs between the customer's name and the bounce host. */
const CNAME_LIMIT = 8;

export interface RecordCheck extends DnsRecord {
  /** "unknown": the lookup failed, so nothing is known. */
  status: Comparison["status"] | "unknown";
  /** The records in DNS under that name, control characters removed; at most 10 entries of 1,000 characters. */
  found: string[];
  mistake?: Mistake;
  /** The name under which it was published by mistake. */
  foundAt?: string;
  hint?: string;
}

/** "unknown" changes nothing. */
export type Verdict = "yes" | "no" | "unknown";

export interface DomainCheck {
  dkim: [rsa: RecordCheck, ed25519: RecordCheck];
  spf: RecordCheck;
  dmarc: RecordCheck;
  /** The RSA key is published: only this verifies a domain. */
  rsa: Verdict;
  /** The Ed25519 key is published and may sign. */
  ed25519: Verdict;
  /** The return path may live under the customer's domain: the CNAME is right and its target resolves. */
  bounce: Verdict;
}

interface CheckOptions {
  domain: string;
  records: DomainRecords;
  /** One that asks anew (`fresh`), or a record published a minute ago is still missing. */
  resolver: Resolver;
}

export async function checkDomain({ domain, records, resolver }: CheckOptions): Promise<DomainCheck> {
  const [rsaRecord, ed25519Record] = records.dkim;
  const checkKey = (record: DnsRecord) =>
    checkTxt(record, { domain, resolver, compare: (found) => compareDkim(record.value, found) });
  const [rsa, ed25519, spf, dmarc] = await Promise.all([
    checkKey(rsaRecord),
    checkKey(ed25519Record),
    checkBounce(records.spf, domain, resolver),
    checkTxt(records.dmarc, { domain, resolver, compare: compareDmarc }),
  ]);
  return {
    dkim: [rsa, ed25519],
    spf: spf.check,
    dmarc,
    rsa: toVerdict(rsa),
    ed25519: toVerdict(ed25519),
    bounce: spf.verdict,
  };
}

function toVerdict(check: RecordCheck): Verdict {
  if (check.status === "unknown") return "unknown";
  return check.status === "found" ? "yes" : "no";
}

interface TxtOptions extends Pick<CheckOptions, "domain" | "resolver"> {
  compare: (found: string[]) => Comparison;
}

async function checkTxt(record: DnsRecord, { domain, resolver, compare }: TxtOptions): Promise<RecordCheck> {
  const lookup = await resolver.txt(record.name);
  if (lookup.kind === "failed") return unknown(record, lookup.reason);
  if (lookup.kind === "found") return { ...record, ...compare(lookup.records), found: show(lookup.records) };
  const alias = await resolver.cname(record.name);
  if (alias.kind === "found") {
    const [target = ""] = alias.records;
    const hint = `The name leads to ${clean(target)}, which has no TXT record: publish the TXT record itself.`;
    return { ...record, status: "mismatch", mistake: "other_value", found: show([`CNAME ${target}`]), hint };
  }
  return missing(record, await findElsewhere(record.name, { domain, resolver, compare }));
}

/** A name under which the record was published by mistake. */
interface Elsewhere {
  mistake: "zone_doubled" | "wrong_level";
  name: string;
}

/** Looks for the TXT record under the names that it gets by mistake: with the zone once more, or beside its own. */
async function findElsewhere(name: string, { domain, resolver, compare }: TxtOptions): Promise<Elsewhere | null> {
  const zones = namesUpwards(domain);
  const prefix = name.slice(0, -domain.length - 1);
  const [selector = ""] = prefix.split(".");
  const doubled = zones.map((zone) => `${name}.${zone}`);
  // A policy at the domain above is no mistake: it holds for those below.
  const above = selector.startsWith("_") ? [] : zones.slice(1).map((zone) => `${prefix}.${zone}`);
  const beside =
    selector === prefix
      ? [domain]
      : [domain, `${selector}.${domain}`, `${prefix.slice(selector.length + 1)}.${domain}`];
  const candidates: Elsewhere[] = [
    ...doubled.map((each) => ({ mistake: "zone_doubled" as const, name: each })),
    ...[...above, ...beside].map((each) => ({ mistake: "wrong_level" as const, name: each })),
  ];
  const lookups = await Promise.all(candidates.map((each) => resolver.txt(each.name)));
  const isThere = (index: number) => {
    const lookup = lookups[index];
    // Other records may stand beside it there.
    return lookup?.kind === "found" && lookup.records.some((value) => compare([value]).status === "found");
  };
  return candidates.find((_, index) => isThere(index)) ?? null;
}

interface BounceCheck {
  check: RecordCheck;
  verdict: Verdict;
}

async function checkBounce(record: DnsRecord, domain: string, resolver: Resolver): Promise<BounceCheck> {
  const lookup = await resolver.cname(record.name);
  switch (lookup.kind) {
    case "failed":
      return { check: unknown(record, lookup.reason), verdict: "unknown" };
    case "found":
      return await checkAlias(record, lookup.records, { domain, resolver });
    case "no_data":
    case "no_name": {
      const check = await explainNoAlias(record, domain, resolver);
      return { check, verdict: toVerdict(check) };
    }
  }
}

async function checkAlias(
  record: DnsRecord,
  targets: string[],
  { domain, resolver }: Pick<CheckOptions, "domain" | "resolver">,
): Promise<BounceCheck> {
  const check: RecordCheck = { ...record, status: "found", found: show(targets) };
  const wanted = bare(record.value);
  const [target = ""] = targets;
  if (targets.length > 1) {
    const hint = `There are several CNAMEs at this name: keep the one to ${wanted} and remove the others.`;
    return { check: { ...check, status: "mismatch", mistake: "several", hint }, verdict: "no" };
  }
  const reached = bare(target) === wanted ? "yes" : await leadsTo(wanted, target, resolver);
  if (reached === "unknown") {
    return {
      check: { ...check, ...unknown(record, `the CNAMEs behind ${target} could not be followed`), found: check.found },
      verdict: "unknown",
    };
  }
  if (reached === "no") {
    const isDoubled = bare(target) === `${wanted}.${domain}`;
    const hint = isDoubled
      ? `Your DNS provider added your domain to the target: write ${wanted}. with a dot at its end.`
      : `Point the CNAME to ${wanted}.`;
    const mistake = isDoubled ? "zone_doubled" : "other_value";
    return { check: { ...check, status: "mismatch", mistake, hint }, verdict: "no" };
  }
  const verdict = await resolves(record.name, resolver);
  if (verdict === "yes") return { check, verdict };
  const hint = `The record is right, but ${wanted} has no address yet: its operator has to publish one.`;
  return { check: verdict === "no" ? { ...check, hint } : check, verdict };
}

/** Some owners point to a name of their own, which points on to the bounce host: mail follows it. */
async function leadsTo(wanted: string, start: string, resolver: Resolver): Promise<Verdict> {
  let name = start;
  for (let step = 0; step < CNAME_LIMIT; step += 1) {
    const next = await resolver.cname(name);
    if (next.kind === "failed") return "unknown";
    const [target] = next.kind === "found" ? next.records : [];
    if (target === undefined) return "no";
    if (bare(target) === wanted) return "yes";
    name = target;
  }
  return "no";
}

/** Whether returned mail finds a host there: RFC 5321 §5.1 takes an MX or else an address. */
async function resolves(name: string, resolver: Resolver): Promise<Verdict> {
  const lookups = await Promise.all([resolver.mx(name), resolver.a(name), resolver.aaaa(name)]);
  if (lookups.some((lookup) => lookup.kind === "found")) return "yes";
  return lookups.some((lookup) => lookup.kind === "failed") ? "unknown" : "no";
}

/** No CNAME there: other records in its place, the name doubled by the provider, or nothing. */
async function explainNoAlias(record: DnsRecord, domain: string, resolver: Resolver): Promise<RecordCheck> {
  const doubledNames = namesUpwards(domain).map((zone) => `${record.name}.${zone}`);
  const [mx, txt, a, aaaa, ...doubled] = await Promise.all([
    resolver.mx(record.name),
    resolver.txt(record.name),
    resolver.a(record.name),
    resolver.aaaa(record.name),
    ...doubledNames.map((name) => resolver.cname(name)),
  ]);
  const found = [
    ...(mx.kind === "found" ? mx.records.map(({ preference, exchange }) => `MX ${preference} ${exchange}`) : []),
    ...(txt.kind === "found" ? txt.records.map((value) => `TXT ${value}`) : []),
    ...(a.kind === "found" ? a.records.map((value) => `A ${value}`) : []),
    ...(aaaa.kind === "found" ? aaaa.records.map((value) => `AAAA ${value}`) : []),
  ];
  if (found.length > 0) {
    const hint = `Replace these records by one CNAME to ${bare(record.value)}, with any proxy or flattening of your DNS provider switched off.`;
    const isProxied = a.kind === "found" || aaaa.kind === "found";
    return { ...record, status: "mismatch", mistake: isProxied ? "proxied" : "other_value", found: show(found), hint };
  }
  const isRight = (lookup: (typeof doubled)[number] | undefined) =>
    lookup?.kind === "found" && lookup.records.some((target) => bare(target) === bare(record.value));
  const name = doubledNames.find((_, index) => isRight(doubled[index]));
  return missing(record, name === undefined ? null : { mistake: "zone_doubled", name });
}

function missing(record: DnsRecord, elsewhere: Elsewhere | null): RecordCheck {
  const nothing = { ...record, status: "missing" as const, found: [] };
  if (elsewhere === null) {
    const hint = `Publish this ${record.type} record at your DNS provider; it may take some minutes until it is seen.`;
    return { ...nothing, hint };
  }
  const { mistake, name } = elsewhere;
  const remedy =
    mistake === "zone_doubled"
      ? `leave ${name.slice(record.name.length)} out of the name field`
      : `publish it as ${record.name}`;
  return { ...nothing, mistake, foundAt: name, hint: `The record was published as ${name}: ${remedy}.` };
}

function unknown(record: DnsRecord, reason: string): RecordCheck {
  return { ...record, status: "unknown", found: [], hint: `DNS did not answer, so nothing changes: ${clean(reason)}` };
}

function show(values: string[]): string[] {
  return values.slice(0, FOUND_LIMIT).map(clean);
}

/** Strangers publish this, and it goes into answers and pages. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "").slice(0, FOUND_LENGTH);
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}
