// Reads the content of attachments piece by piece, so that others are served in between.

import { yieldToEventLoop } from "../../../platform/queue/queue-admin.ts";
import type { StoredAttachment } from "../content/extras.ts";
import { unpackPiece } from "./pack.ts";
import type { AttachmentStore } from "./store.ts";

/** Read without letting others in between. */
const QUICK_BYTES = 256 * 1024;

type Pieces = Pick<AttachmentStore, "findEncoding" | "readPiece">;

/**
 * An email's attachments as they are stored, for the thread that composes; they have `bytes` of content together. Throws when
 * one is missing: an email without it would be worse than none.
 */
export async function readStored(
  { emailId, bytes }: { emailId: number; bytes: number },
  attachments: Pieces & Pick<AttachmentStore, "listOf">,
): Promise<StoredAttachment[]> {
  const listed = attachments.listOf(emailId);
  if (listed.length === 0 || listed.reduce((sum, each) => sum + each.bytes, 0) !== bytes)
    throw new Error("an email that is not final has lost an attachment");
  const stored: StoredAttachment[] = [];
  for (const { attachmentId, ...header } of listed) {
    const encoding = attachmentId === null ? undefined : attachments.findEncoding(attachmentId);
    if (attachmentId === null || encoding === undefined)
      throw new Error("the content of an attachment of an email that is not final is missing");
    const pieces: Uint8Array[] = [];
    for (;;) {
      const piece = attachments.readPiece(attachmentId, pieces.length);
      if (piece === undefined) break;
      pieces.push(piece);
      if (piece.length > QUICK_BYTES) await yieldToEventLoop();
    }
    const { filename, contentType, contentId } = header;
    stored.push({ filename, contentType, contentId, bytes: header.bytes, encoding, pieces });
  }
  return stored;
}

/** The content of a file of so many bytes, read as it is asked for; it fails where the file is removed meanwhile. */
export function streamContent(file: { id: number; bytes: number }, attachments: Pieces): ReadableStream<Uint8Array> {
  let [number, left] = [0, file.bytes];
  return new ReadableStream({
    pull(controller) {
      const encoding = attachments.findEncoding(file.id);
      const piece = attachments.readPiece(file.id, number);
      if (left > 0 && (encoding === undefined || piece === undefined)) throw new Error("the attachment is gone");
      if (encoding === undefined || piece === undefined) return controller.close();
      const content = unpackPiece(piece, encoding);
      number += 1;
      left -= content.length;
      controller.enqueue(content);
    },
  });
}
