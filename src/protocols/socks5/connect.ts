/**
 * A TCP connection through a SOCKS5 proxy (RFC 1928), with a user name and password (RFC 1929) where it has one. The
 * proxy is named by its address, and so is the target: nobody's names are looked up here.
 *
 * States: method → authentication, where the proxy asks for it → reply → over, connected or failed, once.
 */
import * as net from "node:net";
import { getErrorMessage } from "../../platform/errors.ts";
import type { Dialing, DialFault, DialListener } from "./dial.ts";

export interface Socks5Proxy {
  address: string;
  port: number;
  credentials: { username: string; password: string } | null;
}

const VERSION = 5;
const AUTH_VERSION = 1;
const NO_AUTHENTICATION = 0;
const USERNAME_PASSWORD = 2;
const NO_ACCEPTABLE_METHOD = 0xff;
const CONNECT = 1;
const IPV4 = 1;
const DOMAIN_NAME = 3;
const IPV6 = 4;
const ADDRESS_BYTES: Record<number, number> = { [IPV4]: 4, [IPV6]: 16 };
/** Before the address of a reply, and the port after it. */
const REPLY_HEAD_BYTES = 4;
const PORT_BYTES = 2;

/** RFC 1928 §6. A proxy says "general failure" also of what is wrong with the target. */
const REPLIES: Record<number, { words: string; fault: DialFault }> = {
  1: { words: "the proxy could not connect (general failure)", fault: "target" },
  2: { words: "the proxy's rules do not allow this connection", fault: "rules" },
  // By the system's name, as when this machine has no way there: no fault of the target's.
  3: { words: "the proxy has no way there (ENETUNREACH)", fault: "target" },
  4: { words: "host unreachable, says the proxy", fault: "target" },
  5: { words: "connection refused, says the proxy", fault: "target" },
  6: { words: "connection timed out, says the proxy", fault: "target" },
  7: { words: "the proxy does not know CONNECT", fault: "rules" },
  8: { words: "the proxy does not know IPv4 addresses", fault: "rules" },
};

/** `target`: an IPv4 address. Calls `listener` once, and never before it returns. */
export function connectBySocks5(
  proxy: Socks5Proxy,
  target: { address: string; port: number },
  listener: DialListener,
): Dialing {
  return new Socks5Dialing(proxy, target, listener);
}

class Socks5Dialing implements Dialing {
  readonly socket: net.Socket;
  waitsFor: DialFault = "proxy";
  readonly #credentials: Socks5Proxy["credentials"];
  readonly #target: { address: string; port: number };
  readonly #listener: DialListener;
  #received: Buffer = Buffer.alloc(0);
  #awaited: "method" | "authentication" | "reply" = "method";

  constructor(
    { address, port, credentials }: Socks5Proxy,
    target: { address: string; port: number },
    listener: DialListener,
  ) {
    this.#credentials = credentials;
    this.#target = target;
    this.#listener = listener;
    this.socket = net.connect({ host: address, port, noDelay: true });
    this.socket.once("connect", () => {
      const methods = credentials === null ? [NO_AUTHENTICATION] : [NO_AUTHENTICATION, USERNAME_PASSWORD];
      this.socket.write(Buffer.from([VERSION, methods.length, ...methods]));
    });
    this.socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    // A proxy tells of its target in an answer: without one it is its own end.
    this.socket.on("end", () => this.#fail("it closed the connection"));
    this.socket.on("close", () => this.#fail("the connection to it was lost"));
    this.socket.on("error", (error: Error) => this.#fail(getErrorMessage(error)));
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    let isGoingOn = true;
    while (isGoingOn && this.#received.length > 0) isGoingOn = this.#read();
  }

  /** Takes an answer off the front of what was received. False: it is not whole yet, or all is over. */
  #read(): boolean {
    switch (this.#awaited) {
      case "method":
        return this.#readMethod();
      case "authentication":
        return this.#readAuthentication();
      case "reply":
        return this.#readReply();
    }
  }

  #readMethod(): boolean {
    const [version, method] = this.#received;
    if (version !== VERSION) return this.#fail("it does not speak SOCKS5");
    if (method === undefined) return false;
    this.#received = this.#received.subarray(2);
    if (method === NO_AUTHENTICATION) return this.#request();
    if (method === USERNAME_PASSWORD && this.#credentials !== null) return this.#authenticate(this.#credentials);
    if (method !== NO_ACCEPTABLE_METHOD) return this.#fail(`it chose the method ${method}, which was not offered`);
    const isAsked = this.#credentials === null;
    return this.#fail(isAsked ? "it asks for a user name" : "it takes no user name and password");
  }

  #authenticate({ username, password }: { username: string; password: string }): boolean {
    const parts = [username, password].flatMap((text) => [Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)]);
    this.#awaited = "authentication";
    this.socket.write(Buffer.concat([Buffer.from([AUTH_VERSION]), ...parts]));
    return true;
  }

  #readAuthentication(): boolean {
    const [, status] = this.#received;
    if (status === undefined) return false;
    this.#received = this.#received.subarray(2);
    return status === 0 ? this.#request() : this.#fail("it does not take the user name and password");
  }

  #request(): boolean {
    const { address, port } = this.#target;
    this.waitsFor = "target";
    this.#awaited = "reply";
    const place = [...address.split(".").map(Number), port >> 8, port & 0xff];
    this.socket.write(Buffer.from([VERSION, CONNECT, 0, IPV4, ...place]));
    return true;
  }

  #readReply(): boolean {
    const [version, code, , type, nameBytes] = this.#received;
    if (version !== VERSION) return this.#fail("its answer is not SOCKS5");
    if (code === undefined) return false;
    if (code !== 0) {
      const { words, fault } = REPLIES[code] ?? { words: `the proxy answered ${code}`, fault: "target" };
      return this.#fail(words, fault);
    }
    if (type === undefined || nameBytes === undefined) return false;
    const addressBytes = type === DOMAIN_NAME ? 1 + nameBytes : ADDRESS_BYTES[type];
    if (addressBytes === undefined) return this.#fail("its answer is not SOCKS5");
    const length = REPLY_HEAD_BYTES + addressBytes + PORT_BYTES;
    if (this.#received.length < length) return false;
    const early = this.#received.subarray(length);
    this.socket.removeAllListeners();
    this.#listener.connected(early.length > 0 ? early : null);
    return false;
  }

  #fail(reason: string, fault: DialFault = "proxy"): false {
    this.socket.removeAllListeners();
    // A socket may still report an error after it was destroyed; without a listener that ends the process.
    this.socket.on("error", () => {});
    this.socket.destroy();
    this.#listener.failed(reason, fault);
    return false;
  }
}
