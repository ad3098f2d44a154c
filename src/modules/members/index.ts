// Members: who belongs to a workspace, with which role, and who is invited.

import type { Context } from "../../platform/context.ts";
import { createEntryNote, type EntryDeps } from "./entry.ts";
import type { MemberStore } from "./store.ts";

export function createMembers(
  context: Context,
  { members }: { members: MemberStore },
  module: Pick<EntryDeps, "recordAudit">,
) {
  return {
    findMembership: members.findMembership,
    listOfUser: members.listOfUser,
    removeOfUser: (userId: number) => members.removeOfUser(userId),
    operatorEntered: createEntryNote({ ...context, ...module }),
  };
}
