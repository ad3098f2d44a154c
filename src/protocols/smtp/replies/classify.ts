/**
 * From a server's answer to what becomes of the message. The order (R36): the basic code says
 * whether it is over, then the words say why, then the enhanced code where the words say nothing.
 * The stage decides what the answer can be about: only an answer to RCPT speaks of the recipient
 * (R38); one to MAIL speaks of the sender (R26), one after DATA of the content (R39), one before
 * MAIL of our address or the server's day (R14). Pure; the knowledge is in rules.ts.
 */
import { ENHANCED_CATEGORIES, TEXT_RULES, type Category } from "./rules.ts";
import { type OwnReply, readWhole } from "./remove-echo.ts";
import type { SendResult } from "../session/transaction.ts";
import type { Reply } from "./reply.ts";
import { BEFORE_MAIL, type Stage } from "./stage.ts";

export type { Category } from "./rules.ts";

/** The meaning of an answer for the message. */
export interface Verdict {
  /** `deferred`: try again later. `bounced`: over. */
  kind: "deferred" | "bounced";
  category: Category;
  /** The API's `bounce.type`: `undetermined` when nobody said why, `transient` for a state that may pass. */
  type: "permanent" | "transient" | "undetermined";
  /** Null where no server spoke. */
  smtpCode: number | null;
  enhancedCode: string | null;
  /** True when the recipient is to be suppressed. Never true for a deferral. */
  isHard: boolean;
}

/** The three that suppress where they were said for good. */
export const HARD: ReadonlySet<Category> = new Set<Category>(["invalid_recipient", "inactive_mailbox", "bad_domain"]);
const PASSING = new Set<Category>(["mailbox_full", "rate_limited", "no_answer", "bad_connection", "expired"]);

/** Classifies a result that is not an acceptance; `reply`: the refusal without its echo. */
export function classifyResult(result: SendResult, reply: OwnReply | null): Verdict {
  if (result.kind === "broken") return classifyBroken(result.stage);
  if (result.kind === "unfit") return classifyUnfit(result.enhanced);
  if (result.kind === "accepted" || reply === null) throw new Error("there is no refusal to classify");
  return classifyReply(reply, result.stage);
}

/** Classifies a server's answer given at `stage`. Any code but 2xx; a 2xx is no refusal and counts as a stray answer. */
export function classifyReply(reply: OwnReply, stage: Stage): Verdict {
  const named = saidCategory(reply) ?? enhancedCategory(reply);
  if (isTemporary(reply, stage, named)) {
    const isStray = reply.code === 503 || reply.code < 400;
    return verdict("deferred", isStray ? "protocol" : (named ?? "unknown"), reply, stage);
  }
  return verdict("bounced", placed(named ?? "unknown", stage), reply, stage);
}

/** The verdict on a message that the server could not take, as we found (R19, R21). */
function classifyUnfit(enhancedCode: string): Verdict {
  const category = enhancedCategory({ code: 550, enhanced: enhancedCode }) ?? "unknown";
  const type = bounceType("bounced", category);
  return { kind: "bounced", category, type, smtpCode: null, enhancedCode, isHard: false };
}

/** The verdict on a delivery that broke without an answer: always deferred (outcome table; R28 for a lost answer to the dot). */
export function classifyBroken(stage: Stage): Verdict {
  const category = stage === "connect" || stage === "greeting" || stage === "dns" ? "no_answer" : "bad_connection";
  return { kind: "deferred", category, type: "transient", smtpCode: null, enhancedCode: null, isHard: false };
}

function isTemporary(reply: OwnReply, stage: Stage, named: Category | null): boolean {
  // R27: out of step with the server. R25: 421 is about the connection, wherever it comes.
  if (reply.code < 500 || reply.code === 503) return true;
  // R14: such refusals are about our address or this server, and another day may end otherwise.
  if (BEFORE_MAIL.has(stage)) return true;
  // R22, RFC 5321 §4.5.3.1.10: at RCPT 552 may mean "too many", but a 552 that names its reason is taken at its word.
  return stage === "rcpt" && reply.code === 552 && (named === null || named === "rate_limited");
}

