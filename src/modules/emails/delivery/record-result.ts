// From the result of a delivery to the email's rows. Delivered, sent (through a relay), bounced, failed and suppressed
// are final; everything else waits for its next attempt. The worker writes the rows in one transaction with the queue's.

import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import { comparableAddress, type Mailbox } from "../../../protocols/mime/address.ts";
import { SYSTEM_WORKSPACE_ID } from "../../../platform/db/schema/schema.ts";
import type { JobResult } from "../../../platform/queue/handler.ts";
import { shorten } from "../../../protocols/smtp/replies/reply.ts";
import { describeTransmission } from "../../../protocols/smtp/transmit.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import type { Bounce } from "../api/schema.ts";
import { endEmail, endWaiting, NO_REPLY, type RecordEmailEvent } from "../events.ts";
import { reportSite } from "../reports/process-report.ts";
import type { EmailJob, EmailState, QueueStore } from "../queue/store.ts";
import type { AttemptRow, EmailEnd, EmailRow, EmailStore } from "../store/store.ts";
import { formatDialogue, formatTls, formatTries, NO_CONNECTION, toReplyColumns } from "./connection-attempts.ts";
import { DNS_SITE, type RefusalWatch } from "./refusal-watch.ts";
import { type Suppression, suppressFor } from "./suppress.ts";
import type {
  BadDomain,
  DeliveryResult,
  Refusal,
  TemporaryFailure,
  TransmissionFailure,
  Transmitted,
} from "./transport.ts";

/** Attempts whose answer after the dot was lost on the network, before the email is given up. */
const MAX_UNKNOWN = 3;
const MAX_REASON = 512;

export interface RecordResultDeps {
  emails: EmailStore;
  suppressions: SuppressionStore;
  refusals: RefusalWatch;
  /** Watches reports by mail (modules/emails/reports/process-report.ts); each accepted email counts there. */
  reportedRefusals: RefusalWatch;
  /** Notes the address of each recipient's server that accepted an email: a bounce may come from there. */
  reporters: { note(address: string): void };
  /** Counts what recipients' servers answer, for the sending block (modules/plans/sending-block.ts). */
  rates: { answered(workspaceId: number, isHardBounce: boolean): void };
  clock: Pick<Clock, "now">;
  log: Log;
  recordEvent: RecordEmailEvent;
  queue: Pick<QueueStore, "removeWaiting">;
  /** The form of words, and of the recipient's address in them, that may stand in the log. */
  show: (words: string, recipient: string) => string;
}

export interface Attempt {
  job: EmailJob;
  email: EmailRow;
  to: Mailbox;
  deps: RecordResultDeps;
}

type EmailJobResult = JobResult<EmailState>;

/** An acceptance in the journal of outcomes, as JSON: all of it but the dialogue. */
interface StoredOutcome {
  row: AttemptRow;
  end: EmailEnd;
  workspaceId: number;
}

/** Its place is small; a server's words are at most four bytes a character. */
const MAX_OUTCOME_REPLY = 200;

export function toJobResult(attempt: Attempt, result: DeliveryResult): EmailJobResult {
  switch (result.kind) {
    case "not_started":
      return { action: { kind: "release", at: result.at }, isReached: null };
    case "refused":
      return fromRefusal(attempt, result);
    case "temporary_failure":
      return fromTemporaryFailure(attempt, result);
    case "bad_domain":
      return fromBadDomain(attempt, result);
    case "transmitted":
      return result.failure === null ? fromAcceptance(attempt, result) : fromFailure(attempt, result, result.failure);
  }
}

/** The email ends by this attempt. */
interface Final {
  /** Null: the attempt was never begun, and does not count. */
  row: AttemptRow | null;
  end: Omit<EmailEnd, "attempts">;
  isReached: boolean | null;
  detail: string;
  /** Inside the transaction, after the end. */
  write?: () => void;
  committed?: () => void;
  suppression?: Suppression | null;
}

function finish(attempt: Attempt, final: Final): EmailJobResult {
  const { job, deps } = attempt;
  const { row, isReached, detail, suppression } = final;
  const end: EmailEnd = { ...final.end, attempts: row === null ? job.attempt - 1 : job.attempt };
  return {
    action: { kind: "complete" },
    isReached,
    record(ownsRow) {
      if (row !== null) deps.emails.insertAttempt(row);
      if (!ownsRow) return recordTimes(attempt, end);
      endEmail(job.id, end, deps);
      final.write?.();
      if (suppression !== undefined && suppression !== null && !deps.emails.isErased(job.id)) suppression.write();
    },
    committed() {
      logResult(`email.${end.status}`, attempt, detail);
      final.committed?.();
      suppression?.log();
    },
  };
}

/** Inside a transaction: an acceptance that an earlier run knew of and could not write. */
export function recordOutcome(outcome: string, deps: RecordResultDeps): void {
  const { row, end, workspaceId } = JSON.parse(outcome) as StoredOutcome;
  deps.emails.insertAttempt(row);
  endEmail(row.emailId, end, deps);
  if (end.status === "delivered") deps.rates.answered(workspaceId, false);
}

