// The second factor beside a password: a code of the authenticator app, or a recovery code. Each is accepted once.

import type { Context } from "../../../platform/context.ts";
import { AppError } from "../../../platform/errors.ts";
import type { Keyring } from "../../../platform/keyring/keyring.ts";
import type { ExpiringMap } from "../expiring-map.ts";
import type { SessionMethod } from "../sessions.ts";
import type { UserRow, UserStore } from "../store.ts";
import { hashRecoveryCode } from "./recovery-codes.ts";
import { checkTotpCode, CODE_FORM } from "./totp.ts";

export interface SecondFactorDeps extends Pick<Context, "clock"> {
  users: UserStore;
  keyring: Pick<Keyring, "seal" | "unseal">;
  /** Codes (user and step) that came at a time that is not theirs: nobody can use them when it comes. */
  early: ExpiringMap<string, true>;
}

/** A code that is right; `use`, inside a transaction, uses it up, and throws when it was used meanwhile. */
export interface CheckedCode {
  method: Extract<SessionMethod, "password" | "password_totp" | "recovery_code">;
  use(): void;
}

const MINUTE_MS = 60_000;

/** `code` of a user whose password was right. Throws SECOND_FACTOR_REQUIRED and INVALID_CREDENTIALS. */
export async function checkSecondFactor(
  user: UserRow,
  code: string | undefined,
  deps: SecondFactorDeps,
): Promise<CheckedCode> {
  if (user.totpSecret === null || user.totpConfirmedAt === null) return { method: "password", use: () => undefined };
  if (code === undefined) {
    throw new AppError("SECOND_FACTOR_REQUIRED", "A code of the authenticator app is needed too", {
      field: "code",
      hint: "Send it, or a recovery code, as code.",
    });
  }
  const typed = code.replaceAll(/\s/g, "");
  if (!CODE_FORM.test(typed)) return checkRecoveryCode(user.id, typed, deps);
  const step = await checkTotp(user, typed, openTotpSecret(user, user.totpSecret, deps), deps);
  return {
    method: "password_totp",
    use() {
      const last = deps.users.byId(user.id)?.totpLastStep ?? -1;
      if (step <= last) throw codeUsed();
      deps.users.update(user.id, { totpLastStep: step });
    },
  };
}

/** The step of a code that is right now. */
export async function checkTotp(
  user: Pick<UserRow, "id" | "totpLastStep">,
  code: string,
  secret: Uint8Array,
  { clock, early }: Pick<SecondFactorDeps, "clock" | "early">,
): Promise<number> {
  const checked = await checkTotpCode(secret, code.replaceAll(/\s/g, ""), clock.now());
  if (checked.kind === "wrong") throw invalidCode();
  const name = `${user.id} ${checked.step}`;
  if (checked.kind === "other_time") {
    early.set(name, true);
    throw clocksDiffer(checked.aheadMs);
  }
  if (checked.step <= (user.totpLastStep ?? -1) || early.get(name) === true) throw codeUsed();
  return checked.step;
}

function checkRecoveryCode(userId: number, typed: string, { users }: SecondFactorDeps): CheckedCode {
  const hash = hashRecoveryCode(typed);
  if (!users.hasRecoveryCode(userId, hash)) throw invalidCode();
  return {
    method: "recovery_code",
    use() {
      if (!users.useRecoveryCode(userId, hash)) throw codeUsed();
    },
  };
}

export function sealTotpSecret(user: Pick<UserRow, "uid">, secret: Uint8Array, keyring: Pick<Keyring, "seal">): Buffer {
  return Buffer.from(keyring.seal(secret, nameTotpSecret(user)));
}

function openTotpSecret(
  user: Pick<UserRow, "uid">,
  sealed: Uint8Array,
  { keyring }: Pick<SecondFactorDeps, "keyring">,
): Uint8Array {
  return keyring.unseal(sealed, nameTotpSecret(user));
}

/** Bound to its row: another user's sealed secret does not open here. */
function nameTotpSecret({ uid }: Pick<UserRow, "uid">): string {
  return `the authenticator secret of user ${uid}`;
}

function invalidCode(): AppError {
  return new AppError("INVALID_CREDENTIALS", "This code is not right", {
    field: "code",
    hint: "Type the code that the app shows now, or a recovery code: each of these works once.",
  });
}

function codeUsed(): AppError {
  return new AppError("INVALID_CREDENTIALS", "This code was used already", {
    field: "code",
    hint: "Each code works once: wait up to 30 seconds for the next one.",
  });
}

function clocksDiffer(aheadMs: number): AppError {
  const minutes = Math.max(1, Math.round(Math.abs(aheadMs) / MINUTE_MS));
  const direction = aheadMs > 0 ? "ahead of" : "behind";
  const message = `This code is of another time: the clock of the app is about ${minutes} ${minutes === 1 ? "minute" : "minutes"} ${direction} the server's`;
  return new AppError("INVALID_CREDENTIALS", message, {
    field: "code",
    hint: "Set the clocks of both by the network, then type the next code.",
  });
}
