// Few emails have more than a body; these extras are stored: recipients, Reply-To, fields, metadata, unsubscribing.

import { readUnsubscribe, type Unsubscribe } from "./unsubscribe.ts";

/** Those of text as JSON; null: it has none. */
export interface EmailExtra {
  recipients: string | null;
  replyTo: string | null;
  headers: string | null;
  metadata: string | null;
  unsubscribe: string | null;
  attachmentBytes: number | null;
  /** Its dialogue is kept although it is accepted; null: no. */
  keepsDialogue: boolean | null;
}

export type StoredRecipient = readonly [kind: "to" | "cc" | "bcc", address: string, name: string | null];
type StoredAddress = readonly [address: string, name: string | null];

/** Null: there is nothing. Header fields are in the order of the object's members. */
interface ExtraContent {
  /** All of the group; those that were erased are no longer among them. */
  recipients: StoredRecipient[] | null;
  replyTo: StoredAddress[] | null;
  headers: Record<string, string> | null;
  metadata: Record<string, string> | null;
  unsubscribe: Unsubscribe | null;
  /** The contents of its attachments have so many bytes together. */
  attachmentBytes: number | null;
}

/** Null: all of it is null, or empty. */
export function packExtra(content: ExtraContent, keepsDialogue = false): EmailExtra | null {
  const { recipients, replyTo, headers, metadata, unsubscribe, attachmentBytes } = content;
  // Most emails: nothing is built for them.
  if (!keepsDialogue && (recipients ?? replyTo ?? headers ?? metadata ?? unsubscribe ?? attachmentBytes) === null)
    return null;
  const fields = Object.entries(headers ?? {});
  const extra = {
    recipients: pack(recipients),
    replyTo: pack(replyTo),
    headers: fields.length === 0 ? null : pack(fields),
    metadata: Object.keys(metadata ?? {}).length === 0 ? null : pack(metadata),
    unsubscribe: pack(unsubscribe),
    attachmentBytes,
    keepsDialogue: keepsDialogue ? true : null,
  };
  return Object.values(extra).every((each) => each === null) ? null : extra;
}

const NOTHING: ExtraContent = {
  recipients: null,
  replyTo: null,
  headers: null,
  metadata: null,
  unsubscribe: null,
  attachmentBytes: null,
};

export function unpackExtra(extra: EmailExtra | null): ExtraContent {
  if (extra === null) return NOTHING;
  const fields = unpack(extra.headers) as [string, string][] | null;
  return {
    recipients: unpack(extra.recipients) as StoredRecipient[] | null,
    replyTo: unpack(extra.replyTo) as StoredAddress[] | null,
    headers: fields === null ? null : Object.fromEntries(fields),
    metadata: unpack(extra.metadata) as Record<string, string> | null,
    unsubscribe: readUnsubscribe(extra.unsubscribe),
    attachmentBytes: extra.attachmentBytes,
  };
}

function pack(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

function unpack(stored: string | null): unknown {
  return stored === null ? null : JSON.parse(stored);
}
