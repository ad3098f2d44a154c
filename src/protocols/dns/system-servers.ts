// The DNS servers of /etc/resolv.conf, read again while pombo runs.

import { readFileSync } from "node:fs";
import net from "node:net";
import type { Clock } from "../../platform/clock.ts";
import { getErrorCode } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import type { Server } from "./exchange.ts";
import { DNS_PORT, parseServer } from "./servers.ts";

const FILE = "/etc/resolv.conf";
/** As many as the C library reads (resolv.conf(5)). */
const SERVERS_LIMIT = 3;
/** Where the file names none (resolv.conf(5)). */
const DEFAULT_ADDRESS = "127.0.0.1";
const READ_AGAIN_MS = 5_000;

export interface SystemServersOptions {
  /** Measures spans. */
  clock: Pick<Clock, "now">;
  log: Pick<Log, "event">;
  file?: string;
  /** The file names none. */
  port?: number;
}

/**
 * The servers to ask now. The file is read whole, at most every five seconds and only when a name is looked up: it is
 * often a link to a file that is replaced, which a watch on it would miss. One that cannot be read or names no server
 * changes nothing.
 */
export function openSystemServers(options: SystemServersOptions): () => readonly Server[] {
  const { clock, log, file = FILE, port = DNS_PORT } = options;
  const read = () => readAddresses(file);
  let found = read();
  let addresses = found.kind === "addresses" ? found.addresses : [DEFAULT_ADDRESS];
  let servers = toServers(addresses, port);
  let readAt = clock.now();

  return () => {
    if (clock.now() - readAt < READ_AGAIN_MS) return servers;
    readAt = clock.now();
    const before = found.kind;
    found = read();
    if (found.kind === "none") {
      const words = { file, reason: found.reason, servers: addresses.join(", ") };
      // Once, and not of a file that was never there.
      if (before !== "none") log.event("dns.servers_unreadable", words, "warn");
    } else if (found.addresses.join() !== addresses.join()) {
      ({ addresses } = found);
      servers = toServers(addresses, port);
      log.event("dns.servers_changed", { file, servers: addresses.join(", ") });
    }
    return servers;
  };
}

type ResolvConf = { kind: "addresses"; addresses: string[] } | { kind: "none"; reason: string };

function readAddresses(file: string): ResolvConf {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    return { kind: "none", reason: `it cannot be read (${getErrorCode(error) || "an error without a code"})` };
  }
  const addresses = text
    .split("\n")
    .map((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? "")
    .filter((address) => net.isIP(address) !== 0)
    .slice(0, SERVERS_LIMIT);
  return addresses.length > 0 ? { kind: "addresses", addresses } : { kind: "none", reason: "it names no server" };
}

function toServers(addresses: string[], port: number): Server[] {
  return addresses.map((address) => parseServer(net.isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`));
}
