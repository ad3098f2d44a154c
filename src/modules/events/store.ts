import { and, asc, desc, eq, gt, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { events } from "../../platform/db/schema/schema.ts";
import { removeOldest, prepareInsert } from "../../platform/db/batches.ts";
import { bindMembers, prepare } from "../../platform/db/statement.ts";
import { eraseEventBody } from "./erase.ts";

export type EventRow = typeof events.$inferSelect;

export type EventStore = ReturnType<typeof openEventStore>;

/** Prepares the statements of the events. */
export function openEventStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const selectById = prepare(
    orm
      .select()
      .from(events)
      .where(eq(events.id, p("id"))),
  );
  const selectAfter = prepare(
    orm
      .select()
      .from(events)
      .where(and(eq(events.workspaceId, p("workspaceId")), gt(events.id, p("after"))))
      .orderBy(asc(events.id))
      .limit(p("limit")),
  );
  const selectLast = prepare(
    orm
      .select({ id: events.id })
      .from(events)
      .where(eq(events.workspaceId, p("workspaceId")))
      .orderBy(desc(events.id))
      .limit(1),
  );

  // The plus keeps SQLite from walking all of the workspace's.
  const selectAbout = prepare(
    orm
      .select()
      .from(events)
      .where(and(eq(events.resource, p("resource")), sql`+${events.workspaceId} = ${p("workspaceId")}`))
      .orderBy(asc(events.id))
      .limit(p("limit")),
  );
  const updateErased = prepare(
    orm
      .update(events)
      .set(bindMembers("resource", "body"))
      .where(eq(events.id, p("id"))),
  );

  return {
    /** Writes an event, inside the transaction that makes it true; its integer id. */
    insert: prepareInsert(orm, events),
    byId: (id: number): EventRow | undefined => selectById.get({ id }),
    /** A workspace's events after an id (0: from the first that is stored), oldest first. */
    after: (workspaceId: number, after: number, limit: number): EventRow[] =>
      selectAfter.all({ workspaceId, after, limit }),
    /** The id of a workspace's last event; 0: it has none. */
    getLastId: (workspaceId: number): number => selectLast.get({ workspaceId })?.id ?? 0,

    /** A workspace's events about one resource, oldest first. */
    listAbout: (workspaceId: number, resource: string, limit: number): EventRow[] =>
      selectAbout.all({ workspaceId, resource, limit }),

    /** Inside a transaction: replaces what events about a resource say of a person. `renamed`: the resource's name from now on. */
    erase(workspaceId: number, resource: string, renamed = resource): number[] {
      const rows = selectAbout.all({ workspaceId, resource, limit: -1 });
      for (const { id, body } of rows) updateErased.run({ id, resource: renamed, body: eraseEventBody(body) });
      return rows.map(({ id }) => id);
    },

    /** Removes a batch of the events older than `notBefore`; true when there may be more. */
    purge: (notBefore: number): boolean => removeOldest(orm, events, notBefore),
  };
}
