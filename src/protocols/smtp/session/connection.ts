/**
 * One TCP connection to a mail server, clear or TLS, as a line of commands and replies. It owns
 * the socket, its listeners and the one timer; the dialogue above it (session.ts, transaction.ts)
 * only writes commands and awaits replies.
 *
 * States: open → broken, once and for good; `destroy` is a break of our own. Each command written
 * raises the number of replies expected. A reply while none is expected breaks the wire: the
 * server is out of step with us, or about to close (R27). Replies that came before the break are
 * still handed out, so a `421` followed by a close is read as a 421.
 */
import * as net from "node:net";
import * as tls from "node:tls";
import type { Clock } from "../../../platform/clock.ts";
import { type Dial, dialDirectly, type DialFault, type Dialing } from "../../socks5/dial.ts";
import { Dialogue } from "./transcript.ts";
import { cleanReply, formatReply, ReplyError, ReplyReader, type Reply } from "../replies/reply.ts";

/** The connection is lost, too late, or out of step. Caught where a session or a transaction ends, never outside this room. */
export class BrokenWire extends Error {
  override readonly name = "BrokenWire";
}

/** No session came about, by no fault of the server's: the proxy on the way does not work, or does not lead there. */
export class BlockedWay extends BrokenWire {
  readonly fault: EgressFault;

  constructor(reason: string, fault: EgressFault) {
    super(reason);
    this.fault = fault;
  }
}

export type EgressFault = Exclude<DialFault, "target">;

export interface WireOptions {
  /** The IP address to connect to. */
  address: string;
  port: number;
  /** The source IP address, or null for the system's choice. */
  localAddress: string | null;
  /** Absent: directly. */
  dial?: Dial | undefined;
  clock: Clock;
}

/** Protocol and cipher of a connection. */
export interface TlsUse {
  protocol: string;
  cipher: string;
}

interface Waiter {
  resolve(): void;
  reject(fault: BrokenWire): void;
}

// Without it the hello carries a post-quantum share and passes 1,400 bytes, two segments: some servers then time out or reset.
const SMALL_HELLO_CURVES = "X25519:P-256:P-384";

export class Wire {
  /** A reply nobody had asked for; it broke the wire. */
  stray: Reply | null = null;
  /** Its transcript. */
  readonly dialogue: Dialogue;
  /** Replies may repeat a secret. */
  isSecret = false;
  readonly #clock: Clock;
  /** Until it is connected. */
  #dialing: Dialing | null = null;
  #socket: net.Socket;
  #reader = new ReplyReader();
  readonly #replies: Reply[] = [];
  #expected = 1; // The greeting comes unasked.
  #fault: BrokenWire | null = null;
  #waiter: Waiter | null = null;
  #waitsFor = "connection";
  #limitMs = 0;
  #deadline = Infinity;
  #capAt = Infinity;
  #timerAt = Infinity;
  #cancelTimer: (() => void) | null = null;

