// A new account.

import { validationError } from "../../platform/http/errors.ts";
import { newId } from "../../platform/uuid.ts";
import type { AccountDeps } from "./deps.ts";
import type { UserRow } from "./store.ts";

export interface NewUser {
  /** Null: a new one. */
  uid: string | null;
  /** In its comparable form. */
  email: string;
  name: string;
  isOperator: boolean;
}

/** Makes an account, inside the caller's transaction. Throws 422 when the address has one. */
export function insertUser(
  { uid, ...person }: NewUser,
  { users, clock, random }: Pick<AccountDeps, "users" | "clock" | "random">,
): UserRow {
  if (users.byEmail(person.email) !== undefined) {
    const hint = "Sign in with it, or have an operator of the server run: pombo user reset ADDRESS.";
    throw validationError([{ path: ["email"], message: "has an account already", hint }]);
  }
  const createdAt = clock.now();
  return users.insert({ uid: uid ?? newId(createdAt, random), ...person, createdAt });
}
