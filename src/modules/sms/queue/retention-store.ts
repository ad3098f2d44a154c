// Removes the records of old SMS, with their segments, and of old SMS received.

import { and, asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Db } from "../../../platform/db/open.ts";
import { smsInbound, smsMessages, smsSegments } from "../../../platform/db/schema/sms.ts";
import { prepare } from "../../../platform/db/statement.ts";

/** Messages that one transaction looks at. */
const BATCH = 100;

/** `forget` is called for each message that is removed. */
export function openSmsRetentionStore({ orm }: Db, forget: (messageId: number) => void) {
  const p = sql.placeholder;
  const selectMessages = prepare(
    orm
      .select({
        id: smsMessages.id,
        at: smsMessages.createdAt,
        // A row that waits is looked at by the queue, however old it is.
        isOpen: sql<number>`EXISTS (SELECT 1 FROM ${smsSegments} WHERE ${eq(smsSegments.messageId, smsMessages.id)}
          AND ${smsSegments.state} IN ('ready', 'in_flight', 'unknown'))`,
      })
      .from(smsMessages)
      .where(gt(smsMessages.id, p("after")))
      .orderBy(asc(smsMessages.id))
      .limit(BATCH),
  );
  const selectInbound = prepare(
    orm
      .select({ id: smsInbound.id, at: smsInbound.receivedAt, isOpen: sql<number>`0` })
      .from(smsInbound)
      .where(and(gt(smsInbound.id, p("after"))))
      .orderBy(asc(smsInbound.id))
      .limit(BATCH),
  );
  /** The last one looked at; null: no later one can be so old. */
  function purge(
    select: typeof selectMessages,
    tables: [table: typeof smsMessages | typeof smsSegments | typeof smsInbound, key: SQLiteColumn][],
    { after, notBefore }: { after: number; notBefore: number },
  ): number | null {
    const batch = select.all({ after });
    const ids = batch.filter(({ at, isOpen }) => at < notBefore && isOpen === 0).map(({ id }) => id);
    if (ids.length > 0) for (const [table, key] of tables) orm.delete(table).where(inArray(key, ids)).run();
    if (select === selectMessages) for (const id of ids) forget(id);
    const last = batch.at(-1);
    return last === undefined || batch.length < BATCH || last.at >= notBefore ? null : last.id;
  }
  return {
    /** Looks at the batch of sent SMS behind the one `after`, and removes those older than `notBefore`. */
    purgeMessages: (after: number, notBefore: number) =>
      purge(
        selectMessages,
        [
          [smsSegments, smsSegments.messageId],
          [smsMessages, smsMessages.id],
        ],
        { after, notBefore },
      ),
    /** The same for SMS received. */
    purgeInbound: (after: number, notBefore: number) =>
      purge(selectInbound, [[smsInbound, smsInbound.id]], { after, notBefore }),
  };
}