  /** Starts to connect; await `connected`. */
  constructor(options: WireOptions) {
    this.#clock = options.clock;
    this.dialogue = new Dialogue(() => options.clock.now());
    const dial = options.dial ?? dialDirectly(options.localAddress);
    this.#dialing = dial(options, {
      connected: (early) => this.#begin(early),
      failed: (reason, fault, error) => this.#break(error === undefined ? reason : describeFault(error), fault),
    });
    this.#socket = this.#dialing.socket;
  }

  /** Open, in step, and nothing on its way: the next command may be written. */
  get isQuiet(): boolean {
    return this.#fault === null && this.#expected === 0 && this.#replies.length === 0 && !this.#reader.hasPartial;
  }

  /** Throws BrokenWire, with `reason` if it was whole until now, unless the wire is quiet. */
  assertQuiet(reason: string): void {
    if (this.isQuiet) return;
    throw this.#break(reason);
  }

  /** By its clock, ms. */
  get now(): number {
    return this.#clock.now();
  }

  connected(limitMs: number): Promise<void> {
    return this.#wait(limitMs, "connection");
  }

  /** No wait may pass this time (Unix ms): a server that answers just in time, for ever, holds nobody (R13). */
  capAt(at: number): void {
    this.#capAt = at;
  }

  /** Writes commands that will bring `replies` replies; `shown`: what the dialogue has in their place. Throws BrokenWire. */
  ask(bytes: string | Uint8Array, replies: number, shown?: string): void {
    this.#expected += replies;
    this.write(bytes);
    this.dialogue.sent(shown ?? (typeof bytes === "string" ? bytes : "(final dot)"));
  }

  /** Writes bytes that bring no reply. Throws BrokenWire. */
  write(bytes: string | Uint8Array): void {
    if (this.#fault !== null) throw this.#fault;
    this.#socket.write(bytes);
  }

  /** Resolves when the bytes written so far have left our buffers. Throws BrokenWire. */
  async drained(limitMs: number): Promise<void> {
    if (this.#fault !== null) throw this.#fault;
    if (this.#socket.writableNeedDrain) await this.#wait(limitMs, "progress");
  }

  /** The next reply, in order. `to` names what it answers, for the reason of a timeout. Throws BrokenWire. */
  async next(limitMs: number, to: string): Promise<Reply> {
    if (this.#replies.length === 0) await this.#wait(limitMs, to);
    const reply = this.#replies.shift();
    if (reply === undefined) throw this.#break("woken without a reply");
    this.dialogue.received(reply, this.isSecret);
    return reply;
  }

  /** Turns the connection into a TLS one. `host` is verified only if asked for, by `ca` (PEM) where given. Throws BrokenWire. */
  async secure(options: { host: string; isVerified: boolean; ca: string | null; limitMs: number }): Promise<TlsUse> {
    // R16: what came in clear must not be read as if it had come under TLS, a greeting neither.
    if (this.#replies.length > 0 || this.#reader.hasPartial) throw this.#break("bytes in clear before the handshake");
    const raw = this.#socket;
    // The runtime may emit the encrypted bytes on the clear socket again: nobody may listen there.
    raw.removeAllListeners();
    raw.on("error", () => {});
    const secured = tls.connect({
      socket: raw,
      rejectUnauthorized: options.isVerified,
      ...(options.isVerified ? verification(options) : {}),
      ecdhCurve: SMALL_HELLO_CURVES,
      // RFC 6066 §3: server names are host names, never addresses. An MX's name may hold any byte.
      ...(net.isIP(options.host) === 0 && /^[\w.-]+$/.test(options.host) ? { servername: options.host } : {}),
    });
    this.#socket = secured;
    this.#reader = new ReplyReader();
    secured.once("secureConnect", () => this.#wake());
    this.#listen();
    await this.#wait(options.limitMs, "TLS handshake");
    const use = { protocol: secured.getProtocol() ?? "unknown", cipher: secured.getCipher()?.name ?? "unknown" };
    this.dialogue.sent(`(${use.protocol} ${use.cipher}, ${describeCertificate(secured)})`);
    return use;
  }

  /** Closes at once, stops the timer, drops the listeners. May be called again. */
  destroy(reason = "closed by us"): void {
    this.#break(reason, "target");
  }

  /** `early`: what the server has said already. */
  #begin(early: Buffer | null): void {
    this.#dialing = null;
    this.#listen();
    this.#wake();
    if (early !== null) this.#receive(early);
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("drain", () => this.#waitsFor === "progress" && this.#wake());
    socket.on("end", () => this.#break("the server closed the connection"));
    socket.on("close", () => this.#break("the connection was lost"));
    socket.on("error", (error: Error) => this.#break(describeFault(error)));
  }

  #receive(chunk: Buffer): void {
    if (this.#fault !== null) return;
    let replies: Reply[];
    let fault: string | null = null;
    try {
      replies = this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      replies = error.replies;
      fault = error.message;
    }
    for (const reply of replies) {
      if (this.#expected === 0) {
        this.stray = reply;
        fault = `unasked: ${formatReply(reply)}`;
        break;
      }
      this.#expected -= 1;
      this.#replies.push(reply);
    }
    if (fault !== null) this.#break(fault);
    else if (replies.length > 0 && this.#waitsFor !== "progress") this.#wake();
  }

  #wait(limitMs: number, to: string): Promise<void> {
    if (this.#fault !== null) return Promise.reject(this.#fault);
    this.#waitsFor = to;
    this.#limitMs = limitMs;
    this.#arm(limitMs);
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  #wake(): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    this.#deadline = Infinity;
    waiter?.resolve();
  }

  /**
   * One timer a session, set again only when a deadline comes before it: a command costs two
   * assignments. A timer that fires early finds the true deadline and sets itself for it.
   */
  #arm(limitMs: number): void {
    this.#deadline = Math.min(this.#clock.now() + limitMs, this.#capAt);
    if (this.#timerAt <= this.#deadline) return;
    this.#cancelTimer?.();
    this.#setTimer();
  }

  #setTimer(): void {
    this.#timerAt = this.#deadline;
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#deadline - this.#clock.now()), () => {
      this.#timerAt = Infinity;
      this.#cancelTimer = null;
      if (this.#deadline === Infinity) return;
      if (this.#clock.now() < this.#deadline) return this.#setTimer();
      const isCapped = this.#clock.now() >= this.#capAt;
      this.#break(
        isCapped ? "the whole took too long" : `no ${this.#waitsFor} within ${Math.round(this.#limitMs / 1000)} s`,
      );
    });
  }

  /** The first break counts; it is returned. */
  #break(reason: string, whose: DialFault = this.#dialing?.waitsFor ?? "target"): BrokenWire {
    if (this.#fault !== null) return this.#fault;
    const fault = whose === "target" ? new BrokenWire(reason) : new BlockedWay(reason, whose);
    this.#fault = fault;
    this.#deadline = Infinity;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const waiter = this.#waiter;
    this.#waiter = null;
    this.#socket.removeAllListeners();
    // A socket may still report an error after it was destroyed; without a listener that ends the process.
    this.#socket.on("error", () => {});
    this.#socket.destroy();
    // An answer from before the break still counts.
    if (this.#replies.length > 0) waiter?.resolve();
    else waiter?.reject(fault);
    return fault;
  }
}

/** Only for `verify`: elsewhere certificates are not looked at (R17). `ca`: PEM, in place of the usual authorities. */
function verification({ host, ca }: { host: string; ca: string | null }): tls.ConnectionOptions {
  return {
    ...(ca === null ? {} : { ca }),
    // By itself the runtime compares with the server name, and an address has none.
    checkServerIdentity: (_, certificate) => tls.checkServerIdentity(host, certificate),
  };
}

/** Also of one that nobody asks for (R17). */
function describeCertificate({ authorized, authorizationError }: tls.TLSSocket): string {
  return authorized ? "certificate valid" : `certificate not valid: ${cleanReply(String(authorizationError))}`;
}

/** OpenSSL's names for what can be wrong with a certificate, and the runtime's for a wrong name in it. */
const CERTIFICATE_FAULT = /^(?:ERR_TLS_CERT_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(?:CA|PURPOSE))/;

/** The reason of a break, for people. */
function describeFault(error: Error & { code?: unknown }): string {
  const isOfCertificate = typeof error.code === "string" && CERTIFICATE_FAULT.test(error.code);
  return (isOfCertificate ? "its certificate is not valid: " : "") + cleanReply(error.message);
}
