// Where programs hand in mail, as their settings say it.

import { type HostPort, isLoopback } from "../../platform/ip/address.ts";

export interface SubmissionPlace {
  host: string;
  /** In the order of the configuration; at least one. */
  ports: { port: number; tls: "starttls" | "implicit" | "none" }[];
}

interface Listening {
  hostname: string;
  /** With STARTTLS, as "127.0.0.1:2587". */
  addresses: string[];
  /** With TLS from the first byte. */
  tlsAddresses: string[];
  mayAuthenticateInClear: boolean;
}

/** Null: it listens nowhere. */
export function findSubmissionPlace(listening: Listening): SubmissionPlace | null {
  const { hostname, addresses, tlsAddresses, mayAuthenticateInClear } = listening;
  const plain = mayAuthenticateInClear ? "none" : "starttls";
  const all = [
    ...addresses.map((each) => ({ ...splitAddress(each), tls: plain }) as const),
    ...tlsAddresses.map((each) => ({ ...splitAddress(each), tls: "implicit" }) as const),
  ];
  const reachable = all.filter(({ address }) => !isLoopback(address));
  const [first] = all;
  if (first === undefined) return null;
  const isLocal = reachable.length === 0;
  const shown = isLocal ? all.filter(({ address }) => address === first.address) : reachable;
  const ports = new Map(shown.map(({ port, tls }) => [port, { port, tls }]));
  return { host: isLocal ? first.address : hostname, ports: [...ports.values()] };
}

/** As protocols/smtp/server/bind.ts writes it. */
function splitAddress(text: string): HostPort {
  const colon = text.lastIndexOf(":");
  return { address: text.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(text.slice(colon + 1)) };
}