function verdict(kind: Verdict["kind"], category: Category, reply: OwnReply, stage: Stage): Verdict {
  // R38: at "dns" the answer is our own, given once the resolvers agree (null MX, RFC 7505).
  const isHard = kind === "bounced" && (stage === "rcpt" || stage === "dns") && HARD.has(category);
  return {
    kind,
    category,
    type: bounceType(kind, category),
    smtpCode: reply.code,
    enhancedCode: reply.enhanced,
    isHard,
  };
}

/** The API's `bounce.type`. */
export function bounceType(kind: Verdict["kind"], category: Category): Verdict["type"] {
  if (kind === "deferred" || PASSING.has(category)) return "transient";
  return category === "unknown" ? "undetermined" : "permanent";
}

/** A refusal of the sender or the content cannot carry a category of the recipient, whatever code the server chose. */
function placed(category: Category, stage: Stage): Category {
  if (stage === "rcpt" || stage === "dns" || !HARD.has(category)) return category;
  // R26: "domain not found" at MAIL is said of the sender. R39: after DATA nothing more is known.
  return stage === "mail" ? "policy" : "unknown";
}

/** The category in the words of a reply that answers no message of ours; null when no rule knows them. */
export function wordsCategory(reply: Reply): Category | null {
  return saidCategory(readWhole(reply));
}

function saidCategory({ words, enhanced }: OwnReply): Category | null {
  for (const rule of TEXT_RULES) {
    if (rule.enhanced !== undefined && !rule.enhanced.test(enhanced ?? "")) continue;
    if (rule.pattern.test(words)) return rule.category;
  }
  return null;
}

/** The category of the enhanced code of an answer, its class aside. */
export function enhancedCategory(reply: Pick<Reply, "code" | "enhanced">): Category | null {
  if (reply.enhanced === null) return null;
  // RFC 3463 §2: class.subject.detail. The class is left out: the basic code has spoken (R36).
  const [, subject, detail] = reply.enhanced.split(".");
  const category = ENHANCED_CATEGORIES[`${subject}.${detail}`] ?? ENHANCED_CATEGORIES[`${subject}.*`] ?? null;
  // 5.2.1 is "disabled", 4.2.1 is mostly "too busy just now".
  return category === "inactive_mailbox" && reply.code < 500 ? "rate_limited" : category;
}

/** `isAccessDenied`: the relay does not let us in, or will not relay for us. */
type RelayVerdict = Verdict & { isAccessDenied: boolean };

// RFC 4954 §4 and §6: sign in first (530), this way is too weak (534, 538), wrong credentials (535).
const NOT_SIGNED_IN = new Set([530, 534, 535, 538]);
/** The words of servers to clients for whom they do not relay, at MAIL or RCPT and mostly as 550 or 554. */
const NOT_RELAYED =
  /relay(?:ing)?\b.{0,16}(?:access )?(?:denied|not permitted|not allowed|prohibited)|(?:unable|not permitted|not allowed) to relay/i;

/**
 * Classifies what a relay answered: a server of the operator's choice, not the recipient's. It may refuse for good what
 * it would have to send on, which says no more of the recipient than that it will not; and it may refuse us, which the
 * operator must correct and which costs no email. Never hard. `reply`: the refusal without its echo.
 */
export function classifyRelayResult(result: SendResult, reply: OwnReply | null): RelayVerdict {
  const plainVerdict = { ...classifyResult(result, reply), isHard: false, isAccessDenied: false };
  const denied = { ...plainVerdict, kind: "deferred", type: "transient", category: "auth_failed" } as const;
  if (result.kind === "unfit" && result.stage === "auth") return { ...denied, isAccessDenied: true };
  if (result.kind !== "refused" || reply === null) return plainVerdict;
  const { stage } = result;
  // R25: 421 is about the connection, wherever it comes.
  const isSignIn = stage === "auth" && reply.code !== 421;
  const isEnvelope = stage === "mail" || stage === "rcpt" || stage === "data";
  const isShutOut = NOT_SIGNED_IN.has(reply.code) || (reply.code >= 500 && NOT_RELAYED.test(reply.words));
  // RFC 4954 §6: 454 is a temporary failure of the relay's own sign-in.
  return isSignIn || (isEnvelope && isShutOut) ? { ...denied, isAccessDenied: reply.code >= 500 } : plainVerdict;
}
