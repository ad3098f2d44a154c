// Receipts that matched nothing when they came: their response may be on its way still, or lost.

import { and, asc, desc, eq, gte, lt, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { smsReceiptOrphans } from "../../../platform/db/schema/sms.ts";
import { listIds } from "../../../platform/db/batches.ts";
import { prepare } from "../../../platform/db/statement.ts";

export type OrphanRow = typeof smsReceiptOrphans.$inferSelect;

export function openOrphanStore({ orm }: Db) {
  const p = sql.placeholder;
  const selectById = prepare(
    orm
      .select()
      .from(smsReceiptOrphans)
      .where(and(eq(smsReceiptOrphans.route, p("route")), eq(smsReceiptOrphans.smscIdKey, p("key"))))
      .orderBy(asc(smsReceiptOrphans.id)),
  );
  return {
    insert(row: Omit<OrphanRow, "id">): void {
      orm.insert(smsReceiptOrphans).values(row).run();
    },
    /** By the id of an answer, in one of the forms that receipts may have it in; in the order in which they came. */
    bySmscId: (route: string, key: string): OrphanRow[] => selectById.all({ route, key }),
    /** For numbers with this key (../encoding/phone-number.ts), received from `since` on, the newest first. */
    byNumber: (route: string, numberKey: string, since: number): OrphanRow[] =>
      orm
        .select()
        .from(smsReceiptOrphans)
        .where(
          and(
            eq(smsReceiptOrphans.route, route),
            eq(smsReceiptOrphans.numberKey, numberKey),
            gte(smsReceiptOrphans.receivedAt, since),
          ),
        )
        .orderBy(desc(smsReceiptOrphans.id))
        .all(),
    counts: (): { route: string; count: number }[] =>
      orm
        .select({ route: smsReceiptOrphans.route, count: sql<number>`COUNT(*)` })
        .from(smsReceiptOrphans)
        .groupBy(smsReceiptOrphans.route)
        .all(),
    /** The same for all routes, whenever received. */
    listByNumber: (numberKey: string): OrphanRow[] =>
      orm.select().from(smsReceiptOrphans).where(eq(smsReceiptOrphans.numberKey, numberKey)).all(),
    remove(id: number): void {
      orm.delete(smsReceiptOrphans).where(eq(smsReceiptOrphans.id, id)).run();
    },
    /** Some of those that came before `notBefore`. */
    listOld: (notBefore: number, limit: number): number[] =>
      listIds(orm, smsReceiptOrphans, lt(smsReceiptOrphans.receivedAt, notBefore), limit),
  };
}
