import { and, asc, desc, eq, gt, inArray, lt, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { events, workspaces } from "../../platform/db/schema/schema.ts";
import { prepareInsert, PURGE_ROWS } from "../../platform/db/batches.ts";
import { bindMembers, prepare } from "../../platform/db/statement.ts";
import { idTime } from "../../platform/uuid.ts";
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
  // By workspace, since the index of times begins with it.
  const selectOld = prepare(
    orm
      .select({ id: events.id })
      .from(workspaces)
      .innerJoin(events, and(eq(events.workspaceId, workspaces.id), lt(events.createdAt, p("notBefore"))))
      .limit(PURGE_ROWS),
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
    /** Its id holds its time, and the index of times begins with the workspace: an index of ids would cost every event. */
    byUid: (uid: string): EventRow | undefined =>
      orm
        .select()
        .from(events)
        .where(
          and(
            inArray(events.workspaceId, orm.select({ id: workspaces.id }).from(workspaces)),
            eq(events.createdAt, idTime(uid)),
            eq(events.uid, uid),
          ),
        )
        .get(),
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
    purge(notBefore: number): boolean {
      const ids = selectOld.all({ notBefore }).map(({ id }) => id);
      if (ids.length > 0) orm.delete(events).where(inArray(events.id, ids)).run();
      return ids.length === PURGE_ROWS;
    },
  };
}
