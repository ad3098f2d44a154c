/**
 * The meaning of an answer from a relay: a server of the operator's choice, not the
 * recipient's. It may refuse for good what it would have to send on, and says then no more of the
 * recipient than that it will not; and it may refuse us, which is the operator's to mend and costs
 * no email. Pure.
 */
import type { SendResult } from "../session/transaction.ts";
import { classifyReply, classifyResult, type Verdict } from "./classify.ts";
import type { Stage } from "./stage.ts";
import type { OwnReply } from "./remove-echo.ts";

/** `isAccessDenied`: the relay does not let us in, or will not relay for us. */
export type RelayVerdict = Verdict & { isAccessDenied: boolean };

// RFC 4954 §4 and §6: sign in first (530), this way is too weak (534, 538), wrong credentials (535).
const NOT_SIGNED_IN = new Set([530, 534, 535, 538]);
/** The words of servers to clients for whom they do not relay, at MAIL or RCPT and mostly as 550 or 554. */
const NOT_RELAYED =
  /relay(?:ing)?\b.{0,16}(?:access )?(?:denied|not permitted|not allowed|prohibited)|(?:unable|not permitted|not allowed) to relay/i;

/** Classifies a result that is not an acceptance; `reply`: the refusal without its echo. */
export function classifyRelayResult(result: SendResult, reply: OwnReply | null): RelayVerdict {
  if (result.kind === "refused" && reply !== null) return classifyRelayed(reply, result.stage);
  const verdict = classifyResult(result, reply);
  if (result.kind !== "unfit" || result.stage !== "auth") return { ...verdict, isAccessDenied: false };
  return { ...verdict, kind: "deferred", type: "transient", category: "auth_failed", isAccessDenied: true };
}

/** Classifies a relay's refusal. Never hard: a relay cannot speak for the recipient. */
export function classifyRelayed(reply: OwnReply, stage: Stage): RelayVerdict {
  const verdict = classifyReply(reply, stage);
  // R25: 421 is about the connection, wherever it comes.
  const isSignIn = stage === "auth" && reply.code !== 421;
  const isEnvelope = stage === "mail" || stage === "rcpt" || stage === "data";
  const isShutOut = NOT_SIGNED_IN.has(reply.code) || (reply.code >= 500 && NOT_RELAYED.test(reply.words));
  if (!isSignIn && !(isEnvelope && isShutOut)) return { ...verdict, isHard: false, isAccessDenied: false };
  const category = "auth_failed";
  // RFC 4954 §6: 454 is a temporary failure of the relay's own sign-in.
  return {
    ...verdict,
    kind: "deferred",
    type: "transient",
    category,
    isHard: false,
    isAccessDenied: reply.code >= 500,
  };
}
