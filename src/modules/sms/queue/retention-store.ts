// Removes the records of old SMS, with their segments, and of old SMS received.

import { asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import type { Walk } from "../../../platform/db/purge.ts";
import { smsInbound, smsMessages, smsSegments } from "../../../platform/db/schema/sms.ts";
import { prepare } from "../../../platform/db/statement.ts";

/** `forget` is called for each message that is removed. */
export function openSmsRetentionStore({ orm }: Db, forget: (messageId: number) => void) {
  const p = sql.placeholder;
  const selectMessages = prepare(
    orm
      .select({
        id: smsMessages.id,
        createdAt: smsMessages.createdAt,
        // A row that waits is looked at by the queue, however old it is.
        isOpen: sql<number>`EXISTS (SELECT 1 FROM ${smsSegments} WHERE ${eq(smsSegments.messageId, smsMessages.id)}
          AND ${smsSegments.state} IN ('ready', 'in_flight', 'unknown'))`,
      })
      .from(smsMessages)
      .where(gt(smsMessages.id, p("after")))
      .orderBy(asc(smsMessages.id))
      .limit(p("limit")),
  );
  const selectInbound = prepare(
    orm
      .select({ id: smsInbound.id, createdAt: smsInbound.receivedAt, isOpen: sql<number>`0` })
      .from(smsInbound)
      .where(gt(smsInbound.id, p("after")))
      .orderBy(asc(smsInbound.id))
      .limit(p("limit")),
  );
  type Row = ReturnType<typeof selectMessages.all>[number];
  const listOld = (rows: Row[], notBefore: number) =>
    rows.filter(({ createdAt, isOpen }) => createdAt < notBefore && isOpen === 0).map(({ id }) => id);
  return {
    /** SMS sent. */
    messages: {
      find: (after, limit) => selectMessages.all({ after, limit }),
      remove(rows, notBefore) {
        const ids = listOld(rows, notBefore);
        if (ids.length === 0) return;
        orm.delete(smsSegments).where(inArray(smsSegments.messageId, ids)).run();
        orm.delete(smsMessages).where(inArray(smsMessages.id, ids)).run();
        for (const id of ids) forget(id);
      },
    } satisfies Walk<Row>,
    /** SMS received. */
    inbound: {
      find: (after, limit) => selectInbound.all({ after, limit }),
      remove(rows, notBefore) {
        const ids = listOld(rows, notBefore);
        if (ids.length > 0) orm.delete(smsInbound).where(inArray(smsInbound.id, ids)).run();
      },
    } satisfies Walk<Row>,
  };
}
