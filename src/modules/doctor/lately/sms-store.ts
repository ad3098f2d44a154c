// What became of SMS lately, for the doctor: the newest rows in pages, so that no read holds others up.

import { asc, desc, eq, isNull, lt, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { workspaces } from "../../../platform/db/schema/schema.ts";
import { senderIds, smsCredits, smsMessages } from "../../../platform/db/schema/sms.ts";

export type SmsLookStore = ReturnType<typeof openSmsLookStore>;
export type SmsLook = ReturnType<SmsLookStore["listMessagesBefore"]>[number];
export type SenderLook = ReturnType<SmsLookStore["listSenders"]>[number];
export type CreditLook = ReturnType<SmsLookStore["listCreditsBefore"]>[number];

export function openSmsLookStore({ orm }: Pick<Db, "orm">) {
  const p = sql.placeholder;
  const selectMessages = prepare(
    orm
      .select({
        id: smsMessages.id,
        recipient: smsMessages.recipient,
        createdAt: smsMessages.createdAt,
        sentAt: smsMessages.sentAt,
        deliveryState: smsMessages.deliveryState,
        expectsReceipt: sql<number>`(SELECT max(expects_receipt) FROM sms_segment WHERE message_id = sms_message.id)`,
        receiptAt: sql<number | null>`(SELECT max(receipt_at) FROM sms_segment WHERE message_id = sms_message.id)`,
      })
      .from(smsMessages)
      .where(lt(smsMessages.id, p("before")))
      .orderBy(desc(smsMessages.id))
      .limit(p("limit")),
  );
  const selectCredits = prepare(
    orm
      .select({
        id: smsCredits.id,
        workspaceId: smsCredits.workspaceId,
        kind: smsCredits.kind,
        amount: smsCredits.amount,
        createdAt: smsCredits.createdAt,
      })
      .from(smsCredits)
      .where(lt(smsCredits.id, p("before")))
      .orderBy(desc(smsCredits.id))
      .limit(p("limit")),
  );
  const selectWorkspace = prepare(
    orm
      .select({
        uid: workspaces.uid,
        name: workspaces.name,
        balance: workspaces.smsCredits,
        deletedAt: workspaces.deletedAt,
      })
      .from(workspaces)
      .where(eq(workspaces.id, p("id"))),
  );
  const selectUsed = prepare(
    orm
      .select({ sender: smsMessages.sender })
      .from(smsMessages)
      .where(eq(smsMessages.workspaceId, p("workspaceId")))
      .orderBy(desc(smsMessages.createdAt), desc(smsMessages.id))
      .limit(p("limit")),
  );
  return {
    /** SMS older than this one, the newest first. `receiptAt`: when the last receipt came. */
    listMessagesBefore: (before: number, limit: number) => selectMessages.all({ before, limit }),
    /** Changes of balances before this one, the newest first. */
    listCreditsBefore: (before: number, limit: number) => selectCredits.all({ before, limit }),
    /** Null: it is gone. */
    findWorkspace(id: number): { uid: string; name: string; balance: number } | null {
      const row = selectWorkspace.get({ id });
      return row === undefined || row.deletedAt !== null ? null : row;
    },
    /** The sender ids of workspaces, those of one workspace together. */
    listSenders: (limit: number) =>
      orm
        .select({
          workspaceId: senderIds.workspaceId,
          workspaceUid: workspaces.uid,
          name: senderIds.name,
          createdAt: senderIds.createdAt,
        })
        .from(senderIds)
        .innerJoin(workspaces, eq(workspaces.id, senderIds.workspaceId))
        .where(isNull(workspaces.deletedAt))
        .orderBy(asc(senderIds.workspaceId), asc(senderIds.name))
        .limit(limit)
        .all(),
    /** Of the newest SMS of a workspace. */
    listUsedSenders: (workspaceId: number, limit: number): string[] =>
      selectUsed.all({ workspaceId, limit }).map(({ sender }) => sender),
  };
}
