// The replies to programs that hand in mail. The words begin with their enhanced status code (RFC 3463), though the server
// does not announce ENHANCEDSTATUSCODES: the library would write codes of its own before ours.

import { domainToASCII } from "node:url";
import type { AppError, ErrorItem } from "../../platform/errors.ts";
import type { LibraryReply } from "../../protocols/smtp/server/client.ts";
import type { SubmissionLimits } from "./limits.ts";

/** A refusal as the library takes it. */
export interface Refusal extends Error {
  responseCode: number;
}

/** RFC 5321 §4.5.3.1.5: a line has 512 octets with its code and its end. */
const MAX_WORDS = 500;

/** `words` begin with their enhanced code. RFC 5321 §4.2: a reply is ASCII, and so a domain in it is an A-label. */
export function refusal(code: number, words: string): Refusal {
  const ascii = words.replaceAll(/[^\s"<>()@:,]*[^\0-\x7f][^\s"<>()@:,]*/g, toAscii);
  return Object.assign(new Error(ascii.slice(0, MAX_WORDS)), { responseCode: code });
}

function toAscii(word: string): string {
  const label = word.includes(".") ? domainToASCII(word) : "";
  return label === "" ? word.replaceAll(/[^\0-\x7f]/g, "?") : label;
}

const STARTTLS_FIRST = "5.7.0 Encryption is off: turn on STARTTLS (often called TLS) in the program";
export const AUTH_FIRST = "5.7.0 Authenticate first: AUTH PLAIN or AUTH LOGIN, with an API key as the password";
export const WRONG_KEY =
  "5.7.8 The password is not a valid API key. Give a key of the workspace (svc_...), copied whole; the user name may be anything";
export const KEY_GONE = "5.7.8 The API key is not valid any more";
export const STOPPING = "4.3.2 This server is closing down, come back in a moment";

/** The library's own refusals, in words that help. */
export function createRewording(
  { messageBytes, recipients }: Pick<SubmissionLimits, "messageBytes" | "recipients">,
  mayAuthenticate: () => boolean,
): (reply: LibraryReply) => LibraryReply {
  const say = (code: number, text: string): LibraryReply => ({ code, text, context: false });
  return (reply) => {
    const { code, context } = reply;
    const isAuthUnknown = context === "AUTH" && code === 500;
    if ((code === 530 || isAuthUnknown) && !mayAuthenticate()) return say(530, STARTTLS_FIRST);
    if (code === 530) return say(530, AUTH_FIRST);
    switch (context) {
      case "MAILBOX_SYNTAX_ERROR":
        return say(553, "5.1.3 This is not a usable address: write it like <name@example.com>");
      case "TOO_MANY_RECIPIENTS":
        return say(452, `4.5.3 A message may have ${recipients} recipients: send it again to the others`);
      case "MESSAGE_TOO_BIG":
        return say(552, tooLarge(messageBytes));
      default:
        return reply;
    }
  };
}

export function tooLarge(messageBytes: number): string {
  return `5.3.4 The message is too large: at most ${messageBytes.toLocaleString("en")} octets are taken`;
}

export function refuseWithoutTls(): Refusal {
  return refusal(530, STARTTLS_FIRST);
}

/** The same decisions as the API's, as an SMTP server says them. */
export function toRefusal(error: AppError, now: number): Refusal {
  switch (error.code) {
    case "RATE_LIMITED":
      return refusal(451, `4.7.1 ${error.message}. Come back in ${error.retryAfterS ?? 1} s`);
    case "DAILY_QUOTA_EXCEEDED":
    case "MONTHLY_QUOTA_EXCEEDED":
      return refusal(452, `4.7.1 ${error.message}. The next period begins at ${formatTime(now, error.retryAfterS)}`);
    case "PLAN_LIMIT_REACHED":
      return refusal(452, `4.2.2 ${explain(error)}`);
    case "RECIPIENT_SUPPRESSED":
      return refusal(550, `5.1.1 ${explain(error)}`);
    case "INVALID_API_KEY":
      return refusal(535, `5.7.8 ${explain(error)}`);
    case "UNAVAILABLE":
      return refusal(452, `4.3.1 ${error.message}. Come back in ${error.retryAfterS ?? 5} s`);
    case "VALIDATION_ERROR":
      return isAboutSender(error) ? refusal(550, `5.7.1 ${explain(error)}`) : refusal(554, `5.6.0 ${explain(error)}`);
    default:
      return refusal(550, `5.7.1 ${explain(error)}`);
  }
}

function isAboutSender({ items = [] }: AppError): boolean {
  return items.some(({ field }) => field === "from");
}

/** Its first item, and what to do. */
function explain(error: AppError): string {
  const { message, hint }: ErrorItem = error.items?.[0] ?? error;
  return hint === undefined ? message : `${message}: ${hint}`;
}

/** 2026-11-22 00:00 UTC */
function formatTime(now: number, afterS = 0): string {
  return `${new Date(now + afterS * 1_000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
