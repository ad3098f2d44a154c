import type { Db } from "../../src/db/open.ts";
import { openSegmentStore, type NewSegment } from "../../src/sms/segment-store.ts";
import { openMessageStore, type NewMessage } from "../../src/sms/store.ts";

// Messages and segments as acceptance would write them, for tests of the stores and of what moves them.

export function openSmsStores(db: Db, settle: (messageId: number) => void = () => undefined) {
  return { messages: openMessageStore(db), segments: openSegmentStore(db, settle) };
}

export type SmsStores = ReturnType<typeof openSmsStores>;

let count = 0;

/** Writes a message of so many parts, inside a transaction; its integer id. */
export function addMessage(
  { messages, segments }: SmsStores,
  parts = 1,
  rest: { message?: Partial<NewMessage>; segment?: Partial<NewSegment> } = {},
): number {
  count += 1;
  const id = messages.insert({
    uid: `m${count}`,
    workspaceId: 1,
    recipient: "+258841234567",
    sender: "Loja",
    body: "x",
    sentText: null,
    encoding: "gsm7",
    alphabet: "gsm",
    segments: parts,
    expiresAt: 86_400_000,
    createdAt: 0,
    ...rest.message,
  });
  for (let seq = 1; seq <= parts; seq++) {
    segments.insert({
      messageId: id,
      seq,
      parts,
      workspaceId: rest.message?.workspaceId ?? 1,
      payload: Buffer.from("x"),
      reference: parts === 1 ? null : 7,
      umr: id,
      route: "vodacom",
      priority: "transactional",
      nextAt: 0,
      ...rest.segment,
    });
  }
  return id;
}
