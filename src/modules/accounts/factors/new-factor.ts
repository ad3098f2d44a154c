// The first way to sign in of an account that a link makes or recovers: a password or a passkey.

import { requireOwnArrival } from "../../../platform/http/browser-request.ts";
import { validationError } from "../../../platform/http/errors.ts";
import { newId } from "../../../platform/uuid.ts";
import type { AccountDeps } from "../deps.ts";
import type { NewPasskey } from "./passkeys.ts";
import { findPasswordFault } from "./password-rules.ts";
import type { SessionMethod } from "../sessions.ts";
import { hashToken } from "../token.ts";

export interface NewFactor {
  method: Extract<SessionMethod, "password" | "passkey">;
  /** The id that a new account must have, since the passkey knows it; null: any. */
  userUid: string | null;
  /** Inside a transaction. */
  store(userId: number): void;
}

interface Given {
  token: string;
  password?: string;
  passkey?: { challengeId: string; response: unknown; name?: string };
}

interface Owner {
  /** Null: the account is not made yet. */
  uid: string | null;
  email: string;
  name: string;
  hasSecondFactor: boolean;
  workspaceName?: string;
}

/** Throws 422. */
export async function readNewFactor(
  request: Request,
  given: Given,
  owner: Owner,
  deps: AccountDeps,
): Promise<NewFactor> {
  if (given.passkey !== undefined) return readPasskey(request, given.token, given.passkey, deps);
  if (given.password === undefined) {
    const hint = "Send a password, or a passkey.";
    throw validationError([{ path: ["password"], message: "is required", hint }]);
  }
  const names = [owner.name, deps.hostname, owner.workspaceName ?? ""];
  requireGoodPassword(given.password, { ...owner, names });
  const passwordHash = await deps.passwords.hash(given.password);
  return { method: "password", userUid: null, store: (userId) => void deps.users.update(userId, { passwordHash }) };
}

/** Throws 422. */
export function requireGoodPassword(password: string, owner: Parameters<typeof findPasswordFault>[1]): void {
  const fault = findPasswordFault(password, owner);
  if (fault !== null) throw validationError([{ path: ["password"], message: fault }]);
}

async function readPasskey(
  request: Request,
  token: string,
  { challengeId, response, name }: NonNullable<Given["passkey"]>,
  deps: AccountDeps,
): Promise<NewFactor> {
  const { origin } = requireOwnArrival(request, deps.site);
  const hash = hashToken(token);
  const challenge = deps.passkeys.take(challengeId, origin, (each) => each.for === "link" && each.linkHash === hash);
  const passkey = await deps.passkeys.verifyRegistration(challenge, response);
  return {
    method: "passkey",
    userUid: challenge.purpose.for === "link" ? challenge.purpose.userUid : null,
    store: (userId) => insertPasskey({ ...passkey, userId, name: name ?? FIRST_NAME }, deps),
  };
}

const FIRST_NAME = "Passkey";

/** Inside a transaction. Throws 422 when somebody has it already. */
export function insertPasskey(
  row: NewPasskey & { userId: number; name: string },
  { users, clock, random }: Pick<AccountDeps, "users" | "clock" | "random">,
) {
  if (users.passkeyByCredential(row.credentialId) !== undefined)
    throw validationError([{ path: ["response"], message: "is a passkey that is registered already" }]);
  const createdAt = clock.now();
  return users.insertPasskey({ uid: newId(createdAt, random), ...row, createdAt });
}
