import type { Clock } from "../../../platform/clock.ts";
import type { DnsClient, Resolver } from "../../../protocols/dns/client.ts";
import type { AddressRanges } from "../../../platform/ip/address.ts";
import type { EmailJob } from "../queue/store.ts";
import type { Random } from "../../../platform/random.ts";
import { findNamedHost, findRoute, type Route } from "../../../protocols/smtp/mx-lookup.ts";
import type { Access } from "../../../protocols/smtp/session-pool.ts";
import type { FindRelay, Relay } from "./relay.ts";
import type { Ending } from "./record-result.ts";

// The way of an email: which hosts take it, those of the recipient's domain or a relay. What DNS says against a domain is believed only when two
// answers far apart, from different servers where there are two, say so.

/** A domain that DNS says does not exist is believed after two such answers this far apart. */
const CONFIRM_BAD_DOMAIN_MS = 10 * 60_000;

export interface DeliveryRouteDeps {
  resolver: Pick<DnsClient, "by">;
  allowed: AddressRanges;
  clock: Pick<Clock, "now">;
  random: Random;
  /** Our own name, which must resolve before DNS is believed that another does not. */
  hostname: string;
  findRelay: FindRelay;
  /** What must not be sent to, as it is ourselves (R8). */
  own: { names: string[]; addresses: string[] };
  /** Whether IPv6 is used beside IPv4 (R7). */
  isIpv6Ready: boolean;
}

type MxDeps = Omit<DeliveryRouteDeps, "resolver"> & { resolver: ReturnType<DnsClient["by"]> };

type NoWay = Extract<Ending, { kind: "trouble" | "bad_domain" }>;

/** `relay` null: straight to the recipient's servers. */
export type DeliveryRoute = (Extract<Route, { kind: "hosts" }> & { access?: Access; relay: Relay | null }) | NoWay;

/** The hosts for mail from and to these domains, or why there are none now. */
export async function findDeliveryRoute(
  job: EmailJob,
  { from, to, workspaceId }: { from: string; to: string; workspaceId: number },
  deps: DeliveryRouteDeps,
): Promise<DeliveryRoute> {
  const relay = deps.findRelay(from);
  const resolver = deps.resolver.by(workspaceId);
  if (relay !== null) return await findRelayWay(relay, resolver);
  const route = await findMx(job, to, { ...deps, resolver });
  return route.kind === "hosts" ? { ...route, relay: null } : route;
}

/** The relay's addresses, private ones too: the operator named it. A name that is missing says nothing of any recipient. */
async function findRelayWay(relay: Relay, resolver: Resolver): Promise<DeliveryRoute> {
  const found = await findNamedHost(relay.host, resolver);
  if (found.kind === "trouble") {
    const reason = `the relay ${relay.name} could not be reached: ${found.reason}`;
    return { kind: "trouble", reason, stage: "dns", category: "no_answer", badDomainAt: null };
  }
  const hosts = [{ name: relay.host, addresses: found.addresses }];
  return { kind: "hosts", hosts, site: relay.site, access: relay.access, relay };
}

async function findMx(job: EmailJob, domain: string, deps: MxDeps): Promise<Extract<Route, { kind: "hosts" }> | NoWay> {
  const { allowed, random, own, isIpv6Ready } = deps;
  const options = { random, allowed, own, isIpv6Ready };
  // A name that was missing before is asked for anew, from another server where there is one.
  const resolver = job.state.badDomainAt === null ? deps.resolver : deps.resolver.fresh(job.attempt);
  const route = await findRoute(domain, { resolver, ...options });
  if (route.kind === "hosts") return route;
  if (route.kind === "trouble") {
    return {
      kind: "trouble",
      reason: route.reason,
      stage: "dns",
      category: "no_answer",
      badDomainAt: job.state.badDomainAt,
    };
  }
  const now = deps.clock.now();
  const firstAt = job.state.badDomainAt ?? now;
  if (now - firstAt >= CONFIRM_BAD_DOMAIN_MS && (await ownNameResolves(deps))) {
    // Once more from the next server, where there are two: one that lies must not be its own witness.
    const other = await findRoute(domain, { resolver: deps.resolver.fresh(job.attempt + 1), ...options });
    if (other.kind === "hosts") return other;
    // A server that does not answer is stood in for by the first, which would then be its own witness all the same.
    const isAlone = other.kind === "bad_domain" && deps.resolver.serverCount > 1 && other.server === route.server;
    if (other.kind === "trouble" || isAlone) {
      const reason = isAlone ? `${route.reason}, says one DNS server; no other has said so yet` : other.reason;
      return { kind: "trouble", reason, stage: "dns", category: "no_answer", badDomainAt: firstAt };
    }
    const enhanced = route.cause === "null_mx" ? "5.1.10" : "5.1.2";
    return { kind: "bad_domain", reason: `${enhanced} ${route.reason}`, enhancedCode: enhanced };
  }
  const reason = `${route.reason}; DNS will be asked again before this is believed`;
  return { kind: "trouble", reason, stage: "dns", category: "bad_domain", badDomainAt: firstAt };
}

/** A resolver that cannot find ourselves is not believed about others. */
async function ownNameResolves(deps: MxDeps): Promise<boolean> {
  const resolver = deps.resolver.fresh(0);
  const answers = await Promise.all([resolver.a(deps.hostname), resolver.aaaa(deps.hostname)]);
  return answers.some((answer) => answer.kind === "found");
}
