// Stores the conventions learned of each route's SMSC, and the last events of each link.

import { and, desc, eq, lte } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { smppLearned, smppLinkEvents } from "../../../platform/db/schema/sms.ts";

export type LinkStore = ReturnType<typeof openLinkStore>;

export type LinkEventRow = typeof smppLinkEvents.$inferSelect;

/** Events kept for each link. */
const MAX_EVENTS = 500;

export function openLinkStore({ orm }: Db) {
  const isLearned = (route: string, name: string) => and(eq(smppLearned.route, route), eq(smppLearned.name, name));
  return {
    /** Null: nothing was learned. */
    learned: (route: string, name: string): string | null =>
      orm.select({ value: smppLearned.value }).from(smppLearned).where(isLearned(route, name)).get()?.value ?? null,
    learn(row: typeof smppLearned.$inferSelect): void {
      const { value, learnedAt } = row;
      const target = [smppLearned.route, smppLearned.name];
      orm.insert(smppLearned).values(row).onConflictDoUpdate({ target, set: { value, learnedAt } }).run();
    },
    /** Notes what happened, and forgets what happened 500 times ago. */
    note(row: Omit<LinkEventRow, "id">): void {
      orm.insert(smppLinkEvents).values(row).run();
      const oldest = orm
        .select({ id: smppLinkEvents.id })
        .from(smppLinkEvents)
        .where(eq(smppLinkEvents.link, row.link))
        .orderBy(desc(smppLinkEvents.id))
        .limit(1)
        .offset(MAX_EVENTS)
        .get();
      if (oldest !== undefined)
        orm
          .delete(smppLinkEvents)
          .where(and(eq(smppLinkEvents.link, row.link), lte(smppLinkEvents.id, oldest.id)))
          .run();
    },
    /** The newest first. */
    listEvents: (link: string, limit: number): LinkEventRow[] =>
      orm
        .select()
        .from(smppLinkEvents)
        .where(eq(smppLinkEvents.link, link))
        .orderBy(desc(smppLinkEvents.id))
        .limit(limit)
        .all(),
  };
}
