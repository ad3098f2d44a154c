import { eq, lt } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { links } from "../../platform/db/schema/people.ts";

export type LinkRow = typeof links.$inferSelect;

export type LinkStore = ReturnType<typeof openLinkStore>;

export function openLinkStore({ orm }: Db) {
  return {
    insert(row: typeof links.$inferInsert): void {
      orm.insert(links).values(row).run();
    },
    byHash: (hash: string): LinkRow | undefined => orm.select().from(links).where(eq(links.hash, hash)).get(),
    delete(hash: string): void {
      orm.delete(links).where(eq(links.hash, hash)).run();
    },
    deleteOfUser(userId: number): void {
      orm.delete(links).where(eq(links.userId, userId)).run();
    },
    /** Removes those whose time is over. */
    purge(now: number): void {
      orm.delete(links).where(lt(links.expiresAt, now)).run();
    },
  };
}
