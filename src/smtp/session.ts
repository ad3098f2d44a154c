/**
 * A session with one mail server: connect, greeting, EHLO (or HELO), STARTTLS and EHLO again, then
 * any number of messages, one at a time, then QUIT (R13–R30). Every step has its own limit of time
 * from the caller's clock. What the server refuses and what breaks are values; only misuse throws.
 *
 * States: opening → idle ⇄ sending → closed. A session is closed by a break, a 421, a protocol
 * error, `quit` or `destroy`, and stays so.
 */
import { isIP } from "node:net";
import type { Clock } from "../clock.ts";
import type { Stage } from "./classify.ts";
import type { Reply } from "./reply.ts";
import { transact, type Envelope, type Link, type SendResult } from "./transaction.ts";
import { BrokenWire, Wire } from "./wire.ts";

export type { Envelope, SendResult } from "./transaction.ts";

/** The longest wait for each step, in milliseconds. */
export interface SessionTimeouts {
  connectMs: number;
  greetingMs: number;
  /** The answer to STARTTLS, and then the handshake. */
  tlsMs: number;
  /** The answers to EHLO, MAIL, RCPT and RSET. */
  commandMs: number;
  dataMs: number;
  /** Without any progress while the content is being written. */
  blockMs: number;
  /** The answer to the final dot; a shorter wait than RFC 5321's ten minutes makes duplicates. */
  dotMs: number;
  quitMs: number;
}

/** R13; RFC 5321 §4.5.3.2, with a shorter connect and greeting because other hosts wait. */
export const DEFAULT_TIMEOUTS: SessionTimeouts = {
  connectMs: 15_000,
  greetingMs: 60_000,
  tlsMs: 60_000,
  commandMs: 300_000,
  dataMs: 120_000,
  blockMs: 180_000,
  dotMs: 600_000,
  quitMs: 5_000,
};

/** The whole of opening a session, and the whole of one message, each end within this (R13). */
export const MAX_SESSION_STEP_MS = 30 * 60_000;

/** What the server offers, from its answer to the last EHLO. */
export interface Capabilities {
  hasPipelining: boolean;
  hasStartTls: boolean;
  has8BitMime: boolean;
  hasSmtpUtf8: boolean;
  hasEnhancedStatusCodes: boolean;
  /** The largest message it takes, 0 for no fixed limit, null when SIZE is not offered (RFC 1870). */
  maxSizeBytes: number | null;
}

/** `opportunistic`: TLS where offered, unverified (R17). `verify`: TLS with a certificate valid for the host. */
export type TlsMode = "opportunistic" | "never" | "required" | "verify";

export interface SessionOptions {
  /** The MX's name: the server name in TLS, and for the records. */
  host: string;
  address: string;
  port: number;
  localAddress: string | null;
  heloName: string;
  tls: TlsMode;
  timeouts: SessionTimeouts;
  clock: Clock;
  /** Ends the opening. The session's end is `destroy`. */
  signal?: AbortSignal;
}

export type OpenResult =
  | { kind: "open"; session: SmtpSession }
  | { kind: "refused"; stage: Stage; reply: Reply }
  /** `isTlsFailure`: only TLS failed; the same host may answer in clear, if policy allows (R17). */
  | { kind: "broken"; stage: Stage; reason: string; isTlsFailure: boolean };

/** Connects and greets. Throws only on a HELO name or an IP address that is none. */
export async function openSession(options: SessionOptions): Promise<OpenResult> {
  // A name here would be looked up by the runtime, past our own DNS client and its refused addresses (R8).
  if (isIP(options.address) === 0) throw new Error(`not an IP address: ${JSON.stringify(options.address)}`);
  if (!/^[\w.:[\]-]+$/.test(options.heloName)) throw new Error(`not a HELO name: ${JSON.stringify(options.heloName)}`);
  if (options.signal?.aborted) return { kind: "broken", stage: "connect", reason: "aborted", isTlsFailure: false };
  const wire = new Wire(options);
  wire.capAt(options.clock.now() + MAX_SESSION_STEP_MS);
  const abort = () => wire.destroy("aborted");
  options.signal?.addEventListener("abort", abort, { once: true });
  const result = await greet(wire, options);
  options.signal?.removeEventListener("abort", abort);
  if (result.kind !== "open") wire.destroy();
  return result;
}

