// Finds the address that a request came from.

import { type AddressRanges, isWithin, getNetwork } from "../ip/address.ts";

// It is the other end of the connection, unless that is a reverse proxy that the operator trusts: then the header
// X-Forwarded-For has it, as far as trusted proxies wrote it.

/** Bun's server, which knows the other end of a request's connection. */
export interface Peers {
  requestIP(request: Request): { address: string } | null;
  /** How it speaks with them; null on a Unix socket. */
  readonly protocol?: "http" | "https" | null;
}

interface Arrival {
  peers: Peers;
  /** As the server made it. */
  request: Request;
}

const arrivals = new WeakMap<Request, Arrival | Peers>();

/** Notes over which server `request` came; `handled` goes on in its place. */
export function noteArrival(request: Request, peers: Peers, handled: Request = request): void {
  arrivals.set(handled, handled === request ? peers : { peers, request });
}

const networks = new WeakMap<Request, string>();

/**
 * One client: an IPv4 address, or the /64 of an IPv6 one, as getNetwork() writes them. Null on a Unix socket, which has
 * no address. The first call must come before the client may be gone, as while the request is admitted; then it is known.
 */
export function clientNetwork(request: Request, trusted: AddressRanges): string | null {
  const known = networks.get(request);
  if (known !== undefined) return known;
  const peer = findPeer(request);
  if (peer === null) return null;
  const client = isWithin(peer, trusted) ? findForwardedFor(request, peer, trusted) : peer;
  const network = getNetwork(client) ?? client;
  networks.set(request, network);
  return network;
}

/** The other end of the connection: a client or the last proxy; null on a Unix socket. */
export function findPeer(request: Request): string | null {
  const arrival = arrivals.get(request);
  if (arrival === undefined) return null;
  const found = "peers" in arrival ? arrival.peers.requestIP(arrival.request) : arrival.requestIP(request);
  // A zone (%eth0) names our own interface.
  return found?.address.split("%")[0] ?? null;
}

/** Whether it came over a port of ours with TLS. */
export function isOverTls(request: Request): boolean {
  const arrival = arrivals.get(request);
  return arrival !== undefined && ("peers" in arrival ? arrival.peers : arrival).protocol === "https";
}

/** Proxies in a row that are followed back. */
const MAX_HOPS = 20;

/** Each proxy adds the address of its caller at the right; all that is left of the first one that is not ours was written by a stranger. */
function findForwardedFor(request: Request, peer: string, trusted: AddressRanges): string {
  let rest = request.headers.get("x-forwarded-for") ?? "";
  let believable = peer;
  for (let hops = 0; hops < MAX_HOPS && rest !== ""; hops++) {
    const comma = rest.lastIndexOf(",");
    const text = rest.slice(comma + 1).trim();
    rest = comma < 0 ? "" : rest.slice(0, comma);
    // RFC 9110 §5.6.1: an empty element of a list is none.
    if (text === "") continue;
    const hop = parseHop(text);
    if (hop === null) return believable;
    believable = hop;
    if (!isWithin(hop, trusted)) return believable;
  }
  return believable;
}

/** Some proxies add the port: 192.0.2.7:4711, [2001:db8::7]:4711. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]+)\])(?::\d{1,5})?$/;

function parseHop(text: string): string | null {
  const match = WITH_PORT.exec(text);
  const address = match?.[1] ?? match?.[2] ?? text;
  return getNetwork(address) === null ? null : address;
}
