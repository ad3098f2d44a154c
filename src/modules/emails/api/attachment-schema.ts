// The attachments of a request, and how a record lists them.

import { Type } from "@sinclair/typebox";
import { bodyObject, namedObject } from "../../../platform/http/openapi.ts";
import { orNull } from "../../../platform/http/answer-schemas.ts";
import { type FieldError, largeText, text } from "../../../platform/http/request-schemas.ts";
import { contentIdFault, contentTypeFault, filenameFault } from "../attachments/rules.ts";

const MAX_ATTACHMENTS = 50;
const MAX_NAME = 255;
const MAX_CONTENT_ID = 250;
/** The base64 of the largest message that may be configured has fewer characters. */
const MAX_BASE64 = 56_000_000;

const GivenAttachment = bodyObject("AttachmentSend", {
  filename: text(
    { minLength: 1, maxLength: MAX_NAME, description: "Its name, without a folder.", examples: ["recibo.pdf"] },
    filenameFault,
  ),
  // Whether it is base64 is seen on a thread (attachments/pack.ts): it may have megabytes.
  content: largeText({
    maxLength: MAX_BASE64,
    format: "byte",
    description: "Its bytes in base64 (RFC 4648 §4), with padding and without line breaks.",
    examples: ["JVBERi0xLjcKJSVFT0YK"],
  }),
  contentType: Type.Optional(
    text(
      {
        minLength: 1,
        maxLength: MAX_NAME,
        description:
          "Its media type. Absent: by the ending of the name. `message/*` is sent as application/octet-stream.",
        examples: ["application/pdf"],
      },
      contentTypeFault,
    ),
  ),
  contentId: Type.Optional(
    text(
      {
        minLength: 1,
        maxLength: MAX_CONTENT_ID,
        description: 'With it the html shows it: `<img src="cid:logo">`.',
        examples: ["logo"],
      },
      contentIdFault,
    ),
  ),
});

export type GivenAttachment = typeof GivenAttachment.static;

export const Attachments = Type.Array(GivenAttachment, {
  maxItems: MAX_ATTACHMENTS,
  description:
    "Files that go with it. The whole message may have as many bytes as the operator allows ([email] max_message).",
});

/** RFC 2392 §2: an id names one part. */
export function findAttachmentFaults(attachments: GivenAttachment[] | undefined): FieldError[] {
  // It has another type, which is a fault of its own.
  if (!Array.isArray(attachments)) return [];
  const seen = new Set<string>();
  return attachments.flatMap((attachment, index) => {
    const id = (attachment as Partial<GivenAttachment> | null)?.contentId;
    if (typeof id !== "string" || !seen.has(id)) {
      if (typeof id === "string") seen.add(id);
      return [];
    }
    return [{ path: ["attachments", index, "contentId"], message: "is that of another attachment too" }];
  });
}

/** An attachment as a record lists it; its bytes are at `/emails/{id}/attachments/{n}`. */
export const ListedAttachment = namedObject("EmailAttachment", {
  filename: Type.String({ description: "Its name.", examples: ["recibo.pdf"] }),
  contentType: Type.String({ description: "The type that is sent.", examples: ["application/pdf"] }),
  contentId: orNull(Type.String(), "The id by which the html shows it; null: it is not inline.", "logo"),
  bytes: Type.Integer({ minimum: 0, description: "Bytes of its content.", examples: [15] }),
});
