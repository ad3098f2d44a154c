/**
 * The forms of a message that DKIM hashes (RFC 6376 §3.4) and the choice of the header fields that
 * go into the hash (§5.4.2). Header text is handled as byte strings, one character per octet, so
 * that nothing is decoded on the way. White space means space and tab only; a line ends with CRLF
 * only, and a bare CR or LF is content.
 */

/** One header field as it stands in the message. */
export interface HeaderField {
  /** Lower case; "" for a line that is no field. */
  name: string;
  /** Name, colon, value and folds; without its last CRLF. A byte string. */
  raw: string;
}

export type Canonicalization = "simple" | "relaxed";

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const CRLF = Buffer.from("\r\n", "latin1");
/** Octets that are looked at together in a body. */
const BLOCK = 4_096;

/** Fields in order, and the body after the empty line (empty when there is none). Never throws. */
export function splitMessage(message: Uint8Array): { fields: HeaderField[]; body: Uint8Array } {
  const octets = asBuffer(message);
  const startsWithBody = octets[0] === CR && octets[1] === LF;
  const found = startsWithBody ? 0 : octets.indexOf("\r\n\r\n", 0, "latin1");
  const headerEnd = found < 0 ? octets.length : found;
  const body = startsWithBody ? octets.subarray(2) : octets.subarray(Math.min(headerEnd + 4, octets.length));
  const block = octets.toString("latin1", 0, headerEnd).replace(/\r\n$/, "");
  const fields = block === "" ? [] : block.split(/\r\n(?![ \t])/).map(readField);
  return { fields, body };
}

/** §3.4.1 and §3.4.2, without a CRLF at the end. */
export function canonicalField(raw: string, form: Canonicalization): string {
  if (form === "simple") return raw;
  const colon = raw.indexOf(":");
  const name = trimSpace(raw.slice(0, Math.max(colon, 0))).toLowerCase();
  const value = raw
    .slice(colon + 1)
    .replaceAll("\r\n", "")
    .replace(/[ \t]+/g, " ");
  return `${name}:${trimSpace(value)}`;
}

/** §3.4.3 and §3.4.4. */
export function canonicalBody(body: Uint8Array, form: Canonicalization): Uint8Array {
  return form === "simple" ? simpleBody(body) : relaxedBody(body);
}

/**
 * The canonical text of the fields that `names` chooses, each with CRLF. A name listed several
 * times takes its fields from the last upwards; a name that finds no more stands for nothing, which
 * is what makes a field added later break the signature (§5.4.2, §8.15).
 */
export function selectFields(fields: HeaderField[], names: string[], form: Canonicalization): string {
  const remaining = new Map<string, string[]>();
  for (const { name, raw } of fields) {
    const raws = remaining.get(name);
    if (raws === undefined) remaining.set(name, [raw]);
    else raws.push(raw);
  }
  let selected = "";
  for (const name of names) {
    const raw = remaining.get(name.toLowerCase())?.pop();
    if (raw !== undefined) selected += `${canonicalField(raw, form)}\r\n`;
  }
  return selected;
}

function simpleBody(body: Uint8Array): Uint8Array {
  let end = body.length;
  while (end >= 2 && body[end - 2] === CR && body[end - 1] === LF) end -= 2;
  // The CRLF that ends the last line is kept where there is one, and added where not, even to nothing.
  return end < body.length ? body.subarray(0, end + 2) : Buffer.concat([body, CRLF]);
}

/** One pass; what was read is held back until it is known not to stand at the end of a line or of the body. */
function relaxedBody(body: Uint8Array): Uint8Array {
  const out = Buffer.allocUnsafe(body.length + 2);
  let length = 0;
  let heldLineEnds = 0;
  let isSpaceHeld = false;
  let lookAt = 0;
  const end = body.length;
  for (let i = 0; i < end; i++) {
    const octet = body[i] ?? 0;
    if (octet === SPACE || octet === TAB) {
      isSpaceHeld = true;
    } else if (octet === CR && body[i + 1] === LF) {
      isSpaceHeld = false;
      heldLineEnds++;
      i++;
      if (i < lookAt) continue;
      lookAt = i + BLOCK;
      const blockEnd = findBlockEnd(body, i + 1);
      if (blockEnd === i + 1) continue;
      length = writeLineEnds(out, length, heldLineEnds);
      heldLineEnds = 0;
      out.set(body.subarray(i + 1, blockEnd), length);
      length += blockEnd - i - 1;
      i = blockEnd - 1;
    } else {
      if (heldLineEnds > 0) length = writeLineEnds(out, length, heldLineEnds);
      heldLineEnds = 0;
      if (isSpaceHeld) out[length++] = SPACE;
      isSpaceHeld = false;
      out[length++] = octet;
    }
  }
  if (length === 0) return out.subarray(0, 0);
  out[length++] = CR;
  out[length++] = LF;
  return out.subarray(0, length);
}

function writeLineEnds(out: Uint8Array, at: number, count: number): number {
  for (let n = 0; n < count; n++) {
    out[at++] = CR;
    out[at++] = LF;
  }
  return at;
}

/**
 * The end of a block without white space, which stays as it is, as those of base64 do: `from` where there is none. It
 * does not end in a line end, which may be the body's last.
 */
function findBlockEnd(body: Uint8Array, from: number): number {
  if (from + BLOCK > body.length) return from;
  const block = body.subarray(from, from + BLOCK);
  if (block.includes(SPACE) || block.includes(TAB)) return from;
  let end = from + BLOCK;
  while (end > from && (body[end - 1] === CR || body[end - 1] === LF)) end--;
  return end;
}

function readField(raw: string): HeaderField {
  const colon = raw.indexOf(":");
  return { name: colon < 0 ? "" : trimSpace(raw.slice(0, colon)).toLowerCase(), raw };
}

/** Spaces and tabs only: String.trim would also take NBSP, which is an octet of UTF-8 here. */
function trimSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && (text[start] === " " || text[start] === "\t")) start++;
  while (end > start && (text[end - 1] === " " || text[end - 1] === "\t")) end--;
  return text.slice(start, end);
}

function asBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength);
}
