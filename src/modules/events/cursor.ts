// Cursors: a listener's place in its workspace's events.

import { createCursorCipher } from "../../platform/http/cursor.ts";

export interface EventCursors {
  /** The cursor after the event `id` (0: before all) of a workspace. */
  write(workspaceId: number, id: number): string;
  /** The id; null: the cursor was not given out for that workspace. */
  read(workspaceId: number, cursor: string): number | null;
}

/** `key`: 32 bytes for this use only. */
export function createEventCursors(key: Uint8Array): EventCursors {
  const cipher = createCursorCipher(key);
  return {
    write: (workspaceId, id) => cipher.write({ place: [workspaceId, id], list: 0 }),
    read(workspaceId, text) {
      const cursor = cipher.read(text);
      return cursor?.place[0] === workspaceId && cursor.list === 0 ? cursor.place[1] : null;
    },
  };
}
