import { and, eq, lt, or, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { apiKeys } from "../db/schema.ts";

export type ApiKeyRow = typeof apiKeys.$inferSelect;

export type KeyStore = ReturnType<typeof openKeyStore>;

/** Prepares the statements of the keys. */
export function openKeyStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const selectByHash = orm
    .select({
      id: apiKeys.id,
      workspaceId: apiKeys.workspaceId,
      domainId: apiKeys.domainId,
      lastUsedAt: apiKeys.lastUsedAt,
    })
    .from(apiKeys)
    .where(eq(apiKeys.hash, p("hash")))
    .prepare();
  const updateLastUsed = orm
    .update(apiKeys)
    .set({ lastUsedAt: sql`${p("now")}` })
    .where(and(eq(apiKeys.id, p("id")), or(lt(apiKeys.lastUsedAt, p("now")), sql`last_used_at IS NULL`)))
    .prepare();

  return {
    byHash: (hash: string) => selectByHash.get({ hash }),
    insert: (row: typeof apiKeys.$inferInsert): ApiKeyRow => orm.insert(apiKeys).values(row).returning().get(),
    touch(id: number, now: number): void {
      updateLastUsed.run({ id, now });
    },
    /** A deleted domain takes its keys with it. */
    deleteOfDomain(domainId: number): void {
      orm.delete(apiKeys).where(eq(apiKeys.domainId, domainId)).run();
    },
  };
}
