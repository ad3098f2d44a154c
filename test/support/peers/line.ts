// The line of a machine to a service, which a test cuts: both ways, or so that what is asked arrives and no answer comes back.

import { connect, createServer, type Socket } from "node:net";

export type LineState = "open" | "cut" | "no answers";

export interface Line extends AsyncDisposable {
  readonly port: number;
  /** Nobody is told that it was cut: what is sent is swallowed, and connections stay. Those end when it is open again. */
  set(state: LineState): void;
}

/** To a port of this machine. */
export async function startLine(target: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let state: LineState = "open";
  const hold = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      // The news of an end travels over the line as well.
      if (state === "open") other.destroy();
    });
  };
  const server = createServer((client) => {
    const service = connect(target, "127.0.0.1");
    hold(client, service);
    hold(service, client);
    client.on("data", (chunk) => {
      if (state !== "cut") service.write(chunk);
    });
    service.on("data", (chunk) => {
      if (state === "open") client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    set(next) {
      state = next;
      if (next === "open") endAll();
    },
    async [Symbol.asyncDispose]() {
      state = "open";
      const closed = new Promise((resolve) => server.close(resolve));
      endAll();
      await closed;
    },
  };
}
