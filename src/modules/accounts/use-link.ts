// A link is opened: the person behind it is made or found, and signed in.

import type { Static } from "@sinclair/typebox";
import { validationError } from "../../platform/http/errors.ts";
import { newId } from "../../platform/uuid.ts";
import type { SignedIn } from "./begin-session.ts";
import type { AccountDeps } from "./deps.ts";
import type { LinkRow } from "./link-store.ts";
import { findLink, linkUsed } from "./links.ts";
import { findPasswordFault } from "./factors/password-rules.ts";
import { type Link, type LinkUse, toUserAddress } from "./schema.ts";
import type { UserRow } from "./store.ts";

type Use = Static<typeof LinkUse>;

/** What a link is for. Throws LINK_USED. */
export function inspectLink(token: string, deps: AccountDeps): Static<typeof Link> {
  const link = findLink(token, deps);
  if (link === undefined) throw linkUsed();
  const user = link.userId === null ? undefined : deps.users.byId(link.userId);
  return { kind: link.kind, email: link.email ?? user?.email ?? null };
}

/** Checks what a link is used with; the returned function uses it up inside a transaction. Throws LINK_USED and 422. */
export async function useLink(body: Use, deps: AccountDeps): Promise<() => SignedIn> {
  const link = findLink(body.token, deps);
  if (link === undefined) throw linkUsed();
  const person = link.userId === null ? readNewPerson(body, link) : requireUser(link.userId, deps);
  const passwordHash = await hashNewPassword(body, person, link, deps);
  return () => {
    if (findLink(body.token, deps) === undefined) throw linkUsed();
    deps.links.delete(link.hash);
    if (link.kind === "sandbox" && link.userId !== null)
      return { user: requireUser(link.userId, deps), method: "sandbox" };
    if (link.userId === null)
      return { user: insertUser(person, { passwordHash, isOperator: true }, deps), method: "password" };
    return { user: deps.users.update(link.userId, { passwordHash }), method: "password" };
  };
}

interface Person {
  email: string;
  name: string;
}

/** Throws 422 unless the body says who it is. */
function readNewPerson(body: Use, link: LinkRow): Person {
  const email = body.email ?? link.email ?? undefined;
  const missing = [...(email === undefined ? ["email"] : []), ...(body.name === undefined ? ["name"] : [])];
  if (email === undefined || body.name === undefined)
    throw validationError(missing.map((name) => ({ path: [name], message: "is required" })));
  return { email: toUserAddress(email), name: body.name };
}

async function hashNewPassword(body: Use, person: Person, link: LinkRow, deps: AccountDeps): Promise<string | null> {
  if (link.kind === "sandbox") return null;
  if (body.password === undefined) throw validationError([{ path: ["password"], message: "is required" }]);
  const fault = findPasswordFault(body.password, {
    email: person.email,
    names: [person.name, deps.hostname],
    hasSecondFactor: false,
  });
  if (fault !== null) throw validationError([{ path: ["password"], message: fault }]);
  return deps.passwords.hash(body.password);
}

function requireUser(id: number, { users }: AccountDeps): UserRow {
  const user = users.byId(id);
  if (user === undefined) throw linkUsed();
  return user;
}

/** Makes an account, inside the caller's transaction. Throws 422 when the address has one. */
function insertUser(
  { email, name }: Person,
  { passwordHash, isOperator }: Pick<UserRow, "passwordHash" | "isOperator">,
  deps: Pick<AccountDeps, "users" | "clock" | "random">,
): UserRow {
  if (deps.users.byEmail(email) !== undefined) {
    const hint = "Sign in with it, or have an operator of the server run: pombo user reset ADDRESS.";
    throw validationError([{ path: ["email"], message: "has an account already", hint }]);
  }
  const createdAt = deps.clock.now();
  return deps.users.insert({ uid: newId(createdAt, deps.random), email, name, passwordHash, isOperator, createdAt });
}
