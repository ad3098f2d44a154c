// Which of its addresses this machine takes on the way to another one: the kernel says so when a datagram socket is connected, without a
// packet being sent.

import dgram from "node:dgram";
import { isIPv6 } from "node:net";

/** Null: there is no way. */
export function findRoute(target: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = dgram.createSocket(isIPv6(target) ? "udp6" : "udp4");
  socket.on("error", () => resolve(null));
  socket.connect(53, target, (error?: unknown) => resolve(error ? null : socket.address().address.toLowerCase()));
  return promise.finally(() => socket.close());
}
