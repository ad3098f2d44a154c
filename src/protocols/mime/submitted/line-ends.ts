/** Line ends of a submitted message: CRLF only (R60), and the lines that are longer than a line may be. */
import { MAX_LINE_OCTETS } from "../header.ts";

const LF = 0x0a;
const CR = 0x0d;

export interface Span {
  start: number;
  /** Exclusive. */
  end: number;
}

/**
 * The octets with CRLF as their only line end, and one at the end. A run of CRs before a LF is one line end: a CRLF that
 * was made CRLF once more. The result shares the memory of `octets` when nothing is to be changed.
 */
export function toCrlfOctets(octets: Uint8Array): Buffer {
  const source = Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength);
  if (isCrlfOnly(source)) return source;
  const { length } = source;
  const out = Buffer.allocUnsafe(length + countLineEndOctets(source) + 2);
  let at = 0;
  const endLine = () => {
    out[at++] = CR;
    out[at++] = LF;
  };
  for (let i = 0; i < length; i++) {
    const octet = source[i] ?? 0;
    if (octet === CR) {
      let next = i + 1;
      while (source[next] === CR) next++;
      if (source[next] === LF) endLine();
      else for (let k = i; k < next; k++) endLine();
      i = source[next] === LF ? next : next - 1;
    } else if (octet === LF) endLine();
    else out[at++] = octet;
  }
  if (out[at - 1] !== LF) endLine();
  return out.subarray(0, at);
}

function isCrlfOnly(octets: Uint8Array): boolean {
  const { length } = octets;
  let previous = 0;
  // By index and with the length read once: an iterator costs five times the loop.
  for (let i = 0; i < length; i++) {
    const octet = octets[i] ?? 0;
    if (octet === LF ? previous !== CR : previous === CR) return false;
    previous = octet;
  }
  return previous === LF || length === 0;
}

function countLineEndOctets(octets: Uint8Array): number {
  const { length } = octets;
  let count = 0;
  for (let i = 0; i < length; i++) if (octets[i] === LF || octets[i] === CR) count++;
  return count;
}

/** The lines of more than 998 octets (RFC 5322 §2.1.1), without their CRLF. `octets` holds CRLF only. */
export function findLongLines(octets: Buffer): Span[] {
  const found: Span[] = [];
  let start = 0;
  while (start < octets.length) {
    // From the furthest place where the line may end: most hops pass over a dozen lines.
    const lineFeed = octets.lastIndexOf(LF, start + MAX_LINE_OCTETS + 1);
    if (lineFeed >= start) {
      start = lineFeed + 1;
      continue;
    }
    const end = octets.indexOf(LF, start);
    found.push({ start, end: end - 1 });
    start = end + 1;
  }
  return found;
}

/** The number of the line that an octet stands in; the first is 1. */
export function lineNumberAt(octets: Buffer, offset: number): number {
  let number = 1;
  for (let at = octets.indexOf(LF); at >= 0 && at < offset; at = octets.indexOf(LF, at + 1)) number++;
  return number;
}
