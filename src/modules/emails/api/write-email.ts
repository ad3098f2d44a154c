// Writes an accepted email: its own rows for each recipient, and once what they share.

import { returnPath } from "../../../protocols/dsn/return-path.ts";
import { comparableAddress } from "../../../protocols/mime/address.ts";
import type { SenderKeys } from "../../api-keys/sender-store.ts";
import type { DomainRow } from "../../domains/store.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import type { FindTransport } from "../delivery/transport.ts";
import { type EndDeps, endEmail } from "../events.ts";
import type { QueueStore } from "../queue/store.ts";
import type { EmailStore } from "../store/store.ts";
import type { Recipient } from "./mailboxes.ts";
import type { Prepared } from "./prepare.ts";
import type { AcceptedEmail } from "./schema.ts";
import { parseSendAt } from "./send-at.ts";

/** An email's rows, and what follows from them. */
export interface WriteEmailDeps extends EndDeps {
  emails: EmailStore;
  attachments: Pick<AttachmentStore, "refer">;
  queue: QueueStore;
  findTransport: FindTransport;
  settings: { bounceHost: string; lifetimeMs: number; returnPathKey: Uint8Array };
}

/** The lanes that emails went to, and when the first of each is due. */
export type Lanes = Map<number, { destination: string; dueAt: number }>;

interface WriteContext {
  sender: SenderKeys;
  /** The next one; they sort in the order of the recipients. */
  newUid: () => string;
  now: number;
  suppressed: Map<Recipient, string>;
  lanes: Lanes;
  deps: WriteEmailDeps;
}

/** All emails of one request share this. `groupId`: null for the first of them. */
interface Shared {
  domain: DomainRow;
  groupId: number | null;
  /** Null: it came by the API, and has the one of its id. */
  messageId: string | null;
  /** Null: at once. */
  sendAt: number | null;
}

/** Writes an email for each recipient, the first one with what they share; the answer. */
export function writeEmail(email: Prepared, domain: DomainRow, context: WriteContext): AcceptedEmail {
  const sendAt = parseSendAt(email.item.sendAt, context.now);
  let groupId: number | null = null;
  let messageId = email.submitted?.messageId ?? null;
  const shown = email.recipients.map((recipient) => {
    const uid = context.newUid();
    if (email.submitted !== null) messageId ??= `${uid}@${domain.name}`;
    const written = writeRecipient(email, recipient, { uid, domain, groupId, messageId, sendAt }, context);
    groupId ??= written.id;
    return written.shown;
  });
  const [first] = shown;
  if (first === undefined || groupId === null) throw new Error("an email has no recipient");
  for (const attachment of email.attachments) context.deps.attachments.refer({ emailId: groupId, ...attachment });
  const accepted = { id: first.id, status: toAcceptedStatus(sendAt) };
  return shown.length === 1 ? accepted : { ...accepted, recipients: shown };
}

function toAcceptedStatus(sendAt: number | null): AcceptedEmail["status"] {
  return sendAt === null ? "queued" : "scheduled";
}

function writeRecipient(
  email: Prepared,
  recipient: Recipient,
  shared: Shared & { uid: string },
  { sender, now, suppressed, lanes, deps }: WriteContext,
) {
  const { domain, sendAt, uid } = shared;
  const owner = { workspaceId: domain.workspaceId, domainId: domain.id };
  const id = insertRow(email, recipient, { ...shared, ...sender, now }, deps);
  deps.emails.addTotal({ ...owner, status: "queued" }, 1);
  const shown = { id: uid, address: recipient.address, kind: recipient.kind };
  const reason = suppressed.get(recipient);
  if (reason !== undefined) {
    const failedReason = `The recipient is suppressed (${reason})`;
    endEmail(id, { status: "suppressed", endedAt: now, attempts: 0, failedReason }, deps);
    return { id, shown: { ...shown, status: "suppressed" as const } };
  }
  const destination = deps.findTransport(domain.name).siteFor(recipient.mailbox.domain);
  const laneId = deps.queue.laneFor(owner.workspaceId, destination);
  const dueAt = sendAt ?? now;
  const expiresAt = dueAt + deps.settings.lifetimeMs;
  deps.queue.add({ ...owner, id, laneId, createdAt: now, nextAt: dueAt, sendAt, expiresAt });
  lanes.set(laneId, { destination, dueAt: Math.min(dueAt, lanes.get(laneId)?.dueAt ?? dueAt) });
  const status = toAcceptedStatus(sendAt);
  deps.recordEvent(`email.${status}`, { id, ...owner }, now);
  return { id, shown: { ...shown, status } };
}

function insertRow(
  { item, from, recipients, replyTo, extra, body }: Prepared,
  { kind, mailbox, address, comparable }: Recipient,
  { uid, now, domain, groupId, messageId, sendAt, keyId, userId }: Shared & SenderKeys & { uid: string; now: number },
  { emails, settings }: Pick<WriteEmailDeps, "emails" | "settings">,
): number {
  const host = domain.hasReturnPath ? `bounce.${domain.name}` : settings.bounceHost;
  const isFirst = groupId === null;
  return emails.insert({
    workspaceId: domain.workspaceId,
    domainId: domain.id,
    uid,
    sender: item.from,
    senderAddress: comparableAddress(from),
    senderDomain: domain.name,
    recipient: address,
    recipientAddress: comparable,
    recipientName: mailbox.displayName,
    kind,
    groupId,
    subject: item.subject,
    replyTo,
    returnPath: returnPath({ id: uid, recipient: comparable }, host, settings.returnPathKey),
    tag: item.tag ?? null,
    createdAt: now,
    sendAt,
    keyId,
    userId,
    messageId,
    body: isFirst ? body : null,
    extra: isFirst ? extra : null,
    startsGroup: isFirst && recipients.length > 1,
  });
}
