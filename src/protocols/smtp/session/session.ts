/**
 * A session with one mail server: connect, greeting, EHLO (or HELO), STARTTLS and EHLO again, AUTH
 * where we have credentials, then any number of messages, one at a time, then QUIT (R13–R30). Every step has its own limit of time
 * from the caller's clock. Refusals and breaks are values; only misuse throws.
 *
 * States: opening → idle ⇄ sending → closed. A session is closed by a break, a 421, a protocol
 * error, `quit` or `destroy`, and stays so.
 */
import { isIP } from "node:net";
import type { Clock } from "../../../platform/clock.ts";
import type { Capabilities } from "./capabilities.ts";
import type { PreparedContent } from "./content.ts";
import { greet, type SessionOptions, type Unopened } from "./greeting.ts";
import { MAX_SESSION_STEP_MS } from "./timeouts.ts";
import { transact, type Envelope, type Link, type SendResult } from "./transaction.ts";
import { BrokenWire, type TlsUse, Wire } from "./connection.ts";
import type { Dialogue } from "./transcript.ts";

export type { Envelope, SendResult } from "./transaction.ts";

/** `dialogue`: what was said until then. */
export type OpenResult = { kind: "open"; session: SmtpSession } | (Unopened & { dialogue: Dialogue | null });

/** Connects and greets. Throws only on a HELO name or an IP address that is none. */
export async function openSession(options: SessionOptions): Promise<OpenResult> {
  // A name here would be looked up by the runtime, past our own DNS client and its refused addresses (R8).
  if (isIP(options.address) === 0) throw new Error(`not an IP address: ${JSON.stringify(options.address)}`);
  if (!/^[\w.:[\]-]+$/.test(options.heloName)) throw new Error(`not a HELO name: ${JSON.stringify(options.heloName)}`);
  if (options.signal?.aborted)
    return { kind: "broken", stage: "connect", reason: "aborted", isTlsFailure: false, dialogue: null };
  const wire = new Wire(options);
  options.begun?.(wire.dialogue);
  wire.capAt(options.clock.now() + MAX_SESSION_STEP_MS);
  const abort = () => wire.destroy("aborted");
  options.signal?.addEventListener("abort", abort, { once: true });
  const greeted = await greet(wire, options);
  options.signal?.removeEventListener("abort", abort);
  if (greeted.kind === "greeted") return { kind: "open", session: new SmtpSession(wire, options, greeted) };
  wire.destroy();
  return { ...greeted, dialogue: wire.dialogue };
}

/** An open session. Made by openSession; its owner calls `quit` or `destroy` in the end. */
export class SmtpSession {
  readonly host: string;
  readonly address: string;
  /** Null in clear. */
  readonly tls: TlsUse | null;
  readonly capabilities: Capabilities;
  /** Unix ms. */
  readonly openedAt: number;
  /** Messages sent or tried over it. */
  messageCount = 0;
  /**
   * The server said "later", and not of one recipient among others: gates such as postscreen's let in
   * those who come back, not those who stay, and a filter that failed stays lost to the session it had.
   */
  isPutOff = false;
  readonly #link: Link;
  readonly #clock: Clock;
  #isSending = false;
  #hasAccepted = false;

  constructor(wire: Wire, options: SessionOptions, met: { capabilities: Capabilities; tls: TlsUse | null }) {
    const { capabilities, tls } = met;
    this.host = options.host;
    this.address = options.address;
    this.tls = tls;
    this.capabilities = capabilities;
    this.openedAt = options.clock.now();
    this.#clock = options.clock;
    this.#link = { wire, capabilities, timeouts: options.timeouts, isTransactionOpen: false };
  }

  /** The transcript: the opening, and of the last message all but its content. */
  get dialogue(): Dialogue {
    return this.#link.wire.dialogue;
  }

  /** True when the next message may be sent: open, not sending, and the server has kept silent. */
  get isUsable(): boolean {
    return !this.#isSending && this.#link.wire.isQuiet;
  }

  /**
   * Sends one message; `content` has CRLF lines and is not yet dot-stuffed, or was prepared. `beforeDot` runs at
   * most once, after DATA was accepted, and the dot is written only when it has resolved; when it
   * rejects, the connection is closed without the dot. Throws on content or addresses that may
   * not go on the wire, and when a message is being sent already.
   */
  async send(
    envelope: Envelope,
    content: Uint8Array | PreparedContent,
    beforeDot: () => Promise<void>,
  ): Promise<SendResult> {
    if (this.#isSending) throw new Error("this session is sending a message already");
    this.#isSending = true;
    this.messageCount += 1;
    this.#link.wire.dialogue.beginMessage();
    this.#link.wire.capAt(this.#clock.now() + MAX_SESSION_STEP_MS);
    try {
      const result = await transact(this.#link, envelope, content, beforeDot);
      this.#hasAccepted ||= result.kind === "accepted";
      const isDeferred = result.kind === "refused" && result.reply.code < 500;
      this.isPutOff = isDeferred && (!this.#hasAccepted || result.stage !== "rcpt");
      return result;
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
