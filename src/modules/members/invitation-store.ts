// Rows of invitations. One is open until it is accepted or its time is over.

import { and, count, eq, getTableColumns, gt, isNull, lt } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { isOlder, newestFirst } from "../../platform/db/batches.ts";
import type { Db } from "../../platform/db/open.ts";
import { invitations, users } from "../../platform/db/schema/people.ts";
import { workspaces } from "../../platform/db/schema/schema.ts";
import type { Position } from "../../platform/http/pagination.ts";

export type InvitationRow = typeof invitations.$inferSelect;
export type InvitationStore = ReturnType<typeof openInvitationStore>;
export type ListedInvitation = ReturnType<InvitationStore["list"]>[number];

const inviters = alias(users, "inviter");
const accepters = alias(users, "accepter");

const COLUMNS = {
  ...getTableColumns(invitations),
  inviterName: inviters.name,
  accepterUid: accepters.uid,
  accepterName: accepters.name,
  accepterEmail: accepters.email,
};

/** `now` decides which are open. */
export function openInvitationStore({ orm, changes }: Db) {
  const isPending = (workspaceId: number) =>
    and(eq(invitations.workspaceId, workspaceId), isNull(invitations.acceptedAt));
  const selectListed = () =>
    orm
      .select(COLUMNS)
      .from(invitations)
      .leftJoin(inviters, eq(inviters.id, invitations.invitedBy))
      .leftJoin(accepters, eq(accepters.id, invitations.acceptedBy));

  return {
    /** A page of a workspace's invitations, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number) =>
      selectListed()
        .where(and(eq(invitations.workspaceId, workspaceId), isOlder(invitations, before)))
        .orderBy(...newestFirst(invitations))
        .limit(limit + 1)
        .all(),
    /** One that nobody has accepted; its time may be over. */
    pendingByUid: (workspaceId: number, uid: string) =>
      selectListed()
        .where(and(isPending(workspaceId), eq(invitations.uid, uid)))
        .get(),
    /** An open one by the hash of its token, with the public id and name of its workspace. */
    openByHash: (hash: string, now: number) =>
      orm
        .select({
          ...getTableColumns(invitations),
          inviterName: users.name,
          workspaceUid: workspaces.uid,
          workspaceName: workspaces.name,
        })
        .from(invitations)
        .innerJoin(workspaces, eq(workspaces.id, invitations.workspaceId))
        .leftJoin(users, eq(users.id, invitations.invitedBy))
        .where(
          and(
            eq(invitations.hash, hash),
            isNull(invitations.acceptedAt),
            gt(invitations.expiresAt, now),
            isNull(workspaces.deletedAt),
          ),
        )
        .get(),
    countOpen: (workspaceId: number, now: number): number =>
      orm
        .select({ count: count() })
        .from(invitations)
        .where(and(isPending(workspaceId), gt(invitations.expiresAt, now)))
        .get()?.count ?? 0,
    insert(row: typeof invitations.$inferInsert): void {
      changes.note(row.workspaceId, "members");
      orm.insert(invitations).values(row).run();
    },
    /** Its old link works no more. */
    renew({ id, workspaceId }: InvitationRow, link: Pick<InvitationRow, "hash" | "expiresAt" | "invitedBy">): void {
      changes.note(workspaceId, "members");
      orm.update(invitations).set(link).where(eq(invitations.id, id)).run();
    },
    accept({ id, workspaceId }: Pick<InvitationRow, "id" | "workspaceId">, acceptedBy: number, now: number): void {
      changes.note(workspaceId, "members");
      orm.update(invitations).set({ acceptedAt: now, acceptedBy }).where(eq(invitations.id, id)).run();
    },
    delete({ id, workspaceId }: InvitationRow): void {
      changes.note(workspaceId, "members");
      orm.delete(invitations).where(eq(invitations.id, id)).run();
    },
    /** The open ones to an address. */
    openTo: (workspaceId: number, email: string, now: number) =>
      orm
        .select({ role: invitations.role })
        .from(invitations)
        .where(and(isPending(workspaceId), eq(invitations.email, email), gt(invitations.expiresAt, now)))
        .all(),
    /** Those to an address that nobody has accepted. */
    deletePendingTo(workspaceId: number, email: string): void {
      orm
        .delete(invitations)
        .where(and(isPending(workspaceId), eq(invitations.email, email)))
        .run();
    },
    /** Those by a member that nobody has accepted. */
    deletePendingBy(workspaceId: number, userId: number): void {
      changes.note(workspaceId, "members");
      orm
        .delete(invitations)
        .where(and(isPending(workspaceId), eq(invitations.invitedBy, userId)))
        .run();
    },
    /** Those by a person, in every workspace, that nobody has accepted. */
    deletePendingOfUser(userId: number): void {
      orm
        .delete(invitations)
        .where(and(eq(invitations.invitedBy, userId), isNull(invitations.acceptedAt)))
        .run();
    },
    /** Removes those whose time was over before this, accepted or not. */
    purge(notBefore: number): void {
      orm.delete(invitations).where(lt(invitations.expiresAt, notBefore)).run();
    },
  };
}
