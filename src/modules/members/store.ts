import { and, eq, isNull, sql } from "drizzle-orm";
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
    insert(row: typeof memberships.$inferInsert): void {
      orm.insert(memberships).values(row).run();
    },
  };
}