async function greet(wire: Wire, options: SessionOptions): Promise<OpenResult> {
  const { timeouts } = options;
  const progress: { stage: Stage; isTlsFailure: boolean } = { stage: "connect", isTlsFailure: false };
  try {
    await wire.connected(timeouts.connectMs);
    progress.stage = "greeting";
    const greeting = await wire.next(timeouts.greetingMs, "greeting");
    if (greeting.code >= 400) return { kind: "refused", stage: "greeting", reply: greeting };
    if (greeting.code !== 220) throw new BrokenWire(`the greeting was ${greeting.code}`);
    progress.stage = "ehlo";
    const first = await sayHello(wire, options);
    if ("code" in first) return { kind: "refused", stage: "ehlo", reply: first };
    if (options.tls === "never" || (options.tls === "opportunistic" && !first.hasStartTls))
      return opened(wire, options, first, null);
    progress.stage = "starttls";
    if (!first.hasStartTls) {
      progress.isTlsFailure = true;
      throw new BrokenWire("TLS is required and the server does not offer it");
    }
    wire.ask("STARTTLS\r\n", 1);
    const go = await wire.next(timeouts.tlsMs, "answer to STARTTLS");
    if (go.code >= 400) return { kind: "refused", stage: "starttls", reply: go };
    if (go.code !== 220) throw new BrokenWire(`STARTTLS answered with ${go.code}`);
    // R16, RFC 3207 §6: bytes sent in clear must not be read as if they had come under TLS.
    wire.assertQuiet("bytes in clear after the answer to STARTTLS");
    progress.isTlsFailure = true;
    const tls = await wire.secure({
      host: options.host,
      isVerified: options.tls === "verify",
      limitMs: timeouts.tlsMs,
    });
    progress.isTlsFailure = false;
    progress.stage = "ehlo";
    // R15: what was offered in clear is forgotten.
    const second = await sayHello(wire, options);
    return "code" in second ? { kind: "refused", stage: "ehlo", reply: second } : opened(wire, options, second, tls);
  } catch (error) {
    if (!(error instanceof BrokenWire)) throw error;
    const isTlsFailure = progress.isTlsFailure && options.signal?.aborted !== true;
    return { kind: "broken", stage: progress.stage, reason: error.message, isTlsFailure };
  }
}

function opened(wire: Wire, options: SessionOptions, capabilities: Capabilities, tls: SmtpSession["tls"]): OpenResult {
  return { kind: "open", session: new SmtpSession(wire, options, capabilities, tls) };
}

/** EHLO; HELO where the server does not know it (R15). A Reply is the server's refusal. */
async function sayHello(wire: Wire, options: SessionOptions): Promise<Capabilities | Reply> {
  for (const verb of ["EHLO", "HELO"]) {
    wire.ask(`${verb} ${options.heloName}\r\n`, 1);
    const reply = await wire.next(options.timeouts.commandMs, `answer to ${verb}`);
    if (reply.code >= 200 && reply.code < 300) return readCapabilities(verb === "EHLO" ? reply.lines.slice(1) : []);
    if (reply.code < 400) throw new BrokenWire(`${verb} answered with ${reply.code}`);
    if (reply.code < 500 || verb === "HELO") return reply;
  }
  throw new Error("unreachable: HELO always returns");
}

/** RFC 5321 §4.1.1.1: one keyword a line, its parameters after it. */
function readCapabilities(lines: string[]): Capabilities {
  const offered = new Map(lines.map((line) => [line.replace(/ .*/, "").toUpperCase(), line]));
  const size = offered.get("SIZE")?.split(" ")[1] ?? "0";
  return {
    hasPipelining: offered.has("PIPELINING"),
    hasStartTls: offered.has("STARTTLS"),
    has8BitMime: offered.has("8BITMIME"),
    hasSmtpUtf8: offered.has("SMTPUTF8"),
    hasEnhancedStatusCodes: offered.has("ENHANCEDSTATUSCODES"),
    maxSizeBytes: offered.has("SIZE") ? (/^\d{1,15}$/.test(size) ? Number(size) : 0) : null,
  };
}

/** An open session. Made by openSession; its owner calls `quit` or `destroy` in the end. */
export class SmtpSession {
  readonly host: string;
  readonly address: string;
  /** Null in clear. */
  readonly tls: { protocol: string; cipher: string } | null;
  readonly capabilities: Capabilities;
  /** Unix ms. */
  readonly openedAt: number;
  readonly #link: Link;
  readonly #clock: Clock;
  #isSending = false;

  constructor(wire: Wire, options: SessionOptions, capabilities: Capabilities, tls: SmtpSession["tls"]) {
    this.host = options.host;
    this.address = options.address;
    this.tls = tls;
    this.capabilities = capabilities;
    this.openedAt = options.clock.now();
    this.#clock = options.clock;
    this.#link = { wire, capabilities, timeouts: options.timeouts, isTransactionOpen: false };
  }

  /** True when the next message may be sent: open, not sending, and the server has kept silent. */
  get isUsable(): boolean {
    return !this.#isSending && this.#link.wire.isQuiet;
  }

  /**
   * Sends one message; `content` has CRLF lines and is not yet dot-stuffed. `beforeDot` runs at
   * most once, after DATA was accepted, and the dot is written only when it has resolved; when it
   * rejects, the connection is closed without the dot. Throws on content or addresses that may
   * not go on the wire, and when a message is being sent already.
   */
  async send(envelope: Envelope, content: Uint8Array, beforeDot: () => Promise<void>): Promise<SendResult> {
    if (this.#isSending) throw new Error("this session is sending a message already");
    this.#isSending = true;
    this.#link.wire.capAt(this.#clock.now() + MAX_SESSION_STEP_MS);
    try {
      return await transact(this.#link, envelope, content, beforeDot);
    } finally {
      this.#isSending = false;
    }
  }

  /** Says QUIT, waits a few seconds at most for the answer, closes (R29). */
  async quit(): Promise<void> {
    const { wire, timeouts } = this.#link;
    try {
      if (!this.isUsable) return;
      wire.capAt(Infinity);
      wire.ask("QUIT\r\n", 1);
      await wire.next(timeouts.quitMs, "answer to QUIT");
    } catch (error) {
      if (!(error instanceof BrokenWire)) throw error;
    } finally {
      wire.destroy();
    }
  }

  /** Closes at once. A message being sent ends as broken. */
  destroy(): void {
    this.#link.wire.destroy();
  }
}
