// Signatures in minisign's format: Ed25519 over a file's BLAKE2b-512 ("ED") or, of older ones, over the file itself
// ("Ed"), and over a comment that is trusted then.

import { createPublicKey, type KeyObject, verify } from "node:crypto";

export interface PublicKey {
  /** Tells which key a signature is by; it proves nothing. */
  id: Buffer;
  key: KeyObject;
}

export interface Signature {
  algorithm: "Ed" | "ED";
  keyId: Buffer;
  bytes: Buffer;
  trustedComment: string;
  /** Over `bytes` and the comment. */
  global: Buffer;
}

const ID_BYTES = 8;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** RFC 8410: what stands before the 32 bytes of an Ed25519 key. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");
const COMMENT = "untrusted comment:";
const TRUSTED = "trusted comment: ";

/** A public key as minisign prints it, or its file; null: it is none. */
export function readPublicKey(text: string): PublicKey | null {
  const lines = splitLines(text);
  const bytes = decode(lines.find((line) => !line.startsWith(COMMENT)) ?? "");
  if (bytes?.length !== 2 + ID_BYTES + KEY_BYTES || bytes.toString("latin1", 0, 2) !== "Ed") return null;
  const der = Buffer.concat([SPKI_HEAD, bytes.subarray(2 + ID_BYTES)]);
  return { id: bytes.subarray(2, 2 + ID_BYTES), key: createPublicKey({ key: der, format: "der", type: "spki" }) };
}

/** The text of a `.minisig`; null: it is none. */
export function readSignature(text: string): Signature | null {
  const [comment = "", first = "", trusted = "", last = "", ...rest] = splitLines(text);
  const [bytes, global] = [decode(first), decode(last)];
  if (!comment.startsWith(COMMENT) || !trusted.startsWith(TRUSTED) || rest.length > 0) return null;
  if (bytes?.length !== 2 + ID_BYTES + SIGNATURE_BYTES || global?.length !== SIGNATURE_BYTES) return null;
  const algorithm = bytes.toString("latin1", 0, 2);
  if (algorithm !== "Ed" && algorithm !== "ED") return null;
  return {
    algorithm,
    keyId: bytes.subarray(2, 2 + ID_BYTES),
    bytes: bytes.subarray(2 + ID_BYTES),
    trustedComment: trusted.slice(TRUSTED.length),
    global,
  };
}

/** Whether the key has made both signatures. `signed`: the file's BLAKE2b-512, or the file where the algorithm is "Ed". */
export function isSignedBy({ id, key }: PublicKey, signature: Signature, signed: Uint8Array): boolean {
  const { keyId, bytes } = signature;
  return keyId.equals(id) && verify(null, signed, key, bytes) && isCommentSignedBy({ id, key }, signature);
}

/** Whether the key has made the signature over the comment, which says nothing of the file. */
export function isCommentSignedBy({ id, key }: PublicKey, signature: Signature): boolean {
  const { keyId, bytes, global, trustedComment } = signature;
  return keyId.equals(id) && verify(null, Buffer.concat([bytes, Buffer.from(trustedComment)]), key, global);
}

export interface Release {
  version: string;
  file: string;
}

/** What a release's comment says ("version:0.2.0<TAB>file:pombo-linux-x64"); null: it is of no release. */
export function readRelease(trustedComment: string): Release | null {
  const said = new Map(
    trustedComment.split("\t").map((each) => [each.slice(0, each.indexOf(":")), each.slice(each.indexOf(":") + 1)]),
  );
  const [version, file] = [said.get("version"), said.get("file")];
  if (version === undefined || file === undefined || !/^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return null;
  return { version, file };
}

function splitLines(text: string): string[] {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Null: it is not base64 as it is written. */
function decode(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.length > 0 && bytes.toString("base64") === text ? bytes : null;
}
