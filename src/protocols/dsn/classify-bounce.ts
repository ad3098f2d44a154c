/**
 * From what a report says of one recipient to what it means. The class of the codes tells whether it
 * is over, the words tell why, and the enhanced code where the words say nothing (R36). Whether the
 * recipient is suppressed needs more than a category: a report comes from a stranger's software, often
 * long after the answer that it repeats, so the evidence must say that the address itself was refused
 * (R38, R39). Where that is uncertain the email has bounced and the recipient stays. Pure.
 */
import {
  bounceType,
  type Category,
  enhancedCategory,
  HARD,
  type Verdict,
  wordsCategory,
} from "../smtp/replies/classify.ts";
import { cleanReply, makeReply, type Reply } from "../smtp/replies/reply.ts";
import { plain } from "./charset.ts";
import type { RecipientStatus } from "./delivery-status.ts";
import { FOREIGN_PHRASES } from "./languages.ts";
import {
  ANSWER_PHRASES,
  BOUNCE_CATEGORIES,
  CERTAIN_PHRASES,
  type Phrase,
  REPORTER_PHRASES,
  SAID_OF_FILTERED,
} from "./phrases.ts";
import {
  type Command,
  findCommand,
  findEnhanced,
  findReplies,
  withoutGuesses,
  withoutReplies,
} from "./smtp-replies.ts";

/** A report's statement about one recipient: its fields, and the paragraphs of the text that are about it. */
export interface Statement extends RecipientStatus {
  paragraphs: string[];
}

/** The meaning of a bounce for one recipient. */
export interface RecipientBounce {
  finalRecipient: string | null;
  /** Refused for good. False: given up after a while, or for a state that may pass. */
  isPermanent: boolean;
  /** True when the recipient is to be suppressed. */
  isHard: boolean;
  category: Category;
  /** The API's `bounce.type`. */
  type: Verdict["type"];
  /** The enhanced code that says most, or null. */
  status: string | null;
  smtpCode: number | null;
  /** The words of the server or the reporter, printable ASCII, at most 512 characters; null where there are none. */
  diagnostic: string | null;
  /** The server that refused, as the report names it. */
  remoteMta: string | null;
}

/** The basis of the classification. */
interface Evidence {
  reply: Reply | null;
  /** The enhanced code that says most. */
  enhanced: string | null;
  command: Command | null;
  /** By words that have one meaning only. */
  certain: Category | null;
  /** By the words of the answer or diagnostic, and of the reporter itself. */
  said: Category | null;
  found: Category | null;
  /** By words of the answer that are plain at whatever command they stand. */
  answered: Category | null;
  /** Words of carriers that speak of the user and mean the content. */
  isSaidOfFiltered: boolean;
  /** The host that Postfix looked for was not of the recipient's domain: a relay of its own, by its settings. */
  isOtherHost: boolean;
}

export function classify(statement: Statement): RecipientBounce {
  const evidence = gather(statement);
  const isPermanent = isPermanentReply(statement, evidence);
  const category = categorize(statement, evidence);
  return {
    finalRecipient: statement.finalRecipient ?? statement.originalRecipient,
    isPermanent,
    // R38: what was refused for now is no dead address, though the reporter has given up.
    isHard:
      isPermanent &&
      (evidence.reply?.code ?? 500) >= 500 &&
      HARD.has(category) &&
      isAboutTheAddress(evidence, category),
    category,
    type: bounceType(isPermanent ? "bounced" : "deferred", category),
    status: evidence.enhanced,
    smtpCode: evidence.reply?.code ?? null,
    diagnostic: formatDiagnostic(statement, evidence),
    remoteMta: statement.remoteMta === null ? null : cleanReply(statement.remoteMta),
  };
}

