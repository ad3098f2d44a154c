// The zone that holds a domain's records, its name servers, and where these can be asked.

import { organizationalDomain } from "../../../protocols/dns/organizational-domain.ts";
import type { Resolver } from "../../../protocols/dns/lookup.ts";
import { parseServer } from "../../../protocols/dns/servers.ts";
import { isRefusedAddress } from "../../../platform/ip/address.ts";

export interface ZoneCut {
  name: string;
  /** In order of their names. */
  nameServers: string[];
}

const MAX_NAME_SERVERS = 8;
/** Name servers of a zone that are asked. */
const MAX_ASKED = 2;
/** Names from a domain to that which somebody registered. */
const MAX_LEVELS = 4;

/** The domain and the names above it, to the one that somebody registered. */
export function namesUpwards(domain: string): string[] {
  const top = organizationalDomain(domain);
  const names = [domain];
  for (let name = domain; name !== top && name.endsWith(`.${top}`); names.push(name))
    name = name.slice(name.indexOf(".") + 1);
  return names.slice(0, MAX_LEVELS);
}

/** Null: DNS did not tell. */
export async function findZoneCut(domain: string, resolver: Resolver): Promise<ZoneCut | null> {
  for (const name of namesUpwards(domain)) {
    const found = await resolver.ns(name);
    if (found.kind === "failed") return null;
    if (found.kind !== "found") continue;
    // The name servers of the zone that an alias leads to are not its own.
    if ((await resolver.cname(name)).kind === "found") continue;
    return { name, nameServers: found.records.slice(0, MAX_NAME_SERVERS).toSorted() };
  }
  return null;
}

/**
 * Addresses with ports, at most two. Strangers write these names, so that an address which is not public is left out,
 * but for one of our own resolvers: we ask that anyway, and in the sandbox it holds all zones.
 */
export async function findAuthoritative(
  { nameServers }: ZoneCut,
  resolver: Resolver,
  ownServers: readonly string[],
): Promise<string[]> {
  const own = ownServers.map(parseServer);
  const found = await Promise.all(nameServers.map(async (name) => findServer(await lookUp(name, resolver), own)));
  return [...new Set(found.filter((server) => server !== null))].slice(0, MAX_ASKED);
}

async function lookUp(name: string, resolver: Resolver): Promise<string[]> {
  const a = await resolver.a(name);
  if (a.kind === "found") return a.records;
  const aaaa = await resolver.aaaa(name);
  return aaaa.kind === "found" ? aaaa.records : [];
}

function findServer([address]: string[], own: ReturnType<typeof parseServer>[]): string | null {
  if (address === undefined) return null;
  if (isRefusedAddress(address, { ranges: [] }) === null)
    return parseServer(`[${address}]`.replace(/^\[([\d.]+)\]$/, "$1")).label;
  return own.find((server) => server.address === address)?.label ?? null;
}
