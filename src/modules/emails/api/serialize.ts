import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import { unpackExtra } from "../content/pack-extra.ts";
import { formatMailbox } from "../../../protocols/mime/address.ts";
import type { Bounce, EmailInEvent, EmailInList, EmailRecord, EmailStatus } from "./schema.ts";
import type { ReadContent } from "../submitted/show.ts";
import type { ListedEmail } from "../store/list-store.ts";
import type { EmailDetails, EmailState, EmailStore } from "../store/store.ts";

type Found = NonNullable<ReturnType<EmailStore["findRecord"]>>;

/** An email in the list's eight members. */
export function showInList({ email, queue, groupUid }: ListedEmail): typeof EmailInList.static {
  const attempts = queue?.attempts ?? email.attempts;
  return {
    id: email.uid,
    from: email.sender,
    to: email.recipient,
    subject: email.subject,
    // The Message-ID: there is none at any server before the first attempt.
    providerId: attempts > 0 ? getMessageId(email, groupUid) : null,
    createdAt: toIsoTime(email.createdAt),
    sentAt: toIsoTimeOrNull(email.sentAt),
    deliveredAt: toIsoTimeOrNull(email.deliveredAt),
  };
}

export async function showRecord(
  { email, body, queue, extra, groupUid, group, attachments, sentBy }: Found,
  readContent: ReadContent,
): Promise<typeof EmailRecord.static> {
  const parts = body === null ? { html: null, text: null } : await readContent(body);
  const recipients = group?.map(showRecipient) ?? null;
  const { headers } = unpackExtra(extra);
  return { ...showState({ email, queue, extra, groupUid }), ...parts, headers, recipients, attachments, sentBy };
}

function showRecipient({ email, queue }: NonNullable<Found["group"]>[number]) {
  const { uid: id, recipient: address, kind } = email;
  return { id, address, kind, status: toStatus(email.status, queue) };
}

/** An email's record without its parts, header fields and other recipients, as events carry it. */
export function showState({ email, queue, extra, groupUid }: EmailDetails): typeof EmailInEvent.static {
  const isWaiting = queue !== null && !queue.inFlight;
  const { replyTo, metadata, unsubscribe } = unpackExtra(extra);
  const plainReplyTo = email.replyTo === null ? null : [email.replyTo];
  return {
    ...showInList({ email, queue, groupUid }),
    failedReason: email.failedReason,
    lastReply: queue?.lastReply ?? null,
    status: getStatus({ email, queue }),
    replyTo: email.replyTo,
    attempts: queue?.attempts ?? email.attempts,
    nextAttemptAt: isWaiting ? toIsoTime(queue.nextAt) : null,
    sendAt: toIsoTimeOrNull(email.sendAt),
    possibleDuplicate: email.possibleDuplicate,
    bounce: email.bounce === null ? null : (JSON.parse(email.bounce) as Bounce),
    kind: email.kind,
    toName: email.recipientName,
    replyToAll: replyTo?.map(([address, name]) => formatMailbox(address, name)) ?? plainReplyTo,
    groupId: groupUid,
    source: email.messageId === null ? "api" : "smtp",
    tag: email.tag,
    metadata,
    unsubscribe,
  };
}

/** An email's status, from both its rows. */
export function getStatus({ email, queue }: EmailState): EmailStatus {
  return toStatus(email.status, queue);
}

/**
 * A status that is not final follows from the queue row (an attempt runs: sending; an attempt was made: delivery_delayed;
 * before the first one it waits for a time: scheduled), so that the email's own row is written at acceptance and when final.
 */
export function toStatus(
  stored: EmailStatus,
  queue: { attempts: number; inFlight: boolean; sendAt: number | null } | null,
): EmailStatus {
  if (stored !== "queued" || queue === null) return stored;
  if (queue.inFlight) return "sending";
  if (queue.attempts > 0) return "delivery_delayed";
  return queue.sendAt === null ? "queued" : "scheduled";
}

/** Without the brackets; the same for every attempt (R47), and in all copies of a group. */
export function getMessageId(
  { uid, senderDomain, messageId }: { uid: string; senderDomain: string; messageId: string | null },
  groupUid: string | null,
): string {
  return messageId ?? `${groupUid ?? uid}@${senderDomain}`;
}
