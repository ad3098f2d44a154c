import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import type { DiskGuard } from "../../platform/db/disk-guard.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import { isGenuine, readReturnPath } from "../../protocols/dsn/return-path.ts";
import type { Report } from "../../protocols/dsn/parse-report.ts";
import type { EmailReport, Reported, ReportTaken } from "../emails/reports/process-report.ts";
import type { ReportStore } from "../emails/reports/store.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import { ThreadGone } from "../../platform/worker-threads/worker-thread.ts";
import { keepFor } from "./keep.ts";
import { isFromProvider, type LookupTxt, providerOf } from "./feedback-provider.ts";
import type { Destination, InboundMessage, Receive } from "./inbound-message.ts";
import type { ReadLetter } from "./read-report.ts";
import type { InboxStore } from "./store.ts";

// What a letter does. Each of its destinations is looked into first (reading, compressing), and what follows
// of all of them is written in one transaction; only when that is durable the client hears that we have it.
// On trouble nothing is written and the letter comes again.
//
// A bounce touches the email whose return path it came to, and no other; a complaint the one whose token
// stands in it. Nothing here sends mail, whatever comes.

export interface ReceiveDeps {
  emails: Pick<EmailStore, "findStateByUid">;
  reports: Pick<ReportStore, "findDeliveredTo">;
  /** Inside a transaction: writes all that follows from a report about the email `uid`. */
  processReport(uid: string, reported: Reported): ReportTaken;
  log: Log;
  inbox: InboxStore;
  read: ReadLetter;
  commit: Commit;
  clock: Pick<Clock, "now" | "after">;
  random: Random;
  guard: Pick<DiskGuard, "failure" | "blockedReason">;
  /** For the keys of feedback providers. */
  lookupTxt: LookupTxt;
  /** Of the tokens in return paths. */
  returnPathKey: Uint8Array;
  counts: InboundCounts;
  /** Told of the address of each client that brought a report. */
  reporters: { note(address: string): void };
}

/** Told of what became of letters, for each destination, once it is durable. */
export interface InboundCounts {
  taken(result: LetterResult): void;
}

export type LetterResult =
  | ReportTaken["outcome"]
  /** Nothing follows from it. */
  | "ignored"
  /** For the operator. */
  | "kept"
  /** It cannot be taken now. */
  | "put_off";

/** What is to be written for a destination; run inside the transaction. */
export type Step = () => Written;

export interface Written {
  result: LetterResult;
  /** Called once it is durable. */
  tell(): void;
}

export function createReceiver(deps: ReceiveDeps): Receive {
  return async (letter) => {
    try {
      // A small record may still fit where those of running attempts would not.
      if (deps.guard.failure !== null) throw new NotNow(deps.guard.failure);
      const steps: Step[] = [];
      for (const destination of letter.destinations) steps.push(await stepFor(destination, letter, deps));
      const written = await deps.commit(() => steps.map((step) => step()));
      for (const each of written) {
        deps.counts.taken(each.result);
        each.tell();
      }
    } catch (error) {
      deps.counts.taken("put_off");
      const isExpected = isStorageError(error) || error instanceof ThreadGone || error instanceof NotNow;
      if (!isExpected) deps.log.error("receive", error);
      throw error;
    }
  };
}

/** The letter cannot be taken at the moment. */
class NotNow extends Error {
  override readonly name = "NotNow";
}

function stepFor(destination: Destination, letter: InboundMessage, deps: ReceiveDeps): Promise<Step> {
  switch (destination.kind) {
    case "bounce":
      return bounceStep(destination.emailUid, letter, deps);
    case "complaint":
      return complaintStep(letter, deps);
    case "person":
      return keepStep(destination.mailbox, letter, deps);
  }
}

