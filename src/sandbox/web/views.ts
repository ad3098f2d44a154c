// What the sandbox's JSON says of a message in the inbox, and of an SMS on a phone.

import type { StoredMessage } from "../mx/inbox.ts";
import type { StoredText } from "../smsc/message-store.ts";

export function showInbox(message: StoredMessage) {
  return {
    id: message.id,
    envelopeFrom: message.envelopeFrom,
    from: message.from,
    to: message.to,
    subject: message.subject,
    receivedAt: new Date(message.receivedAt).toISOString(),
    tls: message.tls,
    dkim: message.dkim,
    dkimSignatures: message.signatures,
    sizeBytes: message.sizeBytes,
  };
}

export function showText({ id, from, to, body, segments, encoding, receivedAt }: StoredText) {
  return { id, from, to, body, segments, encoding, receivedAt: new Date(receivedAt).toISOString() };
}
