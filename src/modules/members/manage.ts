// Changes of members: another role, removal, leaving.

import type { Context } from "../../platform/context.ts";
import { ROLES } from "../../platform/db/schema/people.ts";
import { AppError } from "../../platform/errors.ts";
import { getCaller, type Role } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import type { RecordAudit } from "../audit/record.ts";
import { requireAnotherOwner, requireAuthorityOver, requireMayGive } from "./authority.ts";
import type { InvitationStore } from "./invitation-store.ts";
import type { MemberRow, MemberStore } from "./store.ts";

export interface ManageDeps extends Pick<Context, "commit"> {
  members: MemberStore;
  invitations: Pick<InvitationStore, "deletePendingBy">;
  recordAudit: RecordAudit;
}

/** A member as a request names it. */
export interface NamedMember {
  request: Request;
  workspaceId: number;
  /** The public id of the person. */
  uid: string;
}

export function changeRole(named: NamedMember, role: Role, deps: ManageDeps): Promise<MemberRow> {
  const { request, workspaceId } = named;
  requireMayGive(request, role);
  return deps.commit(() => {
    const member = findMember(named, deps);
    if (member.role === role) return member;
    requireAuthorityOver(request, member.role);
    requireAnotherOwner(member, () => deps.members.countOwners(workspaceId));
    deps.members.setRole(member, role);
    // Nobody comes in by the word of somebody who may not give it any more.
    if (ROLES.indexOf(role) > ROLES.indexOf(member.role)) deps.invitations.deletePendingBy(workspaceId, member.userId);
    const detail = { before: member.role, after: role };
    deps.recordAudit({ workspaceId, request, action: "member.role_changed", target: member.email, detail });
    return { ...member, role };
  });
}

/** Whoever removes themselves leaves, which every member may. */
export function removeMember(named: NamedMember, deps: ManageDeps): Promise<void> {
  const { request, workspaceId } = named;
  const caller = getCaller(request);
  return deps.commit(() => {
    const member = findMember(named, deps);
    const isLeaving = caller.kind === "member" && caller.userId === member.userId;
    if (!isLeaving) {
      if (caller.kind === "member") requireMayRemove(caller.role);
      requireAuthorityOver(request, member.role);
    }
    requireAnotherOwner(member, () => deps.members.countOwners(workspaceId));
    deps.members.delete(member);
    deps.invitations.deletePendingBy(workspaceId, member.userId);
    const [action, detail] = [isLeaving ? "member.left" : "member.removed", { role: member.role }];
    deps.recordAudit({ workspaceId, request, action, target: member.email, detail });
  });
}

function requireMayRemove(role: string): void {
  if (role !== "member" && role !== "viewer") return;
  throw new AppError("ROLE_REQUIRED", `To remove another member needs the role owner or admin; yours is ${role}`, {
    hint: "Ask an owner or admin of the workspace. You can remove only yourself.",
  });
}

function findMember({ workspaceId, uid }: NamedMember, { members }: ManageDeps): MemberRow {
  const member = members.byUid(workspaceId, uid);
  if (member === undefined) throw notFound("This workspace has no member with this id");
  return member;
}
