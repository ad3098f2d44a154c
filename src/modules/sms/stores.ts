// The stores of SMS over one connection. What changes segments is settled with their message.

import { AfterCommit } from "../../platform/db/after-commit.ts";
import type { Db } from "../../platform/db/open.ts";
import { openSenders } from "../api-keys/sender-store.ts";
import { openLinkStore } from "./gateway/link-store.ts";
import { openDuplicateStore, openInboundStore } from "./inbound/store.ts";
import { openMessageStore, openReferenceStore } from "./queue/message-store.ts";
import { openSmsRetentionStore } from "./queue/retention-store.ts";
import { openSegmentStore, type SegmentStore } from "./queue/segment-store.ts";
import { type SettleDeps, settleMessage } from "./queue/settle-message.ts";
import { openOrphanStore } from "./receipts/orphan-store.ts";

export type SmsStores = ReturnType<typeof openSmsStores>;

export function openSmsStores(db: Db, ledger: Pick<SettleDeps, "workspaces" | "credits">) {
  const messages = openMessageStore(db);
  const afterCommit = new AfterCommit();
  db.listeners.push(afterCommit);
  const counted = { ended: { sent: 0, delivered: 0, undelivered: 0, failed: 0, expired: 0 }, possibleDuplicates: 0 };
  const counts: SettleDeps["counts"] = {
    changed: (status) => afterCommit.run(() => void (counted.ended[status] += 1)),
    duplicated: () => afterCommit.run(() => void (counted.possibleDuplicates += 1)),
  };
  const segments: SegmentStore = openSegmentStore(
    db,
    (messageId) => settleMessage(messageId, { messages, segments, counts, ...ledger }),
    (messageId) => messages.forget(messageId),
  );
  /** Inside a transaction: a message's rows are changed or removed by others; null: those of any. */
  const forget = (messageId: number | null): void => {
    messages.forget(messageId);
    segments.forget(messageId);
  };
  return {
    messages,
    segments,
    afterCommit,
    forget,
    retention: openSmsRetentionStore(db, forget),
    references: openReferenceStore(db),
    orphans: openOrphanStore(db),
    inbound: openInboundStore(db),
    duplicates: openDuplicateStore(db),
    links: openLinkStore(db),
    findSender: openSenders(db),
    /** Since the start. */
    counted,
  };
}
