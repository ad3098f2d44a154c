// The body of an email that came by SMTP, as stored: the header and the MIME tree as they came, without the contents of
// attachments, which are files of their own. It leaves as it came; only the fields that each copy has for itself are added.

import type { StoredBody } from "./body.ts";

/** A shorter body is stored as it is. */
const WORTH_COMPRESSING_BYTES = 512;
const LEVEL = 1;

/** The column `mime`: how the content is laid out. */
export interface MimeLayout {
  /** Octets of the header, which is stored plain, so that a field can be changed without the body. */
  headerBytes: number;
  /** Octets of the body before compression. */
  bodyBytes: number;
  /** Where in the body the content of each attachment goes, ascending. */
  holes: number[];
  /** Octets of those contents, as they are sent. */
  attachedBytes: number;
  hasDate: boolean;
  hasMessageId: boolean;
  /** An address in the header is beyond ASCII (RFC 6532). */
  needsSmtpUtf8: boolean;
  /** Octets above 127 are in the body (RFC 6152). */
  hasEightBit: boolean;
}

export interface MimeBody {
  layout: MimeLayout;
  /** Fields, each ended by CRLF, without the empty line. */
  header: Buffer;
  body: Uint8Array;
}

/** A body as it is stored; made beside the event loop where it is large. */
export interface PackedMimeBody {
  stored: Uint8Array;
  /** Before compression. */
  bytes: number;
  encoding: StoredBody["encoding"];
}

export function packMimeBody(body: Uint8Array): PackedMimeBody {
  const isShort = body.length < WORTH_COMPRESSING_BYTES;
  const stored = isShort ? body : Bun.zstdCompressSync(body, { level: LEVEL });
  return { stored, bytes: body.length, encoding: isShort ? "plain" : "zstd" };
}

export function toStoredBody(
  header: string,
  { stored, bytes, encoding }: PackedMimeBody,
  rest: Omit<MimeLayout, "headerBytes" | "bodyBytes">,
): StoredBody {
  const octets = Buffer.from(header);
  const layout: MimeLayout = { headerBytes: octets.length, bodyBytes: bytes, ...rest };
  const content = Buffer.concat([octets, stored]);
  return { content, htmlBytes: null, textBytes: null, encoding, mime: JSON.stringify(layout) };
}

/** Null: it came by the API. */
function readLayout({ mime }: Pick<StoredBody, "mime">): MimeLayout | null {
  return mime === null ? null : (JSON.parse(mime) as MimeLayout);
}

/** About how many octets composing it takes; `attachedBytes`: of the attachments of one that came by the API. */
export function countContentBytes({ htmlBytes, textBytes, mime }: StoredBody, attachedBytes: number): number {
  const layout = readLayout({ mime });
  if (layout !== null) return layout.headerBytes + layout.bodyBytes + layout.attachedBytes;
  return (htmlBytes ?? 0) + (textBytes ?? 0) + attachedBytes;
}

/** Null: it came by the API. */
export function unpackMime(stored: StoredBody): MimeBody | null {
  const layout = readLayout(stored);
  if (layout === null) return null;
  const { buffer, byteOffset, byteLength } = stored.content;
  const content = Buffer.from(buffer, byteOffset, byteLength);
  const packed = content.subarray(layout.headerBytes);
  const body = stored.encoding === "zstd" ? Bun.zstdDecompressSync(packed) : packed;
  if (body.length !== layout.bodyBytes) throw new Error(`a body has ${body.length} of its ${layout.bodyBytes} bytes`);
  return { layout, header: content.subarray(0, layout.headerBytes), body };
}

/** The header of an email that came by SMTP, without the empty line; null: it came by the API. */
export function unpackMimeHeader(stored: StoredBody): string | null {
  const layout = readLayout(stored);
  return layout === null ? null : Buffer.from(stored.content).toString("utf8", 0, layout.headerBytes);
}

/** The same email with another header. */
export function replaceHeader(stored: StoredBody, header: string): Pick<StoredBody, "content" | "mime"> {
  const layout = readLayout(stored);
  if (layout === null) throw new Error("an email that came by the API has no stored header");
  const octets = Buffer.from(header);
  const content = Buffer.concat([octets, stored.content.subarray(layout.headerBytes)]);
  return { content, mime: JSON.stringify({ ...layout, headerBytes: octets.length }) };
}

const CRLF = Buffer.from("\r\n", "latin1");

/** The octets of the message in order. `added`: fields before its own. `attachments`: one for each hole. */
export function joinMime({ layout, header, body }: MimeBody, added: string, attachments: Uint8Array[]): Uint8Array[] {
  if (attachments.length !== layout.holes.length)
    throw new Error(`a message has ${attachments.length} of its ${layout.holes.length} attachments`);
  const chunks: Uint8Array[] = [Buffer.from(added, "latin1"), header, CRLF];
  let from = 0;
  for (const [index, hole] of layout.holes.entries()) {
    chunks.push(body.subarray(from, hole), attachments[index] ?? new Uint8Array());
    from = hole;
  }
  chunks.push(body.subarray(from));
  return chunks;
}
