import { eq } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { domainShares } from "../../platform/db/schema/schema.ts";

export type ShareRow = typeof domainShares.$inferSelect;

export type ShareStore = ReturnType<typeof openShareStore>;

export function openShareStore({ orm }: Db) {
  return {
    /** In the place of the domain's last one. */
    put(row: ShareRow): void {
      orm.insert(domainShares).values(row).onConflictDoUpdate({ target: domainShares.domainId, set: row }).run();
    },
    byHash: (hash: string): ShareRow | undefined =>
      orm.select().from(domainShares).where(eq(domainShares.hash, hash)).get(),
    ofDomain: (domainId: number): ShareRow | undefined =>
      orm.select().from(domainShares).where(eq(domainShares.domainId, domainId)).get(),
    delete(domainId: number): void {
      orm.delete(domainShares).where(eq(domainShares.domainId, domainId)).run();
    },
  };
}
