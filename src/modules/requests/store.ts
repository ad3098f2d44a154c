// The log's rows: for each workspace a ring of those that succeeded, and one of those that failed, which a busy program
// would push out otherwise.

import { and, asc, desc, eq, getTableColumns, gte, inArray, isNull, lt, sql } from "drizzle-orm";
import { isOlder, newestFirst } from "../../platform/db/batches.ts";
import type { Db } from "../../platform/db/open.ts";
import { apiRequests } from "../../platform/db/schema/people.ts";
import { apiKeys, workspaces } from "../../platform/db/schema/schema.ts";
import { prepare, toPlaceholders } from "../../platform/db/statement.ts";
import type { Position } from "../../platform/http/pagination.ts";

type RequestRow = typeof apiRequests.$inferSelect;
export type NewRequest = Omit<RequestRow, "id" | "isFailed">;
/** With its key, if there still is one. */
export interface ListedRequest extends RequestRow {
  key: { uid: string; name: string; prefix: string } | null;
}

/** Null: any. `until` is left out itself. */
export interface RequestFilter {
  workspaceId: number;
  uid: string | null;
  keyId: number | null;
  method: string | null;
  /** The beginning of it. */
  path: string | null;
  /** From the first status on, before the second. */
  status: [from: number, until: number];
  since: number | null;
  until: number | null;
}

/** Rows of a ring. A page with the rarest filter looks at all of both rings, some 20 ms. */
export const MAX_OF_RING = 10_000;
/** A ring is cut after so many new rows. */
const CUT_EVERY = 500;
const MAX_CUT = 1_000;
/** Rows that one transaction looks at. */
const PURGE_ROWS = 200;
const FAILED = 400;

const { id: _, isFailed: __, ...written } = getTableColumns(apiRequests);
const COLUMNS = Object.keys(written) as (keyof typeof written)[];

export type RequestStore = ReturnType<typeof openRequestStore>;

export function openRequestStore({ orm, changes }: Db) {
  const p = sql.placeholder;
  const insert = prepare(orm.insert(apiRequests).values(toPlaceholders(apiRequests, ...COLUMNS)));
  const isInRing = and(eq(apiRequests.workspaceId, p("workspaceId")), eq(apiRequests.isFailed, p("isFailed")));
  const selectBeyond = prepare(
    orm
      .select({ id: apiRequests.id })
      .from(apiRequests)
      .where(isInRing)
      .orderBy(desc(apiRequests.createdAt), desc(apiRequests.id))
      .limit(MAX_CUT)
      .offset(MAX_OF_RING),
  );
  const findWorkspace = prepare(
    orm
      .select({ id: workspaces.id })
      .from(workspaces)
      .where(and(eq(workspaces.id, p("id")), isNull(workspaces.deletedAt))),
  );
  const remove = prepare(orm.delete(apiRequests).where(eq(apiRequests.id, p("id"))));

  /** New rows since a ring was cut, by workspace; the ring of those that failed under the negative key. */
  const uncut = new Map<number, number>();

  const cut = (workspaceId: number, isFailed: number) => {
    for (const { id } of selectBeyond.all({ workspaceId, isFailed })) remove.run({ id });
  };

  return {
    /** Inside a transaction. What a workspace asked that is deleted by now is left out: nothing would remove it. */
    write(all: readonly NewRequest[]): void {
      const asking = new Set(all.map(({ workspaceId }) => workspaceId));
      const present = new Set(Array.from(asking).filter((id) => findWorkspace.get({ id }) !== undefined));
      const rows = all.filter(({ workspaceId }) => present.has(workspaceId));
      for (const row of rows) {
        insert.run(row);
        const isFailed = row.status >= FAILED;
        const ring = isFailed ? -row.workspaceId : row.workspaceId;
        const count = (uncut.get(ring) ?? 0) + 1;
        if (count < CUT_EVERY) uncut.set(ring, count);
        else {
          uncut.delete(ring);
          cut(row.workspaceId, Number(isFailed));
        }
      }
      for (const workspaceId of present) changes.note(workspaceId, "requests");
    },

    /** A page of a workspace's requests, newest first, and one row more when there are more. */
    list(filter: RequestFilter, before: Position | null, limit: number): ListedRequest[] {
      const [from, until] = filter.status;
      const readRing = (isFailed: 0 | 1) =>
        orm
          .select({
            ...getTableColumns(apiRequests),
            key: { uid: apiKeys.uid, name: apiKeys.name, prefix: apiKeys.prefix },
          })
          .from(apiRequests)
          .leftJoin(apiKeys, eq(apiKeys.id, apiRequests.keyId))
          .where(
            and(
              eq(apiRequests.workspaceId, filter.workspaceId),
              eq(apiRequests.isFailed, isFailed),
              isOlder(apiRequests, before),
              gte(apiRequests.status, from),
              lt(apiRequests.status, until),
              filter.uid === null ? undefined : eq(apiRequests.uid, filter.uid),
              filter.keyId === null ? undefined : eq(apiRequests.keyId, filter.keyId),
              filter.method === null ? undefined : eq(apiRequests.method, filter.method),
              filter.path === null
                ? undefined
                : sql`substr(${apiRequests.path}, 1, length(${filter.path})) = ${filter.path}`,
              filter.since === null ? undefined : gte(apiRequests.createdAt, filter.since),
              filter.until === null ? undefined : lt(apiRequests.createdAt, filter.until),
            ),
          )
          .orderBy(...newestFirst(apiRequests))
          .limit(limit + 1)
          .all();
      const succeeded = from < FAILED ? readRing(0) : [];
      const failed = until > FAILED ? readRing(1) : [];
      const all = [...succeeded, ...failed].toSorted((a, b) => b.createdAt - a.createdAt || b.id - a.id);
      return all.slice(0, limit + 1);
    },

    /** Removes a batch of the oldest, of those from before; whether there may be more. */
    purge(notBefore: number): boolean {
      const oldest = orm
        .select({ id: apiRequests.id, createdAt: apiRequests.createdAt })
        .from(apiRequests)
        .orderBy(asc(apiRequests.id))
        .limit(PURGE_ROWS)
        .all();
      const old = oldest.filter(({ createdAt }) => createdAt < notBefore).map(({ id }) => id);
      if (old.length > 0) orm.delete(apiRequests).where(inArray(apiRequests.id, old)).run();
      return old.length === PURGE_ROWS;
    },
  };
}
