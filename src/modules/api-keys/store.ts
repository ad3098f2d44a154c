import { and, count, eq, getTableColumns, isNull, lt, or, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { isOlder, newestFirst } from "../../platform/db/batches.ts";
import { prepare } from "../../platform/db/statement.ts";
import { apiKeys, domains } from "../../platform/db/schema/schema.ts";
import type { Position } from "../../platform/http/pagination.ts";

export type ApiKeyRow = typeof apiKeys.$inferSelect;
/** With the public id of the domain that the key is restricted to. */
export type ListedKey = Omit<ApiKeyRow, "hash"> & { domainUid: string | null };

/** Keys whose rows are remembered. */
const MAX_REMEMBERED = 10_000;

export type KeyStore = ReturnType<typeof openKeyStore>;

/** Prepares the statements of the keys. */
export function openKeyStore(db: Db) {
  const { orm, changes } = db;
  const p = sql.placeholder;
  const selectByHash = prepare(
    orm
      .select({
        id: apiKeys.id,
        workspaceId: apiKeys.workspaceId,
        domainId: apiKeys.domainId,
        lastUsedAt: apiKeys.lastUsedAt,
      })
      .from(apiKeys)
      .where(eq(apiKeys.hash, p("hash"))),
  );
  const updateLastUsed = prepare(
    orm
      .update(apiKeys)
      .set({ lastUsedAt: sql`${p("now")}` })
      .where(and(eq(apiKeys.id, p("id")), or(lt(apiKeys.lastUsedAt, p("now")), sql`last_used_at IS NULL`))),
  );

  const { hash: _, ...shown } = getTableColumns(apiKeys);

  // Every request looks its key up. Keys change only through this store, which forgets them then: before
  // the COMMIT, and nobody is let in between. Of a transaction that fails the row is read again.
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
    insert(row: typeof apiKeys.$inferInsert): ApiKeyRow {
      changes.note(row.workspaceId, "keys");
      return orm.insert(apiKeys).values(row).returning().get();
    },
    byUid: (workspaceId: number, uid: string): ApiKeyRow | undefined =>
      orm
        .select()
        .from(apiKeys)
        .where(and(eq(apiKeys.uid, uid), eq(apiKeys.workspaceId, workspaceId)))
        .get(),

    /** A page of a workspace's keys, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): ListedKey[] =>
      orm
        .select({ ...shown, domainUid: domains.uid })
        .from(apiKeys)
        .leftJoin(domains, eq(domains.id, apiKeys.domainId))
        .where(and(eq(apiKeys.workspaceId, workspaceId), isOlder(apiKeys, before)))
        .orderBy(...newestFirst(apiKeys))
        .limit(limit + 1)
        .all(),

    countForWorkspace: (workspaceId: number): number =>
      orm.select({ count: count() }).from(apiKeys).where(eq(apiKeys.workspaceId, workspaceId)).get()?.count ?? 0,
    /** Only those for the whole workspace. */
    countUnrestricted: (workspaceId: number): number =>
      orm
        .select({ count: count() })
        .from(apiKeys)
        .where(and(eq(apiKeys.workspaceId, workspaceId), isNull(apiKeys.domainId)))
        .get()?.count ?? 0,
    touch(id: number, now: number): void {
      updateLastUsed.run({ id, now });
    },
    delete(key: Pick<ApiKeyRow, "id" | "hash" | "workspaceId">): void {
      remembered.delete(key.hash);
      changes.note(key.workspaceId, "keys");
      orm.delete(apiKeys).where(eq(apiKeys.id, key.id)).run();
    },
    /** A deleted workspace takes its keys with it. */
    deleteOfWorkspace(workspaceId: number): void {
      remembered.clear();
      orm.delete(apiKeys).where(eq(apiKeys.workspaceId, workspaceId)).run();
    },
    /** A deleted domain takes its keys with it. */
    deleteOfDomain(domainId: number): void {
      remembered.clear();
      const owner = { workspaceId: apiKeys.workspaceId };
      const gone = orm.delete(apiKeys).where(eq(apiKeys.domainId, domainId)).returning(owner).all();
      for (const { workspaceId } of gone) changes.note(workspaceId, "keys");
    },
  };
}
