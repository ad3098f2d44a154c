// One connection as PDUs both ways, of an ESME or an SMSC: the socket, the package's Session over it, and their listeners.
// It is open, then broken or closed, once and for good: a Session is never used again, since it keeps the length of a
// half-read PDU and would go on with it on another connection. Nothing is emitted after that.

import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { PDU, Session } from "smpp";
import type { Clock } from "../../../platform/clock.ts";
import { isMidPdu, library, UnreadablePdu } from "../pdu/library.ts";
import { encodeNack } from "../pdu/pdu.ts";
import { STATUS } from "../pdu/status.ts";

export interface WireEvents<P> {
  received(pdu: P): void;
  /** Told when a part of a PDU waits for the rest, and when none does any more. */
  half(isHalf: boolean): void;
  /** What was written has left our buffers. */
  drained(): void;
  /** The connection is of no more use; the wire has closed itself. */
  broken(reason: string): void;
  /** A listener threw: an internal error. */
  fault(error: unknown): void;
}

/** What a peer that does not read may leave with us. */
const MAX_UNSENT_BYTES = 1_048_576;
/** For the last words on a connection that is given up. */
const LAST_WORDS_MS = 1_000;

export class Wire<P> {
  readonly #socket: Socket;
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #events: WireEvents<P>;
  #isClosed = false;
  #isPaused = false;
  #isHalf = false;
  /** To be written at the end of this turn. */
  #gathered: Buffer[] = [];

  /** `read`: what a PDU means to this side. */
  constructor(socket: Socket, clock: Clock, read: (pdu: PDU) => P, events: WireEvents<P>) {
    const { Session: PackageSession } = library();
    this.#socket = socket;
    this.#clock = clock;
    this.#events = events;
    this.#session = new PackageSession({ socket });
    this.#on(this.#session, "error", (error) => this.#fail(error));
    this.#on(this.#session, "close", () => this.#break("the connection was lost"));
    this.#on(this.#session, "pdu", (pdu) => this.#events.received(read(pdu as PDU)));
    // After the package's own listener: what that has left is half a PDU.
    this.#on(socket, "readable", () => this.#look());
    this.#on(socket, "end", () => this.#break("the peer closed the connection"));
    this.#on(socket, "drain", () => this.#events.drained());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** False while what was written waits for the peer to read. */
  get isDrained(): boolean {
    return !this.#socket.writableNeedDrain;
  }

  write(bytes: Buffer): void {
    this.#flush();
    if (this.#isClosed || !this.#socket.writable) return;
    this.#socket.write(bytes);
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) this.#break("the peer does not read");
  }

  /** Writes it at the end of this turn, in one piece with the others: the peer's answers then come together too. */
  writeSoon(bytes: Buffer): void {
    if (this.#isClosed) return;
    if (this.#gathered.length === 0) queueMicrotask(() => this.#flush());
    this.#gathered.push(bytes);
  }

  #flush(): void {
    if (this.#gathered.length === 0) return;
    const bytes = Buffer.concat(this.#gathered);
    this.#gathered = [];
    this.write(bytes);
  }

  pause(): void {
    this.#isPaused = true;
    this.#session.pause();
  }

  resume(): void {
    if (this.#isClosed) return;
    this.#isPaused = false;
    this.#session.resume();
    this.#look();
  }

  /** Our half is closed; the peer's may still bring something. */
  finish(): void {
    if (this.#isClosed) return;
    this.#flush();
    this.#socket.end();
  }

  /** Closes both halves, once what was written has left. */
  close(): void {
    if (this.#isClosed) return;
    this.#flush();
    // It may have found that the peer does not read.
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Destroyed at once, the connection would take what was written last with it.
    const cancel = this.#clock.after(LAST_WORDS_MS, () => this.#socket.destroy());
    this.#socket.once("close", cancel);
    this.#socket.end(() => this.#socket.destroy());
  }

  #on(emitter: EventEmitter, event: string, act: (value: unknown) => void): void {
    emitter.on(event, (value: unknown) => {
      if (this.#isClosed) return;
      // The package stays deaf for ever when a listener throws.
      try {
        act(value);
      } catch (error) {
        this.#events.fault(error);
      }
    });
  }

  #look(): void {
    if (this.#isPaused) return;
    const isHalf = isMidPdu(this.#socket);
    if (isHalf === this.#isHalf) return;
    this.#isHalf = isHalf;
    this.#events.half(isHalf);
  }

  /** An error of the socket, or in what was read; behind that the stream is worth nothing. */
  #fail(error: unknown): void {
    if (error instanceof UnreadablePdu) this.write(encodeNack(error.sequence, STATUS.invalidLength));
    this.#break(error instanceof Error ? error.message : String(error));
  }

  #break(reason: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#events.broken(reason);
  }
}
