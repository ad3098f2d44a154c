// What the cases of findings are made of.

import type { Level } from "../../../../src/modules/doctor/finding.ts";
import type { InstanceView } from "../../../../src/modules/doctor/world.ts";
import { DOMAIN, type DoctorWorld, IPV6 } from "../world.ts";

export interface Case {
  name: string;
  level: Level;
  arrange(world: DoctorWorld): void | Promise<void>;
  /** What is said. */
  seen: RegExp;
  /** What is to be done. */
  step?: RegExp;
  /** Publishing the record of the step makes it ok. */
  isCuredByRecord?: true;
}

const nothing = () => undefined;
export const PTR = "7.113.0.203.in-addr.arpa";
export const DMARC = `_dmarc.${DOMAIN}`;
export const DAY_MS = 86_400_000;

export const well = (name: string, seen: RegExp): Case => ({ name, level: "ok", arrange: nothing, seen });

/** DNS fails for a name. */
export const failing = (name: string, ...keys: string[]): Case => ({
  name: `a DNS failure for ${name} is unknown`,
  level: "unknown",
  arrange: ({ dns }) => void keys.forEach((key) => (dns.failures[key] = "SERVFAIL")),
  seen: /could not|not known/,
});

/** Another TXT record at a name. */
export function txt(name: string, records: (string | string[])[]) {
  return ({ dns }: DoctorWorld) => void (dns.zone[name] = { ...dns.zone[name], TXT: records });
}

export function without(name: string) {
  return ({ dns }: DoctorWorld) => void delete dns.zone[name];
}

export function sendByIpv6(world: DoctorWorld): void {
  world.config.email.sourceIpv6 = IPV6;
}

/** Changes what is known of the instance. */
export function instance(changes: Partial<InstanceView>) {
  return (world: DoctorWorld) => void (world.instance = { ...(world.instance as InstanceView), ...changes });
}
