import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import { comparableAddress, type Mailbox } from "../../../protocols/mime/address.ts";
import type { JobResult } from "../../../platform/queue/handler.ts";
import type { EmailJob, EmailState } from "../queue/store.ts";
import type { Category } from "../../../protocols/smtp/replies/classify.ts";
import type { Stage } from "../../../protocols/smtp/replies/stage.ts";
import { shorten } from "../../../protocols/smtp/replies/reply.ts";
import { describeTransmission, type Transmission } from "../../../protocols/smtp/transmit.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import type { TellOfEmail } from "../events.ts";
import type { RefusalWatch } from "./mass-refusals.ts";
import { classify, type RelayOutcome, type Relay } from "./relay.ts";
import { reportSite } from "../reports/process.ts";
import type { Bounce } from "../api/schema.ts";
import type { EmailStore } from "../store/store.ts";
import type { AttemptRow, EmailRow } from "../store/read-store.ts";
import { suppressFor } from "./suppress.ts";
import { dialogueOf, saidIn, showTls, triesOf } from "./connection-attempts.ts";

// What an attempt came to, turned into the email's rows. Delivered, sent (through a relay), bounced,
// failed and suppressed are final; everything else waits for its next attempt. `record` runs inside the worker's
// transaction, together with the queue row's fate.

/** Attempts whose answer after the dot was lost on the network, before the email is given up. */
const MAX_UNKNOWN = 3;
const MAX_REASON = 512;
/** Under what the answers of DNS are watched. */
export const DNS_SITE = "dns";

/** An email and its recipient, parsed. */
export interface Addressed {
  email: EmailRow;
  to: Mailbox;
}

/** The attempt that ended. */
export interface Ended extends Addressed {
  job: EmailJob;
}

/** How an attempt ended. */
export type Ending =
  /** Stopped before anything was begun. */
  | { kind: "unbegun" }
  /** It must not be sent at all: over without a connection. */
  | { kind: "refused"; status: "failed" | "suppressed"; category: Category; reason: string }
  /** Temporary trouble before a connection. */
  | { kind: "trouble"; reason: string; stage: Stage | null; category: Category; badDomainAt: number | null }
  /** The recipient's domain takes no mail: believed. */
  | { kind: "bad_domain"; reason: string; enhancedCode: string }
  | {
      kind: "transmitted";
      transmission: Transmission;
      /** Null: straight to the recipient's server. */
      relay: Relay | null;
      /** pombo ended the connection itself, at a stop: a lost answer is then no fault of the server's, and not counted. */
      isCutOff: boolean;
      /** Of its server, for what is learned of it. */
      site: string;
      endedAt: number;
      envelopeAcceptedAt: number | null;
    };

export interface RecordResultDeps {
  emails: EmailStore;
  suppressions: SuppressionStore;
  refusals: RefusalWatch;
  /** What comes back by mail (modules/emails/reports/process.ts): told of each email that was taken. */
  reportedRefusals: RefusalWatch;
  /** Told of the address of each recipient's server that took an email: a bounce may come from there. */
  reporters: { note(address: string): void };
  /** Counts what recipients' servers answer, for the sending block (modules/plans/sending-block.ts). */
  rates: { answered(workspaceId: number, isHardBounce: boolean): void };
  clock: Pick<Clock, "now">;
  log: Log;
  tellOfEmail: TellOfEmail;
  /** What of words, and of the recipient's address in them, may stand in the log. */
  show: (words: string, recipient: string) => string;
}

export function recordResult(ended: Ended, ending: Ending, deps: RecordResultDeps): JobResult<EmailState> {
  switch (ending.kind) {
    case "unbegun":
      return { action: { kind: "release" }, isReached: null };
    case "refused":
      return settleRefused(ended, ending, deps);
    case "trouble":
      return settleTrouble(ended, ending, deps);
    case "bad_domain":
      return settleBadDomain(ended, ending, deps);
    case "transmitted":
      return settleTransmitted(ended, ending, deps);
  }
}

