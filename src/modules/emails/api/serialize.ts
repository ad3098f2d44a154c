import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import { unpackBody } from "../content/body.ts";
import type { Bounce, EmailInList, EmailRecord, EmailStatus } from "./schema.ts";
import type { ListedEmail } from "../store/list-store.ts";
import type { EmailState, EmailStore } from "../store/store.ts";

type Found = NonNullable<ReturnType<EmailStore["findRecord"]>>;

/** An email in the list's eight members. */
export function showInList(email: ListedEmail["email"], attemptsBegun: number | null): typeof EmailInList.static {
  return {
    id: email.uid,
    from: email.sender,
    to: email.recipient,
    subject: email.subject,
    // The Message-ID: there is none at any server before the first attempt.
    providerId: (attemptsBegun ?? email.attempts) > 0 ? getMessageId(email) : null,
    createdAt: toIsoTime(email.createdAt),
    sentAt: toIsoTimeOrNull(email.sentAt),
    deliveredAt: toIsoTimeOrNull(email.deliveredAt),
  };
}

export function showRecord({ email, body, queue }: Found): typeof EmailRecord.static {
  const parts = body === null ? { html: null, text: null } : unpackBody(body);
  return { ...showState({ email, queue }), ...parts };
}

/** An email's record without its parts, as events carry it. */
export function showState({ email, queue }: EmailState): Omit<typeof EmailRecord.static, "html" | "text"> {
  const isWaiting = queue !== null && !queue.inFlight;
  return {
    ...showInList(email, queue?.attempts ?? null),
    failedReason: email.failedReason,
    lastReply: queue?.lastReply ?? null,
    status: getStatus({ email, queue }),
    replyTo: email.replyTo,
    attempts: queue?.attempts ?? email.attempts,
    nextAttemptAt: isWaiting ? toIsoTime(queue.nextAt) : null,
    possibleDuplicate: email.possibleDuplicate,
    bounce: email.bounce === null ? null : (JSON.parse(email.bounce) as Bounce),
  };
}

/** An email's status, from both its rows. */
export function getStatus({ email, queue }: EmailState): EmailStatus {
  return toStatus(email.status, queue);
}

/**
 * A status that is not final follows from the queue row (an attempt runs: sending; an attempt was made:
 * delivery_delayed), so that the email's own row is written at acceptance and when final.
 */
export function toStatus(stored: EmailStatus, queue: { attempts: number; inFlight: boolean } | null): EmailStatus {
  if (stored !== "queued" || queue === null) return stored;
  if (queue.inFlight) return "sending";
  return queue.attempts > 0 ? "delivery_delayed" : "queued";
}

/** Without the brackets; the same for every attempt (R47). */
export function getMessageId(email: { uid: string; senderDomain: string }): string {
  return `${email.uid}@${email.senderDomain}`;
}
