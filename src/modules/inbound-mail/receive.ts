// Receives inbound messages. Each destination is prepared first (parsing, compressing), and what follows from all of them
// is written in one transaction; only when that is durable the client gets its 250. On an error nothing is written, and
// the message comes again.
//
// A bounce changes only the email whose return path it came to; a complaint only the one whose token it contains; mail
// that unsubscribes only the list of the email whose token is in its address. Nothing here sends mail.

import type { Context } from "../../platform/context.ts";
import { newId } from "../../platform/uuid.ts";
import type { Random } from "../../platform/random.ts";
import type { DiskGuard } from "../../platform/db/disk-guard.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import { isLocalPart, isReturnPathOver, readReturnPath } from "../../protocols/dsn/return-path.ts";
import { isGenuine } from "../../protocols/dsn/signed-token.ts";
import { decodeWords, readFields, findValue } from "../../protocols/dsn/fields.ts";
import type { Report } from "../../protocols/dsn/parse-report.ts";
import type { EmailReport, Reported, ReportTaken } from "../emails/reports/process-report.ts";
import type { ReportStore } from "../emails/reports/store.ts";
import type { EmailStore } from "../emails/store/store.ts";
import { ThreadGone } from "../../platform/worker-threads/worker-thread.ts";
import { isFromProvider, type LookupTxt, findProvider } from "./feedback-provider.ts";
import type { Destination, InboundMessage, Receive } from "./inbound-message.ts";
import type { ReadReport } from "./read-report.ts";
import type { InboundMail, InboxStore } from "./store.ts";

export interface ReceiveDeps extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  emails: Pick<EmailStore, "findStateByUid">;
  inbox: InboxStore;
  reports: Pick<ReportStore, "findDeliveredTo">;
  /** Inside a transaction: writes everything that follows from a report about the email `uid`. */
  processReport(uid: string, reported: Reported): ReportTaken;
  /** Inside a transaction: the recipient of the email `uid` gets no more mail of its list. False: there is no such list. */
  unsubscribe(uid: string): boolean;
  read: ReadReport;
  guard: Pick<DiskGuard, "failure" | "blockedReason">;
  /** For the keys of feedback providers. */
  lookupTxt: LookupTxt;
  /** Signs the tokens in return paths. */
  returnPathKey: Uint8Array;
  /** Called for each destination of a message, once what follows from it is durable. */
  counts: { processed(result: InboundResult): void };
  /** Called with the address of each client that brought a report. */
  reporters: { note(address: string): void };
}

export type InboundResult =
  | ReportTaken["outcome"]
  /** Also when it was that before. */
  | "unsubscribed"
  /** Nothing follows from it. */
  | "ignored"
  /** For the operator. */
  | "kept"
  /** It cannot be taken now and comes again. */
  | "deferred";

/** Writes what follows for one destination, inside the transaction. */
export type Step = () => Written;

export interface Written {
  result: InboundResult;
  /** Called once it is durable. */
  committed: () => void;
}

export function createReceiver(deps: ReceiveDeps): Receive {
  return async (message) => {
    try {
      // A small record may still fit where those of running attempts would not.
      if (deps.guard.failure !== null) throw new Unavailable(deps.guard.failure);
      const steps: Step[] = [];
      for (const destination of message.destinations) steps.push(await stepFor(destination, message, deps));
      const written = await deps.commit(() => steps.map((step) => step()));
      for (const each of written) {
        deps.counts.processed(each.result);
        each.committed();
      }
    } catch (error) {
      deps.counts.processed("deferred");
      const isExpected = isStorageError(error) || error instanceof ThreadGone || error instanceof Unavailable;
      if (!isExpected) deps.log.error("receive", error);
      throw error;
    }
  };
}

/** The message cannot be taken at the moment. */
class Unavailable extends Error {
  override readonly name = "Unavailable";
}

function stepFor(destination: Destination, message: InboundMessage, deps: ReceiveDeps): Promise<Step> {
  switch (destination.kind) {
    case "bounce":
      return bounceStep(destination.emailUid, message, deps);
    case "complaint":
      return complaintStep(message, deps);
    case "unsubscribe":
      return Promise.resolve(unsubscribeStep(destination.emailUid, message, deps));
    case "person":
      return keepStep(destination.mailbox, message, deps);
  }
}

/** A message to an email's own return path. */
async function bounceStep(uid: string, message: InboundMessage, deps: ReceiveDeps): Promise<Step> {
  const email = deps.emails.findStateByUid(uid)?.email;
  if (email === undefined) return ignore("the email is gone", uid, deps);
  const recipient = email.isErased ? null : email.recipientAddress;
  const reading = await deps.read({ bytes: message.bytes, recipient });
  // It may quote what was erased.
  if (reading.kind === "unreadable" && email.isErased) return ignore("its recipient was erased", uid, deps);
  if (reading.kind === "unreadable") return keepStep("bounce", message, deps);
  const { report } = reading;
  // R44: a bounce has the null sender; one with a sender is something else. Reports of complaints have a sender.
  if (message.envelopeFrom !== "" && report.kind !== "complaint") return ignore("it has a sender", uid, deps);
  return isTrustedReport(report) ? reportStep(email, report, message, deps) : ignore(whyIgnored(report), uid, deps);
}

