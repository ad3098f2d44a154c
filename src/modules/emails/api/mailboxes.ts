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
  return [given ?? []].flat().map((text) => {
    const bare = parseAddress(text);
    if (bare.kind === "mailbox") return { mailbox: bare.mailbox, address: text };
    const mailbox = requireMailbox(parseMailbox(text));
    return { mailbox, address: mailbox.address };
  });
}

/** In the order to, cc, bcc. */
export function listRecipients(item: GivenRecipients): Recipient[] {
  return RECIPIENT_KINDS.flatMap((kind) => {
    const given = item[kind];
    return listMailboxes(given).map((each, position) => {
      const index = Array.isArray(given) ? position : null;
      return { ...each, kind, comparable: comparableAddress(each.mailbox), index };
    });
  });
}

export function countRecipients(item: GivenRecipients): number {
  return RECIPIENT_KINDS.reduce((sum, kind) => sum + [item[kind] ?? []].flat().length, 0);
}
