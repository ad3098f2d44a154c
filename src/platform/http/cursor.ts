// Opaque cursors: a place in a list, as a client keeps it.
//
// A row's integer id counts the rows of all workspaces, and would show one of them how busy the others are. So a cursor is
// one block of AES-256, which the same place always gives, and which nobody can read or make. One block under a key of its
// own is a permutation, so neither an IV nor a tag is needed: a block that was not given out holds the list's 32 bits with a
// chance of 2^-32, and for events the workspace too, of 2^-80.

import { createCipheriv, createDecipheriv } from "node:crypto";

const BLOCK_BYTES = 16;
/** Each of the two numbers; the last 4 bytes are the list's. */
const NUMBER_BYTES = 6;

export interface Cursor {
  /** The two numbers of a place. */
  place: [number, number];
  /** 32 bits that name the list. */
  list: number;
}

/** `key`: 32 bytes for this use only. */
export function createCursorCipher(key: Uint8Array) {
  return {
    write({ place: [first, second], list }: Cursor): string {
      const block = Buffer.alloc(BLOCK_BYTES);
      block.writeUIntBE(first, 0, NUMBER_BYTES);
      block.writeUIntBE(second, NUMBER_BYTES, NUMBER_BYTES);
      block.writeUInt32BE(list, 2 * NUMBER_BYTES);
      const cipher = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
      return Buffer.concat([cipher.update(block), cipher.final()]).toString("base64url");
    },
    /** Null: this is not whole. */
    read(text: string): Cursor | null {
      const sealed = Buffer.from(text, "base64url");
      // base64 skips characters that it does not know.
      if (sealed.length !== BLOCK_BYTES || sealed.toString("base64url") !== text) return null;
      const decipher = createDecipheriv("aes-256-ecb", key, null).setAutoPadding(false);
      const block = Buffer.concat([decipher.update(sealed), decipher.final()]);
      const place: Cursor["place"] = [block.readUIntBE(0, NUMBER_BYTES), block.readUIntBE(NUMBER_BYTES, NUMBER_BYTES)];
      return { place, list: block.readUInt32BE(2 * NUMBER_BYTES) };
    },
  };
}
