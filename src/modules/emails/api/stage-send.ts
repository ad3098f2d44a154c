// Stores the attachments of a request before its emails are written.

import { validationError } from "../../../platform/http/errors.ts";
import type { FieldError } from "../../../platform/http/request-schemas.ts";
import type { SendRequest } from "../../idempotency/accept.ts";
import { chooseContentType } from "../attachments/rules.ts";
import type { GivenContent, StageAttachments } from "../attachments/stage.ts";
import type { EmailAttachmentRow } from "../attachments/store.ts";
import { fillUnsubscribeUrl } from "../content/unsubscribe.ts";
import type { EmailSend } from "./schema.ts";

/** A send: of one email, of a batch, or of a message that came by SMTP. */
export interface AcceptRequest extends SendRequest {
  operation: "emails" | "emails.batch" | "smtp";
  items: EmailSend[];
  /** Their dialogues are kept although they are delivered. */
  keepsDialogue?: boolean;
}

/** An attachment of an email that is not written yet. */
export type PreparedAttachment = Omit<EmailAttachmentRow, "emailId" | "attachmentId"> & { attachmentId: number };

export interface StageSendDeps {
  stage: StageAttachments;
  settings: { maxMessageBytes: number };
}

/** Octets of a message for each of base64: a line has 76 of it (RFC 2045 §6.8). */
const LINES = 78 / 76;
/** The header fields of a part, without its name, and its boundary. */
const PART_BYTES = 1_024;
/** The service's own header fields, with both signatures. */
const HEADER_BYTES = 4_096;
/** Encoded, html and text have so many octets for each of theirs, */
const TEXT_GROWTH = 1.4;
/** and names, addresses and fields, which are folded, at most. */
const FIELD_GROWTH = 4;
/** As long as the longest address of a page hosted here. */
const HOSTED_URL = "x".repeat(320);
const MIB = 1024 * 1024;

export function hasAttachments(items: EmailSend[]): boolean {
  return items.some(({ attachments }) => attachments !== undefined && attachments.length > 0);
}

/** Those of each email, in order. Throws AppError: 422 with each that is no base64 or makes its message too large. */
export async function stageSend(request: AcceptRequest, deps: StageSendDeps): Promise<PreparedAttachment[][]> {
  const { items } = request;
  const faults = items.flatMap((item, index) => findSizeFaults(item, getPath(request, index), deps.settings));
  if (faults.length > 0) throw validationError(faults);
  const staged = (await deps.stage(request.caller.workspaceId, listContents(request))).values();
  return items.map(({ attachments = [] }) =>
    attachments.map(({ filename, contentType, contentId = null }, number) => {
      const { value } = staged.next();
      if (value === undefined) throw new Error("an attachment was not staged");
      const { id: attachmentId, bytes } = value;
      return {
        number,
        attachmentId,
        filename,
        contentType: chooseContentType(contentType, filename),
        contentId,
        bytes,
        transferEncoding: null,
      };
    }),
  );
}

function listContents(request: AcceptRequest): GivenContent[] {
  return request.items.flatMap(({ attachments = [] }, index) =>
    attachments.map(({ content }, number) => ({
      base64: content,
      path: [...getPath(request, index), "attachments", number, "content"],
    })),
  );
}

function getPath({ operation }: AcceptRequest, index: number): FieldError["path"] {
  return operation === "emails.batch" ? ["emails", index] : [];
}

/** By the lengths only, so that nothing of a message that is too large is stored. */
function findSizeFaults(
  item: EmailSend,
  path: FieldError["path"],
  { maxMessageBytes }: StageSendDeps["settings"],
): FieldError[] {
  const { html = "", text = html, attachments = [], ...fields } = item;
  if (attachments.length === 0) return [];
  const base64 = attachments.reduce((sum, { content }) => sum + content.length, 0);
  const { unsubscribe } = item;
  const addresses = unsubscribe === undefined ? null : { url: unsubscribe.url ?? HOSTED_URL, mail: null };
  const filled = fillUnsubscribeUrl({ html, text }, addresses);
  const texts = Buffer.byteLength(filled.html ?? "") + Buffer.byteLength(filled.text ?? "");
  const names = attachments.map(({ filename, contentType, contentId }) => [filename, contentType, contentId]);
  const bytes =
    base64 * LINES +
    texts * TEXT_GROWTH +
    Buffer.byteLength(JSON.stringify([fields, names])) * FIELD_GROWTH +
    attachments.length * PART_BYTES +
    HEADER_BYTES;
  if (bytes <= maxMessageBytes) return [];
  const show = (each: number) => `${(Math.ceil((each / MIB) * 10) / 10).toFixed(1)} MiB`;
  const message = `make a message of ${show(bytes)}; the largest has ${show(maxMessageBytes)}`;
  return [{ path: [...path, "attachments"], message, hint: "Send fewer or smaller files, or a link to them." }];
}