function settleRefused(
  ended: Ended,
  ending: Extract<Ending, { kind: "refused" }>,
  deps: RecordResultDeps,
): JobResult<EmailState> {
  const { job } = ended;
  const { status, category, reason } = ending;
  const endedAt = deps.clock.now();
  const bounce: Bounce = {
    type: category === "expired" ? "transient" : "undetermined",
    category,
    smtpCode: null,
    enhancedCode: null,
    mx: null,
  };
  return {
    action: { kind: "complete" },
    isReached: null,
    record(ownsRow) {
      if (!ownsRow) return;
      // Nothing was begun by this attempt, so it does not count.
      const attempts = job.attempt - 1;
      const failure = status === "failed" ? JSON.stringify(bounce) : null;
      deps.emails.end(job.id, {
        status,
        endedAt,
        sentAt: null,
        deliveredAt: null,
        failedReason: reason,
        bounce: failure,
        attempts,
      });
    },
    committed: () => tell(deps, `email.${status}`, ended, reason),
  };
}

function settleTrouble(
  ended: Ended,
  ending: Extract<Ending, { kind: "trouble" }>,
  deps: RecordResultDeps,
): JobResult<EmailState> {
  const { job } = ended;
  const { reason, stage, category, badDomainAt } = ending;
  const endedAt = deps.clock.now();
  return {
    action: { kind: "retry", at: null, state: { lastReply: reason, badDomainAt } },
    // DNS and signing say nothing of the destination's servers.
    isReached: null,
    record(ownsRow) {
      deps.emails.insertAttempt({
        ...blankAttempt(job, endedAt),
        stage,
        reply: reason,
        outcome: "deferred",
        category,
      });
      if (ownsRow) tellDelayed(ended, endedAt, deps);
    },
    committed: () => tell(deps, "email.delivery_delayed", ended, reason),
  };
}

function settleBadDomain(
  ended: Ended,
  ending: Extract<Ending, { kind: "bad_domain" }>,
  deps: RecordResultDeps,
): JobResult<EmailState> {
  const { job, email, to } = ended;
  const { reason, enhancedCode } = ending;
  const endedAt = deps.clock.now();
  const bounce: Bounce = { type: "permanent", category: "bad_domain", smtpCode: null, enhancedCode, mx: null };
  const recipient = { workspaceId: email.workspaceId, address: comparableAddress(to) };
  const suppression = suppressFor({ site: DNS_SITE, recipient, now: endedAt }, deps);
  return {
    action: { kind: "complete" },
    isReached: null,
    record(ownsRow) {
      const attempt = {
        ...blankAttempt(job, endedAt),
        stage: "dns",
        enhancedCode,
        reply: reason,
        category: "bad_domain",
      };
      deps.emails.insertAttempt({ ...attempt, outcome: "bounced" });
      if (!ownsRow) return;
      const end = { deliveredAt: null, failedReason: reason, bounce: JSON.stringify(bounce), attempts: job.attempt };
      deps.emails.end(job.id, { status: "bounced", endedAt, sentAt: null, ...end });
      suppression.write();
    },
    committed() {
      tell(deps, "email.bounced", ended, reason);
      suppression.tell();
    },
  };
}

