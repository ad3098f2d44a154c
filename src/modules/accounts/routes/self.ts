import { personCaller, requireFreshProof } from "../../../platform/http/auth.ts";
import type { Self } from "../factors/change-factors.ts";

/** The person who calls to change how they sign in. Throws PROOF_REQUIRED. */
export function findSelf(request: Request): Self {
  const { userId, sessionId } = personCaller(request);
  requireFreshProof(request);
  return { request, userId, sessionId };
}
