/**
 * Parses mail that comes back, from its bytes: a bounce, a delay, a complaint, an automatic answer, or
 * nothing of these. In this order: a feedback report (RFC 5965); the fields of a delivery-status
 * (RFC 3464), helped by the text beside them; a text that is a bounce by its sender, subject and
 * words (qmail, Exim, carriers); the marks of automatic answers (RFC 3834), which bounces carry too
 * and which therefore come last. Pure, in bounded time, and never throws.
 *
 * It says what the report says. Whether the report is genuine is told by its return path's token.
 */
import { readNotification } from "./amazon-ses.ts";
import { type Feedback, readFeedback } from "./feedback-report.ts";
import { isAutoReply } from "./auto-reply.ts";
import { plain } from "./charset.ts";
import { isFromMailSystem, looksLikeBounce, looksLikeDelay } from "./bounce-heuristics.ts";
import {
  findDeliveryStatus,
  MAX_RECIPIENTS,
  NO_STATUS,
  type RecipientStatus,
  readDeliveryStatus,
} from "./delivery-status.ts";
import { findValue } from "./fields.ts";
import { classify, type RecipientBounce, type Statement } from "./classify-bounce.ts";
import { type Message, readMessage, decodePart } from "./message.ts";
import { type Notice, readNotice } from "./bounce-text.ts";

/** A report about one message of ours, or about a message that somebody sent on to several. */
export interface BounceReport extends RecipientBounce {
  kind: "bounce";
  /** Each recipient that the report says failed; what stands beside this list is the judgement of all. */
  recipients: RecipientBounce[];
  returnPaths: string[];
}

/**
 * `returnPaths`: the local parts of signed return paths in it, as readReturnPath takes them (`b+…`, lower case), each once.
 * They say which email it is about, once they are verified with the recipient that they were made for.
 */
export type Report =
  | BounceReport
  /** The reporter goes on trying: no bounce. */
  | { kind: "delayed"; status: string | null; diagnostic: string | null; returnPaths: string[] }
  | ({ kind: "complaint"; returnPaths: string[] } & Feedback)
  | { kind: "auto_reply" }
  | { kind: "unknown"; returnPaths: string[] };

/** `recipient`: the address that our message went to, where it is known: among several it is the one that counts. */
export function parseReport(bytes: Uint8Array, recipient: string | null = null): Report {
  const message = readMessage(bytes);
  const returnPaths = findReturnPaths(message.raw);
  const feedback = readFeedback(message);
  if (feedback !== null) return { kind: "complaint", ...feedback, returnPaths };
  const notice = readNotice(message);
  const notification = readNotification(message);
  if (notification?.kind === "complaint") return { kind: "complaint", ...notification.feedback, returnPaths };
  const statuses = notification?.statuses ?? findStatuses(message, notice);
  if (statuses.length > 0) return fromStatuses({ statuses, notice, returnPaths, recipient });
  if (looksLikeBounce(message, notice)) return fromNotice({ message, notice, returnPaths, recipient });
  return isAutoReply(message.fields) ? { kind: "auto_reply" } : { kind: "unknown", returnPaths };
}

/** Distinct tokens that are looked for; a report about one email has one. */
const MAX_TOKENS = 10;
const TOKEN =
  /(?<![a-z2-7])b(?:\+|=2b|%2b)([a-z2-7]{42})(?![a-z2-7])|x-pombo-trace:[ \t]{0,8}(?:\r?\n[ \t]{1,8})?([a-z2-7]{42})(?![a-z2-7])/gi;

/**
 * In the raw bytes, wherever a server or a gateway wrote the return path, or in our trace header, which holds the same
 * token (src/modules/emails/content/compose.ts).
 */
function findReturnPaths(raw: string): string[] {
  const found = new Set<string>();
  // A soft line break of quoted-printable may stand in the middle of it.
  for (const match of raw.replace(/=\r?\n/g, "").matchAll(TOKEN)) {
    found.add(`b+${(match[1] ?? match[2] ?? "").toLowerCase()}`);
    if (found.size === MAX_TOKENS) break;
  }
  return [...found];
}

function findStatuses(message: Message, notice: Notice): RecipientStatus[] {
  const parts = message.parts.filter(({ type }) => STATUS_TYPES.has(type));
  const found = parts.flatMap((part) => readDeliveryStatus(decodePart(part))).slice(0, MAX_RECIPIENTS);
  if (found.length > 0) return found;
  // A report whose boundary is lost is one text with the fields in it.
  return looksLikeBounce(message, notice) ? findDeliveryStatus(message.raw) : [];
}

const STATUS_TYPES = new Set(["message/delivery-status", "message/global-delivery-status"]);

interface Given {
  notice: Notice;
  returnPaths: string[];
  recipient: string | null;
}

