// An email's extras, beyond one recipient, a subject and its contents, as the composing thread gets them.

import type { UnsubscribeAddresses } from "./unsubscribe.ts";

/** An email has extras with several recipients, a name, header fields of its own, attachments or a way to unsubscribe. */
export interface ComposeExtras {
  /** The visible ones, the same in each copy of a group; those of a blind copy are not among them. */
  to: NamedAddress[];
  cc: NamedAddress[];
  replyTo: NamedAddress[];
  /** Any text on one line; in this order, after the service's own. */
  headers: [name: string, value: string][];
  attachments: StoredAttachment[];
  /** Null: the message says nothing of it. */
  unsubscribe?: UnsubscribeAddresses | null;
}

export interface NamedAddress {
  name: string | null;
  /** As parseMailbox gives it. */
  address: string;
}

export interface StoredAttachment {
  filename: string;
  contentType: string;
  /** Without angle brackets; null: it is not inline. */
  contentId: string | null;
  /** The content has so many bytes before it is encoded. */
  bytes: number;
  encoding: "plain" | "zstd";
  /** The content in order, each piece encoded for itself. */
  pieces: Uint8Array[];
}
