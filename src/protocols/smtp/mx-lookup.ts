/**
 * Where mail for a domain goes (RFC 5321 §5.1). In order: the MX records, or the domain itself when
 * it has none; sorted by preference with equals shuffled; the loop guard; the addresses of each
 * host, IPv4 first; refused addresses dropped. The rest is a route, and when nothing is left
 * the reason decides between a domain that cannot get mail and a temporary failure.
 */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import type { MxRecord, Resolver } from "../dns/client.ts";
import { isAmong, isRefusedAddress } from "../../platform/ip/address.ts";
import type { AddressRanges } from "../../platform/ip/address.ts";
import type { Random } from "../../platform/random.ts";

/** In all, over all hosts (R6): more of them would only stretch an attempt that fails anyway. */
const ADDRESSES_LIMIT = 5;
/** For one of several hosts, so that a host with many addresses does not shut out its fellows. */
const ADDRESSES_PER_HOST = 3;
/** Hosts looked at before a domain counts as having no address. */
const HOSTS_LIMIT = 20;
/** Hosts looked up together; their addresses are mostly as many as are tried. */
const HOSTS_AT_ONCE = 2;
/** Each holds a socket. */
const MAX_LOOKUPS = 8_192;
const SITE_LENGTH = 255;
/** Letters, digits, hyphens (and the underscores that some use); what DNS can hold beyond them is no host. */
const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/** `addresses` in the order to try, IPv4 first, never empty. */
export interface Host {
  name: string;
  addresses: string[];
}

export type Route =
  /** Hosts in the order to try, at most 5 addresses in all. `site` is equal for equal sets of MX hosts. */
  | { kind: "hosts"; hosts: Host[]; site: string }
  /** A permanent fact, as `server` told it; R1 says when it is to be believed. */
  | { kind: "bad_domain"; reason: string; cause: "no_name" | "null_mx" | "no_address"; server: string }
  /** Temporary: ask again later. */
  | { kind: "temporary_failure"; reason: string };

export interface RouteOptions {
  resolver: Resolver;
  random: Random;
  /** Ranges that may be connected to although they are reserved: for labs and the sandbox. */
  allowed: AddressRanges;
  /** This machine's own names (lower case) and addresses, which mail must not be sent to (R8). */
  own?: { names: string[]; addresses: string[] };
  /** Our IPv6 address has its PTR and stands in SPF, so that receivers take mail from it (R7). Else it is for hosts without IPv4. */
  isIpv6Ready?: boolean;
}

/** `domain` is an A-label name (R10). Never rejects, whatever DNS says. */
export async function findRoute(domain: string, options: RouteOptions): Promise<Route> {
  const lookup = await options.resolver.mx(domain);
  switch (lookup.kind) {
    case "failed":
      return { kind: "temporary_failure", reason: lookup.reason };
    case "no_name":
      return badDomain("no_name", `${domain} does not exist`, lookup.server);
    case "no_data":
      // R2, RFC 5321 §5.1: without MX records the domain is its own mail host.
      return await findHosts([domain], domain, options);
    case "found": {
      const exchangers = lookup.records.filter((record) => record.exchange !== "");
      // R4, RFC 7505: a null MX by itself is a clear no; beside others it is a mistake and does not count.
      if (exchangers.length === 0) return badDomain("null_mx", `${domain} accepts no mail (null MX)`, lookup.server);
      // The name goes on into TLS, logs and pages, so it is made sure of here.
      const named = exchangers.filter((record) => HOST_NAME.test(record.exchange));
      if (named.length === 0) {
        return badDomain("no_address", `the MX records of ${domain} name no host`, lookup.server);
      }
      const hosts = orderHosts(named, options);
      if (hosts.length === 0) {
        return { kind: "temporary_failure", reason: `the MX records of ${domain} lead back to this server` };
      }
      const site = nameSite(named.map((record) => record.exchange));
      return await findHosts(hosts, domain, { ...options, site });
    }
  }
}

/**
 * The addresses of one host that the operator named, IPv4 first: a name, or an address itself. None is
 * refused, and what DNS says against it is never final. Never rejects.
 */
export async function findNamedHost(
  name: string,
  resolver: Resolver,
): Promise<{ kind: "addresses"; addresses: string[] } | Extract<Route, { kind: "temporary_failure" }>> {
  if (isIP(name) !== 0) return { kind: "addresses", addresses: [name] };
  // RFC 6761 §6.3: that name is this machine, and DNS is not asked.
  if (name === "localhost") return { kind: "addresses", addresses: ["127.0.0.1", "::1"] };
  const lookups = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  const addresses = lookups.flatMap((lookup) => (lookup.kind === "found" ? lookup.records : []));
  if (addresses.length > 0) return { kind: "addresses", addresses: addresses.slice(0, ADDRESSES_LIMIT) };
  const failed = lookups.find((lookup) => lookup.kind === "failed");
  return { kind: "temporary_failure", reason: failed?.reason ?? `${name} has no address` };
}