function settleTransmitted(
  ended: Ended,
  ending: Extract<Ending, { kind: "transmitted" }>,
  deps: RecordResultDeps,
): JobResult<EmailState> {
  const { job, email } = ended;
  const { transmission, endedAt } = ending;
  const { result } = transmission;
  const sentAt = transmission.isReached ? (ending.envelopeAcceptedAt ?? endedAt) : null;
  if (result.kind === "accepted") {
    deps.refusals.noteReply(ending.site, email.workspaceId, endedAt);
    deps.reportedRefusals.noteReply(reportSite(email.recipientAddress), email.workspaceId, endedAt);
    // A relay has yet to deliver it.
    const status = ending.relay === null ? "delivered" : "sent";
    const deliveredAt = ending.relay === null ? endedAt : null;
    return {
      action: { kind: "complete" },
      isReached: true,
      record(ownsRow) {
        deps.emails.insertAttempt(attemptOf(job, ending, { outcome: status, category: null }));
        const end = { deliveredAt, failedReason: null, bounce: null, attempts: job.attempt };
        if (ownsRow) {
          deps.emails.end(job.id, { status, endedAt, sentAt, ...end });
          if (ending.relay === null) deps.rates.answered(email.workspaceId, false);
        } else noteLate(job, { sentAt, deliveredAt }, deps);
      },
      committed() {
        if (ending.relay === null && transmission.address !== null) deps.reporters.note(transmission.address);
        tell(deps, `email.${status}`, ended, describeTransmission(transmission));
      },
    };
  }
  const judgement = classify(transmission, ending.relay);
  if (!judgement.verdict.isHard && transmission.lastReply !== null)
    deps.refusals.noteReply(ending.site, email.workspaceId, endedAt);
  return judgement.verdict.kind === "bounced"
    ? settleBounced(ended, ending, { ...judgement, sentAt, parts: deps })
    : settleDeferred(ended, ending, { ...judgement, sentAt, parts: deps });
}

interface Judged extends RelayOutcome {
  sentAt: number | null;
  parts: RecordResultDeps;
}

function settleBounced(
  ended: Ended,
  ending: Extract<Ending, { kind: "transmitted" }>,
  judged: Judged,
): JobResult<EmailState> {
  const { job, email, to } = ended;
  const { transmission, endedAt } = ending;
  const { verdict, reason, sentAt, parts } = judged;
  const { type, category, smtpCode, enhancedCode } = verdict;
  const { result } = transmission;
  // What we find ourselves is no word of the host's.
  const mx = result.kind === "unfit" ? null : transmission.host;
  const bounce: Bounce = { type, category, smtpCode, enhancedCode, mx };
  const recipient = { workspaceId: email.workspaceId, address: comparableAddress(to) };
  const suppression = verdict.isHard ? suppressFor({ site: ending.site, recipient, now: endedAt }, parts) : null;
  // What a relay says is about its own rules; what we refuse ourselves (a size limit, R19) nobody has answered.
  const isAnswered = ending.relay === null && result.kind === "refused";
  return {
    action: { kind: "complete" },
    isReached: true,
    record(ownsRow) {
      parts.emails.insertAttempt(attemptOf(job, ending, { outcome: "bounced", category }));
      if (!ownsRow) return noteLate(job, { sentAt, deliveredAt: null }, parts);
      const end = { deliveredAt: null, failedReason: reason, bounce: JSON.stringify(bounce), attempts: job.attempt };
      parts.emails.end(job.id, { status: "bounced", endedAt, sentAt, ...end });
      // Those in masses too, whom nobody suppresses: a mass of unknown recipients is what a bought list looks like.
      if (isAnswered) parts.rates.answered(email.workspaceId, verdict.isHard);
      suppression?.write();
    },
    committed() {
      tell(parts, "email.bounced", ended, reason);
      suppression?.tell();
    },
  };
}

function settleDeferred(
  ended: Ended,
  ending: Extract<Ending, { kind: "transmitted" }>,
  judged: Judged,
): JobResult<EmailState> {
  const { job } = ended;
  const { transmission } = ending;
  const { verdict, reason, isReached, sentAt, parts } = judged;
  const isUnknown = transmission.isOutcomeUnknown;
  if (isUnknown && !ending.isCutOff && parts.emails.lostAnswers(job.id) + 1 >= MAX_UNKNOWN)
    return settleLost(ended, ending, judged);
  return {
    action: { kind: "retry", at: null, state: { lastReply: reason, badDomainAt: null } },
    isReached,
    isUncertain: isUnknown,
    record(ownsRow) {
      parts.emails.insertAttempt(
        attemptOf(job, ending, { outcome: isUnknown ? "unknown" : "deferred", category: verdict.category }),
      );
      if (!ownsRow) return noteLate(job, { sentAt, deliveredAt: null }, parts);
      if (sentAt !== null) parts.emails.setSentAt(job.id, sentAt);
      // R28: it may have been taken, and it will be sent again.
      if (isUnknown) parts.emails.setPossibleDuplicate(job.id);
      tellDelayed(ended, ending.endedAt, parts);
    },
    committed: () => tell(parts, "email.delivery_delayed", ended, reason),
  };
}

