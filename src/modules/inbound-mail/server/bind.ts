import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import type { HostPort } from "../../../platform/ip/address.ts";
import { StartError } from "../../../platform/errors.ts";

const OFF = '[inbound] listen = "" turns the inbound mail off';

/** Binds the address; "127.0.0.1:2525" or "[::1]:2525". Throws StartError with the cure. */
export async function bind(server: Server, { address, port }: HostPort): Promise<string> {
  server.listen(port, address);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new StartError(explainBindError(error, { address, port }));
  }
  return `${address.includes(":") ? `[${address}]` : address}:${(server.address() as AddressInfo).port}`;
}

function explainBindError(error: unknown, { address, port }: HostPort): string {
  const { code } = error as { code?: string };
  const place = `Port ${port} on ${address}, where bounces and complaints come in,`;
  switch (code) {
    case "EACCES":
      return (
        `${place} may not be opened by this user. Give pombo the right (in its systemd service ` +
        "AmbientCapabilities=CAP_NET_BIND_SERVICE, elsewhere: sudo setcap cap_net_bind_service=+ep on the pombo " +
        `executable), or redirect port ${port} to one above 1023 and name that one in [inbound] listen. ${OFF}.`
      );
    case "EADDRINUSE":
      return (
        `${place} is in use by another program, most likely another mail server such as Postfix or Exim ` +
        `(sudo ss -ltnp 'sport = :${port}' names it; sudo systemctl disable --now postfix, or exim4, stops it). ` +
        "Stop that one, or let it have the loopback addresses and give pombo this server's public address " +
        `([inbound] listen = "203.0.113.7:${port}", with yours). ${OFF}.`
      );
    case "EADDRNOTAVAIL":
      return (
        `${place} cannot be opened: ${address} is no address of this machine. Correct [inbound] listen; ` +
        `"0.0.0.0:25" is every IPv4 address, "[::]:25" IPv6 too. ${OFF}.`
      );
    default:
      return `${place} cannot be opened (${code ?? String(error)}). Check [inbound] listen. ${OFF}.`;
  }
}