/** Lookups that so many routes have under way at the most: with as many allowed, none waits for another's mute DNS. */
export function limitLookups(routes: number): number {
  // Two families of each host.
  return Math.min(routes * HOSTS_AT_ONCE * 2, MAX_LOOKUPS);
}

/** R6: by preference, equals in random order so that they share the load. Each name once. */
function orderHosts(records: MxRecord[], { random, own }: RouteOptions): string[] {
  const ownPreference = records
    .filter((record) => own?.names.includes(record.exchange))
    .reduce((least, record) => Math.min(least, record.preference), Number.POSITIVE_INFINITY);
  // R8, RFC 5321 §5.1: hosts at or after our own place would hand the message back to us.
  const ordered = records
    .filter((record) => record.preference < ownPreference)
    .map((record) => ({ ...record, chance: random.unit() }))
    .toSorted((a, b) => a.preference - b.preference || a.chance - b.chance);
  return [...new Set(ordered.map((record) => record.exchange))];
}

/** R12: limits and connections belong to the machines behind a domain, which many domains share. */
function nameSite(names: string[]): string {
  const sorted = [...new Set(names)].toSorted();
  const key = sorted.join(",");
  if (key.length <= SITE_LENGTH) return key;
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 32);
  // A part cut from the key would keep all of it in memory for as long as the site is known.
  return `${sorted[0]},+${digest}`;
}

async function findHosts(names: string[], domain: string, options: RouteOptions & { site?: string }): Promise<Route> {
  const hosts: Host[] = [];
  const found: HostAddresses[] = [];
  let left = ADDRESSES_LIMIT;
  const perHost = names.length > 1 ? ADDRESSES_PER_HOST : ADDRESSES_LIMIT;
  const tried = names.slice(0, HOSTS_LIMIT);
  for (let start = 0; start < tried.length && left > 0; start += HOSTS_AT_ONCE) {
    const batch = tried.slice(start, start + HOSTS_AT_ONCE);
    for (const host of await Promise.all(batch.map((name) => findAddresses(name, options)))) {
      found.push(host);
      const addresses = host.usable.slice(0, Math.min(left, perHost));
      left -= addresses.length;
      if (addresses.length > 0) hosts.push({ name: host.name, addresses });
    }
  }
  if (hosts.length > 0) return { kind: "hosts", hosts, site: options.site ?? nameSite([domain]) };
  return explainAbsence(found, domain);
}

interface HostAddresses {
  name: string;
  usable: string[];
  /** Why addresses were dropped. */
  refusals: string[];
  /** Why a lookup brought no answer. */
  failures: string[];
  server: string;
}

/** R7: both families, IPv4 first, since receivers ask more of a sender that comes by IPv6. */
async function findAddresses(
  name: string,
  { resolver, allowed, own, isIpv6Ready }: RouteOptions,
): Promise<HostAddresses> {
  const lookups = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  const server = lookups[0].kind === "failed" ? "" : lookups[0].server;
  const host: HostAddresses = { name, usable: [], refusals: [], failures: [], server };
  for (const [nth, lookup] of lookups.entries()) {
    // A server that would take our mail over IPv4 may refuse it over IPv6 for good.
    if (nth === 1 && isIpv6Ready === false && host.usable.length > 0) break;
    if (lookup.kind === "failed") host.failures.push(lookup.reason);
    if (lookup.kind !== "found") continue;
    for (const address of lookup.records) {
      const refusal = isAmong(address, own?.addresses ?? [])
        ? `${address} is this server`
        : isRefusedAddress(address, allowed);
      if (refusal === null) host.usable.push(address);
      else host.refusals.push(`${name}: ${refusal}`);
    }
  }
  return host;
}

function explainAbsence(hosts: HostAddresses[], domain: string): Route {
  const refusals = hosts.flatMap((host) => host.refusals);
  const failures = hosts.flatMap((host) => host.failures);
  // R3: a missing address is permanent only when nobody failed to answer. A refused one is always
  // temporary: a mistake of the domain's owner must not suppress the recipient.
  const [reason] = refusals.length > 0 ? refusals : failures;
  if (reason !== undefined) return { kind: "temporary_failure", reason };
  const names = hosts.map((host) => host.name);
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  const isDomainItself = names.length === 1 && names[0] === domain;
  const text = isDomainItself
    ? `${domain} has no MX and no address`
    : `the mail hosts of ${domain} have no address (${shown})`;
  return badDomain("no_address", text, hosts.find((host) => host.server !== "")?.server ?? "");
}

function badDomain(cause: "no_name" | "null_mx" | "no_address", reason: string, server: string): Route {
  return { kind: "bad_domain", reason, cause, server };
}