function gather(statement: Statement): Evidence {
  const [diagnostic = "", ...paragraphs] = withoutGuesses([statement.diagnostic ?? "", ...statement.paragraphs]);
  const ofDiagnostic = findReplies(diagnostic);
  const replies = ofDiagnostic.length > 0 ? ofDiagnostic : paragraphs.flatMap(findReplies);
  const reply = chooseReply(replies, statement.status);
  const told = paragraphs.join(" ");
  const all = plain(`${diagnostic} ${told}`);
  const own = [diagnostic, ...paragraphs].map((text) => plain(withoutReplies(text)));
  return {
    reply,
    enhanced: mostSpecific([
      ...replies.map((each) => each.enhanced),
      statement.status,
      findEnhanced(diagnostic),
      findEnhanced(told),
    ]),
    certain: phrase(CERTAIN_PHRASES, [diagnostic, ...paragraphs].map(plain)),
    command: findCommand(all),
    said:
      (reply === null ? null : words(reply, statement.status)) ?? words(makeReply(550, [diagnostic]), statement.status),
    found:
      BOUNCE_CATEGORIES[statement.bounceCategory ?? ""] ??
      phrase([...REPORTER_PHRASES, ...FOREIGN_PHRASES], own, own.map(withoutHedges)),
    answered: reply === null ? null : phrase([...ANSWER_PHRASES, ...FOREIGN_PHRASES], [plain(reply.text)]),
    isSaidOfFiltered: SAID_OF_FILTERED.test(all),
    isOtherHost: namesOtherHost(statement, all),
  };
}

function namesOtherHost({ finalRecipient, originalRecipient }: Statement, told: string): boolean {
  const host = LOOKED_FOR.exec(told)?.[1];
  const domains = [finalRecipient, originalRecipient].flatMap((address) => plain(address ?? "").split("@")[1] ?? []);
  return host !== undefined && domains.length > 0 && !domains.some((domain) => `.${host}`.endsWith(`.${domain}`));
}

const LOOKED_FOR = /(?:name service error for (?:name=|domain )?|unable to look up host )([a-z0-9.-]{1,255}[a-z0-9])/;

/** A report that says what may be the reason, or lists several, has not said that it is one. */
function withoutHedges(text: string): string {
  return text
    .split(/(?<=[.!?;])\s/)
    .filter((sentence) => !HEDGE.test(sentence))
    .join(" ");
}

const HEDGE =
  /\b(?:if|(?:may|might) (?:be|not|no|have)|could be|perhaps|probably|possible (?:reason|cause)s?|either)\b/;

/** In a transcript a refusal goes before a delay, and one whose words are known before one that says nothing. */
function chooseReply(replies: Reply[], status: string | null): Reply | null {
  const refusals = replies.filter(({ code }) => code >= 500);
  const candidates = refusals.length > 0 ? refusals : replies;
  const known = candidates.find((each) => words(each, status) !== null);
  return known ?? candidates.find(({ enhanced }) => enhanced !== null) ?? candidates[0] ?? null;
}

/** The reason in a paragraph that has an enhanced code and no basic one: qmail, Mimecast. Sendmail's, beside an answer, is a guess from its basic code. */
function wordsByCode({ paragraphs }: Statement): Category | null {
  const found = paragraphs.map((paragraph) => {
    const enhanced = findEnhanced(paragraph);
    return enhanced === null ? null : words(makeReply(550, [`${enhanced} ${paragraph}`]), null);
  });
  return found.find((category) => category !== null) ?? null;
}

/** `x.0.0` says nothing, so a code with a detail goes before it; else the first. */
function mostSpecific(codes: (string | null)[]): string | null {
  const known = codes.filter((code) => code !== null);
  return known.find((code) => !code.endsWith(".0.0")) ?? known[0] ?? null;
}

/** Of an answer; the report's Status stands for an enhanced code that it lacks. */
function words(reply: Reply, status: string | null): Category | null {
  return (
    wordsCategory(reply.enhanced === null ? { ...reply, enhanced: status } : reply) ??
    phrase(FOREIGN_PHRASES, [plain(reply.text)])
  );
}

