// Who gets the mail: a few large providers, whose mail hosts are named as the real ones are, so that
// what pombo knows of them holds, and fifty small domains. All of them are addresses of loopback.

import type { Zone } from "../../test/support/fakes/zone.ts";

const SMALL_DOMAINS = 50;
/** Percent of all mail that goes to them, the first of them getting most. */
const SMALL_SHARE = 22;

export interface Destination {
  domain: string;
  /** Percent of all mail. */
  share: number;
  hosts: string[];
  address: string;
  /** What the table calls it. */
  group: string;
}

const YAHOO = ["mta5.am0.yahoodns.net", "mta6.am0.yahoodns.net", "mta7.am0.yahoodns.net"];
const GMAIL = ["gmail-smtp-in.l.google.com", "alt1.gmail-smtp-in.l.google.com"];
const LARGE: [domain: string, share: number, hosts: string[], address: string][] = [
  ["gmail.com", 40, GMAIL, "127.0.1.1"],
  ["hotmail.com", 20, ["hotmail-com.olc.protection.outlook.com"], "127.0.1.2"],
  // One site for all three.
  ["yahoo.com", 8, YAHOO, "127.0.1.3"],
  ["yahoo.ca", 2, YAHOO, "127.0.1.3"],
  ["rocketmail.com", 2, YAHOO, "127.0.1.3"],
  ["aol.com", 3, ["mx-aol.mail.gm0.yahoodns.net"], "127.0.1.4"],
  ["shaw.com", 3, ["us-smtp-inbound-1.mimecast.com", "us-smtp-inbound-2.mimecast.com"], "127.0.1.5"],
];

export function makeStreet(): Destination[] {
  const large = LARGE.map(([domain, share, hosts, address]) => ({ domain, share, hosts, address, group: domain }));
  const ranks = Array.from({ length: SMALL_DOMAINS }, (_, index) => index + 1);
  const sum = ranks.reduce((total, rank) => total + 1 / rank, 0);
  const small = ranks.map((rank) => ({
    domain: `shop${rank}.example.test`,
    share: SMALL_SHARE / rank / sum,
    hosts: [`mx.shop${rank}.example.test`],
    address: `127.0.2.${rank}`,
    group: `${SMALL_DOMAINS} small domains`,
  }));
  return [...large, ...small];
}

export function publishStreet(street: Destination[], zone: Zone): void {
  for (const { domain, hosts, address } of street) {
    // The first is preferred to the others, which are equal.
    zone[domain] = { MX: hosts.map((host, index) => [index === 0 ? 5 : 10, host]) };
    for (const host of hosts) zone[host] = { A: [address] };
  }
}

/** As pombo names the set of a domain's mail hosts. */
export function siteOf({ hosts }: Destination): string {
  return hosts.toSorted().join(",");
}

/** The recipients in the order they are sent to: mixed evenly, so that every stretch has the same shares. */
export function makeRecipients(street: Destination[], count: number): string[] {
  const total = street.reduce((sum, { share }) => sum + share, 0);
  return Array.from({ length: count }, (_, index) => {
    // Multiples of the golden ratio's fraction fill the unit interval without clusters.
    let point = ((index * 0.618_033_988_749_895) % 1) * total;
    const chosen = street.find(({ share }) => (point -= share) < 0) ?? street[0];
    return `r${String(index).padStart(7, "0")}@${chosen?.domain}`;
  });
}
