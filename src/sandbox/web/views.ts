// A message of the inbox and an SMS on a phone, as JSON of the sandbox.

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
