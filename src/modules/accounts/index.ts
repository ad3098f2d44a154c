// Accounts: people, how they prove who they are, their sessions and links.

import type { AnyElysia } from "elysia";
import type { Component, Context } from "../../platform/context.ts";
import { createPurge } from "../../platform/db/purge.ts";
import type { AccountStores } from "./deps.ts";
import { type CreatedLink, insertLink, type LinkRequest } from "./links.ts";
import { createPasswords } from "./factors/passwords.ts";
import { type OperatorAccountDeps, operatorAccountRoutes } from "./operator-routes.ts";
import { accountRoutes } from "./routes.ts";
import { createSessionVerifier, MEMBER_AGES, OPERATOR_AGES, type VerifySession } from "./sessions.ts";

interface Accounts extends Required<Pick<Component, "start" | "stop">> {
  routes(): AnyElysia;
  operatorRoutes(): AnyElysia[];
  verifySession: VerifySession;
  /** Ends all sessions of a user, but for `except`, inside the caller's transaction. */
  endSessions(userId: number, except?: number): void;
  /** Makes a link, inside the caller's transaction. */
  createLink(request: LinkRequest): CreatedLink;
}

/** Nothing begins to act before start(). */
export function createAccounts(
  context: Context,
  stores: AccountStores,
  module: Pick<OperatorAccountDeps, "site" | "hostname" | "instance" | "members" | "pages" | "recordAudit" | "place">,
): Accounts {
  const deps: OperatorAccountDeps = { ...context, ...stores, ...module, passwords: createPasswords() };
  const { users: _, sessions, links } = stores;
  const purge = createPurge(context, "sessions", () => {
    const now = context.clock.now();
    links.purge(now);
    return sessions.purge(now, MEMBER_AGES, OPERATOR_AGES);
  });
  return {
    routes: () => accountRoutes(deps),
    operatorRoutes: () => operatorAccountRoutes(deps),
    verifySession: createSessionVerifier(deps),
    endSessions: (userId, except) => void sessions.endOfUser(userId, except),
    createLink: (request) => insertLink(request, deps),
    start: () => purge.start(),
    stop: () => purge.stop(),
  };
}
