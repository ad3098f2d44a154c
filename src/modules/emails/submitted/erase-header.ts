// Takes an erased recipient out of the stored header of a message that others have too.

import { type RawField, splitFields, unfold } from "../../../protocols/mime/header-fields.ts";
import { comparableAddress, type Mailbox } from "../../../protocols/mime/address.ts";
import { mailboxLine } from "../../../protocols/mime/header.ts";
import { readMailboxList } from "../../../protocols/mime/submitted/mailbox-list.ts";
import { decodeWords } from "../../../protocols/mime/submitted/text.ts";

const OF_MAILBOXES = /^(?:to|cc|reply-to|resent-to|resent-cc)$/i;
/** From says who sent the message, also where that is the erased person; without the others nobody could read it, or thread it. */
const KEPT = /^(?:from|date|message-id|in-reply-to|references|mime-version|content-.*)$/i;

/** `address` in the form compared. The fields of mailboxes are written anew without it; others that name it go. */
export function eraseFromHeader(header: string, address: string): string {
  return splitFields(header)
    .map((field) => (KEPT.test(field.name) ? field.raw : eraseFromField(field, address)))
    .join("");
}

function eraseFromField(field: RawField, address: string): string {
  if (OF_MAILBOXES.test(field.name)) {
    const all = readMailboxList(unfold(field)).mailboxes;
    const left = all
      .filter((mailbox) => comparableAddress(mailbox) !== address)
      .map((mailbox) => unname(mailbox, address));
    // As octets, one character each.
    if (left.some((mailbox, index) => mailbox !== all[index]) || left.length < all.length)
      return Buffer.from(mailboxLine(field.name, left), "latin1").toString();
  }
  return holdsAddress(decodeWords(unfold(field)), address) ? "" : field.raw;
}

/** Somebody else, whose name may hold the address too. */
function unname(mailbox: Mailbox, address: string): Mailbox {
  return holdsAddress(mailbox.displayName ?? "", address) ? { ...mailbox, displayName: null } : mailbox;
}

/** Not as a part of a longer one. */
function holdsAddress(given: string, address: string): boolean {
  const text = given.toLowerCase();
  for (let at = text.indexOf(address); at >= 0; at = text.indexOf(address, at + 1)) {
    const isBegun = /[\p{L}\p{N}_.+-]/u.test(text[at - 1] ?? "");
    const goesOn = /^(?:[\p{L}\p{N}_-]|\.[\p{L}\p{N}])/u.test(text.slice(at + address.length, at + address.length + 4));
    if (!isBegun && !goesOn) return true;
  }
  return false;
}
