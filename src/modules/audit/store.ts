import { eq, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { audit, users } from "../../platform/db/schema/people.ts";
import { apiKeys } from "../../platform/db/schema/schema.ts";
import { prepare, toPlaceholders } from "../../platform/db/statement.ts";

export type AuditRow = typeof audit.$inferSelect;
export type AuditStore = ReturnType<typeof openAuditStore>;

const COLUMNS = [
  ...(["uid", "workspaceId", "userId", "actor", "action", "target", "detail", "network", "createdAt"] as const),
];

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
    findEmail: (userId: number): string | undefined => selectEmail.get({ id: userId })?.email,
    findKey: (id: number) => selectKey.get({ id }),
  };
}
