import { and, asc, count, desc, eq, getTableColumns, gt, inArray, isNotNull, lt, ne, or, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { TransactionalCache } from "../../platform/db/transactional-cache.ts";
import { isOlder, newestFirst } from "../../platform/db/batches.ts";
import { prepare } from "../../platform/db/statement.ts";
import { dkimKeys, domains, domainShares } from "../../platform/db/schema/schema.ts";
import type { Position } from "../../platform/http/pagination.ts";

/** The result of the last check is long, and each send reads its domain: it is read separately. */
const { lastCheck, ...columns } = getTableColumns(domains);

export type DomainRow = Omit<typeof domains.$inferSelect, "lastCheck">;
export type DkimKeyRow = typeof dkimKeys.$inferSelect;

export type DomainStore = ReturnType<typeof openDomainStore>;

/** Domains whose rows are remembered. */
const MAX_REMEMBERED = 10_000;

/** Statuses in which a domain sends. */
const SENDING: DomainRow["status"][] = ["verified", "warning"];

/** Prepares the statements of the domains. */
export function openDomainStore(db: Db) {
  const { orm, changes } = db;
  // Every email asks for its sender's domain. Changes are few, and each forgets all of them.
  const remembered = new TransactionalCache<string, DomainRow>(MAX_REMEMBERED);
  db.listeners.push(remembered);
  const changed = (workspaceId: number) => {
    remembered.clear();
    changes.note(workspaceId, "domains");
  };
  return { ...domainRows(orm, remembered, changed), ...checkTimes(orm, remembered) };
}

/** `changed`: inside the transaction that changes a domain of this workspace. */
function domainRows(
  orm: Db["orm"],
  remembered: TransactionalCache<string, DomainRow>,
  changed: (workspaceId: number) => void,
) {
  const p = sql.placeholder;
  const selectByName = prepare(
    orm
      .select(columns)
      .from(domains)
      .where(and(eq(domains.workspaceId, p("workspaceId")), eq(domains.name, p("name")))),
  );
  const selectById = prepare(
    orm
      .select(columns)
      .from(domains)
      .where(eq(domains.id, p("id"))),
  );
  const selectVerified = prepare(
    orm
      .select(columns)
      .from(domains)
      .where(and(eq(domains.name, p("name")), sql`status IN ('verified', 'warning')`)),
  );
  const selectHolder = prepare(
    orm
      .select({ id: domains.id })
      .from(domains)
      // As the index says it, word by word: with parameters it would not be used.
      .where(
        and(eq(domains.name, p("name")), ne(domains.id, p("id")), sql`status IN ('verified', 'warning', 'suspended')`),
      ),
  );
  const selectKeys = prepare(
    orm
      .select()
      .from(dkimKeys)
      .where(eq(dkimKeys.domainId, p("domainId"))),
  );

  return {
    byName: (workspaceId: number, name: string): DomainRow | undefined => selectByName.get({ workspaceId, name }),
    /** The same, from memory when it was asked for since the last change of any domain. */
    senderNamed(workspaceId: number, name: string): DomainRow | undefined {
      const key = `${workspaceId} ${name}`;
      const known = remembered.get(key);
      if (known !== undefined) return known;
      const row = selectByName.get({ workspaceId, name });
      if (row !== undefined) remembered.set(key, row);
      return row;
    },
    byId: (id: number): DomainRow | undefined => selectById.get({ id }),
    /** The domain of this name with which mail may be sent, whoever's it is. */
    verified: (name: string): DomainRow | undefined => selectVerified.get({ name }),
    byUid: (workspaceId: number, uid: string): DomainRow | undefined =>
      orm
        .select(columns)
        .from(domains)
        .where(and(eq(domains.uid, uid), eq(domains.workspaceId, workspaceId)))
        .get(),

    /** A page of a workspace's domains, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): DomainRow[] =>
      orm
        .select(columns)
        .from(domains)
        .where(and(eq(domains.workspaceId, workspaceId), isOlder(domains, before)))
        .orderBy(...newestFirst(domains))
        .limit(limit + 1)
        .all(),

    countForWorkspace: (workspaceId: number): number =>
      orm.select({ count: count() }).from(domains).where(eq(domains.workspaceId, workspaceId)).get()?.count ?? 0,

    /** Whether another workspace has this name verified, in warning or suspended. */
    isTakenElsewhere: (domain: { id: number; name: string }): boolean =>
      selectHolder.get({ name: domain.name, id: domain.id }) !== undefined,

    insert(row: typeof domains.$inferInsert): DomainRow {
      changed(row.workspaceId);
      return orm.insert(domains).values(row).returning(columns).get();
    },
    insertKey(row: typeof dkimKeys.$inferInsert): void {
      orm.insert(dkimKeys).values(row).run();
    },
    /** In the place of the one under its selector. */
    replaceKey(row: typeof dkimKeys.$inferInsert): void {
      orm
        .insert(dkimKeys)
        .values(row)
        .onConflictDoUpdate({ target: [dkimKeys.domainId, dkimKeys.selector], set: row })
        .run();
    },
    listKeys: (domainId: number): DkimKeyRow[] => selectKeys.all({ domainId }),
    update(id: number, change: Partial<typeof domains.$inferInsert>): DomainRow {
      const row = orm.update(domains).set(change).where(eq(domains.id, id)).returning(columns).get();
      changed(row.workspaceId);
      return row;
    },

    /** JSON of schema.ts Dns, as the last check saw it; null: never checked. */
    findLastCheck: (id: number): string | null =>
      orm.select({ lastCheck }).from(domains).where(eq(domains.id, id)).get()?.lastCheck ?? null,

    /** The views of the domain's DNS host changed, of which no row tells. Inside a closure given to commit(). */
    noteChange: changed,

    /** Destroys the signing keys and the domain, and ends its link; keys of the API restricted to it must be gone before. */
    delete(id: number): void {
      orm.delete(dkimKeys).where(eq(dkimKeys.domainId, id)).run();
      orm.delete(domainShares).where(eq(domainShares.domainId, id)).run();
      const owner = { workspaceId: domains.workspaceId };
      for (const { workspaceId } of orm.delete(domains).where(eq(domains.id, id)).returning(owner).all())
        changed(workspaceId);
    },

    /** Destroys the signing keys of all of a workspace's domains, and the domains; their ids. API keys must be gone before. */
    deleteOfWorkspace(workspaceId: number): number[] {
      changed(workspaceId);
      const own = orm.select({ id: domains.id }).from(domains).where(eq(domains.workspaceId, workspaceId));
      orm.delete(dkimKeys).where(inArray(dkimKeys.domainId, own)).run();
      orm.delete(domainShares).where(inArray(domainShares.domainId, own)).run();
      const gone = orm.delete(domains).where(eq(domains.workspaceId, workspaceId)).returning({ id: domains.id }).all();
      return gone.map(({ id }) => id);
    },

    /** A domain of any workspace, for the operator. */
    byUidAnywhere: (uid: string): DomainRow | undefined =>
      orm.select(columns).from(domains).where(eq(domains.uid, uid)).get(),

    /** A page of all domains, or of one workspace's, newest first, and one row more when there are more. */
    listEverywhere: (workspaceId: number | null, before: Position | null, limit: number): DomainRow[] =>
      orm
        .select(columns)
        .from(domains)
        .where(
          and(
            workspaceId === null ? undefined : eq(domains.workspaceId, workspaceId),
            // Ids are given out in the order of time, and unlike times they have an index over all workspaces.
            before === null ? undefined : lt(domains.id, before.id),
          ),
        )
        .orderBy(desc(domains.id))
        .limit(limit + 1)
        .all(),

    /** Every domain of the installation by name, for the sandbox's DNS. */
    listByName: (name: string): DomainRow[] => orm.select(columns).from(domains).where(eq(domains.name, name)).all(),
  };
}

/** Times that no longer fit the clock, and where to put them. */
export interface ChecksToReschedule {
  now: number;
  /** A verified domain's check that was due before this is late by far. */
  overdueBefore: number;
  /** Checks planned after these times are further away than any plan. */
  tooFar: { verified: number; others: number };
  /** They are spread over so long from now. */
  spreadMs: number;
}

function checkTimes(orm: Db["orm"], remembered: TransactionalCache<string, DomainRow>) {
  const p = sql.placeholder;
  const selectFirst = prepare(
    orm
      .select({ id: domains.id, workspaceId: domains.workspaceId, nextCheckAt: sql<number>`${domains.nextCheckAt}` })
      .from(domains)
      .where(
        and(
          isNotNull(domains.nextCheckAt),
          sql`${domains.id} NOT IN (SELECT value FROM json_each(${p("domainIds")}))`,
          sql`${domains.workspaceId} NOT IN (SELECT value FROM json_each(${p("workspaceIds")}))`,
        ),
      )
      .orderBy(asc(domains.nextCheckAt))
      .limit(1),
  );
  return {
    /** The domain whose check in the background is due first, but for these and those of these workspaces. */
    firstToCheck: (except: { domainIds: number[]; workspaceIds: number[] }) =>
      selectFirst.get({
        domainIds: JSON.stringify(except.domainIds),
        workspaceIds: JSON.stringify(except.workspaceIds),
      }),

    postponeCheck(id: number, nextCheckAt: number): void {
      remembered.clear();
      orm.update(domains).set({ nextCheckAt }).where(eq(domains.id, id)).run();
    },

    /** Spreads the checks whose times do not fit the clock. */
    spreadChecks({ now, overdueBefore, tooFar, spreadMs }: ChecksToReschedule): void {
      remembered.clear();
      const isVerified = eq(domains.status, "verified");
      orm
        .update(domains)
        // Some seconds from one domain to the next.
        .set({ nextCheckAt: sql`${now} + (${domains.id} * 7919) % ${spreadMs}` })
        .where(
          or(
            and(lt(domains.nextCheckAt, overdueBefore), isVerified),
            gt(domains.nextCheckAt, tooFar.verified),
            and(gt(domains.nextCheckAt, tooFar.others), ne(domains.status, "verified")),
          ),
        )
        .run();
    },
  };
}

export function isSending(domain: Pick<DomainRow, "status">): boolean {
  return SENDING.includes(domain.status);
}
