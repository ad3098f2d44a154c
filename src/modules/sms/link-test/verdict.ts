// The verdict of a link test in words: each message, and which settings of the route to change. Pure.

import { findStatusRule, type StatusOverrides } from "../../../protocols/smpp/submit-outcome.ts";
import { adviceOnSubmit } from "../gateway/link-advice.ts";
import type { LinkTestRecord } from "../api/operator-schema.ts";
import type { LinkError } from "../gateway/link-status.ts";
import type { Conversion } from "../receipts/message-id.ts";
import { isFinalState } from "../receipts/parse.ts";
import type { LinkTest, SubmitResult, TestEnd } from "./link-test.ts";
import { TEST_MESSAGES, type TestMessage } from "./messages.ts";

type Verdict = NonNullable<(typeof LinkTestRecord.static)["verdict"]>;
type MessageEnd = "delivered" | "undelivered" | "unconfirmed" | "failed" | "unsent";

/** `error`: of the link; null: nothing was wrong with it. Null: the test goes on. */
export function buildVerdict(test: LinkTest, error: LinkError | null): Verdict | null {
  const { results, end } = test;
  if (end === null) return null;
  const isSent = results.some(({ outcome }) => outcome !== "waiting" && outcome !== "unwritable");
  if (!isSent) return { result: end === "stopped" ? "stopped" : "not_sent", sentences: unsentWords(test, error) };
  const ends = TEST_MESSAGES.map((text) => {
    const parts = results.filter((each) => each.text === text);
    return { text, parts, state: classifyMessage(parts) };
  });
  const sentences = [
    ...ends.map(({ text, parts, state }) => `${NAMES[text]}: ${stateWords(parts, state, test)}.`),
    ...refusalWords(test),
    ...receiptWords(test),
    ...idWords(test),
  ];
  const states = ends.map(({ state }) => state);
  return { result: combineResults(states, end), sentences };
}

function combineResults(states: MessageEnd[], end: TestEnd): Verdict["result"] {
  if (states.every((state) => state === "delivered")) return "delivered";
  if (states.some((state) => state === "failed" || state === "undelivered")) return "failed";
  if (end === "stopped") return "stopped";
  return states.includes("unsent") ? "failed" : "unconfirmed";
}

/** The end of a message from its parts; those without a promised receipt say nothing, unless none has one. */
function classifyMessage(parts: SubmitResult[]): MessageEnd {
  if (parts.some(({ outcome }) => ["refused", "unanswered", "lost", "unwritable"].includes(outcome))) return "failed";
  if (parts.some(({ outcome }) => outcome !== "accepted")) return "unsent";
  if (parts.some(({ receipt }) => receipt !== null && isFinalState(receipt) && receipt !== "delivered"))
    return "undelivered";
  const promised = parts.filter(({ expectsReceipt }) => expectsReceipt);
  const isProved = promised.length > 0 && promised.every(({ receipt }) => receipt === "delivered");
  return isProved ? "delivered" : "unconfirmed";
}

const NAMES: Record<TestMessage, string> = { gsm: "GSM", ucs2: "UCS-2", two_parts: "Two parts" };

function stateWords(parts: SubmitResult[], state: MessageEnd, { deps: { waitMs, route }, end }: LinkTest): string {
  const receipts = parts.every(({ receipt }) => receipt === null) ? "no receipt" : "not its last receipt";
  const when = end === "time" ? `within ${Math.round(waitMs / 1_000)} s` : "so far";
  const shown = (each: SubmitResult) => (parts.length > 1 ? `part ${each.part} ` : "");
  switch (state) {
    case "delivered":
      return "delivered";
    case "unsent":
      return "not sent in time";
    case "unconfirmed":
      if (route.config.receipts === "none") return "the SMSC has it; the route gives no receipts";
      return `the SMSC has it, and ${receipts} came ${when}`;
    case "undelivered":
      return `the network did not deliver it: ${parts.map(({ receipt }) => receipt ?? "no receipt").join(", ")}`;
    case "failed":
      return parts
        .filter(({ outcome }) => outcome !== "accepted" && outcome !== "waiting" && outcome !== "written")
        .map((each) => `${shown(each)}${failureWords(each, route.statuses)}`)
        .join(", ");
  }
}

function failureWords({ outcome, status }: SubmitResult, statuses: StatusOverrides): string {
  if (outcome === "unanswered") return "was not answered in time";
  if (outcome === "lost") return "was lost with the connection: it may have arrived";
  if (status === null) return "cannot be written on this route";
  return `was refused with ${findStatusRule(status, statuses).name}`;
}

