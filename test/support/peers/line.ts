// The line of a machine to an HTTP service, which a test cuts: both ways, or so that what is asked arrives and no answer
// comes back; or at whose end the service errs.

import { connect, createServer, type Socket } from "node:net";

export type LineState = "open" | "cut" | "no answers";
/** `errors`: each answer is 500; `slow`: each comes a quarter of a second late; `lost lease`: writes of the lease arrive, and are never answered. */
export type ServiceState = "errors" | "slow" | "lost lease";

const SLOW_MS = 250;
const ERROR = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const LEASE_WRITE = /^PUT \S*\/lease\.json[ ?]/;

export interface Line extends AsyncDisposable {
  readonly port: number;
  /** Nobody is told that it was cut: what is sent is swallowed, and connections stay. Those end when it is open again. */
  set(state: LineState | ServiceState): void;
}

/** To a port of this machine, or of another address. */
export async function startLine(target: number, host = "127.0.0.1"): Promise<Line> {
  const sockets = new Set<Socket>();
  let state: LineState | ServiceState = "open";
  const hold = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      // The news of an end travels over the line as well.
      if (state === "slow") setTimeout(() => other.destroy(), SLOW_MS);
      else if (state !== "cut" && state !== "no answers") other.destroy();
    });
  };
  const server = createServer((client) => {
    const service = connect(target, host);
    hold(client, service);
    hold(service, client);
    let isLost = false;
    client.on("data", (chunk) => {
      if (state === "errors") return void client.end(ERROR);
      isLost ||= state === "lost lease" && LEASE_WRITE.test(chunk.toString("latin1"));
      if (state !== "cut") service.write(chunk);
    });
    service.on("data", (chunk) => {
      if (isLost) client.destroy();
      else if (state === "slow") setTimeout(() => client.write(chunk), SLOW_MS);
      else if (state === "open" || state === "lost lease") client.write(chunk);
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
