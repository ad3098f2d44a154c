// How a TCP connection begins: directly, or through a proxy (connect.ts). The caller has the timer.

import * as net from "node:net";

/** Why no connection came about: the proxy does not work; it works and will not lead there; or the target's. */
export type DialFault = "proxy" | "rules" | "target";

export interface DialListener {
  /** `early`: what the target has said already. */
  connected(early: Buffer | null): void;
  /** `error`: where it was one of the system's, about the target. */
  failed(reason: string, fault: DialFault, error?: Error): void;
}

/** A connection that is being made. Its caller owns the socket, and may destroy it at any time. */
export interface Dialing {
  readonly socket: net.Socket;
  /** Whose fault it is when the time is over now. */
  readonly waitsFor: DialFault;
}

/** Begins a connection to an IP address. Calls `listener` once, and never before it returns. */
export type Dial = (target: { address: string; port: number }, listener: DialListener) => Dialing;

/** `localAddress`: the source IP address; null: the system's choice. */
export function dialDirectly(localAddress: string | null): Dial {
  return ({ address, port }, listener) => {
    const socket = net.connect({
      host: address,
      port,
      noDelay: true,
      ...(localAddress === null ? {} : { localAddress }),
    });
    socket.once("connect", () => {
      socket.removeAllListeners();
      listener.connected(null);
    });
    socket.on("close", () => listener.failed("the connection was lost", "target"));
    socket.on("error", (error: Error) => listener.failed(error.message, "target", error));
    return { socket, waitsFor: "target" };
  };
}
