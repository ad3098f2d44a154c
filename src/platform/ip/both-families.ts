// Listening on all addresses of both families, each by a listener of its own.

import { networkInterfaces } from "node:os";
import type { HostPort } from "./address.ts";

const ANY_IPV6 = "::";

/** "[::]" would take the IPv4 addresses too. */
export function isBesideIPv4({ address, port }: HostPort, all: readonly HostPort[]): boolean {
  return address === ANY_IPV6 && all.some((other) => other.port === port && !other.address.includes(":"));
}

/** A machine without IPv6 has no "[::]", which the defaults name beside IPv4. */
export function withoutMissingIPv6(all: readonly HostPort[]): HostPort[] {
  const hasIPv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ family }) => family === "IPv6"));
  return all.filter((at) => hasIPv6 || !isBesideIPv4(at, all));
}