function fromStatuses({ statuses, notice, returnPaths, recipient }: Given & { statuses: RecipientStatus[] }): Report {
  const isWaiting = looksLikeDelay(notice, null);
  const failed = statuses.filter((status) => hasFailed(status, isWaiting));
  if (failed.length > 0) {
    const about = paragraphsAbout(failed, notice.paragraphs);
    const judged = failed.map((status, index) => classify({ ...status, paragraphs: about[index] ?? [] }));
    const report = toBounce(judged, returnPaths, recipient);
    // Of several to whom our recipient's mail goes on, some were reached or may be.
    return { ...report, isHard: report.isHard && (failed.length === statuses.length || isNamed(report, recipient)) };
  }
  const waiting = statuses.find(
    ({ action, status }) => action === "delayed" || (action === null && status?.startsWith("2") !== true),
  );
  // R40: delivered, relayed and expanded are good news.
  return waiting === undefined
    ? { kind: "unknown", returnPaths }
    : toDelay({ ...waiting, paragraphs: notice.paragraphs }, returnPaths);
}

function isNamed({ finalRecipient }: RecipientBounce, recipient: string | null): boolean {
  return recipient !== null && finalRecipient?.toLowerCase() === recipient.toLowerCase();
}

/** R40: of the five actions only `failed` is a bounce. Gateways leave the field out, where the Status and the text tell, or make up another. */
function hasFailed({ action, status }: RecipientStatus, isWaiting: boolean): boolean {
  if (action === null) return !isWaiting && status?.startsWith("2") !== true;
  return !NOT_FAILED.has(action);
}

/** RFC 3464 §2.3.3. */
const NOT_FAILED = new Set(["delayed", "delivered", "relayed", "expanded"]);

/** For each status: among several recipients what names one is about that one; a text that names none is about all. */
function paragraphsAbout(all: RecipientStatus[], paragraphs: string[]): string[][] {
  if (all.length === 1) return [paragraphs];
  // Once each: a stranger chooses how many there are of both.
  const texts = paragraphs.map(plain);
  const apart = all.map(({ finalRecipient, originalRecipient }) => {
    const addresses = [finalRecipient, originalRecipient].filter((address) => address !== null).map(plain);
    return paragraphs.filter((_, index) => addresses.some((address) => texts[index]?.includes(address)));
  });
  return apart.every((own) => own.length === 0) ? all.map(() => paragraphs) : apart;
}

function fromNotice({ message, notice, returnPaths, recipient }: Given & { message: Message }): Report {
  if (looksLikeDelay(notice, message)) return toDelay({ ...NO_STATUS, paragraphs: notice.paragraphs }, returnPaths);
  const named = findAddresses(message, notice);
  const apart = named.map((address) => ({
    ...NO_STATUS,
    finalRecipient: address,
    paragraphs: notice.paragraphs.filter((paragraph) => plain(paragraph).includes(plain(address))),
  }));
  // Addresses are told apart where each has words of its own; else what is said is said of all.
  const isApart = apart.length > 1 && apart.every(({ paragraphs }) => paragraphs.length > 0);
  const statements = isApart
    ? apart
    : [{ ...NO_STATUS, finalRecipient: named[0] ?? null, paragraphs: notice.paragraphs }];
  // Words without fields are believed of a mail system only: anybody may write that an address is wrong.
  const isTrustedReport = isFromMailSystem(message);
  const judged = statements.map(classify).map((each) => ({ ...each, isHard: each.isHard && isTrustedReport }));
  return toBounce(judged, returnPaths, recipient);
}

const MAX_NAMED = 20;

/** The addresses that a text says failed: Exim's and Google's header, else those that begin a paragraph. */
function findAddresses(message: Message, notice: Notice): string[] {
  const listed = (findValue(message.fields, "x-failed-recipients") ?? "").split(",").map((address) => address.trim());
  const leading = notice.paragraphs.map((paragraph) => LEADING_ADDRESS.exec(paragraph)?.[1] ?? "");
  const found = listed.some((address) => address.includes("@")) ? listed : leading;
  return [...new Set(found)].filter((address) => address.includes("@")).slice(0, MAX_NAMED);
}

const LEADING_ADDRESS =
  /^(?:[45]\d\d[ -](?:[45]\.\d{1,3}\.\d{1,3} )?)?[<"]?([^<>@\s:;,"()]{1,64}@[a-z0-9.-]{0,254}[a-z0-9])/i;

function toDelay(statement: Statement, returnPaths: string[]): Report {
  const { status, diagnostic } = classify(statement);
  return { kind: "delayed", status, diagnostic, returnPaths };
}

/** The judgement of all is that of the recipient we wrote to; where it is not among them, the mildest: what reached one of several was no dead address. */
function toBounce(recipients: RecipientBounce[], returnPaths: string[], recipient: string | null): BounceReport {
  const ours = recipients.find((each) => isNamed(each, recipient));
  const chosen =
    ours ??
    recipients.find(({ isPermanent }) => !isPermanent) ??
    recipients.find(({ isHard }) => !isHard) ??
    recipients[0];
  return { kind: "bounce", ...(chosen ?? classify({ ...NO_STATUS, paragraphs: [] })), recipients, returnPaths };
}
