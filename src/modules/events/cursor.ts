import { createCipheriv, createDecipheriv } from "node:crypto";

// Cursors: a listener's place in its workspace's events.
//
// An event's integer id counts the events of all workspaces, and would show one of them how much the others send. So a
// cursor is the id and the workspace in one block of AES-256, which the same id always gives, and which nobody can read or
// make. One block under a key of its own is a permutation, so neither an IV nor a tag is needed: a block that was not given
// out for this workspace passes with a chance of 2^-80, since the workspace and the zeros must come out.

const BLOCK_BYTES = 16;
/** Workspace and id are 6 bytes each; the last 4 are zero. */
const NUMBER_BYTES = 6;

export interface EventCursors {
  /** The cursor after the event `id` (0: before all) of a workspace. */
  write(workspaceId: number, id: number): string;
  /** The id; null: the cursor was not given out for that workspace. */
  read(workspaceId: number, cursor: string): number | null;
}

/** `key`: 32 bytes for this use alone. */
export function eventCursors(key: Uint8Array): EventCursors {
  return {
    write(workspaceId, id) {
      const block = Buffer.alloc(BLOCK_BYTES);
      block.writeUIntBE(workspaceId, 0, NUMBER_BYTES);
      block.writeUIntBE(id, NUMBER_BYTES, NUMBER_BYTES);
      const cipher = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
      return Buffer.concat([cipher.update(block), cipher.final()]).toString("base64url");
    },
    read(workspaceId, cursor) {
      const sealed = Buffer.from(cursor, "base64url");
      // base64 skips characters that it does not know.
      if (sealed.length !== BLOCK_BYTES || sealed.toString("base64url") !== cursor) return null;
      const decipher = createDecipheriv("aes-256-ecb", key, null).setAutoPadding(false);
      const block = Buffer.concat([decipher.update(sealed), decipher.final()]);
      const isOwn = block.readUIntBE(0, NUMBER_BYTES) === workspaceId && block.readUInt32BE(2 * NUMBER_BYTES) === 0;
      return isOwn ? block.readUIntBE(NUMBER_BYTES, NUMBER_BYTES) : null;
    },
  };
}
