/**
 * A message from its bytes, as far as reports need it: the header, and the leaves of its MIME tree in
 * order. A reader of our own, since the common ones fold an inline `message/rfc822` into the text,
 * with the header in it that tells which email of ours came back. One pass over the lines with a
 * stack of open boundaries: linear, without recursion, and within the limits below whatever comes.
 * Pure; never throws.
 */
import { decodeText } from "./charset.ts";
import { type Field, fromBase64, fromQuoted, findParameter, readFields, findValue } from "./fields.ts";

/** The rest is not looked at. Reports put their statement first, and the returned message last. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
/** Of each part; a longer header is read so far. */
const MAX_HEADER_BYTES = 256 * 1024;
export const MAX_PARTS = 200;
/** Multiparts within multiparts; a deeper one is a leaf like any other. */
export const MAX_DEPTH = 20;
/** Of a part, before it is decoded. */
export const MAX_DECODED_BYTES = 128 * 1024;

export interface Part {
  fields: Field[];
  /** Such as `text/plain`, in lower case; `text/plain` where the header says none. */
  type: string;
  /** As it came, one character an octet. */
  body: string;
}

export interface Message {
  fields: Field[];
  /** Of the whole: `multipart/report`. */
  type: string;
  /** `report-type` in lower case, or null. */
  reportType: string | null;
  parts: Part[];
  /** All that was looked at, one character an octet. */
  raw: string;
}

export function readMessage(bytes: Uint8Array): Message {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_MESSAGE_BYTES)).toString(
    "latin1",
  );
  const parts: Part[] = [];
  const boundaries: string[] = [];
  let entity = readHeader(raw, 0, boundaries);
  const { fields } = entity;
  const contentType = findValue(fields, "content-type") ?? "";
  while (true) {
    const type = findType(entity.fields);
    const boundary = type.startsWith("multipart/")
      ? findParameter(findValue(entity.fields, "content-type") ?? "", "boundary")
      : null;
    const isOpened = boundary !== null && boundaries.length < MAX_DEPTH;
    if (isOpened) boundaries.push(boundary.trimEnd());
    const next = findDelimiter(raw, entity.bodyStart, boundaries);
    // The text before the first delimiter of a multipart is for readers without MIME; without any delimiter it is all there is.
    if (!isOpened || next.kind === "end")
      parts.push({ fields: entity.fields, type, body: raw.slice(entity.bodyStart, next.start) });
    if (next.kind === "end" || parts.length === MAX_PARTS) break;
    const following = skipClosed(raw, next, boundaries);
    if (following === null) break;
    entity = readHeader(raw, following, boundaries);
  }
  return {
    fields,
    type: findType(fields),
    reportType: findParameter(contentType, "report-type")?.toLowerCase() ?? null,
    parts,
    raw,
  };
}

interface Entity {
  fields: Field[];
  bodyStart: number;
}

function readHeader(raw: string, start: number, boundaries: string[]): Entity {
  let at = start;
  while (at < raw.length) {
    const end = lineEnd(raw, at);
    const length = end - at;
    if (length === 0 || (length === 1 && raw.charCodeAt(at) === 0x0d)) break;
    // A part without the empty line after its header must not swallow the parts after it.
    if (isDelimiter(raw, at, end, boundaries) !== -1) return toEntity(raw, start, at, at);
    at = end + 1;
  }
  return toEntity(raw, start, at, Math.min(lineEnd(raw, at) + 1, raw.length));
}

function toEntity(raw: string, start: number, headerEnd: number, bodyStart: number): Entity {
  return { fields: readFields(raw.slice(start, Math.min(headerEnd, start + MAX_HEADER_BYTES))), bodyStart };
}

type Delimiter =
  | { kind: "end"; start: number }
  | { kind: "delimiter"; start: number; next: number; isClosing: boolean };

/** The next line that is a delimiter of an open multipart; those within it are closed with it. */
function findDelimiter(raw: string, from: number, boundaries: string[]): Delimiter {
  if (boundaries.length === 0) return { kind: "end", start: raw.length };
  let at = raw.startsWith("--", from) ? from : nextDashes(raw, from);
  while (at !== -1) {
    const end = lineEnd(raw, at);
    const depth = isDelimiter(raw, at, end, boundaries);
    if (depth !== -1) {
      const line = raw.slice(at, end).trimEnd();
      const isClosing = line.length > 2 + (boundaries[depth] ?? "").length;
      boundaries.length = isClosing ? depth : depth + 1;
      return { kind: "delimiter", start: at, next: Math.min(end + 1, raw.length), isClosing };
    }
    at = nextDashes(raw, end);
  }
  return { kind: "end", start: raw.length };
}

/** After the end of a multipart comes text for nobody, up to the next part of the one around it; null: there is none. */
function skipClosed(raw: string, delimiter: Delimiter & { kind: "delimiter" }, boundaries: string[]): number | null {
  let found: Delimiter = delimiter;
  while (found.kind === "delimiter" && found.isClosing) found = findDelimiter(raw, found.next, boundaries);
  return found.kind === "end" ? null : found.next;
}

/** The depth of the open multipart whose delimiter the line is, or -1 (RFC 2046 §5.1.1). */
function isDelimiter(raw: string, start: number, end: number, boundaries: string[]): number {
  // A boundary has at most 70 characters; longer ones exist, lines of megabytes are something else.
  if (boundaries.length === 0 || !raw.startsWith("--", start) || end - start > 300) return -1;
  const line = raw.slice(start + 2, end).trimEnd();
  const open = boundaries.lastIndexOf(line);
  return open === -1 && line.endsWith("--") ? boundaries.lastIndexOf(line.slice(0, -2)) : open;
}

function nextDashes(raw: string, from: number): number {
  const found = raw.indexOf("\n--", Math.max(from - 1, 0));
  return found === -1 ? -1 : found + 1;
}

function lineEnd(raw: string, from: number): number {
  const end = raw.indexOf("\n", from);
  return end === -1 ? raw.length : end;
}

function findType(fields: Field[]): string {
  const value = findValue(fields, "content-type") ?? "";
  const type = /^[\w.+-]{1,60}\/[\w.+-]{1,80}/.exec(value)?.[0].toLowerCase();
  return type ?? "text/plain";
}

/** The body of a part as text: its transfer encoding and charset undone. At most MAX_DECODED_BYTES of it. */
export function decodePart(part: Part): string {
  const octets = part.body.slice(0, MAX_DECODED_BYTES);
  const encoding = findValue(part.fields, "content-transfer-encoding")?.toLowerCase() ?? "";
  const decoded = encoding.startsWith("base64")
    ? fromBase64(octets)
    : encoding.startsWith("quoted")
      ? fromQuoted(octets)
      : octets;
  return decodeText(decoded, findParameter(findValue(part.fields, "content-type") ?? "", "charset"));
}
