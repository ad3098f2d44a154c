// All that composing a message needs, read from its rows, for the thread.

import type { PlainKey } from "../../../protocols/dkim/keys.ts";
import { type Mailbox, parseAddress, requireMailbox } from "../../../protocols/mime/address.ts";
import type { UnsubscribeLinks } from "../../unsubscribe/links.ts";
import { getMessageId } from "../api/serialize.ts";
import { readStored } from "../attachments/read.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import type { EmailRow } from "../store/store.ts";
import { storedBody, type StoredBody } from "./body.ts";
import type { ComposeInput } from "./compose.ts";
import type { ComposeExtras, StoredAttachment } from "./extras.ts";
import { type EmailExtra, unpackExtra } from "./pack-extra.ts";
import type { UnsubscribeAddresses } from "./unsubscribe.ts";

export interface ComposeRows {
  email: EmailRow;
  /** Its own, or its group's. */
  body: StoredBody;
  extra: (EmailExtra & { emailId?: number }) | null;
  groupUid: string | null;
}

export interface ComposeInputDeps {
  attachments: Pick<AttachmentStore, "listOf" | "findFile" | "readPiece">;
  unsubscribeLinks: Pick<UnsubscribeLinks, "build">;
  workspaces: { byId(id: number): { uid: string } | undefined };
}

/** `at`: Unix ms, of the signatures by `keys`; null: it goes unsigned. Throws where an attachment is missing. */
export async function readComposeInput(
  { email, body, extra, groupUid }: ComposeRows,
  { keys, at }: { keys: PlainKey[] | null; at: number },
  deps: ComposeInputDeps,
): Promise<ComposeInput> {
  const { uid, workspaceId, createdAt, sendAt, sender, recipient, replyTo, subject, returnPath } = email;
  const extras = buildExtras(email, extra, requireMailbox(parseAddress(recipient)));
  const unsubscribe = findUnsubscribe({ email, extra }, deps);
  const attachments = extras === null ? [] : await readAttachments({ email, extra }, deps);
  return {
    uid,
    // Gone with a deletion: then the email's own rows go too. pombo's own mail has none.
    workspaceUid: deps.workspaces.byId(workspaceId)?.uid ?? null,
    // Its Date: filters take mail that is days old for spam, and readers sort by it.
    createdAt: sendAt ?? createdAt,
    sender,
    recipient,
    replyTo,
    subject,
    returnPath,
    messageId: getMessageId(email, groupUid),
    domain: email.senderDomain,
    body: storedBody(body),
    keys,
    at,
    ...(extras === null ? {} : { extras: { ...extras, attachments, unsubscribe } }),
  };
}

/** All copies of a group show the same; one that was erased is in none any more. */
export function buildExtras(email: EmailRow, extra: EmailExtra | null, to: Mailbox): ComposeExtras | null {
  if (extra === null && email.recipientName === null) return null;
  const { recipients, replyTo, headers } = unpackExtra(extra);
  const all = recipients ?? [["to", to.address, email.recipientName] as const];
  const listKind = (kind: EmailRow["kind"]) =>
    all.flatMap(([each, address, name]) => (each === kind ? [{ address, name }] : []));
  const plainReplyTo = email.replyTo === null ? [] : [[email.replyTo, null] as const];
  return {
    to: listKind("to"),
    cc: listKind("cc"),
    replyTo: (replyTo ?? plainReplyTo).map(([address, name]) => ({ address, name })),
    headers: Object.entries(headers ?? {}),
    attachments: [],
  };
}

/** Null: the message says nothing of it, or nothing is hosted here any more. */
export function findUnsubscribe(
  { email, extra }: Pick<ComposeRows, "email" | "extra">,
  deps: Pick<ComposeInputDeps, "unsubscribeLinks">,
): UnsubscribeAddresses | null {
  const { unsubscribe } = unpackExtra(extra);
  if (unsubscribe === null) return null;
  const { list, url, mailto } = unsubscribe;
  if (list !== undefined) return deps.unsubscribeLinks.build(email.uid);
  return url === undefined ? null : { url, mail: mailto ?? null };
}

/** Read piece by piece. */
async function readAttachments(
  { email, extra }: Pick<ComposeRows, "email" | "extra">,
  deps: Pick<ComposeInputDeps, "attachments">,
): Promise<StoredAttachment[]> {
  const bytes = extra?.attachmentBytes ?? null;
  return bytes === null ? [] : readStored({ emailId: email.groupId ?? email.id, bytes }, deps.attachments);
}
