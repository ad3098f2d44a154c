import type { ExpiringNames } from "./expiring-names.ts";

/** How long an address that could not be connected to is tried last (RFC 5321 §4.5.4.1 suggests such a list). */
export const UNREACHABLE_MS = 10 * 60_000;

/**
 * The hosts with those addresses last that are unreachable, and last of all the hosts that have no other, so that one
 * dead host of several costs its fellows' mail no wait. None is left out: where all are on the list, all are tried.
 */
export function putReachableFirst<T extends { addresses: string[] }>(hosts: T[], unreachable: ExpiringNames): T[] {
  const sorted = hosts.map((host) => {
    const dead = host.addresses.filter((address) => unreachable.has(address));
    if (dead.length === 0) return { host, isDead: false };
    const alive = host.addresses.filter((address) => !dead.includes(address));
    return { host: { ...host, addresses: [...alive, ...dead] }, isDead: alive.length === 0 };
  });
  return [...sorted.filter(({ isDead }) => !isDead), ...sorted.filter(({ isDead }) => isDead)].map(({ host }) => host);
}
