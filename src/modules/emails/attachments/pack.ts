// The bytes of an attachment from its base64, checked, hashed and compressed; done on a thread.

import { freeOctets } from "../../../platform/free-octets.ts";

/** The base64 of one attachment, as the octets of its text. */
export interface GivenAttachment {
  base64: Uint8Array<ArrayBuffer>;
}

export interface PackedAttachment {
  kind: "packed";
  /** SHA-256 identifies the content. */
  sha256: Uint8Array;
  /** The content has so many bytes before it is packed. */
  bytes: number;
  encoding: "plain" | "zstd";
  /** The pieces, one behind the other, */
  stored: Uint8Array;
  /** of so many bytes. */
  pieceBytes: number[];
}

/** The text is not base64. */
export interface NotBase64 {
  kind: "not_base64";
}

/** Content that one piece holds: each is written by a transaction of its own, and read by itself. */
const PIECE_BYTES = 1024 * 1024;
const LEVEL = 1;
/** Decoded at once; a multiple of four. */
const TURN_CHARACTERS = 1024 * 1024;
const PAD = 0x3d;
/** Compressed content is worth its decompression below this share. */
const WORTH_COMPRESSING = 0.9;

/** RFC 4648 §4, with its padding. The octets of the text are used up. */
export function packAttachment({ base64 }: GivenAttachment): PackedAttachment | NotBase64 {
  const content = decode(Buffer.from(base64.buffer, base64.byteOffset, base64.byteLength));
  freeOctets(base64);
  return content === null ? { kind: "not_base64" } : packContent(content);
}

/** The octets of the content are used up. */
export function packContent(content: Buffer): PackedAttachment {
  const sha256 = new Bun.CryptoHasher("sha256").update(content).digest();
  const plain = cutPieces(content);
  const packed = plain.map((piece) => Bun.zstdCompressSync(piece, { level: LEVEL }));
  const isWorth = countBytes(packed) < content.length * WORTH_COMPRESSING;
  const pieceBytes = (isWorth ? packed : plain).map(({ length }) => length);
  const stored = isWorth ? Buffer.concat(packed) : content;
  const { length: bytes } = content;
  for (const each of isWorth ? [...packed, content] : packed) freeOctets(each);
  return { kind: "packed", sha256, bytes, encoding: isWorth ? "zstd" : "plain", stored, pieceBytes };
}

/** Piece by piece, so that it is in memory once; null: decoders skip foreign characters silently, so the form is checked. */
function decode(text: Buffer): Buffer | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.at(-1) !== PAD ? 0 : text.at(-2) !== PAD ? 1 : 2;
  const content = Buffer.allocUnsafeSlow((text.length / 4) * 3 - padding);
  let length = 0;
  for (let at = 0; at < text.length; at += TURN_CHARACTERS) {
    const end = Math.min(text.length, at + TURN_CHARACTERS);
    const turn = text.toString("latin1", at, end);
    if (!(end < text.length ? /^[A-Za-z0-9+/]*$/ : /^[A-Za-z0-9+/]*={0,2}$/).test(turn)) return null;
    length += content.write(turn, length, "base64");
  }
  return content;
}

/** The content of one piece. */
export function unpackPiece(piece: Uint8Array, encoding: PackedAttachment["encoding"]): Uint8Array {
  return encoding === "zstd" ? Bun.zstdDecompressSync(piece) : piece;
}

/** The pieces of what was packed. */
export function listPieces({ stored, pieceBytes }: Pick<PackedAttachment, "stored" | "pieceBytes">): Uint8Array[] {
  let end = 0;
  return pieceBytes.map((bytes) => stored.subarray(end, (end += bytes)));
}

function cutPieces(content: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += PIECE_BYTES) pieces.push(content.subarray(at, at + PIECE_BYTES));
  return pieces;
}

function countBytes(pieces: Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
