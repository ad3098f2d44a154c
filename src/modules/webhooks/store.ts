import { and, count, desc, eq, isNotNull, lt, or, type SQL, sql } from "drizzle-orm";
import { AfterCommit } from "../../platform/db/after-commit.ts";
import type { Db, TransactionListener } from "../../platform/db/open.ts";
import { goneWebhooks, webhooks } from "../../platform/db/schema/events.ts";
import { fast } from "../../platform/db/statement.ts";
import type { Position } from "../../platform/http/pagination.ts";

export type WebhookRow = typeof webhooks.$inferSelect;

/** Workspaces whose webhooks are remembered. */
const MAX_REMEMBERED = 10_000;

/** A webhook that is called, or that pombo turned off, and what it wants. */
export interface Subscription {
  id: number;
  /** False: pombo turned it off, and its owner may have what it missed delivered later. */
  isEnabled: boolean;
  /** Names, `email.*` and `*` among them. */
  events: string[];
}

/** What the end of a call changes. */
export type WebhookHealth = Pick<
  WebhookRow,
  "lastDeliveryAt" | "lastFailureAt" | "lastFailureReason" | "failingSince" | "isEnabled" | "disabledReason"
>;

export type WebhookStore = ReturnType<typeof openWebhookStore>;

/** Prepares the statements of the webhooks. */
export function openWebhookStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const selectById = fast(
    orm
      .select()
      .from(webhooks)
      .where(eq(webhooks.id, p("id"))),
  );
  const selectOfWorkspace = fast(
    orm
      .select({ id: webhooks.id, isEnabled: webhooks.isEnabled, events: webhooks.events })
      .from(webhooks)
      .where(
        and(
          eq(webhooks.workspaceId, p("workspaceId")),
          or(eq(webhooks.isEnabled, true), isNotNull(webhooks.disabledReason)),
        ),
      ),
  );
  const updateHealth = fast(
    orm
      .update(webhooks)
      .set({
        lastDeliveryAt: sql`${p("lastDeliveryAt")}`,
        lastFailureAt: sql`${p("lastFailureAt")}`,
        lastFailureReason: sql`${p("lastFailureReason")}`,
        failingSince: sql`${p("failingSince")}`,
        isEnabled: sql`${p("isEnabled")}`,
        disabledReason: sql`${p("disabledReason")}`,
        deliveryCount: sql`${webhooks.deliveryCount} + 1`,
      })
      .where(eq(webhooks.id, p("id"))),
  );

  // Every fact asks who wants it. Webhooks change through this store alone, which forgets them then; so it
  // does when a transaction is rolled back, whose closures may have seen what never came to be.
  const remembered = new Map<number, Subscription[]>();
  const forgetful: TransactionListener = {
    onRollbackTo: () => remembered.clear(),
    onRollback: () => remembered.clear(),
  };
  db.listeners.push(forgetful);

  const facts = new AfterCommit();
  db.listeners.push(facts);
  let deleted: () => void = () => undefined;

  function remove(workspaceId: number, which: SQL): void {
    remembered.delete(workspaceId);
    const rows = orm.delete(webhooks).where(which).returning({ id: webhooks.id }).all();
    if (rows.length === 0) return;
    orm.insert(goneWebhooks).values(rows).run();
    facts.run(() => deleted());
  }

  return {
    insert(row: typeof webhooks.$inferInsert): WebhookRow {
      remembered.delete(row.workspaceId);
      return orm.insert(webhooks).values(row).returning().get();
    },
    /** A row as it is now; undefined when it is gone. */
    byId: (id: number): WebhookRow | undefined => selectById.get({ id }),
    byUid: (workspaceId: number, uid: string): WebhookRow | undefined =>
      orm
        .select()
        .from(webhooks)
        .where(and(eq(webhooks.uid, uid), eq(webhooks.workspaceId, workspaceId)))
        .get(),
    /** Every webhook of the installation. */
    everywhere: (): WebhookRow[] => orm.select().from(webhooks).all(),
    countOf: (workspaceId: number): number =>
      orm.select({ count: count() }).from(webhooks).where(eq(webhooks.workspaceId, workspaceId)).get()?.count ?? 0,

    /** A page of a workspace's webhooks, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): WebhookRow[] =>
      orm
        .select()
        .from(webhooks)
        .where(and(eq(webhooks.workspaceId, workspaceId), before === null ? undefined : isBefore(before)))
        .orderBy(desc(webhooks.createdAt), desc(webhooks.id))
        .limit(limit + 1)
        .all(),

    update(row: { id: number; workspaceId: number }, change: Partial<typeof webhooks.$inferInsert>): WebhookRow {
      remembered.delete(row.workspaceId);
      return orm.update(webhooks).set(change).where(eq(webhooks.id, row.id)).returning().get();
    },

    /** Writes what a call came to, and counts its row of the deliveries. */
    setHealth(row: { id: number; workspaceId: number }, health: WebhookHealth): void {
      if (!health.isEnabled) remembered.delete(row.workspaceId);
      updateHealth.run({ id: row.id, ...health, isEnabled: Number(health.isEnabled) });
    },

    /** So many rows of its deliveries were removed. */
    uncount(id: number, amount: number): void {
      orm
        .update(webhooks)
        .set({ deliveryCount: sql`MAX(0, ${webhooks.deliveryCount} - ${amount})` })
        .where(eq(webhooks.id, id))
        .run();
    },

    /** With its secrets; what it was to be called with and its deliveries go afterwards (modules/webhooks/delivery/deleted-webhook-sweep.ts). */
    delete: (row: { id: number; workspaceId: number }): void => remove(row.workspaceId, eq(webhooks.id, row.id)),

    /** A deleted workspace takes its webhooks with it. */
    deleteOfWorkspace: (workspaceId: number): void => remove(workspaceId, eq(webhooks.workspaceId, workspaceId)),

    /** Has `tell` called after each commit that deleted webhooks. */
    followDeletions(tell: () => void): void {
      deleted = tell;
    },
    /** A deleted webhook of which something may be left. */
    gone: (): number | null => orm.select().from(goneWebhooks).limit(1).get()?.id ?? null,
    /** Nothing of it is left. */
    forget(id: number): void {
      orm.delete(goneWebhooks).where(eq(goneWebhooks.id, id)).run();
    },

    /** The webhooks of a workspace, but for those that their owner turned off. */
    subscriptionsOf(workspaceId: number): readonly Subscription[] {
      const known = remembered.get(workspaceId);
      if (known !== undefined) return known;
      const found = selectOfWorkspace
        .all({ workspaceId })
        .map((row) => ({ ...row, events: JSON.parse(row.events) as string[] }));
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(workspaceId, found);
      return found;
    },
  };
}

function isBefore({ createdAt, id }: Position) {
  return or(lt(webhooks.createdAt, createdAt), and(eq(webhooks.createdAt, createdAt), lt(webhooks.id, id)));
}
