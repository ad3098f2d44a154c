/**
 * Makes a message 7-bit where that may be done: texts become quoted-printable or base64, once and here, so that no server
 * on the way has to (R60). Nothing within a multipart/signed or multipart/encrypted changes: a signature covers its octets.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { base64Lines, encodeOctets, quotedPrintable, type EncodedText } from "../encode.ts";
import { encodeField } from "./eight-bit-field.ts";
import { toTransferEncoding, type Part } from "./parts.ts";
import { decodeTransfer } from "./transfer-encoding.ts";

const CRLF = Buffer.from("\r\n", "latin1");
const SOFT_BREAK = Buffer.from("=\r\n", "latin1");
const LF = 0x0a;
/** RFC 2045 §6. */
const PLAIN_ENCODINGS = new Set(["7bit", "8bit", "binary"]);

/** Decides for `part` and those in it what is written instead. True: octets above 127 are left in its body. */
export function reencode(octets: Buffer, part: Part): boolean {
  // The header of the message itself is written by its own rules.
  if (part.parent !== null && !part.isSealed)
    for (const field of part.fields) field.written = encodeField(field, false);
  if (part.kind === "leaf") return reencodeLeaf(octets, part);
  const wasEightBit = !isAscii(octets.subarray(part.bodyStart, part.end));
  let isEightBit = false;
  for (const child of part.children) if (reencode(octets, child)) isEightBit = true;
  // Beside its parts a signed multipart is left as it is too.
  if (/^multipart\/(?:signed|encrypted)$/.test(part.type)) isEightBit = wasEightBit;
  if (wasEightBit && !isEightBit && !part.isSealed && /^(?:8bit|binary)$/.test(part.encodingName))
    writeTransferEncoding(part, "7bit");
  return isEightBit;
}

function reencodeLeaf(octets: Buffer, part: Part): boolean {
  const body = octets.subarray(part.bodyStart, part.end);
  if (isAscii(body)) return false;
  const encoded = part.isSealed ? null : encodeBody(body, part);
  if (encoded === null) return true;
  part.replacement = part.end === octets.length ? endLine(encoded) : encoded.bytes;
  if (encoded.encoding !== part.encodingName) writeTransferEncoding(part, encoded.encoding);
  if (part.parent === null || part.parent.kind === "message") addMimeFields(part, body);
  return false;
}

/** null: it has to stay as it is. */
function encodeBody(body: Buffer, { type, encodingName }: Part): EncodedText | null {
  const encoding = toTransferEncoding(encodingName);
  // Octets that the encoding does not have: what readers make of them is made of them here.
  if (encoding === "base64") return { encoding, bytes: base64Lines(decodeTransfer(body, encoding)) };
  if (encoding === "quoted-printable") return { encoding, bytes: quotedPrintable(decodeTransfer(body, encoding)) };
  // RFC 2045 §6.4: composite types have no encoding. An encoding that nobody knows cannot be changed for another.
  if (!PLAIN_ENCODINGS.has(encodingName) || /^(?:multipart|message)\//.test(type)) return null;
  return type.startsWith("text/") ? encodeOctets(body) : { encoding: "base64", bytes: base64Lines(body) };
}

/** At the end of the message no delimiter brings the last line end. */
function endLine({ encoding, bytes }: EncodedText): Uint8Array {
  if (encoding === "base64") return Buffer.concat([bytes, CRLF]);
  return bytes.at(-1) === LF ? bytes : Buffer.concat([bytes, SOFT_BREAK]);
}

function writeTransferEncoding(part: Part, encoding: string): void {
  const line = `Content-Transfer-Encoding: ${encoding}\r\n`;
  const [first, ...others] = part.fields.filter(({ key }) => key === "content-transfer-encoding");
  if (first === undefined) part.added += line;
  else first.written = line;
  for (const other of others) other.written = "";
  part.encodingName = encoding;
}

/** Without them a reader would take the encoded text for the text. */
function addMimeFields(part: Part, body: Buffer): void {
  const has = (key: string) => part.fields.some((field) => field.key === key);
  if (!has("content-type"))
    part.added = `Content-Type: text/plain; charset=${isUtf8(body) ? "utf-8" : "windows-1252"}\r\n${part.added}`;
  if (!has("mime-version")) part.added = `MIME-Version: 1.0\r\n${part.added}`;
}
