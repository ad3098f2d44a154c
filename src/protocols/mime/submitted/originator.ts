/**
 * The From and Sender fields of a submitted message: exactly one mailbox each. A field stays as it came only if the parser
 * of addresses reads it alike; else it is written anew from its parts, so that no two readers can disagree about who is meant.
 */
import { parseMailbox, type Mailbox } from "../address.ts";
import { mailboxLine } from "../header.ts";
import type { HeaderField } from "./header-section.ts";
import { rawValue, readText } from "./header-section.ts";
import { readMailboxList } from "./mailbox-list.ts";
import { hasEightBitOctets, unfold } from "./text.ts";

export type Originator =
  | { kind: "originator"; mailbox: Mailbox; /** null: it stays as it came. */ written: string | null }
  | { kind: "fault"; message: string };

const EXAMPLE = "write exactly one address, like Name <name@example.com>";

export function readFrom(fields: HeaderField[]): Originator {
  const [field, ...others] = fields.filter(({ key }) => key === "from");
  if (field === undefined) return fault(`the message has no From field: ${EXAMPLE}`);
  if (others.length > 0) return fault(`the message has ${others.length + 1} From fields: leave exactly one`);
  return readOriginator(field);
}

/** `field`: From or Sender. */
export function readOriginator(field: HeaderField): Originator {
  const { name } = field;
  const list = readMailboxList(readText(field));
  const [mailbox] = list.mailboxes;
  if (list.groups > 0) return fault(`${name} holds a group of addresses: ${EXAMPLE}`);
  if (list.faults[0] !== undefined) return fault(`${name} cannot be read: ${list.faults[0]}`);
  if (mailbox === undefined) return fault(`${name} holds no address: ${EXAMPLE}`);
  if (list.mailboxes.length > 1) return fault(`${name} holds ${list.mailboxes.length} addresses: leave exactly one`);
  // Many servers take nothing from such a sender, and an answer could not reach it.
  if (/[^\0-\x7f]/.test(mailbox.localPart))
    return fault(`${name} has an address with characters beyond ASCII before the @: use one in ASCII`);
  return { kind: "originator", mailbox, written: isPlain(field, mailbox) ? null : mailboxLine(name, [mailbox]) };
}

function isPlain(field: HeaderField, mailbox: Mailbox): boolean {
  if (hasEightBitOctets(field.raw)) return false;
  const strict = parseMailbox(unfold(rawValue(field)));
  return strict.kind === "mailbox" && strict.mailbox.address === mailbox.address;
}

function fault(message: string): Originator {
  return { kind: "fault", message };
}
