import { and, asc, eq, inArray, isNull, notExists, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { memberships } from "../../platform/db/schema/people.ts";
import { workspaces } from "../../platform/db/schema/schema.ts";
import { prepare } from "../../platform/db/statement.ts";

export type MemberStore = ReturnType<typeof openMemberStore>;

/** Prepares the statements of the memberships. */
export function openMemberStore({ orm }: Db) {
  const p = sql.placeholder;
  const selectRole = prepare(
    orm
      .select({ workspaceId: workspaces.id, role: memberships.role })
      .from(workspaces)
      .leftJoin(memberships, and(eq(memberships.workspaceId, workspaces.id), eq(memberships.userId, p("userId"))))
      .where(and(eq(workspaces.uid, p("uid")), isNull(workspaces.deletedAt))),
  );
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
    /** Inside a transaction: the user leaves all workspaces. Those that have no owner any more. */
    removeOfUser(userId: number): { id: string; name: string }[] {
      const isOwner = and(eq(memberships.workspaceId, workspaces.id), eq(memberships.role, "owner"));
      const left = orm
        .delete(memberships)
        .where(eq(memberships.userId, userId))
        .returning({ id: memberships.workspaceId, role: memberships.role })
        .all();
      const owned = left.filter(({ role }) => role === "owner").map(({ id }) => id);
      return orm
        .select({ id: workspaces.uid, name: workspaces.name })
        .from(workspaces)
        .where(
          and(
            inArray(workspaces.id, owned),
            isNull(workspaces.deletedAt),
            notExists(orm.select({ id: memberships.userId }).from(memberships).where(isOwner)),
          ),
        )
        .orderBy(asc(workspaces.name), asc(workspaces.id))
        .all();
    },
    insert(row: typeof memberships.$inferInsert): void {
      orm.insert(memberships).values(row).run();
    },
  };
}
