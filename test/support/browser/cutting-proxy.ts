// A proxy before an instance that ends streams without a word, as proxies do.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface CuttingProxy {
  readonly url: string;
  /** Connections whose last request was for a live stream. */
  streams(): number;
  /** Ends every connection whose last request was for a live stream. */
  cutStreams(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const LIVE = "GET /api/v1/workspace/live";

export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const port = Number(new URL(target).port);
  const sockets = new Set<Socket>();
  const streams = new Set<Socket>();
  const server = createServer((near) => {
    near.on("data", (bytes) => {
      if (bytes.toString("latin1").startsWith(LIVE)) streams.add(near);
      else streams.delete(near);
    });
    const far = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.once("close", () => {
        sockets.delete(socket);
        streams.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    streams: () => streams.size,
    cutStreams() {
      for (const socket of streams) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
