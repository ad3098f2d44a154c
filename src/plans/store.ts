import { and, eq, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { usage } from "../db/schema.ts";

export type UsageName = "emails_day" | "emails_month";

export type UsageStore = ReturnType<typeof openUsageStore>;

export function openUsageStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const isRow = and(eq(usage.workspaceId, p("workspaceId")), eq(usage.name, p("name")), eq(usage.period, p("period")));
  const insert = orm
    .insert(usage)
    .values({ workspaceId: p("workspaceId"), name: p("name"), period: p("period"), count: 0 })
    .onConflictDoNothing()
    .prepare();
  const add = orm
    .update(usage)
    .set({ count: sql`${usage.count} + ${p("amount")}` })
    .where(and(isRow, sql`(${p("limit")} < 0 OR ${usage.count} + ${p("amount")} <= ${p("limit")})`))
    .returning({ count: usage.count })
    .prepare();

  return {
    /**
     * Counts `amount` more if that stays within `limit` (-1: none): one conditional update, inside the
     * accepting transaction. False: over the limit, nothing counted.
     */
    take(counter: { workspaceId: number; name: UsageName; period: string }, amount: number, limit: number): boolean {
      if (add.get({ ...counter, amount, limit }) !== undefined) return true;
      insert.run({ ...counter });
      return add.get({ ...counter, amount, limit }) !== undefined;
    },
  };
}
