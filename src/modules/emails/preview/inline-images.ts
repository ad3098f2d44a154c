// The images of an email that its html shows, as data: addresses.

import { streamContent } from "../attachments/read.ts";
import type { AttachmentStore } from "../attachments/store.ts";

/** What a browser shows and cannot run. An SVG in an `img` runs and loads nothing. */
const SHOWN = /^image\/(?:png|jpeg|gif|webp|avif|svg\+xml)$/;
/** Of all images together; those beyond are not shown. */
const MAX_BYTES = 2 * 1024 * 1024;

/** By their content ids. `emailId`: of a group the first one's. */
export async function readInlineImages(
  emailId: number,
  attachments: Pick<AttachmentStore, "listOf" | "findFile" | "readPiece">,
): Promise<Map<string, string>> {
  const images = new Map<string, string>();
  let room = MAX_BYTES;
  for (const { attachmentId, contentId, contentType, bytes, transferEncoding } of attachments.listOf(emailId)) {
    if (attachmentId === null || contentId === null || !SHOWN.test(contentType) || bytes > room) continue;
    room -= bytes;
    const content = await new Response(streamContent({ id: attachmentId, transferEncoding }, attachments)).bytes();
    images.set(contentId, `data:${contentType};base64,${content.toBase64()}`);
  }
  return images;
}