/** A message to fbl@: only the token in it says which email it is about. */
async function complaintStep(message: InboundMessage, deps: ReceiveDeps): Promise<Step> {
  const reading = await deps.read({ bytes: message.bytes, recipient: null });
  if (reading.kind === "unreadable") return keepStep("fbl", message, deps);
  const { report } = reading;
  if (report.kind === "auto_reply" || report.kind === "delayed") return ignore(whyIgnored(report), null, deps);
  if (report.kind === "complaint" && !report.isUnwanted) return ignore(whyIgnored(report), null, deps);
  // Providers' questions about the feedback loop come here too, and bounces that somebody forwards to ask about them:
  // real ones come to the return path.
  if (report.kind !== "complaint") return keepStep("fbl", message, deps);
  const email = findGenuine(report.returnPaths, deps);
  return email === null ? keepStep("fbl", message, deps) : reportStep(email, report, message, deps);
}

/** The email of the first token that was made here, for this email and recipient, and not too long ago. */
function findGenuine(localParts: string[], { emails, returnPathKey, clock }: ReceiveDeps) {
  for (const localPart of localParts) {
    const token = readReturnPath(localPart);
    if (token.kind !== "token") continue;
    const email = emails.findStateByUid(token.id)?.email;
    if (email === undefined || isReturnPathOver({ id: token.id, sendAt: email.sendAt }, clock.now())) continue;
    const { isErased, returnPath, recipientAddress } = email;
    const isOurs = isErased ? isLocalPart(localPart, returnPath) : isGenuine(token, recipientAddress, returnPathKey);
    if (isOurs) return email;
  }
  return null;
}

/** A message to an email's address for that, whatever it says (RFC 2369 §3.2). */
function unsubscribeStep(uid: string, { clientAddress: from }: InboundMessage, deps: ReceiveDeps): Step {
  return () => {
    const result = deps.unsubscribe(uid) ? "unsubscribed" : "gone";
    return { result, committed: () => deps.log.event("email.unsubscribed", { id: uid, outcome: result, from }) };
  };
}

function isTrustedReport(report: Report): report is EmailReport {
  if (report.kind === "complaint") return report.isUnwanted;
  return report.kind === "bounce" || report.kind === "delayed";
}

function whyIgnored(report: Report): string {
  switch (report.kind) {
    case "complaint":
      return `it is no complaint (${report.feedbackType})`;
    case "auto_reply":
      return "it is an automatic answer";
    default:
      return "it is no report that is understood";
  }
}

interface ReportedEmail {
  id: number;
  uid: string;
  recipientAddress: string;
}

async function reportStep(
  email: ReportedEmail,
  report: EmailReport,
  message: InboundMessage,
  deps: ReceiveDeps,
): Promise<Step> {
  const { uid } = email;
  const isSigned = report.kind === "complaint" && (await isProvidersOwn(email, message, deps));
  const reported: Reported = { report, reporter: message.helo, at: deps.clock.now(), isFromProvider: isSigned };
  return () => {
    const taken = deps.processReport(uid, reported);
    return {
      result: taken.outcome,
      committed: () => {
        deps.log.event("report.processed", {
          id: uid,
          kind: report.kind,
          outcome: taken.outcome,
          provider: reported.isFromProvider,
          from: message.clientAddress,
        });
        // An email ends once: with one token an attacker makes only one network known.
        if (taken.outcome === "bounced" || taken.outcome === "complained") deps.reporters.note(message.clientAddress);
        taken.tell();
      },
    };
  };
}

/** Whether a listed provider reports, by its signature, what went to a mailbox of its own. Only then a key is looked up. */
async function isProvidersOwn(
  { id, recipientAddress: recipient }: ReportedEmail,
  { bytes }: InboundMessage,
  deps: ReceiveDeps,
): Promise<boolean> {
  const provider = findProvider(bytes, { recipient, mx: deps.reports.findDeliveredTo(id) });
  return provider !== null && isFromProvider(provider, bytes, deps);
}

function ignore(why: string, uid: string | null, { log }: ReceiveDeps): Step {
  return () => ({ result: "ignored", committed: () => log.event("report.ignored", { id: uid, why }) });
}

async function keepStep(mailbox: InboundMail["mailbox"], message: InboundMessage, deps: ReceiveDeps): Promise<Step> {
  // It may wait, unlike the outcome of an email.
  if (deps.guard.blockedReason !== null) throw new Unavailable(deps.guard.blockedReason);
  const mail = await toInboundMail(mailbox, message, deps.random);
  return () => {
    deps.inbox.add(mail);
    const { uid: id, size: bytes } = mail;
    return { result: "kept", committed: () => deps.log.event("inbox.received", { id, mailbox, bytes }) };
  };
}

/** The part of the header in which sender and subject are looked for. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_SHOWN = 500;
const MAX_ADDRESS = 320;

/** A message as it is stored for the operator. */
async function toInboundMail(
  mailbox: InboundMail["mailbox"],
  message: InboundMessage,
  random: Random,
): Promise<Omit<InboundMail, "id">> {
  const { bytes, receivedAt, envelopeFrom, helo, clientAddress, isTls } = message;
  const fields = readFields(readHeader(bytes));
  const shown = (name: string) => {
    const value = findValue(fields, name);
    return value === null ? null : decodeWords(value).slice(0, MAX_SHOWN).toWellFormed();
  };
  return {
    uid: newId(receivedAt, random),
    mailbox,
    envelopeFrom: envelopeFrom.slice(0, MAX_ADDRESS).toWellFormed(),
    sender: shown("from"),
    subject: shown("subject"),
    receivedAt,
    helo: helo.slice(0, MAX_ADDRESS).toWellFormed(),
    clientAddress,
    isTls,
    size: bytes.byteLength,
    content: await Bun.zstdCompress(bytes),
  };
}

function readHeader(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_HEADER_BYTES));
  const text = start.toString("latin1");
  const end = text.search(/\r?\n\r?\n/);
  return end < 0 ? text : text.slice(0, end);
}
