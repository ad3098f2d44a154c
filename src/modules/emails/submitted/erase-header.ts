// Takes an erased recipient out of the stored header of a message that others have too.

import { type RawField, splitFields, unfold } from "../../../protocols/mime/header-fields.ts";
import { comparableAddress } from "../../../protocols/mime/address.ts";
import { mailboxLine } from "../../../protocols/mime/header.ts";
import { readMailboxList } from "../../../protocols/mime/submitted/mailbox-list.ts";

const OF_RECIPIENTS = /^(?:to|cc|resent-to|resent-cc)$/i;
/** It says who sent the message, also where that is the erased person. */
const FROM = /^from$/i;

/** `address` in the form compared. The fields of recipients are written anew without it; others that name it go. */
export function eraseFromHeader(header: string, address: string): string {
  return splitFields(header)
    .map((field) => eraseFromField(field, address))
    .join("");
}

function eraseFromField(field: RawField, address: string): string {
  const { name, raw } = field;
  if (FROM.test(name)) return raw;
  if (OF_RECIPIENTS.test(name)) {
    const all = readMailboxList(unfold(field)).mailboxes;
    const left = all.filter((mailbox) => comparableAddress(mailbox) !== address);
    // As octets, one character each.
    if (left.length < all.length) return Buffer.from(mailboxLine(name, left), "latin1").toString();
  }
  return unfold(field).toLowerCase().includes(address) ? "" : raw;
}