/** The email waits for its next attempt. */
interface Deferred {
  row: AttemptRow;
  isReached: boolean | null;
  detail: string;
  badDomainAt: number | null;
  sentAt: number | null;
  isUncertain: boolean;
}

function defer(attempt: Attempt, deferred: Deferred): EmailJobResult {
  const { job, email, deps } = attempt;
  const { row, isReached, detail, badDomainAt, sentAt, isUncertain } = deferred;
  return {
    action: { kind: "retry", at: null, state: { lastReply: detail, badDomainAt } },
    isReached,
    isUncertain,
    record(ownsRow) {
      deps.emails.insertAttempt(row);
      recordTimes(attempt, { sentAt });
      if (!ownsRow) return;
      // Its recipient was erased while the attempt ran: there is nothing left to try again.
      if (deps.emails.isErased(job.id)) {
        if (isUncertain) deps.emails.setPossibleDuplicate(job.id);
        endWaiting(job.id, { status: "canceled", endedAt: row.endedAt }, deps);
        return;
      }
      // R28: it may have been accepted, and it will be sent again.
      if (isUncertain) deps.emails.setPossibleDuplicate(job.id);
      deps.recordEvent("email.delivery_delayed", { id: job.id, workspaceId: email.workspaceId }, row.endedAt);
    },
    committed: () => logResult("email.delivery_delayed", attempt, detail),
  };
}

/** Also where a report (modules/emails/reports/process-report.ts) has ended the email while the attempt ran: its status stays. */
function recordTimes(
  { job, deps: { emails } }: Attempt,
  { sentAt, deliveredAt }: Pick<EmailEnd, "sentAt" | "deliveredAt">,
): void {
  if (typeof sentAt === "number") emails.setSentAt(job.id, sentAt);
  if (typeof deliveredAt === "number") emails.setDeliveredAt(job.id, deliveredAt);
}

function fromRefusal(attempt: Attempt, { status, category, reason }: Refusal): EmailJobResult {
  const type = category === "expired" ? "transient" : "undetermined";
  const bounce: Bounce | null = status === "failed" ? { type, category, ...NO_REPLY } : null;
  const failedReason = status === "canceled" ? null : reason;
  const end = { status, endedAt: attempt.deps.clock.now(), failedReason, bounce };
  return finish(attempt, { row: null, end, isReached: null, detail: reason });
}

function fromTemporaryFailure(attempt: Attempt, failure: TemporaryFailure): EmailJobResult {
  const { reason, stage, category, badDomainAt } = failure;
  const row = { ...createRow(attempt), stage, reply: reason, outcome: "deferred", category } as const;
  // DNS and signing say nothing of the destination's servers.
  return defer(attempt, { row, isReached: null, detail: reason, badDomainAt, sentAt: null, isUncertain: false });
}

function fromBadDomain(attempt: Attempt, { reason, enhancedCode }: BadDomain): EmailJobResult {
  const row = createRow(attempt);
  const { endedAt } = row;
  const category = "bad_domain";
  const bounce: Bounce = { type: "permanent", category, ...NO_REPLY, enhancedCode };
  return finish(attempt, {
    row: { ...row, stage: "dns", enhancedCode, reply: reason, category, outcome: "bounced" },
    end: { status: "bounced", endedAt, failedReason: reason, bounce },
    isReached: null,
    detail: reason,
    suppression: suppress(attempt, DNS_SITE, endedAt),
  });
}

function fromAcceptance(attempt: Attempt, result: Transmitted): EmailJobResult {
  const { email, deps } = attempt;
  const { transmission, endedAt, isDirect } = result;
  deps.refusals.noteReply(result.site, email.workspaceId, endedAt);
  deps.reportedRefusals.noteReply(reportSite(email.recipientAddress), email.workspaceId, endedAt);
  // A relay has yet to deliver it.
  const status = isDirect ? "delivered" : "sent";
  const row = toRow(attempt, result, status, null);
  const end = { status, endedAt, sentAt: getSentAt(result), deliveredAt: isDirect ? endedAt : null } as const;
  const finished = finish(attempt, {
    row,
    end,
    isReached: true,
    detail: describeTransmission(transmission),
    write() {
      if (isDirect) deps.rates.answered(email.workspaceId, false);
    },
    committed() {
      if (isDirect && transmission.address !== null) deps.reporters.note(transmission.address);
    },
  });
  return {
    ...finished,
    outcome() {
      const reply = row.reply === null ? null : shorten(row.reply, MAX_OUTCOME_REPLY);
      const stored: StoredOutcome = {
        row: { ...row, reply, tries: null, dialogue: null },
        end: { ...end, attempts: attempt.job.attempt },
        workspaceId: email.workspaceId,
      };
      return JSON.stringify(stored);
    },
  };
}

