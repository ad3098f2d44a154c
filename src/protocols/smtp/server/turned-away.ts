// Clients that a port refuses: each hears why, and its connection ends soon.

import type { Socket } from "node:net";
import type { Clock } from "../../../platform/clock.ts";

/** How long a client may take to close its connection. */
export const GO_WITHIN_MS = 1_000;

export class TurnedAway {
  readonly #sockets = new Set<Socket>();
  readonly #clock: Pick<Clock, "after">;
  readonly #maxAtOnce: number;

  constructor(clock: Pick<Clock, "after">, maxAtOnce: number) {
    this.#clock = clock;
    this.#maxAtOnce = maxAtOnce;
  }

  /** `line`: the reply, without its line end. Beyond the maximum at once a client hears nothing. */
  add(socket: Socket, line: string): void {
    socket.on("error", () => undefined);
    if (this.#sockets.size >= this.#maxAtOnce) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    const cancel = this.#clock.after(GO_WITHIN_MS, () => socket.destroy());
    socket.once("close", () => {
      cancel();
      this.#sockets.delete(socket);
    });
    // Its input is discarded: closed with input unread, the connection would be reset, and the reply lost.
    socket.resume();
    socket.end(`${line}\r\n`);
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
