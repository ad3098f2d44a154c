// A person changes the ways in which they sign in.

import { AppError } from "../../../platform/errors.ts";
import { notSignedIn, requireFreshProof } from "../../../platform/http/auth.ts";
import { requireOwnArrival } from "../../../platform/http/browser-request.ts";
import { notFound, validationError } from "../../../platform/http/errors.ts";
import type { AccountDeps } from "../deps.ts";
import { createRecoveryCodes, hashRecoveryCode } from "./recovery-codes.ts";
import { checkTotp, sealTotpSecret } from "./second-factor.ts";
import { createTotpSecret, describeTotp } from "./totp.ts";
import { insertPasskey, requireGoodPassword } from "./new-factor.ts";
import { needsSecondFactor, strengthen } from "../sessions.ts";
import type { PasskeyRow, UserRow } from "../store.ts";

/** The person whose factors change, by the session of their request. */
export interface Self {
  request: Request;
  userId: number;
  sessionId: number;
}

export function requireUser(userId: number, { users }: Pick<AccountDeps, "users">): UserRow {
  const user = users.byId(userId);
  if (user === undefined) throw notSignedIn();
  return user;
}

/**
 * Throws PROOF_REQUIRED unless the session may change how its person signs in: not by a password, where it is too little for
 * an operator who has more. A thief of the password would else add what is enough.
 */
export function requireProofToChange({ request, userId, sessionId }: Self, deps: AccountDeps): void {
  requireFreshProof(request);
  const session = deps.sessions.byId(sessionId);
  const user = requireUser(userId, deps);
  if (session === undefined) throw notSignedIn();
  const hasMore = user.totpConfirmedAt !== null || deps.users.countPasskeys(userId) > 0;
  if (!user.isOperator || !hasMore || !needsSecondFactor(session, deps.site)) return;
  throw new AppError("PROOF_REQUIRED", "An operator proves this with a passkey, or with a password and a code", {
    hint: "POST /api/v1/auth/proof with one of them, then send this again.",
  });
}

/** The user's other sessions and links end: one of them may be a thief's. */
export async function setPassword(self: Self, password: string, deps: AccountDeps): Promise<void> {
  const user = requireUser(self.userId, deps);
  const workspaces = deps.members.listOfUser(user.id).map(({ name }) => name);
  const hasSecondFactor = user.totpConfirmedAt !== null;
  requireGoodPassword(password, { ...user, names: [user.name, deps.hostname, ...workspaces], hasSecondFactor });
  const passwordHash = await deps.passwords.hash(password);
  await deps.commit(() => {
    deps.users.update(self.userId, { passwordHash });
    deps.sessions.endOfUser(self.userId, self.sessionId);
    deps.links.deleteOfUser(self.userId);
    record(self, "account.password_set", deps);
  });
}

/** A new secret for an authenticator app; it serves nobody before a code of it comes. */
export async function beginTotp(self: Self, deps: AccountDeps): Promise<{ secret: string; uri: string }> {
  const user = requireUser(self.userId, deps);
  const secret = createTotpSecret(deps.random);
  deps.pendingSecrets.set(user.id, secret);
  return describeTotp(secret, { issuer: deps.hostname, account: user.email });
}

/** The app is asked for from now on, and gets new recovery codes. Throws INVALID_CREDENTIALS. */
export async function confirmTotp(self: Self, code: string, deps: AccountDeps): Promise<string[]> {
  const user = requireUser(self.userId, deps);
  const secret = deps.pendingSecrets.get(user.id);
  if (secret === undefined) {
    const hint = "POST /api/v1/auth/totp makes one; then add it to the app.";
    throw validationError([{ path: ["code"], message: "belongs to no secret that was just made", hint }]);
  }
  const totpLastStep = await checkTotp({ id: user.id, totpLastStep: null }, code, secret, deps);
  const codes = createRecoveryCodes(deps.random);
  await deps.commit(() => {
    const totpSecret = sealTotpSecret(user, secret, deps.keyring);
    deps.users.update(user.id, { totpSecret, totpConfirmedAt: deps.clock.now(), totpLastStep });
    deps.users.replaceRecoveryCodes(user.id, codes.map(hashRecoveryCode));
    strengthen(self.sessionId, "password_totp", deps);
    record(self, "account.totp_added", deps);
  });
  deps.pendingSecrets.delete(user.id);
  return codes;
}

/** Inside a transaction. */
export function removeTotp(self: Self, deps: AccountDeps): void {
  deps.users.update(self.userId, { totpSecret: null, totpConfirmedAt: null, totpLastStep: null });
  deps.users.replaceRecoveryCodes(self.userId, []);
  record(self, "account.totp_removed", deps);
}

interface PasskeyOffer {
  challengeId: string;
  response: unknown;
  name: string;
}

export async function addPasskey(self: Self, offer: PasskeyOffer, deps: AccountDeps): Promise<PasskeyRow> {
  const { origin } = requireOwnArrival(self.request, deps.site);
  const challenge = deps.passkeys.take(
    offer.challengeId,
    origin,
    (purpose) => purpose.for === "register" && purpose.userId === self.userId,
  );
  const passkey = await deps.passkeys.verifyRegistration(challenge, offer.response);
  return deps.commit(() => {
    const row = insertPasskey({ ...passkey, userId: self.userId, name: offer.name }, deps);
    strengthen(self.sessionId, "passkey", deps);
    record(self, "account.passkey_added", deps, { passkey: offer.name });
    return row;
  });
}

/** Inside a transaction. Throws 404, and LAST_FACTOR when nothing else is left to sign in with. */
export function removePasskey(self: Self, uid: string, deps: AccountDeps): void {
  const passkeys = deps.users.passkeys(self.userId);
  const passkey = passkeys.find((each) => each.uid === uid);
  if (passkey === undefined) throw notFound("You have no passkey with this id");
  if (passkeys.length === 1 && requireUser(self.userId, deps).passwordHash === null) {
    throw new AppError("LAST_FACTOR", "This is the last way in which you can sign in", {
      hint: "First set a password or add another passkey.",
    });
  }
  deps.users.deletePasskey(passkey.id);
  record(self, "account.passkey_removed", deps, { passkey: passkey.name });
}

export function record({ request }: Self, action: string, deps: AccountDeps, detail?: Record<string, unknown>): void {
  deps.recordAudit({ request, workspaceId: null, action, target: null, ...(detail === undefined ? {} : { detail }) });
}