/** What came to an email's own return path. */
async function bounceStep(uid: string, letter: InboundMessage, deps: ReceiveDeps): Promise<Step> {
  const email = deps.emails.findStateByUid(uid)?.email;
  if (email === undefined) return ignore("the email is gone", uid, deps);
  const reading = await deps.read({ bytes: letter.bytes, recipient: email.recipientAddress });
  if (reading.kind === "unreadable") return keepStep("bounce", letter, deps);
  const { report } = reading;
  // R44: who reports a bounce has no address to answer to; a person who does means something else. Those
  // who report complaints have one.
  if (letter.envelopeFrom !== "" && report.kind !== "complaint") return ignore("it has a sender", uid, deps);
  return isBelieved(report) ? reportStep(email, report, letter, deps) : ignore(whyIgnored(report), uid, deps);
}

/** What came to fbl@: which email it is about, its token alone tells. */
async function complaintStep(letter: InboundMessage, deps: ReceiveDeps): Promise<Step> {
  const reading = await deps.read({ bytes: letter.bytes, recipient: null });
  if (reading.kind === "unreadable") return keepStep("fbl", letter, deps);
  const { report } = reading;
  if (report.kind === "auto_reply" || report.kind === "delayed") return ignore(whyIgnored(report), null, deps);
  if (report.kind === "complaint" && !report.isUnwanted) return ignore(whyIgnored(report), null, deps);
  // Providers' questions about the feedback loop come here too, and bounces that somebody forwards to ask
  // about them: those that are meant come to the return path.
  if (report.kind !== "complaint") return keepStep("fbl", letter, deps);
  const email = findGenuine(report.traces.returnPaths, deps);
  return email === null ? keepStep("fbl", letter, deps) : reportStep(email, report, letter, deps);
}

/** The email of the first token that was made here, for this email and recipient, and not too long ago. */
function findGenuine(localParts: string[], { emails, returnPathKey, clock }: ReceiveDeps) {
  for (const localPart of localParts) {
    const token = readReturnPath(localPart);
    if (token.kind !== "token" || token.expiresAt <= clock.now()) continue;
    const email = emails.findStateByUid(token.id)?.email;
    if (email !== undefined && isGenuine(token, email.recipientAddress, returnPathKey)) return email;
  }
  return null;
}

function isBelieved(report: Report): report is EmailReport {
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

/** The email that a report is about. */
interface ReportedEmail {
  id: number;
  uid: string;
  recipientAddress: string;
}

async function reportStep(
  email: ReportedEmail,
  report: EmailReport,
  letter: InboundMessage,
  deps: ReceiveDeps,
): Promise<Step> {
  const { uid } = email;
  const isSigned = report.kind === "complaint" && (await isProvidersOwn(email, letter, deps));
  const reported: Reported = { report, reporter: letter.helo, at: deps.clock.now(), isFromProvider: isSigned };
  return () => {
    const taken = deps.processReport(uid, reported);
    return {
      result: taken.outcome,
      tell() {
        deps.log.event("report.processed", {
          id: uid,
          kind: report.kind,
          outcome: taken.outcome,
          provider: reported.isFromProvider,
          from: letter.clientAddress,
        });
        // An email ends once: with one token whoever has many networks makes one of them known, not all.
        if (taken.outcome === "bounced" || taken.outcome === "complained") deps.reporters.note(letter.clientAddress);
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
  const provider = providerOf(bytes, { recipient, mx: deps.reports.findDeliveredTo(id) });
  return provider !== null && isFromProvider(provider, bytes, deps);
}

function ignore(why: string, uid: string | null, { log }: ReceiveDeps): Step {
  return () => ({ result: "ignored", tell: () => log.event("report.ignored", { id: uid, why }) });
}

async function keepStep(
  mailbox: Parameters<typeof keepFor>[0],
  letter: InboundMessage,
  deps: ReceiveDeps,
): Promise<Step> {
  // Nobody waits for it as an email's end is waited for.
  if (deps.guard.blockedReason !== null) throw new NotNow(deps.guard.blockedReason);
  const mail = await keepFor(mailbox, letter, deps.random);
  return () => {
    deps.inbox.add(mail);
    const { uid: id, size: bytes } = mail;
    return { result: "kept", tell: () => deps.log.event("inbox.received", { id, mailbox, bytes }) };
  };
}
