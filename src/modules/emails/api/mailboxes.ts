// The mailboxes of a send as they were given, and their parts.

import { RECIPIENT_KINDS } from "../../../platform/db/schema/schema.ts";
import {
  comparableAddress,
  type Mailbox,
  parseAddress,
  type ParsedMailbox,
  parseMailbox,
  requireMailbox,
} from "../../../protocols/mime/address.ts";

export type RecipientKind = (typeof RECIPIENT_KINDS)[number];

/** One mailbox, or several. */
type Given = string | string[];

interface GivenRecipients {
  to: Given;
  cc?: Given;
  bcc?: Given;
}

export interface GivenMailbox {
  mailbox: Mailbox;
  /** As records show it: a bare address as it was given, one with a name from its parts. */
  address: string;
}

export interface Recipient extends GivenMailbox {
  kind: RecipientKind;
  /** In the form compared. */
  comparable: string;
  /** Its place in an array. */
  index: number | null;
}

/** Reads a bare address, `<address>` or `Name <address>`. */
export function parseGiven(text: string): ParsedMailbox {
  const bare = parseAddress(text);
  return bare.kind === "fault" && text.includes("<") ? parseMailbox(text) : bare;
}

/** The mailboxes of a member that was checked. */
export function listMailboxes(given: Given | undefined): GivenMailbox[] {
  if (typeof given === "string") return [readMailbox(given)];
  return given === undefined ? [] : given.map(readMailbox);
}

function readMailbox(text: string): GivenMailbox {
  const bare = parseAddress(text);
  if (bare.kind === "mailbox") return { mailbox: bare.mailbox, address: text };
  const mailbox = requireMailbox(parseMailbox(text));
  return { mailbox, address: mailbox.address };
}

/** In the order to, cc, bcc. */
export function listRecipients(item: GivenRecipients): Recipient[] {
  const recipients: Recipient[] = [];
  for (const kind of RECIPIENT_KINDS) {
    const given = item[kind];
    for (const [position, { mailbox, address }] of listMailboxes(given).entries()) {
      const index = Array.isArray(given) ? position : null;
      recipients.push({ mailbox, address, kind, comparable: comparableAddress(mailbox), index });
    }
  }
  return recipients;
}

export function countRecipients({ to, cc, bcc }: GivenRecipients): number {
  return count(to) + count(cc) + count(bcc);
}

function count(given: Given | undefined): number {
  return typeof given === "string" ? 1 : (given?.length ?? 0);
}
