import { and, between, eq, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { usage } from "../db/schema.ts";
import { fast } from "../db/statement.ts";

/** What is counted. */
export type UsageName = "emails" | "sms";

/** One day's count of a workspace; `day` is a UTC date like 2026-11-21. */
export interface DayOfUse {
  workspaceId: number;
  name: UsageName;
  day: string;
}

export type UsageStore = ReturnType<typeof openUsageStore>;

/** Counters by day; a month is the sum of its days, so that accepting writes one row. */
export function openUsageStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const add = fast(
    orm
      .insert(usage)
      .values({ workspaceId: p("workspaceId"), name: p("name"), day: p("day"), count: p("amount") })
      .onConflictDoUpdate({
        target: [usage.workspaceId, usage.name, usage.day],
        set: { count: sql`${usage.count} + excluded.count` },
        setWhere: sql`(${p("limit")} < 0 OR ${usage.count} + excluded.count <= ${p("limit")})`,
      })
      .prepare(),
  );
  const sum = fast(
    orm
      .select({ count: sql<number>`COALESCE(SUM(${usage.count}), 0)` })
      .from(usage)
      .where(
        and(
          eq(usage.workspaceId, p("workspaceId")),
          eq(usage.name, p("name")),
          between(usage.day, p("first"), p("last")),
        ),
      )
      .prepare(),
  );

  return {
    /** Counts `amount` more if the day stays within `limit` (-1: none), inside the accepting transaction. False: nothing counted. */
    take(counter: DayOfUse, amount: number, limit: number): boolean {
      if (limit >= 0 && amount > limit) return false;
      return add.run({ ...counter, amount, limit }).changes > 0;
    },
    /** Of a UTC day like 2026-11-21. */
    ofDay: (workspaceId: number, name: UsageName, day: string): number =>
      sum.get({ workspaceId, name, first: day, last: day })?.count ?? 0,
    /** The sum of a UTC month like 2026-11. */
    ofMonth(workspaceId: number, name: UsageName, month: string): number {
      return sum.get({ workspaceId, name, first: `${month}-01`, last: `${month}-31` })?.count ?? 0;
    },
  };
}
