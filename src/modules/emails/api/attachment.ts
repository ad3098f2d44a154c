// Answers with the content of one attachment, as a download.

import { streamContent } from "../attachments/read.ts";
import type { AttachmentStore, EmailAttachmentRow } from "../attachments/store.ts";

/** Nothing of it runs, whatever it is: neither as a page nor by its look. */
export const GUARDING_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
};

export function answerAttachment(
  { attachmentId, filename, contentType, transferEncoding }: EmailAttachmentRow & { attachmentId: number },
  attachments: Pick<AttachmentStore, "findFile" | "readPiece">,
): Response {
  return new Response(streamContent({ id: attachmentId, transferEncoding }, attachments), {
    headers: {
      ...GUARDING_HEADERS,
      "content-type": contentType,
      "content-disposition": formatDisposition(filename),
    },
  });
}

/** RFC 6266, with RFC 8187 where the name is more than ASCII. */
export function formatDisposition(filename: string): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%]/gu, "_");
  if (plain === filename) return `attachment; filename="${plain}"`;
  const escape = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  const encoded = encodeURIComponent(filename).replaceAll(/['()*]/g, escape);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
