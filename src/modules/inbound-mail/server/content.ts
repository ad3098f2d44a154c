/**
 * The raw bytes of a message as they come in: kept within their limits, and checked before anything reads them.
 *
 * A line ends with CR LF and with nothing else (RFC 5321 §2.3.8). Servers that take a bare CR or LF for the
 * end of a line see another end of the message than those that do not, and what stands between the two ends
 * is a message that somebody smuggled in. Here only CR LF "." CR LF is the end, and a message with anything
 * that another server may take for it is refused as a whole.
 */
import type { Place } from "./connection-limits.ts";
import type { InboundLimits } from "./limits.ts";

/** The header of a message, with the line that ends it. */
export const MAX_HEADER_BYTES = 256 * 1024;

/** Why a message is not taken. */
export type MessageFault = "bare_line_end" | "header" | "too_large" | "no_room";

const FIRST_BYTES = 16 * 1024;
const CR = 0x0d;
const LF = 0x0a;

/** Reads a message in pieces, wherever they are cut. */
export class ContentScan {
  /** The first thing found. */
  fault: MessageFault | null = null;
  /** The last byte was a CR. */
  #isAfterCr = false;
  /** Bytes of the line so far, its end left out. */
  #lineBytes = 0;
  #headerBytes = 0;
  #isInHeader = true;

  read(piece: Uint8Array): void {
    for (let at = 0; at < piece.length && this.fault === null;) at = this.#readOn(piece, at);
  }

  /** The message is over. */
  end(): void {
    if (this.#isAfterCr) this.fault ??= "bare_line_end";
  }

  /** Reads up to the next line end, or a byte of one; where it goes on. */
  #readOn(piece: Uint8Array, at: number): number {
    if (this.#isAfterCr) {
      this.#isAfterCr = false;
      if (piece[at] !== LF) this.fault = "bare_line_end";
      else this.#endLine();
      return at + 1;
    }
    const end = lineEnd(piece, at);
    this.#lineBytes += end - at;
    this.#countHeader(end - at);
    if (end === piece.length) return end;
    if (piece[end] === LF) this.fault = "bare_line_end";
    this.#isAfterCr = true;
    return end + 1;
  }

  #endLine(): void {
    this.#countHeader(2);
    // RFC 5322 §2.1: the header ends at the first empty line.
    if (this.#lineBytes === 0) this.#isInHeader = false;
    this.#lineBytes = 0;
  }

  #countHeader(bytes: number): void {
    if (!this.#isInHeader) return;
    this.#headerBytes += bytes;
    if (this.#headerBytes > MAX_HEADER_BYTES) this.fault ??= "header";
  }
}

/** Where the next CR or LF stands; the length of `piece` when there is none. */
function lineEnd(piece: Uint8Array, from: number): number {
  let at = from;
  while (at < piece.length && piece[at] !== CR && piece[at] !== LF) at++;
  return at;
}

/**
 * A message as it comes in. What is at fault is let go at once. It is kept in one piece of memory that grows:
 * a client that sends byte by byte would make the list of pieces many times as large as the message.
 */
export class Content {
  /** Including bytes that were discarded. */
  receivedBytes = 0;
  fault: MessageFault | null = null;
  #bytes = new Uint8Array();
  readonly #scan = new ContentScan();
  readonly #limits: Pick<InboundLimits, "messageBytes">;
  readonly #place: Pick<Place, "takeRoom">;

  constructor(limits: Pick<InboundLimits, "messageBytes">, place: Pick<Place, "takeRoom">) {
    this.#limits = limits;
    this.#place = place;
  }

  add(piece: Uint8Array): void {
    const at = this.receivedBytes;
    this.receivedBytes += piece.length;
    if (this.fault !== null) return;
    if (this.receivedBytes > this.#limits.messageBytes) return this.#refuse("too_large");
    this.#scan.read(piece);
    if (this.#scan.fault !== null) return this.#refuse(this.#scan.fault);
    if (!this.#grow()) return this.#refuse("no_room");
    this.#bytes.set(piece, at);
  }

  /** The final dot has come; the message, or null: it has a fault. */
  end(): Uint8Array | null {
    this.#scan.end();
    if (this.fault === null && this.#scan.fault !== null) this.#refuse(this.#scan.fault);
    return this.fault === null ? this.#bytes.subarray(0, this.receivedBytes) : null;
  }

  /** Gives the memory back; once the message is kept, or will not be. */
  letGo(): void {
    this.#place.takeRoom(-this.#bytes.length);
    this.#bytes = new Uint8Array();
  }

  #refuse(fault: MessageFault): void {
    this.fault = fault;
    this.letGo();
  }

  #grow(): boolean {
    if (this.receivedBytes <= this.#bytes.length) return true;
    const wanted = Math.max(FIRST_BYTES, 2 * this.#bytes.length, this.receivedBytes);
    const size = Math.min(wanted, this.#limits.messageBytes);
    if (!this.#place.takeRoom(size - this.#bytes.length)) return false;
    const larger = new Uint8Array(size);
    larger.set(this.#bytes);
    this.#bytes = larger;
    return true;
  }
}
