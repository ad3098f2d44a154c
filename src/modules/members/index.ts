// Members: who belongs to a workspace, with which role, and who is invited.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Context } from "../../platform/context.ts";
import { createPurge } from "../../platform/db/purge.ts";
import type { ListPages } from "../../platform/http/pagination.ts";
import { createEntryNote } from "./entry.ts";
import { acceptInvitation, findInvitation, type InviteDeps } from "./invite.ts";
import { createMailLimit } from "./mail-limit.ts";
import { invitationRoutes, memberRoutes } from "./routes.ts";

/** Invitations are shown for so long after their time is over. */
const KEPT_MS = 90 * 24 * 60 * 60_000;

type MemberStores = Pick<InviteDeps, "members" | "invitations" | "workspaces">;

interface MemberRouteDeps extends Pick<InviteDeps, "findPlan" | "sendSystemMail"> {
  pages: ListPages;
}

/** Its routes need modules that need the members: they are made later. */
export function createMembers(
  context: Context,
  stores: MemberStores,
  config: Pick<Config, "dashboard" | "hostname">,
  module: Pick<InviteDeps, "recordAudit" | "findPlace">,
) {
  const deps = { ...context, ...stores, ...module };
  const purge = createPurge(context, "invitations", () => {
    stores.invitations.purge(context.clock.now() - KEPT_MS);
    return false;
  });
  return {
    findMembership: stores.members.findMembership,
    listOfUser: stores.members.listOfUser,
    /** Inside the caller's transaction: the person leaves all workspaces, which nobody enters any more by their word. */
    removeOfUser(userId: number) {
      stores.invitations.deletePendingOfUser(userId);
      return stores.members.removeOfUser(userId);
    },
    operatorEntered: createEntryNote(deps),
    findInvitation: (token: string) => findInvitation(token, deps),
    /** Inside the caller's transaction. Throws 409 and 410. */
    acceptInvitation: (accepted: { token: string; userId: number; request: Request }) =>
      acceptInvitation(accepted, deps),
    routes(routeDeps: MemberRouteDeps): AnyElysia[] {
      const { hostname, dashboard } = config;
      const all = {
        ...deps,
        ...routeDeps,
        hostname,
        publicUrl: dashboard.url,
        mayMail: createMailLimit(context.clock),
      };
      return [memberRoutes(all), invitationRoutes(all)];
    },
    start: () => purge.start(),
    stop: () => purge.stop(),
  };
}
