// The egresses of the configuration, and which of them the mail of a sending domain leaves by: always the same one, so
// that receivers see a domain at one address. Files with passwords are read here, once, at start.

import { createHash } from "node:crypto";
import type { EgressConfig } from "../../../config/egress.ts";
import { readPassword } from "../../../config/secret-files.ts";
import { StartError } from "../../../platform/errors.ts";
import { requireSource } from "../../../platform/ip/own-addresses.ts";
import { formatHostPort } from "../../../platform/ip/address.ts";
import { connectBySocks5 } from "../../../protocols/socks5/connect.ts";
import type { WayOut } from "../../../protocols/smtp/session-pool.ts";

export interface Egress extends WayOut {
  /** The IPv4 address that mail leaves from. */
  address: string;
  /** Of the proxy, for people: 192.0.2.9:1080; null: directly from this machine. */
  proxy: string | null;
  share: number;
  /** None = of all that nothing else takes. */
  domains: readonly string[];
}

/** Throws StartError that names every password file at fault, or an address that is not this machine's. */
export function openEgresses(configs: readonly EgressConfig[]): Egress[] {
  const faults: string[] = [];
  const egresses = configs.map((config, at) => openEgress(config, `egress[${at}]`, faults));
  if (faults.length > 0) throw new StartError(faults.join("\n"));
  return egresses;
}

function openEgress(config: EgressConfig, key: string, faults: string[]): Egress {
  const { name, address, hostname, proxy, share, domains } = config;
  const common = { name, address, heloName: hostname, share, domains };
  if (proxy === null) {
    requireSource(`[[egress]] ${name}: address`, address, "Correct it, or give a proxy that has it.");
    return { ...common, proxy: null, localAddress: address };
  }
  const { passwordFile, password } = config;
  const secret = passwordFile === null ? (password ?? "") : (readPassword(passwordFile, key, faults) ?? "");
  // RFC 1929: its length is one octet.
  if (Buffer.byteLength(secret) > 255) faults.push(`The password of ${key} is longer than the 255 bytes of SOCKS5.`);
  const credentials = proxy.username === null ? null : { username: proxy.username, password: secret };
  const place = { address: proxy.address, port: proxy.port, credentials };
  return {
    ...common,
    proxy: formatHostPort(proxy),
    localAddress: null,
    dial: (target, listener) => connectBySocks5(place, target, listener),
  };
}

/** Of several that take the domain's mail one by their shares; null: none takes it. */
export function chooseEgress(senderDomain: string, egresses: readonly Egress[]): Egress | null {
  const naming = egresses.filter(({ domains }) => domains.includes(senderDomain));
  const candidates = naming.length > 0 ? naming : egresses.filter(({ domains }) => domains.length === 0);
  let best: Egress | null = null;
  let bestScore = 0;
  for (const egress of candidates) {
    const score = weigh(senderDomain, egress);
    if (best === null || score > bestScore) [best, bestScore] = [egress, score];
  }
  return best;
}

/**
 * Rendezvous hashing: each pair has a number of its own, drawn once for ever, and the highest wins. A further egress
 * takes its share of the domains from the others, and moves no other.
 */
function weigh(senderDomain: string, { name, share }: Egress): number {
  const digest = createHash("sha256").update(`${senderDomain}\n${name}`).digest();
  // Between 0 and 1, neither of both.
  const drawn = (digest.readUInt32BE(0) + 0.5) / 2 ** 32;
  return -share / Math.log(drawn);
}
