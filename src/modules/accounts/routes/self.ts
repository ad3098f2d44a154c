import { personCaller } from "../../../platform/http/auth.ts";
import type { AccountDeps } from "../deps.ts";
import { requireProofToChange, type Self } from "../factors/change-factors.ts";

/** The person who calls to change how they sign in. Throws PROOF_REQUIRED. */
export function findSelf(request: Request, deps: AccountDeps): Self {
  const { userId, sessionId } = personCaller(request);
  const self = { request, userId, sessionId };
  requireProofToChange(self, deps);
  return self;
}
