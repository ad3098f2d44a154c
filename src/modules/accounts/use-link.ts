// A link is opened: the person behind it is made or found, and signed in.

import type { Static } from "@sinclair/typebox";
import { AppError } from "../../platform/errors.ts";
import { getCaller, notSignedIn } from "../../platform/http/auth.ts";
import { requireOwnArrival } from "../../platform/http/browser-request.ts";
import { validationError } from "../../platform/http/errors.ts";
import { readNonce } from "./nonce.ts";
import { limitAttempt } from "./sign-in/sign-in.ts";
import { beginSession, type Exchange, type SignedIn } from "./sign-in/begin-session.ts";
import type { AccountDeps } from "./deps.ts";
import { checkSecondFactor, type CheckedCode } from "./factors/second-factor.ts";
import type { LinkRow } from "./link-store.ts";
import { findLink, linkUsed } from "./links.ts";
import { describeMe } from "./me.ts";
import { type NewFactor, readNewFactor } from "./factors/new-factor.ts";
import { insertUser, type NewUser } from "./new-user.ts";
import { describeReview, endReview } from "./review.ts";
import { type Link, type LinkUse, toUserAddress } from "./schema.ts";
import type { UserRow } from "./store.ts";
import { hashToken } from "./token.ts";

type Use = Static<typeof LinkUse>;

/** What a link is for. Throws LINK_USED. */
export function inspectLink(token: string, deps: AccountDeps): Static<typeof Link> {
  const link = findLink(token, deps);
  if (link !== undefined) {
    const user = link.userId === null ? undefined : deps.users.byId(link.userId);
    const review = describeReview(link, deps);
    return { kind: link.kind, email: link.email ?? user?.email ?? null, ...(review === null ? {} : { review }) };
  }
  const invitation = deps.members.findInvitation(token);
  if (invitation === undefined) throw linkUsed();
  const { email, workspaceName, role, inviterName } = invitation;
  return { kind: "invitation", email, workspaceName, role, invitedBy: inviterName };
}

/** The person is signed in then. Throws LINK_USED, and 422 for what is missing in the body. */
export async function useLink(exchange: Exchange, body: Use, deps: AccountDeps) {
  const link = findLink(body.token, deps);
  if (link === undefined) return acceptInvitation(exchange, body, deps);
  const { request } = exchange;
  if (link.kind === "email") return proveAddress(request, body.token, { link, deps });
  const find = await USES[link.kind](request, body, { link, deps });
  return beginSession(
    exchange,
    () => {
      if (findLink(body.token, deps) === undefined) throw linkUsed();
      endReview(link, deps);
      deps.links.delete(link.hash);
      return find();
    },
    deps,
  );
}

interface Given {
  link: LinkRow;
  deps: AccountDeps;
}

type Find = () => SignedIn;

/** Each checks what the link is used with; the returned function changes what it is for, inside a transaction. */
const USES: Record<Exclude<LinkRow["kind"], "email">, (request: Request, body: Use, given: Given) => Promise<Find>> = {
  async setup(request, body, { link, deps }) {
    const person = readPerson(body, link.email);
    const factor = await readNewFactor(request, body, { ...person, uid: null, hasSecondFactor: false }, deps);
    return () => makeUser(request, { ...person, isOperator: true }, factor, deps);
  },
  async reset(request, body, { link, deps }) {
    const user = requireUser(link, deps);
    const hasSecondFactor = user.totpConfirmedAt !== null;
    const factor = await readNewFactor(request, body, { ...user, hasSecondFactor }, deps);
    return () => {
      factor.store(user.id);
      deps.sessions.endOfUser(user.id);
      deps.links.deleteOfUser(user.id);
      deps.recordAudit({ ...startEntry(request, user), action: "account.recovered", detail: { by: factor.method } });
      return { user: requireUser(link, deps), method: factor.method };
    };
  },
  async magic(request, body, { link, deps }) {
    const user = requireUser(link, deps);
    const nonce = readNonce(request, requireOwnArrival(request, deps.site));
    if (user.isOperator || nonce === null || hashToken(nonce) !== link.browserHash) throw otherBrowser();
    // A thief may open the mail and guess codes: attempts are limited here too.
    const attempted = { request, email: user.email, user };
    const code: CheckedCode = await limitAttempt(attempted, deps, () => checkSecondFactor(user, body.code, deps));
    return () => {
      code.use();
      verifyAddress(request, user, link, deps);
      return { user: requireUser(link, deps), method: "link" };
    };
  },
  sandbox(_request, _body, { link, deps }) {
    const user = requireUser(link, deps);
    return Promise.resolve(() => ({ user, method: "sandbox" }));
  },
};

