// An email of a request, ready to be written but for what only the database knows.

import { type Mailbox, parseMailbox, requireMailbox } from "../../../protocols/mime/address.ts";
import type { StoredBody } from "../content/body.ts";
import type { Preparer } from "../content/prepare-thread.ts";
import { type EmailExtra, packExtra } from "../content/pack-extra.ts";
import { type GivenMailbox, listMailboxes, listRecipients, type Recipient } from "./mailboxes.ts";
import type { EmailSend } from "./schema.ts";
import {
  type AcceptRequest,
  hasAttachments,
  type PreparedAttachment,
  stageSend,
  type StageSendDeps,
} from "./stage-send.ts";

export interface Prepared {
  item: EmailSend;
  from: Mailbox;
  /** In the order to, cc, bcc. */
  recipients: Recipient[];
  /** The first one. */
  replyTo: string | null;
  /** Null: it has none of them, as most emails. */
  extra: EmailExtra | null;
  attachments: PreparedAttachment[];
  body: StoredBody;
  /** Null: it came by the API. `messageId`: without brackets; null: the message has none. */
  submitted: { messageId: string | null } | null;
}

export interface PrepareDeps extends StageSendDeps {
  preparer: Preparer;
}

/** Attachments are stored with it. Throws AppError. */
export async function prepareAll(request: AcceptRequest, deps: PrepareDeps): Promise<Prepared[]> {
  const { items } = request;
  const bodies = await deps.preparer(items.map(({ html, text }) => ({ html, text })));
  const staged = hasAttachments(items) ? await stageSend(request, deps) : [];
  return items.map((item, index) => {
    const body = bodies[index];
    if (body === undefined) throw new Error("an email has no body");
    const attachments = staged[index] ?? [];
    const recipients = listRecipients(item);
    const replyTo = listMailboxes(item.replyTo);
    return {
      item,
      from: requireMailbox(parseMailbox(item.from)),
      recipients,
      replyTo: replyTo[0]?.address ?? null,
      extra: buildExtra({ item, recipients, attachments }, replyTo, request.keepsDialogue),
      attachments,
      body,
      submitted: null,
    };
  });
}

export function buildExtra(
  { item, recipients, attachments }: Pick<Prepared, "item" | "recipients" | "attachments">,
  replyTo: GivenMailbox[],
  keepsDialogue: boolean | undefined,
): EmailExtra | null {
  const isReplyToPlain = replyTo.length < 2 && (replyTo[0]?.mailbox.displayName ?? null) === null;
  const content = {
    recipients:
      recipients.length < 2
        ? null
        : recipients.map(({ kind, mailbox }) => [kind, mailbox.address, mailbox.displayName] as const),
    replyTo: isReplyToPlain ? null : replyTo.map(({ mailbox }) => [mailbox.address, mailbox.displayName] as const),
    headers: item.headers ?? null,
    metadata: item.metadata ?? null,
    unsubscribe: item.unsubscribe ?? null,
    attachmentBytes: attachments.length === 0 ? null : attachments.reduce((sum, { bytes }) => sum + bytes, 0),
  };
  return packExtra(content, keepsDialogue);
}
