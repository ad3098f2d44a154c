// Sign-in by address and password.

import type { Static } from "@sinclair/typebox";
import { AppError } from "../../platform/errors.ts";
import type { SignedIn } from "./begin-session.ts";
import type { AccountDeps } from "./deps.ts";
import { type SignIn, toUserAddress } from "./schema.ts";

/** Whom the address and password belong to; the returned function says it inside a transaction. Throws 401. */
export async function checkSignIn(body: Static<typeof SignIn>, deps: AccountDeps): Promise<() => SignedIn> {
  const found = deps.users.byEmail(toUserAddress(body.email));
  const passwordHash = found?.passwordHash ?? null;
  const isRight = await deps.passwords.verify(body.password, passwordHash);
  if (!isRight || found === undefined) throw invalidCredentials();
  return () => {
    const user = deps.users.byId(found.id);
    // It was changed while the old one was checked.
    if (user === undefined || user.passwordHash !== passwordHash) throw invalidCredentials();
    return { user, method: "password" };
  };
}

/** The same whether there is such an account or not. */
function invalidCredentials(): AppError {
  return new AppError("INVALID_CREDENTIALS", "This address, password or code is not right", {
    hint: "Check them and try again. An operator of the server can make a new link: pombo user reset ADDRESS.",
  });
}
