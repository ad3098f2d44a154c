// A TCP connection that breaks between the client's last octet and the server's last reply. TLS hides the dot, so it
// goes by sizes: once a client has sent as much as the message has, no octet of the server reaches it any more.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface CuttingProxy {
  readonly port: number;
  /** Octets of the server that were held back. */
  heldBack(): number;
  /** Ends the connections, and lets those that come pass whole. */
  cut(): void;
  close(): Promise<void>;
}

/** `holdAfter`: octets of a client. */
export async function startCuttingProxy(options: { port: number; holdAfter: number }): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let isCutting = true;
  let held = 0;
  const server = createServer((near) => {
    const far = connect(options.port, "127.0.0.1");
    let sent = 0;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => void sockets.delete(socket));
    }
    near.on("data", (chunk: Buffer) => {
      sent += chunk.length;
      far.write(chunk);
    });
    far.on("data", (chunk: Buffer) => {
      if (isCutting && sent >= options.holdAfter) held += chunk.length;
      else near.write(chunk);
    });
    near.on("close", () => void far.destroy());
    far.on("close", () => void near.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    heldBack: () => held,
    cut: () => {
      isCutting = false;
      destroyAll();
    },
    close: async () => {
      destroyAll();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
