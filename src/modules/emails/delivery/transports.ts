import { createDirectTransport, type DirectTransportDeps } from "./direct-transport.ts";
import type { Relay } from "./relays.ts";
import { createRelayTransport } from "./relay-transport.ts";
import type { FindTransport } from "./transport.ts";

/** The one choice of a transport: the relay that has the sending domain, else the relay for all others, else direct. */
export function createTransports(relays: readonly Relay[], deps: DirectTransportDeps): FindTransport {
  const routed = relays.map((relay) => ({ domains: relay.domains, transport: createRelayTransport(relay, deps) }));
  const byDomain = new Map(
    routed.flatMap(({ domains, transport }) => domains.map((name) => [name, transport] as const)),
  );
  const others = routed.find(({ domains }) => domains.length === 0)?.transport ?? createDirectTransport(deps);
  return (senderDomain) => byDomain.get(senderDomain) ?? others;
}
