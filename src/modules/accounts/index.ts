// Accounts: people, how they prove who they are, their sessions and links.

import type { AnyElysia } from "elysia";
import type { Component, Context } from "../../platform/context.ts";
import { createPurge } from "../../platform/db/purge.ts";
import type { AccountStores } from "./deps.ts";
import { type CreatedLink, insertLink, type LinkRequest } from "./links.ts";
import { ExpiringMap } from "./expiring-map.ts";
import { factorRoutes } from "./routes/factor-routes.ts";
import { Passkeys } from "./factors/passkeys.ts";
import { createPasswords } from "./factors/passwords.ts";
import { linkRoutes } from "./routes/link-routes.ts";
import { meRoutes } from "./routes/me-routes.ts";
import { passkeyRoutes } from "./routes/passkey-routes.ts";
import { signInRoutes } from "./routes/sign-in-routes.ts";
import { sessionRoutes } from "./routes/session-routes.ts";
import { createSignInLimits } from "./sign-in/limits.ts";
import { type OperatorAccountDeps, operatorAccountRoutes } from "./operator-routes.ts";
import { createSessionVerifier, MEMBER_AGES, OPERATOR_AGES, type VerifySession } from "./sessions.ts";

const MINUTE_MS = 60_000;
/** As long as a code may be of a later time: factors/totp.ts searches an hour and some minutes. */
const EARLY_CODE_MS = 90 * MINUTE_MS;
const MAX_EARLY_CODES = 1_000;
const PENDING_SECRET_MS = 30 * MINUTE_MS;
const MAX_PENDING_SECRETS = 1_000;

type AccountModuleDeps = Pick<
  OperatorAccountDeps,
  | "site"
  | "hostname"
  | "instance"
  | "members"
  | "pages"
  | "recordAudit"
  | "findPlace"
  | "findSubmission"
  | "keyring"
  | "sendSystemMail"
> & {
  /** From one address; 0 = no limit. */
  signInsPerMinute: number;
};

interface Accounts extends Required<Pick<Component, "start" | "stop">> {
  routes(): AnyElysia[];
  operatorRoutes(): AnyElysia[];
  verifySession: VerifySession;
  /** Makes a link, inside the caller's transaction. */
  createLink(request: LinkRequest): CreatedLink;
}

/** Nothing begins to act before start(). */
export function createAccounts(context: Context, stores: AccountStores, module: AccountModuleDeps): Accounts {
  const { clock } = context;
  const deps: OperatorAccountDeps = {
    ...context,
    ...stores,
    ...module,
    passwords: createPasswords(),
    passkeys: new Passkeys(context),
    limits: createSignInLimits(clock, module.signInsPerMinute),
    early: new ExpiringMap(MAX_EARLY_CODES, EARLY_CODE_MS, clock),
    pendingSecrets: new ExpiringMap(MAX_PENDING_SECRETS, PENDING_SECRET_MS, clock),
  };
  const { sessions, links } = stores;
  const purge = createPurge(context, "sessions", () => {
    const now = clock.now();
    links.purge(now);
    return sessions.purge(now, MEMBER_AGES, OPERATOR_AGES);
  });
  return {
    routes: () =>
      [signInRoutes, meRoutes, linkRoutes, sessionRoutes, passkeyRoutes, factorRoutes].map((each) => each(deps)),
    operatorRoutes: () => operatorAccountRoutes(deps),
    verifySession: createSessionVerifier(deps),
    createLink: (request) => insertLink(request, deps),
    start: () => purge.start(),
    stop: () => purge.stop(),
  };
}
