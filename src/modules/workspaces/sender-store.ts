import { and, asc, eq, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { senderIds } from "../../platform/db/schema/sms.ts";
import { prepare } from "../../platform/db/statement.ts";

export type SenderIdRow = typeof senderIds.$inferSelect;

export type SenderIdStore = ReturnType<typeof openSenderIdStore>;

export function openSenderIdStore({ orm }: Db) {
  const isNamed = (workspaceId: number, name: string) =>
    and(eq(senderIds.workspaceId, workspaceId), eq(senderIds.name, name));
  const selectAll = prepare(
    orm
      .select()
      .from(senderIds)
      .where(eq(senderIds.workspaceId, sql.placeholder("workspaceId")))
      .orderBy(asc(senderIds.createdAt), asc(senderIds.name)),
  );
  return {
    /** A workspace's sender ids, the oldest first. */
    of: (workspaceId: number): SenderIdRow[] => selectAll.all({ workspaceId }),
    /** Whose a name or number is: of a shared one several workspaces. */
    ownersOf: (name: string): number[] =>
      orm
        .select({ workspaceId: senderIds.workspaceId })
        .from(senderIds)
        .where(eq(senderIds.name, name))
        .orderBy(asc(senderIds.workspaceId))
        .all()
        .map(({ workspaceId }) => workspaceId),
    /** One that is not the default. */
    insert(row: Omit<SenderIdRow, "isDefault" | "priority">): void {
      orm
        .insert(senderIds)
        .values({ ...row, isDefault: false })
        .run();
    },
    /** False: there is none. */
    delete: (workspaceId: number, name: string): boolean =>
      orm.delete(senderIds).where(isNamed(workspaceId, name)).returning({ name: senderIds.name }).all().length > 0,
    /** Null: the workspace's own. */
    setPriority(workspaceId: number, name: string, priority: SenderIdRow["priority"]): void {
      orm.update(senderIds).set({ priority }).where(isNamed(workspaceId, name)).run();
    },
    /** Makes one the workspace's default in place of another. */
    setDefault(workspaceId: number, name: string): void {
      orm
        .update(senderIds)
        .set({ isDefault: false })
        .where(and(eq(senderIds.workspaceId, workspaceId), eq(senderIds.isDefault, true)))
        .run();
      orm.update(senderIds).set({ isDefault: true }).where(isNamed(workspaceId, name)).run();
    },
  };
}
