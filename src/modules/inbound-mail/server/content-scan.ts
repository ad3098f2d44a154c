/**
 * What is wrong with a message by its raw bytes, before anything reads it. Pure: bytes in, a fault out.
 *
 * A line ends with CR LF and with nothing else (RFC 5321 §2.3.8). Servers that take a bare CR or LF for the
 * end of a line see another end of the message than those that do not, and what stands between the two ends
 * is a message that somebody smuggled in. Here only CR LF "." CR LF is the end, and a message with anything
 * that another server may take for it is refused as a whole.
 */

/** The header of a message, with the line that ends it. */
export const MAX_HEADER_BYTES = 256 * 1024;

export type ContentFault = "bare_line_end" | "header";

const CR = 0x0d;
const LF = 0x0a;

/** Reads a message in pieces, wherever they are cut. */
export class ContentScan {
  /** The first thing found. */
  fault: ContentFault | null = null;
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
