import { eq, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { fast } from "../db/statement.ts";
import { instance, workspaces } from "../db/schema.ts";

export type WorkspaceRow = typeof workspaces.$inferSelect;

/** Facts about this installation that the database keeps. */
export type InstanceFact = "instance_id" | "key_check" | "operator_key_hash" | "last_write";

/** Workspaces whose rows are remembered. */
const MAX_REMEMBERED = 10_000;

export type WorkspaceStore = ReturnType<typeof openWorkspaceStore>;

/** Prepares the statements of the workspaces and of the installation's own facts. */
export function openWorkspaceStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const selectById = fast(
    orm
      .select()
      .from(workspaces)
      .where(eq(workspaces.id, p("id")))
      .prepare(),
  );
  const selectFact = fast(
    orm
      .select({ value: instance.value })
      .from(instance)
      .where(eq(instance.name, p("name")))
      .prepare(),
  );

  // Every send asks for its workspace's plan. Whatever changes a workspace here must forget it.
  const remembered = new Map<number, WorkspaceRow>();

  return {
    insert: (row: typeof workspaces.$inferInsert): WorkspaceRow => orm.insert(workspaces).values(row).returning().get(),
    byId(id: number): WorkspaceRow | undefined {
      const known = remembered.get(id);
      if (known !== undefined) return known;
      const row = selectById.get({ id });
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      if (row !== undefined) remembered.set(id, row);
      return row;
    },
    byUid: (uid: string): WorkspaceRow | undefined =>
      orm.select().from(workspaces).where(eq(workspaces.uid, uid)).get(),
    fact: (name: InstanceFact): string | null => selectFact.get({ name })?.value ?? null,
    setFact(name: InstanceFact, value: string): void {
      orm.insert(instance).values({ name, value }).onConflictDoUpdate({ target: instance.name, set: { value } }).run();
    },
  };
}
