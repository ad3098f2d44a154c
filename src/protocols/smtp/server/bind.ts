// Opens a port for SMTP, and says what to do where it cannot be had.

import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import type { HostPort } from "../../../platform/ip/address.ts";
import { StartError } from "../../../platform/errors.ts";

/** How a port is spoken of. */
export interface PortWords {
  /** "where bounces come in" */
  use: string;
  /** Of the configuration: "[inbound] listen". */
  key: string;
  /** The key holds a list. */
  isList?: boolean;
  /** A sentence without its dot. */
  off: string;
}

/** Binds the address; "127.0.0.1:2525" or "[::1]:2525". Throws StartError with the cure. */
export async function bind(
  server: Server,
  { address, port, isOnlyIPv6 = false }: HostPort & { isOnlyIPv6?: boolean },
  words: PortWords,
): Promise<string> {
  server.listen({ port, host: address, ipv6Only: isOnlyIPv6 });
  try {
    await once(server, "listening");
  } catch (error) {
    throw new StartError(explainBindError(error, { address, port }, words));
  }
  return `${address.includes(":") ? `[${address}]` : address}:${(server.address() as AddressInfo).port}`;
}

function explainBindError(error: unknown, { address, port }: HostPort, words: PortWords): string {
  const { use, key, off, isList = false } = words;
  const show = (value: string) => (isList ? `["${value}"]` : `"${value}"`);
  const { code } = error as { code?: string };
  const place = `Port ${port} on ${address}, ${use},`;
  switch (code) {
    case "EACCES":
      return (
        `${place} may not be opened by this user. Give pombo the right (in its systemd service ` +
        "AmbientCapabilities=CAP_NET_BIND_SERVICE, elsewhere: sudo setcap cap_net_bind_service=+ep on the pombo " +
        `executable), or redirect port ${port} to one above 1023 and name that one in ${key}. ${off}.`
      );
    case "EADDRINUSE":
      return (
        `${place} is in use by another program, most likely another mail server such as Postfix or Exim ` +
        `(sudo ss -ltnp 'sport = :${port}' names it; sudo systemctl disable --now postfix, or exim4, stops it). ` +
        "Stop that one, or let it have the loopback addresses and give pombo this server's public address " +
        `(${key} = ${show(`203.0.113.7:${port}`)}, with yours). ${off}.`
      );
    case "EADDRNOTAVAIL":
      return (
        `${place} cannot be opened: ${address} is no address of this machine. Correct ${key}; ` +
        `"0.0.0.0:${port}" is every IPv4 address, "[::]:${port}" IPv6 too. ${off}.`
      );
    default:
      return `${place} cannot be opened (${code ?? String(error)}). Check ${key}. ${off}.`;
  }
}
