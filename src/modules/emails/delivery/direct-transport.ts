// Mail that goes straight to the recipient's mail servers. A negative answer of DNS is believed only when two
// answers far apart, from different servers where there are two, agree.

import { isIPv4 } from "node:net";
import type { AddressRanges } from "../../../platform/ip/address.ts";
import type { Random } from "../../../platform/random.ts";
import type { DnsClient } from "../../../protocols/dns/client.ts";
import { findRoute, type Route } from "../../../protocols/smtp/mx-lookup.ts";
import { siteVia } from "../../../protocols/smtp/site-name.ts";
import { classifyResult } from "../../../protocols/smtp/replies/classify.ts";
import {
  describeTransmission,
  type Destination,
  isAnswered,
  type Transmission,
} from "../../../protocols/smtp/transmit.ts";
import type { Egress } from "./egresses.ts";
import { DNS_SITE, type RefusalWatch } from "./refusal-watch.ts";
import { deliverBySmtp, type SmtpDeliveryDeps } from "./smtp-delivery.ts";
import type {
  BadDomain,
  DeliveryHooks,
  OutgoingMessage,
  TemporaryFailure,
  TransmissionFailure,
  Transport,
} from "./transport.ts";

/** A domain that DNS says does not exist is believed after two such answers this far apart. */
const CONFIRM_BAD_DOMAIN_MS = 10 * 60_000;

export interface DirectTransportDeps extends SmtpDeliveryDeps {
  resolver: Pick<DnsClient, "forOwner">;
  allowed: AddressRanges;
  random: Random;
  /** Our own name, which must resolve before DNS is believed that another does not. */
  hostname: string;
  /** Our own names and addresses, which mail must not be sent to (R8). */
  own: { names: string[]; addresses: string[] };
  /** Whether IPv6 is used beside IPv4 (R7). */
  isIpv6Ready: boolean;
  refusals: RefusalWatch;
}

/** `egress` null: from this machine's own addresses. */
export function createDirectTransport(deps: DirectTransportDeps, egress: Egress | null): Transport {
  return {
    isDirect: true,
    siteFor: (recipientDomain) => (egress === null ? recipientDomain : siteVia(recipientDomain, egress.name)),
    async deliver(message: OutgoingMessage, hooks: DeliveryHooks) {
      hooks.running.note(() => `DNS: MX of ${message.recipientDomain}?`);
      const route = await findMxHosts(message, deps);
      if (route.kind !== "hosts") return route;
      hooks.running.note(() => `DNS: ${describeHosts(route)}`);
      deps.refusals.noteReply(DNS_SITE, message.workspaceId, deps.clock.now());
      const destination = egress === null ? route : leaveBy(egress, route);
      if (destination.hosts.length === 0)
        return dnsFailure(
          `${message.recipientDomain} has IPv6 addresses only, and ${egress?.name} none`,
          "no_answer",
          null,
        );
      if (egress !== null)
        hooks.running.note(() => `egress ${egress.name}: from ${egress.address} as ${egress.heloName}`);
      return await deliverBySmtp({ destination, isDirect: true, classify: classifyDirect }, message, hooks, deps);
    },
  };
}

/** An egress has an IPv4 address, and none of the other kind. */
function leaveBy(egress: Egress, { hosts, site }: Extract<Route, { kind: "hosts" }>): Destination {
  const reached = hosts.map(({ name, addresses }) => ({ name, addresses: addresses.filter(isIPv4) }));
  return { hosts: reached.filter(({ addresses }) => addresses.length > 0), site: siteVia(site, egress.name), egress };
}

async function findMxHosts(
  { recipientDomain, workspaceId, attempt, badDomainAt }: OutgoingMessage,
  deps: DirectTransportDeps,
): Promise<Extract<Route, { kind: "hosts" }> | TemporaryFailure | BadDomain> {
  const resolver = deps.resolver.forOwner(workspaceId);
  const { allowed, random, own, isIpv6Ready } = deps;
  const options = { random, allowed, own, isIpv6Ready };
  // A name that was missing before is asked for anew, from another server where there is one.
  const route = await findRoute(recipientDomain, {
    resolver: badDomainAt === null ? resolver : resolver.fresh(attempt),
    ...options,
  });
  if (route.kind === "hosts") return route;
  if (route.kind === "temporary_failure") return dnsFailure(route.reason, "no_answer", badDomainAt);
  const now = deps.clock.now();
  const firstAt = badDomainAt ?? now;
  if (now - firstAt < CONFIRM_BAD_DOMAIN_MS || !(await isOwnNameFound(resolver, deps.hostname)))
    return dnsFailure(`${route.reason}; DNS will be asked again before this is believed`, "bad_domain", firstAt);
  // Once more from the next server, where there are two: one that lies must not be its own witness.
  const other = await findRoute(recipientDomain, { resolver: resolver.fresh(attempt + 1), ...options });
  if (other.kind === "hosts") return other;
  if (other.kind === "temporary_failure") return dnsFailure(other.reason, "no_answer", firstAt);
  // A server that does not answer is replaced by the first, which would then be its own witness all the same.
  if (resolver.serverCount > 1 && other.server === route.server)
    return dnsFailure(`${route.reason}, says one DNS server; no other has said so yet`, "no_answer", firstAt);
  const enhancedCode = route.cause === "null_mx" ? "5.1.10" : "5.1.2";
  return { kind: "bad_domain", reason: `${enhancedCode} ${route.reason}`, enhancedCode };
}

function describeHosts({ hosts }: Extract<Route, { kind: "hosts" }>): string {
  return hosts.map(({ name, addresses }) => `${name} [${addresses.join(", ")}]`).join(", ");
}

function dnsFailure(
  reason: string,
  category: "no_answer" | "bad_domain",
  badDomainAt: number | null,
): TemporaryFailure {
  return { kind: "temporary_failure", reason, stage: "dns", category, badDomainAt };
}

/** A resolver that cannot find ourselves is not believed about others. */
async function isOwnNameFound(client: ReturnType<DnsClient["forOwner"]>, hostname: string): Promise<boolean> {
  const resolver = client.fresh(0);
  const answers = await Promise.all([resolver.a(hostname), resolver.aaaa(hostname)]);
  return answers.some((answer) => answer.kind === "found");
}

export function classifyDirect(transmission: Transmission): TransmissionFailure {
  return {
    verdict: classifyResult(transmission.result, transmission.heard),
    reason: describeTransmission(transmission),
    isReached: isAnswered(transmission),
  };
}
