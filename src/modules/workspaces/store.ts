import { and, asc, eq, gt, gte, isNotNull, isNull, or, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { isOlder, listIds, newestFirst } from "../../platform/db/batches.ts";
import { TransactionalCache } from "../../platform/db/transactional-cache.ts";
import { prepare } from "../../platform/db/statement.ts";
import { workspaces } from "../../platform/db/schema/schema.ts";
import type { Position } from "../../platform/http/pagination.ts";

export type WorkspaceRow = typeof workspaces.$inferSelect;

/** What may change in a workspace; only `addCredits` changes its credits. */
export type WorkspaceChange = Partial<Omit<WorkspaceRow, "id" | "uid" | "createdAt" | "smsCredits">>;

/** Warnings that are listed for the operator. */
const MAX_WARNINGS = 20;
/** Workspaces whose rows are remembered. */
const MAX_REMEMBERED = 10_000;

export type WorkspaceStore = ReturnType<typeof openWorkspaceStore>;

/** Prepares the statements of the workspaces. */
export function openWorkspaceStore(db: Db) {
  const { orm, changes } = db;
  const p = sql.placeholder;
  const selectById = prepare(
    orm
      .select()
      .from(workspaces)
      .where(and(eq(workspaces.id, p("id")), isNull(workspaces.deletedAt))),
  );
  const updateCredits = prepare(
    orm
      .update(workspaces)
      .set({ smsCredits: sql`${workspaces.smsCredits} + ${p("amount")}` })
      .where(
        and(
          eq(workspaces.id, p("id")),
          isNull(workspaces.deletedAt),
          gte(sql`${workspaces.smsCredits} + ${p("amount")}`, 0),
        ),
      )
      .returning({ balance: workspaces.smsCredits }),
  );

  // Every send asks for its workspace's plan and block. Whatever changes a workspace here must forget it.
  const remembered = new TransactionalCache<number, WorkspaceRow>(MAX_REMEMBERED);
  db.listeners.push(remembered);

  return {
    insert: (row: typeof workspaces.$inferInsert): WorkspaceRow => orm.insert(workspaces).values(row).returning().get(),
    /** Undefined: there is none, or it was deleted; so in `byUid` and `list`. */
    byId(id: number): WorkspaceRow | undefined {
      const known = remembered.get(id);
      if (known !== undefined) return known;
      const row = selectById.get({ id });
      if (row !== undefined) remembered.set(id, row);
      return row;
    },
    byUid: (uid: string): WorkspaceRow | undefined =>
      orm
        .select()
        .from(workspaces)
        .where(and(eq(workspaces.uid, uid), isNull(workspaces.deletedAt)))
        .get(),

    /** A page of all workspaces, newest first, and one row more when there are more. */
    list: (before: Position | null, limit: number): WorkspaceRow[] =>
      orm
        .select()
        .from(workspaces)
        .where(and(isNull(workspaces.deletedAt), isOlder(workspaces, before)))
        .orderBy(...newestFirst(workspaces))
        .limit(limit + 1)
        .all(),

    /** Whose queues the operator holds. */
    held: (): number[] =>
      orm
        .select({ id: workspaces.id })
        .from(workspaces)
        .where(and(eq(workspaces.isHeld, true), isNull(workspaces.deletedAt)))
        .all()
        .map(({ id }) => id),

    /** Those that would be blocked since `from` if everything reported by mail were true. */
    reportWarnings: (from: number) =>
      orm
        .select({
          uid: workspaces.uid,
          name: workspaces.name,
          at: workspaces.reportsWarnedAt,
          reason: workspaces.reportsWarning,
        })
        .from(workspaces)
        .where(
          and(isNull(workspaces.deletedAt), isNull(workspaces.rateBlockedAt), gt(workspaces.reportsWarnedAt, from)),
        )
        .limit(MAX_WARNINGS)
        .all(),

    /** Those that came half way to a block since `from`. */
    rateWarnings: (from: number) =>
      orm
        .select({ uid: workspaces.uid, name: workspaces.name })
        .from(workspaces)
        .where(and(isNull(workspaces.deletedAt), isNull(workspaces.rateBlockedAt), gt(workspaces.rateWarnedAt, from)))
        .limit(MAX_WARNINGS)
        .all(),

    /** Those that may not send; deleted ones left out. */
    blocked: (): WorkspaceRow[] =>
      orm
        .select()
        .from(workspaces)
        .where(
          and(isNull(workspaces.deletedAt), or(isNotNull(workspaces.blockedAt), isNotNull(workspaces.rateBlockedAt))),
        )
        .all(),

    /** All of them, also those that were deleted and are still being removed. */
    listIds: (): number[] => listIds(orm, workspaces),

    /** Changes a workspace, inside a transaction. */
    update(id: number, change: WorkspaceChange): WorkspaceRow {
      remembered.delete(id);
      changes.note(id, "workspace");
      return orm.update(workspaces).set(change).where(eq(workspaces.id, id)).returning().get();
    },
    /** Those that were deleted and are still being removed, the first first. */
    deleted: (): { id: number; uid: string }[] =>
      orm
        .select({ id: workspaces.id, uid: workspaces.uid })
        .from(workspaces)
        .where(isNotNull(workspaces.deletedAt))
        .orderBy(asc(workspaces.deletedAt), asc(workspaces.id))
        .all(),
    /** The end of a deleted workspace, inside a transaction: nothing may refer to it any more. */
    remove(id: number): void {
      remembered.delete(id);
      orm.delete(workspaces).where(eq(workspaces.id, id)).run();
    },
    /** Adds to the balance of SMS credits, inside a transaction (see credits.ts); the balance then, or null: it would fall below 0, and stays. */
    addCredits(id: number, amount: number): number | null {
      const before = remembered.get(id);
      const balance = updateCredits.get({ id, amount })?.balance ?? null;
      // Each SMS changes and reads it.
      if (balance !== null && before !== undefined) remembered.put(id, { ...before, smsCredits: balance });
      else remembered.delete(id);
      return balance;
    },
  };
}
