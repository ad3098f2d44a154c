// The webhooks, and which events they want.

import { and, count, eq, isNotNull, or, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { goneWebhooks, webhooks } from "../../platform/db/schema/schema.ts";
import { isOlder, listIds, newestFirst } from "../../platform/db/batches.ts";
import { prepare } from "../../platform/db/statement.ts";
import { TransactionalCache } from "../../platform/db/transactional-cache.ts";
import type { Position } from "../../platform/http/pagination.ts";
import type { EventType } from "../events/schema.ts";

export type WebhookRow = typeof webhooks.$inferSelect;

/** Workspaces whose subscriptions are cached. */
const MAX_CACHED = 10_000;

/** A webhook that is called, or that pombo turned off, and the events that it wants. */
export interface Subscription {
  id: number;
  /** False: pombo turned it off, and its owner may recover later what it missed. */
  isEnabled: boolean;
  /** Names, `email.*` and `*` among them. */
  events: string[];
}

/** The columns that the end of a call changes. */
export type WebhookHealth = Pick<
  WebhookRow,
  "lastDeliveryAt" | "lastFailureAt" | "lastFailureReason" | "failingSince" | "isEnabled" | "disabledReason"
>;

export type WebhookStore = ReturnType<typeof openWebhookStore>;

/** Prepares the statements of the webhooks. */
export function openWebhookStore(db: Db) {
  const { orm, changes } = db;
  const p = sql.placeholder;
  const selectById = prepare(
    orm
      .select()
      .from(webhooks)
      .where(eq(webhooks.id, p("id"))),
  );
  const selectOfWorkspace = prepare(
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
  const updateHealth = prepare(
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

  // Every event asks which webhooks want it. Only this store changes webhooks.
  const subscriptions = new TransactionalCache<number, readonly Subscription[]>(MAX_CACHED);
  db.listeners.push(subscriptions);

  function readSubscriptions(workspaceId: number): Subscription[] {
    const rows = selectOfWorkspace.all({ workspaceId });
    const found = rows.map((row) => ({ ...row, events: JSON.parse(row.events) as string[] }));
    subscriptions.set(workspaceId, found);
    return found;
  }

  function remove(workspaceId: number, which: SQL): void {
    subscriptions.delete(workspaceId);
    changes.note(workspaceId, "webhooks");
    const rows = orm.delete(webhooks).where(which).returning({ id: webhooks.id }).all();
    if (rows.length > 0) orm.insert(goneWebhooks).values(rows).run();
  }

  return {
    insert(row: typeof webhooks.$inferInsert): WebhookRow {
      subscriptions.delete(row.workspaceId);
      changes.note(row.workspaceId, "webhooks");
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
    listAll: (): WebhookRow[] => orm.select().from(webhooks).all(),
    countForWorkspace: (workspaceId: number): number =>
      orm.select({ count: count() }).from(webhooks).where(eq(webhooks.workspaceId, workspaceId)).get()?.count ?? 0,

    /** Also those that are turned off. */
    listIds: (workspaceId: number): number[] => listIds(orm, webhooks, eq(webhooks.workspaceId, workspaceId)),

    /** A page of a workspace's webhooks, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): WebhookRow[] =>
      orm
        .select()
        .from(webhooks)
        .where(and(eq(webhooks.workspaceId, workspaceId), isOlder(webhooks, before)))
        .orderBy(...newestFirst(webhooks))
        .limit(limit + 1)
        .all(),

    update(row: { id: number; workspaceId: number }, change: Partial<typeof webhooks.$inferInsert>): WebhookRow {
      subscriptions.delete(row.workspaceId);
      changes.note(row.workspaceId, "webhooks");
      return orm.update(webhooks).set(change).where(eq(webhooks.id, row.id)).returning().get();
    },

    /** Writes the health after a call, and counts its delivery. */
    setHealth(row: { id: number; workspaceId: number }, health: WebhookHealth): void {
      if (!health.isEnabled) subscriptions.delete(row.workspaceId);
      changes.note(row.workspaceId, "webhooks");
      updateHealth.run({ id: row.id, ...health, isEnabled: Number(health.isEnabled) });
    },

    /** So many of its deliveries were removed. */
    uncount(id: number, amount: number): void {
      orm
        .update(webhooks)
        .set({ deliveryCount: sql`MAX(0, ${webhooks.deliveryCount} - ${amount})` })
        .where(eq(webhooks.id, id))
        .run();
    },

    /** With its secrets; its calls and deliveries are removed afterwards (delivery/clean-up.ts). */
    delete: (row: { id: number; workspaceId: number }): void => remove(row.workspaceId, eq(webhooks.id, row.id)),

    /** A deleted workspace takes its webhooks with it. */
    deleteOfWorkspace: (workspaceId: number): void => remove(workspaceId, eq(webhooks.workspaceId, workspaceId)),

    /** A deleted webhook of which something may be left. */
    findDeleted: (): number | null => orm.select().from(goneWebhooks).limit(1).get()?.id ?? null,
    /** Nothing of it is left. */
    forgetDeleted(id: number): void {
      orm.delete(goneWebhooks).where(eq(goneWebhooks.id, id)).run();
    },

    /** The webhooks of a workspace that want events of a type, but for those that their owner turned off. */
    listSubscriptions(workspaceId: number, type: EventType): readonly Subscription[] {
      const all = subscriptions.get(workspaceId) ?? readSubscriptions(workspaceId);
      // Most workspaces have none, and each event of each email asks.
      return all.length === 0 ? all : all.filter((each) => isSubscribed(each.events, type));
    },
  };
}

/** Whether one of a webhook's names (`email.delivered`, `email.*`, `*`) means events of this type. */
export function isSubscribed(names: readonly string[], type: EventType): boolean {
  // It is sent to one webhook by its owner, whatever that one wants.
  if (type === "webhook.test") return false;
  return names.some(
    (name) => name === "*" || name === type || (name.endsWith(".*") && type.startsWith(name.slice(0, -1))),
  );
}
