import { and, asc, count, eq, getTableColumns, isNull, sql } from "drizzle-orm";
import { isOlder, newestFirst } from "../../platform/db/batches.ts";
import type { Db } from "../../platform/db/open.ts";
import { memberships, sessions, users } from "../../platform/db/schema/people.ts";
import { workspaces } from "../../platform/db/schema/schema.ts";
import { prepare } from "../../platform/db/statement.ts";
import type { Role } from "../../platform/http/auth.ts";
import type { Position } from "../../platform/http/pagination.ts";

export type MemberStore = ReturnType<typeof openMemberStore>;
export type MemberRow = ReturnType<MemberStore["list"]>[number];

type MemberKey = Pick<typeof memberships.$inferSelect, "workspaceId" | "userId">;

/** A member in the order of lists: of a moment, by the person. */
const ORDER = { createdAt: memberships.createdAt, id: memberships.userId };

const COLUMNS = {
  ...getTableColumns(memberships),
  id: memberships.userId,
  uid: users.uid,
  name: users.name,
  email: users.email,
  emailVerifiedAt: users.emailVerifiedAt,
  lastSeenAt: sql<
    number | null
  >`(SELECT MAX(${sessions.lastSeenAt}) FROM ${sessions} WHERE ${sessions.userId} = ${users.id})`,
};

/** Prepares the statements of the memberships. */
export function openMemberStore({ orm, changes }: Db) {
  const p = sql.placeholder;
  const selectRole = prepare(
    orm
      .select({ workspaceId: workspaces.id, role: memberships.role })
      .from(workspaces)
      .leftJoin(memberships, and(eq(memberships.workspaceId, workspaces.id), eq(memberships.userId, p("userId"))))
      .where(and(eq(workspaces.uid, p("uid")), isNull(workspaces.deletedAt))),
  );
  const isOne = (workspaceId: number, userId: number) =>
    and(eq(memberships.workspaceId, workspaceId), eq(memberships.userId, userId));
  const selectMembers = () => orm.select(COLUMNS).from(memberships).innerJoin(users, eq(users.id, memberships.userId));
  const countMembers = (workspaceId: number, role?: Role): number =>
    orm
      .select({ count: count() })
      .from(memberships)
      .where(and(eq(memberships.workspaceId, workspaceId), role === undefined ? undefined : eq(memberships.role, role)))
      .get()?.count ?? 0;

  return {
    /** A workspace by its public id, with the person's role in it; role null: not a member. Read at each request. */
    findMembership: (userId: number, uid: string) => selectRole.get({ userId, uid }),
    /** The workspaces of a user, by their names. */
    listOfUser: (userId: number) =>
      orm
        .select({ id: workspaces.uid, name: workspaces.name, role: memberships.role })
        .from(memberships)
        .innerJoin(workspaces, eq(workspaces.id, memberships.workspaceId))
        .where(and(eq(memberships.userId, userId), isNull(workspaces.deletedAt)))
        .orderBy(asc(workspaces.name), asc(workspaces.id))
        .all(),
    /** A page of a workspace's members, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number) =>
      selectMembers()
        .where(and(eq(memberships.workspaceId, workspaceId), isOlder(ORDER, before)))
        .orderBy(...newestFirst(ORDER))
        .limit(limit + 1)
        .all(),
    /** A member by the public id of the person. */
    byUid: (workspaceId: number, uid: string) =>
      selectMembers()
        .where(and(eq(memberships.workspaceId, workspaceId), eq(users.uid, uid)))
        .get(),
    hasEmail: (workspaceId: number, email: string): boolean =>
      selectMembers()
        .where(and(eq(memberships.workspaceId, workspaceId), eq(users.email, email)))
        .get() !== undefined,
    countForWorkspace: (workspaceId: number): number => countMembers(workspaceId),
    countOwners: (workspaceId: number): number => countMembers(workspaceId, "owner"),
    /** False: the person is a member already. */
    insert(row: typeof memberships.$inferInsert): boolean {
      changes.note(row.workspaceId, "members");
      return (
        orm.insert(memberships).values(row).onConflictDoNothing().returning({ id: memberships.userId }).all().length ===
        1
      );
    },
    setRole({ workspaceId, userId }: MemberKey, role: Role): void {
      changes.note(workspaceId, "members");
      orm.update(memberships).set({ role }).where(isOne(workspaceId, userId)).run();
    },
    /** Inside a transaction: the person leaves all workspaces. Those that have no owner any more. */
    removeOfUser(userId: number): { id: string; name: string }[] {
      const left = orm
        .select({ workspaceId: workspaces.id, id: workspaces.uid, name: workspaces.name, role: memberships.role })
        .from(memberships)
        .innerJoin(workspaces, eq(workspaces.id, memberships.workspaceId))
        .where(and(eq(memberships.userId, userId), isNull(workspaces.deletedAt)))
        .orderBy(asc(workspaces.name), asc(workspaces.id))
        .all();
      for (const { workspaceId } of left) changes.note(workspaceId, "members");
      orm.delete(memberships).where(eq(memberships.userId, userId)).run();
      return left
        .filter(({ workspaceId, role }) => role === "owner" && countMembers(workspaceId, "owner") === 0)
        .map(({ id, name }) => ({ id, name }));
    },
    delete({ workspaceId, userId }: MemberKey): void {
      changes.note(workspaceId, "members");
      orm.delete(memberships).where(isOne(workspaceId, userId)).run();
    },
  };
}
