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
    .map((field) => (FROM.test(field.name) ? field.raw : eraseFromField(field, address)))
    .join("");
}

function eraseFromField(field: RawField, address: string): string {
  const left = OF_RECIPIENTS.test(field.name) ? eraseFromList(field, address) : field.raw;
  return holdsAddress(left.replaceAll(/\r\n(?=[ \t])/g, "").toLowerCase(), address) ? "" : left;
}

function eraseFromList(field: RawField, address: string): string {
  const all = readMailboxList(unfold(field)).mailboxes;
  const left = all.filter((mailbox) => comparableAddress(mailbox) !== address);
  // As octets, one character each.
  return left.length === all.length ? field.raw : Buffer.from(mailboxLine(field.name, left), "latin1").toString();
}

/** Not as a part of a longer one. */
function holdsAddress(text: string, address: string): boolean {
  for (let at = text.indexOf(address); at >= 0; at = text.indexOf(address, at + 1)) {
    const isBegun = /[\p{L}\p{N}_.+-]/u.test(text[at - 1] ?? "");
    const goesOn = /^(?:[\p{L}\p{N}_-]|\.[\p{L}\p{N}])/u.test(text.slice(at + address.length, at + address.length + 4));
    if (!isBegun && !goesOn) return true;
  }
  return false;
}