function refusalWords({ results }: LinkTest): string[] {
  const refused = results.filter(({ outcome }) => outcome === "refused");
  const advised = [...new Set(refused.map(({ status }) => status ?? 0))].map(adviceOnSubmit);
  const words = advised.filter((each) => each !== null);
  const isTaken = (text: TestMessage) => results.some((each) => each.text === text && each.outcome === "accepted");
  const isOnly = (text: TestMessage) => refused.length > 0 && refused.every((each) => each.text === text);
  if (isOnly("ucs2") && isTaken("gsm"))
    words.push(
      "Only data coding 8 is refused: ask the SMSC's operator to allow UCS-2, or send messages without accents (folding).",
    );
  if (isOnly("two_parts") && isTaken("gsm"))
    words.push(
      'Only the message of two parts is refused: try another segmentation ("udh8", "udh16", "sar", "payload").',
    );
  if (results.some(({ outcome }) => outcome === "unanswered" || outcome === "lost"))
    words.push("Answers were missing: ask the SMSC's operator, and look at pombo sms links for the connection.");
  return words;
}

function receiptWords({ results, deps, hasUnmatchedReceipts }: LinkTest): string[] {
  const { config } = deps.route;
  const taken = results.filter(({ outcome }) => outcome === "accepted");
  const promised = taken.filter(({ expectsReceipt }) => expectsReceipt);
  const come = promised.filter(({ receipt }) => receipt !== null);
  if (taken.length === 0) return [];
  const words: string[] = [];
  if (config.receipts === "none")
    return ['receipts = "none": nobody can say whether messages arrive. Ask for receipts, and set receipts = "each".'];
  if (taken.some(({ messageId }) => messageId === ""))
    words.push("Answers have no message id: no receipt can be told apart. Ask the SMSC's operator for ids.");
  if (hasUnmatchedReceipts)
    words.push("Receipts came whose ids fit no answer: their raw PDUs above are for the SMSC's operator.");
  if (come.length === 0 && !hasUnmatchedReceipts)
    words.push(
      'Receipts do not come: ask the SMSC\'s operator to turn them on for this account (each submit asks, registered_delivery 1); if there are none, set receipts = "none". A longer --wait shows whether they are only late.',
    );
  const parts = taken.filter(({ text }) => text === "two_parts");
  const [first, second] = [1, 2].map((part) => parts.find((each) => each.part === part)?.receipt ?? null);
  if (parts.length === 2 && config.receipts === "each" && come.length > 0) {
    if (first !== null && second === null)
      words.push('Of two parts only the first has a receipt: if that stays so, set receipts = "first".');
    if (first === null && second !== null)
      words.push('Of two parts only the last has a receipt: if that stays so, set receipts = "last".');
  }
  return words;
}

const ID_WORDS: Record<Conversion, string> = {
  same: "Ids are the same in answers and receipts",
  hex_to_decimal: "Ids are decimal in answers and hexadecimal in receipts",
  decimal_to_hex: "Ids are hexadecimal in answers and decimal in receipts",
};

function idWords({ results, deps }: LinkTest): string[] {
  const { config } = deps.route;
  const ids = results.flatMap(({ outcome, messageId }) => (outcome === "accepted" && messageId ? [messageId] : []));
  const words: string[] = [];
  if (ids.length > 1 && new Set(ids).size === 1)
    words.push(
      "All answers have the same id: receipts are told apart by number alone. Ask the SMSC's operator for ids.",
    );
  const seen = [...new Set(results.flatMap(({ conversion }) => conversion ?? []))];
  const [only] = seen;
  if (only === undefined || seen.length > 1) return words;
  if (config.messageIdFormat === "auto") words.push(`${ID_WORDS[only]}: found out, nothing to set.`);
  else if (config.messageIdFormat === only) words.push(`${ID_WORDS[only]}, as message_id_format says.`);
  else words.push(`${ID_WORDS[only]}: set message_id_format = "${only}", or "auto".`);
  return words;
}

function unsentWords({ end, deps: { link, route }, results }: LinkTest, error: LinkError | null): string[] {
  const { name } = route.config;
  if (end === "no_link") return [`The route ${name} has no link: add one ([[sms.routes.links]]) and restart pombo.`];
  if (results.every(({ outcome }) => outcome === "unwritable")) return ["Nothing of it can be written on this route."];
  const status = error?.statusName ?? null;
  const why = error === null ? "" : `: ${error.reason}${status === null ? "" : ` (${status})`}`;
  const words = [`Nothing was sent: the link ${link ?? ""} was not bound, or had no room${why}.`];
  const advice = error?.advice ?? null;
  return advice === null ? words : [...words, advice];
}
