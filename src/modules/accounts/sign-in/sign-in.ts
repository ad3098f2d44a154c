// Sign-in, and the proof of who a person is once more: by password with its second factor, or by passkey.

import { AppError } from "../../../platform/errors.ts";
import { clientNetwork } from "../../../platform/http/client-address.ts";
import { requireOwnArrival } from "../../../platform/http/browser-request.ts";
import type { SignedIn } from "./begin-session.ts";
import type { AccountDeps } from "../deps.ts";
import { type Purpose, readUserHandle } from "../factors/passkeys.ts";
import { checkSecondFactor } from "../factors/second-factor.ts";
import { toUserAddress } from "../schema.ts";
import type { PasskeyRow, UserRow } from "../store.ts";

/** `find`, inside a transaction, uses up what was checked, and throws 401 when it was changed meanwhile. */
export type Checked = () => SignedIn;

interface PasswordProof {
  email: string;
  password: string;
  code?: string;
}

/** Runs `finish` with whom the address, password and code belong to. Throws 401 and 429. */
export async function withPassword<T>(
  request: Request,
  proof: PasswordProof,
  finish: (find: Checked) => Promise<T>,
  deps: AccountDeps,
): Promise<T> {
  const email = toUserAddress(proof.email);
  const found = deps.users.byEmail(email);
  const attempted = { request, email, user: found };
  return limitAttempt(attempted, deps, async (network, isKnown) => {
    const passwordHash = found?.passwordHash ?? null;
    const isRight = await deps.passwords.verify(proof.password, passwordHash, isKnown);
    if (!isRight || found === undefined) {
      deps.log.event("sign_in.failed", { network }, "warn");
      throw invalidCredentials();
    }
    const code = await checkSecondFactor(found, proof.code, deps);
    return finish(() => {
      const user = deps.users.byId(found.id);
      if (user === undefined || !isSame(user, found)) throw invalidCredentials();
      code.use();
      return { user, method: code.method };
    });
  });
}

interface Attempted {
  request: Request;
  /** As it was typed, in its comparable form. */
  email: string;
  user: UserRow | undefined;
}

/** Runs an attempt to sign in to an account, within the limits of its network and of the account. Throws 429. */
export function limitAttempt<T>(
  { request, email, user }: Attempted,
  { limits, sessions, site }: Pick<AccountDeps, "limits" | "sessions" | "site">,
  work: (network: string | null, isKnown: boolean) => Promise<T>,
): Promise<T> {
  const network = clientNetwork(request, site.trustedProxies);
  const isKnown = user !== undefined && network !== null && sessions.isKnownNetwork(user.id, network);
  return limits.attempt({ network, email, isKnown }, () => work(network, isKnown));
}

/** Neither the password nor the second factor was changed since. */
function isSame(now: UserRow, then: UserRow): boolean {
  return now.passwordHash === then.passwordHash && now.totpConfirmedAt === then.totpConfirmedAt;
}

interface PasskeyProof {
  challengeId: string;
  response: unknown;
}

/** Whose passkey signed the challenge; `userId`: only that person's counts. Throws 401. */
export async function checkPasskey(
  request: Request,
  { challengeId, response }: PasskeyProof,
  isMeant: (purpose: Purpose) => boolean,
  deps: AccountDeps,
): Promise<Checked> {
  const { origin } = requireOwnArrival(request, deps.site);
  const challenge = deps.passkeys.take(challengeId, origin, isMeant);
  const { id } = response as { id?: unknown };
  const passkey = typeof id === "string" ? deps.users.passkeyByCredential(id) : undefined;
  const owner = passkey === undefined ? undefined : deps.users.byId(passkey.userId);
  if (passkey === undefined || owner === undefined) throw unknownPasskey();
  const handle = readUserHandle(response);
  if (handle !== null && handle !== owner.uid) throw unknownPasskey();
  const { counter, isUserVerified } = await deps.passkeys.verifyAssertion(challenge, response, passkey);
  // Anybody's passkey may be offered at a sign-in, so that the browser was not told to ask for more.
  if (owner.isOperator && !isUserVerified) throw unverified();
  return () => usePasskey(passkey, counter, deps);
}

function usePasskey(passkey: PasskeyRow, counter: number, { users, clock }: AccountDeps): SignedIn {
  const now = users.passkeyByCredential(passkey.credentialId);
  const user = users.byId(passkey.userId);
  // It was removed, or another sign-in with it went first.
  if (now?.counter !== passkey.counter || user === undefined) throw unknownPasskey();
  users.usePasskey(passkey.id, counter, clock.now());
  return { user, method: "passkey" };
}

/** The same whether there is such an account or not. */
function invalidCredentials(): AppError {
  return new AppError("INVALID_CREDENTIALS", "This address, password or code is not right", {
    hint: "Check them and try again. An operator of the server can make a new link: pombo user reset ADDRESS.",
  });
}

function unknownPasskey(): AppError {
  return new AppError("INVALID_CREDENTIALS", "This passkey belongs to no account here", {
    hint: "Use another one, or sign in with a password.",
  });
}

function unverified(): AppError {
  return new AppError("INVALID_CREDENTIALS", "An operator's passkey must ask for a PIN, finger or face", {
    hint: "Turn that on for the passkey, or sign in with a password and a code.",
  });
}
