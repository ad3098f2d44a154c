import { and, desc, eq, lt, ne, or, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { removeBatch, PURGE_ROWS } from "../../platform/db/batches.ts";
import { sessions, users } from "../../platform/db/schema/people.ts";
import { prepare } from "../../platform/db/statement.ts";
import { TransactionalCache } from "../../platform/db/transactional-cache.ts";

export type SessionRow = typeof sessions.$inferSelect;
/** With a fact of its user. */
export type FoundSession = SessionRow & { isOperator: boolean };

/** How long a session lasts without use, and in all. */
export interface SessionAges {
  idleMs: number;
  absoluteMs: number;
}

/** Sessions whose rows are remembered. */
const MAX_REMEMBERED = 10_000;

export type SessionStore = ReturnType<typeof openSessionStore>;

export function openSessionStore(db: Db) {
  const { orm } = db;
  const selectByHash = prepare(
    orm
      .select({ session: sessions, isOperator: users.isOperator })
      .from(sessions)
      .innerJoin(users, eq(users.id, sessions.userId))
      .where(eq(sessions.hash, sql.placeholder("hash"))),
  );
  // Every request of a browser looks its session up. Whatever changes or ends one here must forget it.
  const remembered = new TransactionalCache<string, FoundSession>(MAX_REMEMBERED);
  db.listeners.push(remembered);
  const forget = (ended: { hash: string }[]): number => {
    for (const { hash } of ended) remembered.delete(hash);
    return ended.length;
  };
  const hash = { hash: sessions.hash };

  return {
    byHash(wanted: string): FoundSession | undefined {
      const known = remembered.get(wanted);
      if (known !== undefined) return known;
      const row = selectByHash.get({ hash: wanted });
      if (row === undefined) return undefined;
      const found = { ...row.session, isOperator: row.isOperator };
      remembered.set(wanted, found);
      return found;
    },
    insert: (row: typeof sessions.$inferInsert): SessionRow => orm.insert(sessions).values(row).returning().get(),
    byId: (id: number): SessionRow | undefined => orm.select().from(sessions).where(eq(sessions.id, id)).get(),
    byUid: (userId: number, uid: string): SessionRow | undefined =>
      orm
        .select()
        .from(sessions)
        .where(and(eq(sessions.userId, userId), eq(sessions.uid, uid)))
        .get(),
    /** Those of a user, the last used first. */
    list: (userId: number): SessionRow[] =>
      orm
        .select()
        .from(sessions)
        .where(eq(sessions.userId, userId))
        .orderBy(desc(sessions.lastSeenAt), desc(sessions.id))
        .all(),
    /** Whether the user has a session that began in this network. */
    isKnownNetwork: (userId: number, network: string): boolean =>
      orm
        .select(hash)
        .from(sessions)
        .where(and(eq(sessions.userId, userId), eq(sessions.network, network)))
        .limit(1)
        .get() !== undefined,
    update(id: number, change: Partial<Pick<SessionRow, "provedAt" | "lastSeenAt" | "method">>): void {
      forget(orm.update(sessions).set(change).where(eq(sessions.id, id)).returning(hash).all());
    },
    end: (id: number): number => forget(orm.delete(sessions).where(eq(sessions.id, id)).returning(hash).all()),
    /** All of a user, but for `except`. */
    endOfUser: (userId: number, except = -1): number =>
      forget(
        orm
          .delete(sessions)
          .where(and(eq(sessions.userId, userId), ne(sessions.id, except)))
          .returning(hash)
          .all(),
      ),
    /** A user's oldest ones beyond the `count` newest. */
    endOldest(userId: number, count: number): void {
      const edge = orm
        .select({ id: sessions.id })
        .from(sessions)
        .where(eq(sessions.userId, userId))
        .orderBy(desc(sessions.id))
        .limit(1)
        .offset(count)
        .get();
      if (edge === undefined) return;
      const isOld = and(eq(sessions.userId, userId), sql`${sessions.id} <= ${edge.id}`);
      forget(orm.delete(sessions).where(isOld).returning(hash).all());
    },
    /** Removes a batch of those that are too old; true when there may be more. They are refused before, so that none is forgotten here. */
    purge(now: number, members: SessionAges, operators: SessionAges): boolean {
      const isOld = ({ idleMs, absoluteMs }: SessionAges) =>
        or(lt(sessions.lastSeenAt, now - idleMs), lt(sessions.createdAt, now - absoluteMs));
      const ofOperators = sql`${sessions.userId} IN (SELECT id FROM user WHERE is_operator = 1)`;
      return removeBatch(orm, sessions, or(isOld(members), and(ofOperators, isOld(operators))), PURGE_ROWS);
    },
  };
}