/** Signs nobody in: the person is asked to be. */
async function proveAddress(request: Request, token: string, { link, deps }: Given) {
  const user = requireUser(link, deps);
  const caller = getCaller(request);
  if (caller.kind !== "person" || caller.userId !== user.id) throw notSignedIn();
  await deps.commit(() => {
    if (findLink(token, deps) === undefined) throw linkUsed();
    deps.links.delete(link.hash);
    verifyAddress(request, user, link, deps);
  });
  return { data: describeMe(caller.sessionId, deps) };
}

/** Somebody who is signed in joins as they are; others make an account. */
async function acceptInvitation(exchange: Exchange, body: Use, deps: AccountDeps) {
  const { request } = exchange;
  const invitation = deps.members.findInvitation(body.token);
  if (invitation === undefined) throw linkUsed();
  const caller = getCaller(request);
  if (caller.kind === "person") {
    await deps.commit(() => deps.members.acceptInvitation({ token: body.token, userId: caller.userId, request }));
    return { data: describeMe(caller.sessionId, deps) };
  }
  const person = readPerson(body, invitation.email);
  const owner = { ...person, uid: null, hasSecondFactor: false, workspaceName: invitation.workspaceName };
  const factor = await readNewFactor(request, body, owner, deps);
  return beginSession(
    exchange,
    () => {
      const signedIn = makeUser(request, { ...person, isOperator: false }, factor, deps);
      deps.members.acceptInvitation({ token: body.token, userId: signedIn.user.id, request });
      return signedIn;
    },
    deps,
  );
}

function makeUser(request: Request, person: Omit<NewUser, "uid">, factor: NewFactor, deps: AccountDeps): SignedIn {
  const user = insertUser({ ...person, uid: factor.userUid }, deps);
  factor.store(user.id);
  const detail = { isOperator: user.isOperator, by: factor.method };
  deps.recordAudit({ ...startEntry(request, user), action: "account.created", detail });
  return { user, method: factor.method };
}

function startEntry(request: Request, { id, email }: Pick<UserRow, "id" | "email">) {
  return { request, workspaceId: null, userId: id, target: email };
}

/** The link was mailed to this address, and somebody opened it. */
function verifyAddress(request: Request, user: UserRow, { email }: LinkRow, deps: AccountDeps): void {
  if (email !== user.email || user.emailVerifiedAt !== null) return;
  deps.users.update(user.id, { emailVerifiedAt: deps.clock.now() });
  deps.recordAudit({ ...startEntry(request, user), action: "account.address_verified" });
}

/** Throws 422 unless the body says who it is. */
function readPerson({ email, name }: Use, meantFor: string | null): { email: string; name: string } {
  const address = email ?? meantFor ?? undefined;
  if (address !== undefined && name !== undefined) return { email: toUserAddress(address), name };
  const missing = [...(address === undefined ? ["email"] : []), ...(name === undefined ? ["name"] : [])];
  throw validationError(missing.map((member) => ({ path: [member], message: "is required" })));
}

function requireUser({ userId }: LinkRow, { users }: AccountDeps): UserRow {
  const user = userId === null ? undefined : users.byId(userId);
  if (user === undefined) throw linkUsed();
  return user;
}

function otherBrowser(): AppError {
  return new AppError("LINK_USED", "This link works only in the browser that asked for it", {
    hint: "Open it there, or ask for a new one here.",
  });
}