/** A report (modules/emails/reports/process.ts) has ended the email while the attempt ran: of its status nothing is changed any more. */
function noteLate(
  job: EmailJob,
  times: { sentAt: number | null; deliveredAt: number | null },
  { emails }: RecordResultDeps,
): void {
  if (times.sentAt !== null) emails.setSentAt(job.id, times.sentAt);
  if (times.deliveredAt !== null) emails.setDeliveredAt(job.id, times.deliveredAt);
}

/** Inside the transaction, after the queue's row was put off. */
function tellDelayed({ job, email }: Ended, at: number, deps: RecordResultDeps): void {
  deps.tellOfEmail({ id: job.id, workspaceId: email.workspaceId, type: "email.delivery_delayed", at });
}

/** It may have arrived as often as it was sent: sending it for three days would fill somebody's inbox. */
function settleLost(
  ended: Ended,
  ending: Extract<Ending, { kind: "transmitted" }>,
  judged: Judged,
): JobResult<EmailState> {
  const { job } = ended;
  const { reason, sentAt, parts } = judged;
  const whole = `Given up after ${MAX_UNKNOWN} attempts whose answer was lost; it may have been delivered. Last: ${reason}`;
  const failedReason = shorten(whole, MAX_REASON);
  const { category } = judged.verdict;
  const { host } = ending.transmission;
  const bounce: Bounce = { type: "undetermined", category, smtpCode: null, enhancedCode: null, mx: host };
  return {
    action: { kind: "complete" },
    isReached: true,
    record(ownsRow) {
      parts.emails.insertAttempt(attemptOf(job, ending, { outcome: "unknown", category }));
      if (!ownsRow) return noteLate(job, { sentAt, deliveredAt: null }, parts);
      const end = { deliveredAt: null, failedReason, bounce: JSON.stringify(bounce), attempts: job.attempt };
      parts.emails.end(job.id, { status: "failed", endedAt: ending.endedAt, sentAt, ...end });
      parts.emails.setPossibleDuplicate(job.id);
    },
    committed: () => tell(parts, "email.failed", ended, failedReason),
  };
}

function blankAttempt(job: EmailJob, endedAt: number): Omit<AttemptRow, "outcome"> {
  const nothing = {
    host: null,
    address: null,
    tls: null,
    stage: null,
    code: null,
    enhancedCode: null,
    reply: null,
    category: null,
    tries: null,
    dialogue: null,
  };
  return { emailId: job.id, number: job.attempt, startedAt: job.startedAt, endedAt, ...nothing };
}

function attemptOf(
  job: EmailJob,
  ending: Extract<Ending, { kind: "transmitted" }>,
  judged: Pick<AttemptRow, "outcome" | "category">,
): AttemptRow {
  const { transmission, endedAt } = ending;
  const { result, host, address, tls } = transmission;
  return {
    ...blankAttempt(job, endedAt),
    // Without a host, as after a crash: modules/emails/store/read-store.ts lostAnswers does not count it.
    host: ending.isCutOff && transmission.isOutcomeUnknown ? null : host,
    address,
    tls: showTls(tls),
    stage: result.kind === "accepted" ? "dot" : result.stage,
    ...saidIn(result, transmission.heard),
    tries: triesOf(transmission),
    dialogue: dialogueOf(transmission),
    ...judged,
  };
}

function tell(deps: RecordResultDeps, event: string, { email, job }: Ended, detail: string): void {
  const { recipient } = email;
  deps.log.event(event, {
    id: email.uid,
    to: deps.show(recipient, recipient),
    attempt: job.attempt,
    // A server's words may hold the address too.
    detail: deps.show(detail, recipient),
  });
}
