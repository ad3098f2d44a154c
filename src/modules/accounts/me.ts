// The answer about the person who is signed in.

import type { Static } from "@sinclair/typebox";
import { notSignedIn } from "../../platform/http/auth.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { AccountDeps } from "./deps.ts";
import { LANGUAGES, type Me } from "./schema.ts";
import { needsSecondFactor } from "./sessions.ts";
import type { UserRow } from "./store.ts";

export function describeMe(sessionId: number, deps: AccountDeps): Static<typeof Me> {
  const session = deps.sessions.byId(sessionId);
  const user = session === undefined ? undefined : deps.users.byId(session.userId);
  if (session === undefined || user === undefined) throw notSignedIn();
  return {
    user: {
      id: user.uid,
      email: user.email,
      name: user.name,
      isOperator: user.isOperator,
      emailVerified: user.emailVerifiedAt !== null,
      language: LANGUAGES.find((each) => each === user.language) ?? null,
    },
    session: {
      id: session.uid,
      method: session.method,
      createdAt: toIsoTime(session.createdAt),
      provedAt: toIsoTime(session.provedAt),
      needsSecondFactor: user.isOperator && needsSecondFactor(session, deps.site),
    },
    factors: describeFactors(user, deps),
    workspaces: deps.members.listOfUser(user.id),
    instance: { ...deps.instance, dashboardUrl: deps.site.url, submission: deps.findSubmission() },
  };
}

export function describeFactors(user: UserRow, { users }: AccountDeps) {
  return {
    password: user.passwordHash !== null,
    totp: user.totpConfirmedAt !== null,
    passkeys: users.countPasskeys(user.id),
    recoveryCodes: users.countRecoveryCodes(user.id),
  };
}
