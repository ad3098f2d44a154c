// Erases mail to the operator (postmaster, abuse, reports) that is from an address or names it.

import type { Context } from "../../platform/context.ts";
import { yieldToEventLoop } from "../../platform/queue/queue-admin.ts";
import { decodePart, readMessage } from "../../protocols/dsn/message.ts";
import type { InboundMail, InboxStore } from "../inbound-mail/store.ts";

export interface EraseInboxDeps extends Pick<Context, "commit"> {
  inbox: Pick<InboxStore, "listIds" | "byId" | "erase">;
}

/** Returns the number of erased mails. At most 1,000 are kept, and each is read by itself. */
export async function eraseInbox(address: string, { inbox, commit }: EraseInboxDeps): Promise<number> {
  let count = 0;
  for (const id of inbox.listIds()) {
    const mail = inbox.byId(id);
    if (mail !== undefined && (await isAbout(mail, address)) && (await commit(() => inbox.erase(id)))) count += 1;
    await yieldToEventLoop();
  }
  return count;
}

/** Whether the address stands anywhere in it, also in an encoded part. */
async function isAbout({ envelopeFrom, sender, subject, content }: InboundMail, address: string): Promise<boolean> {
  const names = (words: string | null) => words?.toLowerCase().includes(address) === true;
  if ([envelopeFrom, sender, subject].some(names)) return true;
  const bytes = await Bun.zstdDecompress(content);
  if (names(bytes.toString("utf8"))) return true;
  return readMessage(bytes).parts.some((part) => names(decodePart(part)));
}
