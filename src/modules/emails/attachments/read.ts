// Reads the content of attachments piece by piece, so that others are served in between.

import { yieldToEventLoop } from "../../../platform/queue/queue-admin.ts";
import type { StoredAttachment } from "../content/extras.ts";
import { unpackPiece } from "./pack.ts";
import { createTransferDecoder } from "../../../protocols/mime/submitted/transfer-encoding.ts";
import type { AttachmentStore, EmailAttachmentRow } from "./store.ts";

/** Read without letting others in between. */
const QUICK_BYTES = 256 * 1024;

type Pieces = Pick<AttachmentStore, "findFile" | "readPiece">;

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
    const file = attachmentId === null ? undefined : attachments.findFile(attachmentId);
    if (attachmentId === null || file === undefined)
      throw new Error("the content of an attachment of an email that is not final is missing");
    const pieces: Uint8Array[] = [];
    for (;;) {
      const piece = attachments.readPiece(attachmentId, pieces.length);
      if (piece === undefined) break;
      pieces.push(piece);
      if (piece.length > QUICK_BYTES) await yieldToEventLoop();
    }
    const { filename, contentType, contentId } = header;
    stored.push({ filename, contentType, contentId, ...file, pieces });
  }
  return stored;
}

/**
 * The content of a file, read as it is asked for; it fails where the file is removed meanwhile. What came by SMTP is
 * decoded on the way.
 */
export function streamContent(
  { id, transferEncoding }: { id: number; transferEncoding: EmailAttachmentRow["transferEncoding"] },
  attachments: Pieces,
): ReadableStream<Uint8Array> {
  const decoder = transferEncoding === null ? null : createTransferDecoder(transferEncoding);
  let [number, bytes] = [0, 0];
  /** Null: that was all. */
  const readNext = (): Uint8Array | null => {
    const file = attachments.findFile(id);
    const piece = attachments.readPiece(id, number);
    if (file === undefined || (piece === undefined && bytes < file.bytes)) throw new Error("the attachment is gone");
    if (piece === undefined) return null;
    const content = unpackPiece(piece, file.encoding);
    number += 1;
    bytes += content.length;
    return decoder === null ? content : decoder.write(content);
  };
  return new ReadableStream({
    pull(controller) {
      let content = readNext();
      while (content?.length === 0) content = readNext();
      if (content !== null) return controller.enqueue(content);
      const rest = decoder?.end() ?? null;
      if (rest !== null && rest.length > 0) controller.enqueue(rest);
      controller.close();
    },
  });
}
