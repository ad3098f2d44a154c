/**
 * Addresses that could not be connected to just now (RFC 5321 §4.5.4.1 suggests such a list): they are
 * tried last, so that one dead host of several costs its fellows' mail no wait. Never skipped: where all
 * are on the list, all are tried.
 */
import type { Clock } from "../../platform/clock.ts";

const REMEMBERED_MS = 10 * 60_000;
const MAX_ADDRESSES = 10_000;

export interface Unreachable {
  note(address: string): void;
  /** It answered. */
  clear(address: string): void;
  has(address: string): boolean;
}

export function createUnreachable(clock: Pick<Clock, "now">): Unreachable {
  const untils = new Map<string, number>();
  return {
    note(address) {
      untils.delete(address);
      untils.set(address, clock.now() + REMEMBERED_MS);
      const oldest = untils.keys().next();
      if (untils.size > MAX_ADDRESSES && oldest.done === false) untils.delete(oldest.value);
    },
    clear: (address) => void untils.delete(address),
    has(address) {
      const until = untils.get(address);
      if (until === undefined) return false;
      if (until > clock.now()) return true;
      untils.delete(address);
      return false;
    },
  };
}

/** The hosts with those addresses last that are unreachable, and last of all the hosts that have no other. */
export function reachableFirst<T extends { addresses: string[] }>(hosts: T[], unreachable: Unreachable): T[] {
  const sorted = hosts.map((host) => {
    const dead = host.addresses.filter((address) => unreachable.has(address));
    if (dead.length === 0) return { host, isDead: false };
    const alive = host.addresses.filter((address) => !dead.includes(address));
    return { host: { ...host, addresses: [...alive, ...dead] }, isDead: alive.length === 0 };
  });
  return [...sorted.filter(({ isDead }) => !isDead), ...sorted.filter(({ isDead }) => isDead)].map(({ host }) => host);
}
