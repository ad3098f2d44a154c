// A person who is signed in proves again who they are.

import type { Static } from "@sinclair/typebox";
import { notSignedIn, personCaller } from "../../../platform/http/auth.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import { requireUser } from "../factors/change-factors.ts";
import type { AccountDeps } from "../deps.ts";
import type { Proof } from "../schema.ts";
import { strengthen } from "../sessions.ts";
import { type Checked, checkPasskey, withPassword } from "./sign-in.ts";

/** Throws INVALID_CREDENTIALS, SECOND_FACTOR_REQUIRED and RATE_LIMITED. */
export async function prove(request: Request, body: Static<typeof Proof>, deps: AccountDeps) {
  const { userId, sessionId } = personCaller(request);
  const finish = async (find: Checked) => {
    await deps.commit(() => {
      const { method } = find();
      if (deps.sessions.byId(sessionId) === undefined) throw notSignedIn();
      strengthen(sessionId, method, deps);
    });
    return { provedAt: toIsoTime(deps.sessions.byId(sessionId)?.provedAt ?? deps.clock.now()) };
  };
  const { challengeId, password, code } = body;
  if (challengeId !== undefined) {
    const signed = { challengeId, response: body.response };
    const isMeant = (purpose: { for: string; userId?: number }) => purpose.for === "proof" && purpose.userId === userId;
    const find = await checkPasskey(request, signed, isMeant, deps);
    return finish(() => {
      const found = find();
      // Another person's passkey may sign the same challenge.
      if (found.user.id !== userId) throw notSignedIn();
      return found;
    });
  }
  const { email } = requireUser(userId, deps);
  const proof = { email, password: password ?? "", ...(code === undefined ? {} : { code }) };
  return withPassword(request, proof, finish, deps);
}
