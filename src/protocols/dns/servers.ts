import { readFileSync } from "node:fs";
import net from "node:net";
import type { Server } from "./exchange.ts";

const DNS_PORT = 53;
/** As many as the C library reads (resolv.conf(5)). */
const SYSTEM_SERVERS_LIMIT = 3;
const DEFAULT_SERVER = "127.0.0.1:53";

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

/** The servers of /etc/resolv.conf as `ip:port`, at most 3; 127.0.0.1:53 when it names none. */
export function systemServers(path = "/etc/resolv.conf"): string[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return [DEFAULT_SERVER];
  }
  const servers = text
    .split("\n")
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? "")
    .filter((address) => net.isIP(address) !== 0)
    .slice(0, SYSTEM_SERVERS_LIMIT)
    .map((address) => (net.isIPv6(address) ? `[${address}]:${DNS_PORT}` : `${address}:${DNS_PORT}`));
  return servers.length > 0 ? servers : [DEFAULT_SERVER];
}
