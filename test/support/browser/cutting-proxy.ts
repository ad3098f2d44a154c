// A proxy before an instance that can cut every connection, or let nothing through for a while.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface CuttingProxy {
  readonly url: string;
  /** Ends every connection, without a word. */
  cut(): void;
  /** From now on connections are refused, or are not. */
  refuse(isRefusing: boolean): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const port = Number(new URL(target).port);
  const sockets = new Set<Socket>();
  let isRefusing = false;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((near) => {
    if (isRefusing) {
      near.destroy();
      return;
    }
    const far = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.once("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    cut,
    refuse(now) {
      isRefusing = now;
      if (now) cut();
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
