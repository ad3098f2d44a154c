/**
 * The message on its way into DATA: the last check of its bytes, and dot-stuffing. Pure. What
 * passes here cannot end the content early on any server, whatever that server takes for a line
 * end: there is no bare CR or LF in it, and every line that starts with a dot has two (R23;
 * SMTP smuggling).
 */

/** RFC 5321 §4.5.3.1.6: 1,000 octets with the line end. */
const MAX_CONTENT_LINE_BYTES = 998;

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;
/** The end of the content; its first CRLF is the one the content itself ends with. */
export const END_OF_CONTENT = Buffer.from(".\r\n", "latin1");

/** Content that was prepared elsewhere: checked, and its dots stuffed. */
export interface PreparedContent {
  stuffed: Uint8Array;
  /** Without the dots that were added: its size for the server (RFC 1870 §6). */
  bytes: number;
}

/**
 * Returns the content with its dots stuffed, ready to be followed by END_OF_CONTENT; the same
 * bytes, uncopied, when there is nothing to stuff. Throws on anything composing may not make:
 * a bare CR or LF, NUL, an 8-bit byte (unless `isUtf8`: RFC 6532 headers), a line of more than 998 bytes, no
 * CRLF at the end.
 */
export function prepareContent(content: Uint8Array, isUtf8: boolean): Buffer {
  const dots = findLeadingDots(content, isUtf8 ? 0x100 : 0x80);
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return dots.length === 0 ? bytes : stuffDots(bytes, dots);
}

/** One pass over the bytes: the positions of the dots that begin a line. Throws on a byte that may not be there. */
function findLeadingDots(content: Uint8Array, firstBadByte: number): number[] {
  const dots: number[] = [];
  const length = content.length;
  // The first octet from which words of four can be read.
  const aligned = -content.byteOffset & 3;
  const words = new Int32Array(content.buffer, content.byteOffset + aligned, Math.max(0, length - aligned) >> 2);
  let lineStart = 0;
  for (let at = 0; at < length; at++) {
    if (at > lineStart && ((at - aligned) & 3) === 0) {
      let word = (at - aligned) >> 2;
      while (word < words.length && isPlain(words[word] ?? 0)) word++;
      at = aligned + (word << 2);
      if (at >= length) break;
    }
    const byte = content[at] ?? 0;
    if (byte > CR && byte < firstBadByte) {
      if (byte === DOT && at === lineStart) dots.push(at);
      continue;
    }
    if (byte === CR) {
      if (content[at + 1] !== LF) throw new Error(`the content has a bare CR at byte ${at}`);
      if (at - lineStart > MAX_CONTENT_LINE_BYTES) throw new Error(`the content has a line of ${at - lineStart} bytes`);
      at += 1;
      lineStart = at + 1;
    } else if (byte === LF) {
      throw new Error(`the content has a bare LF at byte ${at}`);
    } else if (byte >= firstBadByte || byte === 0) {
      throw new Error(`the content has the byte ${byte} at ${at}; it must be 7-bit`);
    }
  }
  if (length === 0 || lineStart !== length) throw new Error("the content does not end with CRLF");
  return dots;
}

const HIGHEST_BITS = 0x80808080 | 0;

/** Whether four octets are all above CR and within ASCII, as most of a message is. It may say no where they are. */
function isPlain(word: number): boolean {
  return ((word | ((word - 0x0e0e0e0e) & ~word)) & HIGHEST_BITS) === 0;
}

/** RFC 5321 §4.5.2: a line that begins with a dot gets one more. */
function stuffDots(bytes: Buffer, dots: number[]): Buffer {
  const stuffed = Buffer.allocUnsafe(bytes.length + dots.length);
  let from = 0;
  let to = 0;
  for (const dot of dots) {
    to += bytes.copy(stuffed, to, from, dot);
    stuffed[to++] = DOT;
    from = dot;
  }
  bytes.copy(stuffed, to, from);
  return stuffed;
}
