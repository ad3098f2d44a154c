// From which addresses mail leaves, as the world sees them: those of this machine, and behind NAT what a large mail
// server calls us when it answers EHLO.

import { isIPv4, isIPv6 } from "node:net";
import type { FindingId } from "./catalog.ts";
import { type Finding, unknown } from "./finding.ts";
import type { Probed, Sending, SendingAddress, World } from "./world.ts";

/** Somewhere far away: the way there says which address is taken. They are a.root-servers.net's. */
const FAR_IPV4 = "198.41.0.4";
const FAR_IPV6 = "2001:503:ba3e::2:30";

function isRelayed({ config }: Pick<World, "config">): boolean {
  return config.email.transport === "relay";
}

/** Whether some mail leaves from this machine's own addresses, and not all by relays and egresses. */
export function leavesFromHere({ config }: Pick<World, "config">): boolean {
  return config.email.transport === "direct" && config.egress.every(({ domains }) => domains.length > 0);
}

export async function findSending(world: World): Promise<Sending> {
  const away: SendingAddress[] = world.config.egress.map(({ name, address, hostname }) => ({
    family: 4,
    address,
    local: address,
    helo: hostname,
    egress: name,
  }));
  const hiddenAway = away.filter(({ address }) => !world.isPublic(address));
  const { addresses: own, hidden } = isRelayed(world) ? { addresses: [], hidden: [] } : await findOwn(world);
  const isHere = leavesFromHere(world);
  return {
    addresses: [...(isHere ? own : []), ...away.filter((each) => !hiddenAway.includes(each))],
    own,
    hidden: [...(isHere ? hidden : []), ...hiddenAway.map(({ address }) => address)],
    isRelayed: isRelayed(world),
  };
}

async function findOwn(world: World): Promise<{ addresses: SendingAddress[]; hidden: string[] }> {
  const { config, findRoute, isPublic } = world;
  const { sourceIpv4, sourceIpv6 } = config.email;
  const ipv4 = sourceIpv4 ?? (await findRoute(FAR_IPV4));
  // Without source_ipv6, IPv6 is taken only to servers that have nothing else.
  const ipv6 = sourceIpv6 ?? (ipv4 === null ? await findRoute(FAR_IPV6) : null);
  const addresses: SendingAddress[] = [];
  const hidden: string[] = [];
  for (const local of [ipv4, ipv6]) {
    if (local === null) continue;
    const address = isPublic(local) ? local : await findSeen(local, world);
    if (address === null) hidden.push(local);
    else addresses.push({ family: isIPv6(address) ? 6 : 4, address, local, helo: config.hostname, egress: null });
  }
  return { addresses, hidden };
}

/** These checks need the address that mail leaves from. Where that is not known, each of them is unknown. */
export function withoutAddress(ids: readonly FindingId[], sending: Sending): Finding[] {
  const { addresses, hidden } = sending;
  if (sending.isRelayed || (addresses.length > 0 && hidden.length === 0)) return [];
  return ids.map((id) => unknown(id, "The address that mail leaves from is not known: see address."));
}

/** What an answer to EHLO calls us (RFC 5321 §4.1.1.1 lets it greet with our address); null: none did. */
async function findSeen(local: string, world: World): Promise<string | null> {
  for (const probed of await world.probed()) {
    if (probed.kind !== "talked") continue;
    const [, answer] = probed.talk.replies;
    for (const line of answer?.lines ?? []) {
      const found = /\[(?:IPv6:)?([0-9a-f.:]+)\]/i.exec(line)?.[1] ?? "";
      const isSameFamily = isIPv4(local) ? isIPv4(found) : isIPv6(found);
      if (isSameFamily && world.isPublic(found)) return found.toLowerCase();
    }
  }
  return null;
}

/** Connects to one mail server of each domain of [doctor] probes, greets and leaves. */
export function findProbed(world: World): Promise<Probed[]> {
  return Promise.all(world.config.doctor.probes.map((domain) => probeDomain(domain, world)));
}

async function probeDomain(domain: string, world: World): Promise<Probed> {
  const { dns, config } = world;
  const mx = await dns.mx(domain);
  if (mx.kind === "failed") return { domain, kind: "not_found", reason: mx.reason };
  if (mx.kind !== "found") return { domain, kind: "not_found", reason: "it has no MX record" };
  const [best] = mx.records.toSorted((left, right) => left.preference - right.preference);
  const host = best?.exchange ?? "";
  const found =
    config.email.sourceIpv4 === null && config.email.sourceIpv6 !== null ? await dns.aaaa(host) : await dns.a(host);
  if (found.kind === "failed") return { domain, kind: "not_found", reason: found.reason };
  const address = found.kind === "found" ? found.records.find((each) => world.isPublic(each)) : undefined;
  if (address === undefined) return { domain, kind: "not_found", reason: `${host} has no address that can be reached` };
  const source = isIPv6(address) ? config.email.sourceIpv6 : config.email.sourceIpv4;
  const talk = await world.talk({ address, port: config.email.destinationPort }, [`EHLO ${config.hostname}`], {
    localAddress: source,
  });
  return { domain, kind: "talked", host, address, talk };
}
