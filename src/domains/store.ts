import { and, count, desc, eq, inArray, ne, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { fast } from "../db/statement.ts";
import { dkimKeys, domains } from "../db/schema.ts";
import { NEWEST, type Position } from "../http/pagination.ts";

export type DomainRow = typeof domains.$inferSelect;
export type DkimKeyRow = typeof dkimKeys.$inferSelect;

export type DomainStore = ReturnType<typeof openDomainStore>;

/** Statuses in which a domain sends. */
const SENDING: DomainRow["status"][] = ["verified", "warning"];

/** Prepares the statements of the domains. */
export function openDomainStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const selectByName = fast(
    orm
      .select()
      .from(domains)
      .where(and(eq(domains.workspaceId, p("workspaceId")), eq(domains.name, p("name"))))
      .prepare(),
  );
  const selectById = fast(
    orm
      .select()
      .from(domains)
      .where(eq(domains.id, p("id")))
      .prepare(),
  );
  const selectKeys = fast(
    orm
      .select()
      .from(dkimKeys)
      .where(eq(dkimKeys.domainId, p("domainId")))
      .prepare(),
  );
  const selectPage = fast(
    orm
      .select()
      .from(domains)
      .where(
        and(
          eq(domains.workspaceId, p("workspaceId")),
          sql`(${domains.createdAt}, ${domains.id}) < (${p("createdAt")}, ${p("id")})`,
        ),
      )
      .orderBy(desc(domains.createdAt), desc(domains.id))
      .limit(p("limit"))
      .prepare(),
  );

  return {
    byName: (workspaceId: number, name: string): DomainRow | undefined => selectByName.get({ workspaceId, name }),
    byId: (id: number): DomainRow | undefined => selectById.get({ id }),
    byUid: (workspaceId: number, uid: string): DomainRow | undefined =>
      orm
        .select()
        .from(domains)
        .where(and(eq(domains.uid, uid), eq(domains.workspaceId, workspaceId)))
        .get(),

    /** A page of a workspace's domains, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): DomainRow[] =>
      selectPage.all({ workspaceId, ...(before ?? NEWEST), limit: limit + 1 }),

    countOf: (workspaceId: number): number =>
      orm.select({ count: count() }).from(domains).where(eq(domains.workspaceId, workspaceId)).get()?.count ?? 0,

    /** Whether another workspace sends from this name. */
    isSentByAnother: (domain: { id: number; name: string }): boolean =>
      orm
        .select({ id: domains.id })
        .from(domains)
        .where(
          and(
            eq(domains.name, domain.name),
            ne(domains.id, domain.id),
            inArray(domains.status, [...SENDING, "suspended"]),
          ),
        )
        .get() !== undefined,

    insert: (row: typeof domains.$inferInsert): DomainRow => orm.insert(domains).values(row).returning().get(),
    insertKey(row: typeof dkimKeys.$inferInsert): void {
      orm.insert(dkimKeys).values(row).run();
    },
    keysOf: (domainId: number): DkimKeyRow[] => selectKeys.all({ domainId }),
    update: (id: number, change: Partial<typeof domains.$inferInsert>): DomainRow =>
      orm.update(domains).set(change).where(eq(domains.id, id)).returning().get(),

    /** Destroys the signing keys and the domain; keys of the API restricted to it must be gone before. */
    delete(id: number): void {
      orm.delete(dkimKeys).where(eq(dkimKeys.domainId, id)).run();
      orm.delete(domains).where(eq(domains.id, id)).run();
    },

    /** Every domain of the installation by name, for the sandbox's DNS. */
    everyByName: (name: string): DomainRow[] => orm.select().from(domains).where(eq(domains.name, name)).all(),
  };
}

export function isSending(domain: Pick<DomainRow, "status">): boolean {
  return SENDING.includes(domain.status);
}
