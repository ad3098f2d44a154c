// The addresses of this machine: what mail may be sent from, and must not be sent to.

import { networkInterfaces } from "node:os";
import { StartError } from "../errors.ts";

function addresses(isInternal: boolean): string[] {
  const every = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return every.filter(({ internal }) => internal === isInternal).map(({ address }) => address.toLowerCase());
}

/** By which the machine is reached from outside; loopback is refused to everybody anyway. */
export function ownAddresses(): string[] {
  return addresses(false);
}

/** Throws StartError when mail is to be sent from an address that the machine does not have: every connection would fail. */
export function requireSources({ sourceIpv4, sourceIpv6 }: Record<"sourceIpv4" | "sourceIpv6", string | null>): void {
  for (const [key, address] of [
    ["source_ipv4", sourceIpv4],
    ["source_ipv6", sourceIpv6],
  ] as const) {
    const cure = `Correct it, or leave ${key} empty for the system's choice.`;
    if (address !== null) requireSource(`[email] ${key}`, address, cure);
  }
}

/** The same for one address; `key`: where the configuration has it. */
export function requireSource(key: string, address: string, cure: string): void {
  const known = [...addresses(false), ...addresses(true)];
  if (known.includes(address)) return;
  throw new StartError(
    `${key} is ${address}, which is no address of this machine; it has ${known.join(", ")}. ${cure}`,
  );
}