function fromFailure(attempt: Attempt, result: Transmitted, failure: TransmissionFailure): EmailJobResult {
  const { job, email, deps } = attempt;
  const { transmission, endedAt, site } = result;
  const { verdict, reason: detail, isReached } = failure;
  if (!verdict.isHard && transmission.lastReply !== null) deps.refusals.noteReply(site, email.workspaceId, endedAt);
  if (verdict.kind === "bounced") return fromBounce(attempt, result, failure);
  const isUncertain = transmission.isOutcomeUnknown;
  if (isUncertain && !result.isCutOff && deps.emails.countLostAnswers(job.id) + 1 >= MAX_UNKNOWN)
    return fromLastLostAnswer(attempt, result, failure);
  const row = toRow(attempt, result, isUncertain ? "unknown" : "deferred", verdict.category);
  return defer(attempt, { row, isReached, detail, badDomainAt: null, sentAt: getSentAt(result), isUncertain });
}

function fromBounce(attempt: Attempt, result: Transmitted, { verdict, reason }: TransmissionFailure): EmailJobResult {
  const { transmission, endedAt, site } = result;
  const { type, category, smtpCode, enhancedCode, isHard } = verdict;
  // Our own findings are no words of the host's.
  const mx = transmission.result.kind === "unfit" ? null : transmission.host;
  const bounce: Bounce = { type, category, smtpCode, enhancedCode, mx };
  // A relay speaks of its own rules; a refusal of our own (a size limit, R19) is no answer.
  const isAnswered = result.isDirect && transmission.result.kind === "refused";
  return finish(attempt, {
    row: toRow(attempt, result, "bounced", category),
    end: { status: "bounced", endedAt, sentAt: getSentAt(result), failedReason: reason, bounce },
    isReached: true,
    detail: reason,
    write() {
      // Those in masses too, whom nobody suppresses: a mass of unknown recipients is what a bought list looks like.
      if (isAnswered) attempt.deps.rates.answered(attempt.email.workspaceId, isHard);
    },
    suppression: isHard ? suppress(attempt, site, endedAt) : null,
  });
}

/** It may have arrived as often as it was sent: sending it for three days would fill somebody's inbox. */
function fromLastLostAnswer(
  attempt: Attempt,
  result: Transmitted,
  { verdict: { category }, reason }: TransmissionFailure,
): EmailJobResult {
  const whole = `Given up after ${MAX_UNKNOWN} attempts whose answer was lost; it may have been delivered. Last: ${reason}`;
  const failedReason = shorten(whole, MAX_REASON);
  const bounce: Bounce = { type: "undetermined", category, ...NO_REPLY, mx: result.transmission.host };
  return finish(attempt, {
    row: toRow(attempt, result, "unknown", category),
    end: { status: "failed", endedAt: result.endedAt, sentAt: getSentAt(result), failedReason, bounce },
    isReached: true,
    detail: failedReason,
    write: () => attempt.deps.emails.setPossibleDuplicate(attempt.job.id),
  });
}

/** Null: pombo's own mail suppresses nobody, since nobody could lift it. */
function suppress({ email, to, deps }: Attempt, site: string, now: number): Suppression | null {
  if (email.workspaceId === SYSTEM_WORKSPACE_ID) return null;
  const recipient = { workspaceId: email.workspaceId, address: comparableAddress(to) };
  return suppressFor({ site, recipient, now }, deps);
}

function getSentAt({ transmission, envelopeAcceptedAt, endedAt }: Transmitted): number | null {
  return transmission.isReached ? (envelopeAcceptedAt ?? endedAt) : null;
}

function createRow({ job, deps }: Attempt, endedAt = deps.clock.now()): Omit<AttemptRow, "outcome"> {
  return { emailId: job.id, number: job.attempt, startedAt: job.startedAt, endedAt, category: null, ...NO_CONNECTION };
}

function toRow(
  attempt: Attempt,
  { transmission, endedAt, isCutOff, egress }: Transmitted,
  outcome: AttemptRow["outcome"],
  category: AttemptRow["category"],
): AttemptRow {
  const { result, host, address, tls } = transmission;
  return {
    ...createRow(attempt, endedAt),
    egress,
    // Without a host, as after a crash: countLostAnswers of the store does not count it.
    host: isCutOff && transmission.isOutcomeUnknown ? null : host,
    address,
    tls: formatTls(tls),
    stage: result.kind === "accepted" ? "dot" : result.stage,
    ...toReplyColumns(result, transmission.heard),
    tries: formatTries(transmission),
    dialogue: formatDialogue(transmission),
    outcome,
    category,
  };
}

function logResult(event: string, { email, job, deps: { log, show } }: Attempt, detail: string): void {
  const { recipient, uid } = email;
  // A server's words may hold the address too.
  log.event(event, { id: uid, to: show(recipient, recipient), attempt: job.attempt, detail: show(detail, recipient) });
}
