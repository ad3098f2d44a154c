import { and, eq, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { fast } from "../db/statement.ts";
import { heldSuppressions, suppressions } from "../db/schema.ts";

export type SuppressionReason = (typeof suppressions.$inferSelect)["reason"];

export type SuppressionStore = ReturnType<typeof openSuppressionStore>;

export function openSuppressionStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const select = fast(
    orm
      .select({ reason: suppressions.reason })
      .from(suppressions)
      .where(
        and(
          eq(suppressions.workspaceId, p("workspaceId")),
          eq(suppressions.channel, p("channel")),
          eq(suppressions.address, p("address")),
        ),
      )
      .prepare(),
  );

  return {
    /** Why the address (in its comparable form) gets no mail from this workspace; null when it does. */
    reasonFor: (workspaceId: number, address: string): SuppressionReason | null =>
      select.get({ workspaceId, channel: "email", address })?.reason ?? null,

    /** Suppresses; the first reason stays. */
    insert(row: {
      workspaceId: number;
      channel: "email" | "sms";
      address: string;
      reason: SuppressionReason;
      createdAt: number;
    }): void {
      orm.insert(suppressions).values(row).onConflictDoNothing().run();
    },

    /** Keeps for the operator what would have suppressed an address; the first reason stays. */
    hold(row: typeof heldSuppressions.$inferInsert): void {
      orm.insert(heldSuppressions).values(row).onConflictDoNothing().run();
    },

    /** Takes back a hard bounce's suppression, to be held instead. False: there is none. */
    takeBack(recipient: { workspaceId: number; address: string }): boolean {
      const removed = orm
        .delete(suppressions)
        .where(
          and(
            eq(suppressions.workspaceId, recipient.workspaceId),
            eq(suppressions.channel, "email"),
            eq(suppressions.address, recipient.address),
            eq(suppressions.reason, "hard_bounce"),
          ),
        )
        .returning({ address: suppressions.address })
        .all();
      return removed.length > 0;
    },
  };
}
