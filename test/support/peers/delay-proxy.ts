// A TCP connection over a long way: what goes in comes out later, in its order, and now and then a piece is late by
// as long as a retransmission takes, and all behind it with it.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface DelayOptions {
  /** Where connections go. */
  port: number;
  /** One way. */
  delayMs: number;
  /** The share of pieces that are lost and sent again, 0 to 1, and how much later those come. */
  lossShare: number;
  retransmitMs: number;
  /** 0 to 1, to draw the losses from. */
  chance: () => number;
}

export interface DelayProxy {
  readonly port: number;
  /** Pieces that came late. */
  readonly losses: number;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startDelayProxy(options: DelayOptions): Promise<DelayProxy> {
  const sockets = new Set<Socket>();
  const count = { losses: 0 };
  const server = createServer((near) => {
    const far = connect(options.port, "127.0.0.1");
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => void sockets.delete(socket));
    }
    carry(near, far, options, count);
    carry(far, near, options, count);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get losses() {
      return count.losses;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

function carry(from: Socket, to: Socket, options: DelayOptions, count: { losses: number }): void {
  let arrivesAt = 0;
  // Timers round to milliseconds: each delivers what stands first, not what it was set for.
  const line: (() => void)[] = [];
  const later = (deliver: () => void, isLost: boolean) => {
    const now = performance.now();
    // Nothing overtakes what is late.
    arrivesAt = Math.max(arrivesAt, now + options.delayMs + (isLost ? options.retransmitMs : 0));
    line.push(deliver);
    setTimeout(() => line.shift()?.(), arrivesAt - now);
  };
  from.on("data", (chunk: Buffer) => {
    const isLost = options.chance() < options.lossShare;
    if (isLost) count.losses += 1;
    later(() => void to.write(chunk), isLost);
  });
  from.on("end", () => later(() => void to.end(), false));
  from.on("close", () => later(() => void to.destroy(), false));
}
