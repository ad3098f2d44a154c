import { and, asc, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import { isOlder, newestFirst } from "../../platform/db/batches.ts";
import type { Db } from "../../platform/db/open.ts";
import { audit, users } from "../../platform/db/schema/people.ts";
import { apiKeys } from "../../platform/db/schema/schema.ts";
import type { Position } from "../../platform/http/pagination.ts";
import { prepare, toPlaceholders } from "../../platform/db/statement.ts";

export type AuditRow = typeof audit.$inferSelect;
/** With the public id of the person, if there still is one. */
export type ListedAudit = AuditRow & { userUid: string | null };
export type AuditStore = ReturnType<typeof openAuditStore>;

/** Rows that one transaction looks at. */
const PURGE_ROWS = 200;

const { id: _, ...written } = getTableColumns(audit);
const COLUMNS = Object.keys(written) as (keyof typeof written)[];

/** Prepares the statements of the audit. */
export function openAuditStore({ orm }: Db) {
  const p = sql.placeholder;
  const insert = prepare(orm.insert(audit).values(toPlaceholders(audit, ...COLUMNS)));
  const selectEmail = prepare(
    orm
      .select({ email: users.email })
      .from(users)
      .where(eq(users.id, p("id"))),
  );
  const selectKey = prepare(
    orm
      .select({ name: apiKeys.name, prefix: apiKeys.prefix })
      .from(apiKeys)
      .where(eq(apiKeys.id, p("id"))),
  );
  return {
    insert: (row: Omit<AuditRow, "id">): void => void insert.run(row),
    /** A page of a workspace's records, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): ListedAudit[] =>
      orm
        .select({ ...getTableColumns(audit), userUid: users.uid })
        .from(audit)
        .leftJoin(users, eq(users.id, audit.userId))
        .where(and(eq(audit.workspaceId, workspaceId), isOlder(audit, before)))
        .orderBy(...newestFirst(audit))
        .limit(limit + 1)
        .all(),
    /** Removes a batch of the oldest, of those from before; whether there may be more. */
    purge(notBefore: number): boolean {
      const oldest = orm
        .select({ id: audit.id, createdAt: audit.createdAt })
        .from(audit)
        .orderBy(asc(audit.id))
        .limit(PURGE_ROWS)
        .all();
      const old = oldest.filter(({ createdAt }) => createdAt < notBefore).map(({ id }) => id);
      if (old.length > 0) orm.delete(audit).where(inArray(audit.id, old)).run();
      return old.length === PURGE_ROWS;
    },
    findEmail: (userId: number): string | undefined => selectEmail.get({ id: userId })?.email,
    findKey: (id: number) => selectKey.get({ id }),
  };
}
