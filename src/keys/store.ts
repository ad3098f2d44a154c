import { and, count, eq, lt, or, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { fast } from "../db/statement.ts";
import { apiKeys } from "../db/schema.ts";

export type ApiKeyRow = typeof apiKeys.$inferSelect;

/** Keys whose rows are remembered. */
const MAX_REMEMBERED = 10_000;

export type KeyStore = ReturnType<typeof openKeyStore>;

/** Prepares the statements of the keys. */
export function openKeyStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const selectByHash = fast(
    orm
      .select({
        id: apiKeys.id,
        workspaceId: apiKeys.workspaceId,
        domainId: apiKeys.domainId,
        lastUsedAt: apiKeys.lastUsedAt,
      })
      .from(apiKeys)
      .where(eq(apiKeys.hash, p("hash")))
      .prepare(),
  );
  const updateLastUsed = fast(
    orm
      .update(apiKeys)
      .set({ lastUsedAt: sql`${p("now")}` })
      .where(and(eq(apiKeys.id, p("id")), or(lt(apiKeys.lastUsedAt, p("now")), sql`last_used_at IS NULL`)))
      .prepare(),
  );

  // Every request looks its key up. Keys change through this store alone, which forgets them then.
  const remembered = new Map<string, NonNullable<ReturnType<typeof selectByHash.get>>>();

  return {
    byHash(hash: string) {
      const known = remembered.get(hash);
      if (known !== undefined) return known;
      const row = selectByHash.get({ hash });
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      if (row !== undefined) remembered.set(hash, row);
      return row;
    },
    insert: (row: typeof apiKeys.$inferInsert): ApiKeyRow => orm.insert(apiKeys).values(row).returning().get(),
    countOf: (workspaceId: number): number =>
      orm.select({ count: count() }).from(apiKeys).where(eq(apiKeys.workspaceId, workspaceId)).get()?.count ?? 0,
    touch(id: number, now: number): void {
      updateLastUsed.run({ id, now });
    },
    /** A deleted workspace takes its keys with it. */
    deleteOfWorkspace(workspaceId: number): void {
      remembered.clear();
      orm.delete(apiKeys).where(eq(apiKeys.workspaceId, workspaceId)).run();
    },
    /** A deleted domain takes its keys with it. */
    deleteOfDomain(domainId: number): void {
      remembered.clear();
      orm.delete(apiKeys).where(eq(apiKeys.domainId, domainId)).run();
    },
  };
}
