import net from "node:net";
import type { Server } from "./exchange.ts";

export const DNS_PORT = 53;

/** Reads `ip:port` or `[v6]:port`; the port may be left out (53). Throws a sentence otherwise. */
export function parseServer(text: string): Server {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  // IPv6 only in brackets: in ::1:53 nobody can tell where the address ends.
  const address = match?.[1] ?? match?.[2] ?? "";
  const family = net.isIP(address);
  const port = Number(match?.[3] ?? DNS_PORT);
  if ((family !== 4 && family !== 6) || port < 1 || port > 65_535) {
    throw new Error(
      `DNS server ${JSON.stringify(text)} is not an address: write an IP address and a port, like 127.0.0.1:53 or [::1]:53.`,
    );
  }
  return { label: family === 4 ? `${address}:${port}` : `[${address}]:${port}`, address, port, family };
}