/** `certain`: the texts for the categories that suppress, where those are other ones. */
function phrase(table: Phrase[], texts: string[], certain = texts): Category | null {
  const found = table.find(({ category, pattern }) =>
    (HARD.has(category) ? certain : texts).some((text) => pattern.test(text)),
  );
  return found?.category ?? null;
}

/** The server's enhanced code, then the reporter's Status, who knows whether it goes on trying; the basic code where both are missing. */
function isPermanentReply(statement: Statement, { reply, enhanced, found }: Evidence): boolean {
  const code = reply?.enhanced ?? statement.status ?? reply?.code.toString() ?? enhanced;
  if (code !== null) return code.startsWith("5");
  return found === null || bounceType("bounced", found) === "permanent";
}

function categorize(statement: Statement, { certain, reply, said, found, answered, enhanced }: Evidence): Category {
  if (certain !== null) return certain;
  // Beside an answer that has no code of its own, the report's is a guess from the basic one.
  const code = reply === null ? enhanced : reply.enhanced;
  const byCode = code === null ? null : enhancedCategory(makeReply(550, [code]));
  const category = said ?? found ?? (reply === null ? wordsByCode(statement) : null) ?? byCode ?? "unknown";
  if (!HARD.has(category)) return category;
  // A program's output is not a server's answer.
  if (statement.diagnosticType === "x-unix") return "unknown";
  // A report that also says that the mailbox is full, that we may not write to it or that a name server failed suppresses nobody.
  return [found, answered].find((each) => each !== null && !HARD.has(each)) ?? category;
}

/** RFC 3463 §3.2: subject 1 is the address. The others are as narrow. */
const SAYS_ADDRESS = /^1\.|^7\.1[378]$|^4\.(?:[14]|310)$/;
/** The sender, a full mailbox, a size, a policy: whatever the words say. 7.1 is "not authorized", which many servers say of everything. */
const CONTRADICTS = /^1\.[78]$|^2\.[23]$|^3\.[14]$|^7\.(?!1$|1[378]$)/;

/** Codes that say nothing: `x.0.0` is none at all, "other" of the protocol and the system, and 7.1. */
const SAYS_NOTHING = /^(?:[35]\.0|7\.1)$/;

function isAboutTheAddress(evidence: Evidence, category: Category): boolean {
  const { certain, command, reply, enhanced, said, found, answered, isSaidOfFiltered, isOtherHost } = evidence;
  if (certain === category) return true;
  // R26, R14: an answer to MAIL speaks of the sender, one before it of our host.
  if (command === "mail" || command === "early") return false;
  if (isSaidOfFiltered && command !== "rcpt") return false;
  if (category === "bad_domain" && isOtherHost) return false;
  // There is no server to say that a domain is missing: the reporter found it out.
  if (category === "bad_domain" && (reply === null || found === category)) return true;
  // A Status is the reporter's guess where the server refused RCPT and gave no code of that kind.
  const code = command === "rcpt" && reply !== null ? reply.enhanced : enhanced;
  const subject = code === null || code.endsWith(".0.0") ? null : code.slice(2);
  if (subject !== null && CONTRADICTS.test(subject)) return false;
  if (subject !== null && SAYS_ADDRESS.test(subject)) return true;
  // R39: what comes after the recipient was accepted is about the content, whatever its words.
  if (command === "content") return false;
  if (category === "bad_domain") return true;
  if (command === "rcpt") return true;
  if (command === "pipelined") return subject !== "7.1";
  // "Mailbox disabled", where the words agree: of mere filtering it is said with others.
  if (subject === "2.1" && category === "inactive_mailbox") return said === category;
  // Nobody tells the command, and no code tells more: the words must be plain, the reporter's own or the answer's.
  return (subject === null || SAYS_NOTHING.test(subject)) && (found === category || answered === category);
}

function formatDiagnostic({ diagnostic, paragraphs }: Statement, { reply }: Evidence): string | null {
  const told = [diagnostic ?? "", reply === null ? "" : `${reply.code} ${reply.text}`, paragraphs.join(" ")];
  return told.map(cleanReply).find((text) => text !== "") ?? null;
}
