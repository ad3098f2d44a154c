// The first half of a passkey's ceremony: a challenge for what it is asked for.

import type { Static } from "@sinclair/typebox";
import { getCaller, notSignedIn } from "../../../platform/http/auth.ts";
import { requireOwnArrival } from "../../../platform/http/browser-request.ts";
import { clientNetwork } from "../../../platform/http/client-address.ts";
import { validationError } from "../../../platform/http/errors.ts";
import { newId } from "../../../platform/uuid.ts";
import { requireProofToChange, requireUser } from "./change-factors.ts";
import type { AccountDeps } from "../deps.ts";
import type { PasskeyUser } from "./passkeys.ts";
import { findLink, linkUsed } from "../links.ts";
import type { PasskeyRequest } from "../schema.ts";
import type { PasskeyRow } from "../store.ts";
import { hashToken } from "../token.ts";

type Asked = Static<typeof PasskeyRequest>;

export async function offerPasskey(request: Request, asked: Asked, deps: AccountDeps) {
  const { origin } = requireOwnArrival(request, deps.site);
  const { passkeys, users, limits } = deps;
  limits.countChallenge(clientNetwork(request, deps.site.trustedProxies));
  if (asked.for === "sign_in") return passkeys.offerAssertion(origin, { for: "sign_in" }, false, null);
  if (asked.for === "link") {
    const { user, linkHash, known } = findLinkUser(asked, deps);
    return passkeys.offerRegistration(origin, { for: "link", linkHash, userUid: user.uid }, user, known);
  }
  const caller = getCaller(request);
  if (caller.kind !== "person") throw notSignedIn();
  const user = requireUser(caller.userId, deps);
  const known = users.passkeys(user.id);
  if (asked.for === "proof")
    return passkeys.offerAssertion(origin, { for: "proof", userId: user.id }, user.isOperator, known);
  requireProofToChange({ request, ...caller }, deps);
  return passkeys.offerRegistration(origin, { for: "register", userId: user.id }, user, known);
}

/** No user's id. */
const NOBODY = -1;

interface LinkUser {
  user: PasskeyUser;
  linkHash: string;
  known: PasskeyRow[];
}

/** Whose passkey it will be: of the link's user, or of an account that is not made yet. */
function findLinkUser({ token, email }: Asked, deps: AccountDeps): LinkUser {
  if (token === undefined) throw validationError([{ path: ["token"], message: "is required for a link" }]);
  const linkHash = hashToken(token);
  const link = findLink(token, deps);
  const owner = deps.users.byId(link?.userId ?? NOBODY);
  if (owner !== undefined) return { user: owner, linkHash, known: deps.users.passkeys(owner.id) };
  const meantFor = link === undefined ? deps.members.findInvitation(token)?.email : (link.email ?? "pombo");
  if (meantFor === undefined) throw linkUsed();
  const name = email ?? meantFor;
  const uid = newId(deps.clock.now(), deps.random);
  return { user: { uid, email: name, name, isOperator: link !== undefined }, linkHash, known: [] };
}
