import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { comparableAddress, type Mailbox } from "../mime/address.ts";
import type { Job } from "../queue/store.ts";
import type { Settlement } from "../queue/worker.ts";
import { type Category, classifyBroken, classifyReply, type Stage, type Verdict } from "../smtp/classify.ts";
import { describeTransmission, type Transmission } from "../smtp/transmit.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import type { Bounce } from "./schema.ts";
import type { AttemptRow, EmailRow, EmailStore } from "./store.ts";

// What an attempt came to, turned into the email's rows. Delivered, bounced, failed and suppressed
// are final; everything else waits for its next attempt. `record` runs inside the worker's
// transaction, together with the queue row's fate.

/** Attempts whose answer after the dot was lost on the network, before the email is given up. */
const MAX_UNKNOWN = 3;
const MAX_REASON = 512;

/** An email and its recipient, parsed. */
export interface Addressed {
  email: EmailRow;
  to: Mailbox;
}

/** The attempt that ended. */
export interface Ended extends Addressed {
  job: Job;
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
  | { kind: "transmitted"; transmission: Transmission; endedAt: number; envelopeAcceptedAt: number | null };

export interface SettleParts {
  emails: EmailStore;
  suppressions: SuppressionStore;
  clock: Pick<Clock, "now">;
  log: Log;
  /** How an address may stand in the log. */
  showAddress: (address: string) => string;
}

export function settle(ended: Ended, ending: Ending, parts: SettleParts): Settlement {
  switch (ending.kind) {
    case "unbegun":
      return { fate: { kind: "give_back" }, isReached: null, record: () => undefined };
    case "refused":
      return settleRefused(ended, ending, parts);
    case "trouble":
      return settleTrouble(ended, ending, parts);
    case "bad_domain":
      return settleBadDomain(ended, ending, parts);
    case "transmitted":
      return settleTransmitted(ended, ending, parts);
  }
}

function settleRefused(ended: Ended, ending: Extract<Ending, { kind: "refused" }>, parts: SettleParts): Settlement {
  const { job } = ended;
  const { status, category, reason } = ending;
  const bounce: Bounce = {
    type: category === "expired" ? "transient" : "undetermined",
    category,
    smtpCode: null,
    enhancedCode: null,
    mx: null,
  };
  return {
    fate: { kind: "finish" },
    isReached: null,
    record(isHeld) {
      if (!isHeld) return;
      // Nothing was begun by this attempt, so it does not count.
      const attempts = job.attempt - 1;
      const failure = status === "failed" ? JSON.stringify(bounce) : null;
      parts.emails.end(job.id, {
        status,
        sentAt: null,
        deliveredAt: null,
        failedReason: reason,
        bounce: failure,
        attempts,
      });
    },
    committed: () => tell(parts, `email.${status}`, ended, reason),
  };
}

function settleTrouble(ended: Ended, ending: Extract<Ending, { kind: "trouble" }>, parts: SettleParts): Settlement {
  const { job } = ended;
  const { reason, stage, category, badDomainAt } = ending;
  const endedAt = parts.clock.now();
  return {
    fate: { kind: "defer", at: null, lastReply: reason, badDomainAt },
    // DNS and signing say nothing of the destination's servers.
    isReached: null,
    record: () =>
      parts.emails.insertAttempt({
        ...blankAttempt(job, endedAt),
        stage,
        reply: reason,
        outcome: "deferred",
        category,
      }),
    committed: () => tell(parts, "email.delivery_delayed", ended, reason),
  };
}

function settleBadDomain(
  ended: Ended,
  ending: Extract<Ending, { kind: "bad_domain" }>,
  parts: SettleParts,
): Settlement {
  const { job, email, to } = ended;
  const { reason, enhancedCode } = ending;
  const endedAt = parts.clock.now();
  const bounce: Bounce = { type: "permanent", category: "bad_domain", smtpCode: null, enhancedCode, mx: null };
  return {
    fate: { kind: "finish" },
    isReached: null,
    record(isHeld) {
      const attempt = {
        ...blankAttempt(job, endedAt),
        stage: "dns",
        enhancedCode,
        reply: reason,
        category: "bad_domain",
      };
      parts.emails.insertAttempt({ ...attempt, outcome: "bounced" });
      if (!isHeld) return;
      const end = { deliveredAt: null, failedReason: reason, bounce: JSON.stringify(bounce), attempts: job.attempt };
      parts.emails.end(job.id, { status: "bounced", sentAt: null, ...end });
      suppress(email, comparableAddress(to), endedAt, parts);
    },
    committed: () => tell(parts, "email.bounced", ended, reason),
  };
}

function settleTransmitted(
  ended: Ended,
  ending: Extract<Ending, { kind: "transmitted" }>,
  parts: SettleParts,
): Settlement {
  const { job } = ended;
  const { transmission, endedAt } = ending;
  const { result } = transmission;
  const sentAt = transmission.isReached ? (ending.envelopeAcceptedAt ?? endedAt) : null;
  if (result.kind === "accepted") {
    return {
      fate: { kind: "finish" },
      isReached: true,
      record(isHeld) {
        parts.emails.insertAttempt(attemptOf(job, ending, { outcome: "delivered", category: null }));
        const end = { deliveredAt: endedAt, failedReason: null, bounce: null, attempts: job.attempt };
        if (isHeld) parts.emails.end(job.id, { status: "delivered", sentAt, ...end });
        else parts.emails.setDeliveredAt(job.id, endedAt);
      },
      committed: () => tell(parts, "email.delivered", ended, describeTransmission(transmission)),
    };
  }
  const verdict = result.kind === "refused" ? classifyReply(result.reply, result.stage) : classifyBroken(result.stage);
  return verdict.kind === "bounced"
    ? settleBounced(ended, ending, { verdict, sentAt, parts })
    : settleDeferred(ended, ending, { verdict, sentAt, parts });
}

interface Judged {
  verdict: Verdict;
  sentAt: number | null;
  parts: SettleParts;
}

function settleBounced(ended: Ended, ending: Extract<Ending, { kind: "transmitted" }>, judged: Judged): Settlement {
  const { job, email, to } = ended;
  const { transmission, endedAt } = ending;
  const { verdict, sentAt, parts } = judged;
  const reason = describeTransmission(transmission);
  const { type, category, smtpCode, enhancedCode } = verdict;
  const bounce: Bounce = { type, category, smtpCode, enhancedCode, mx: transmission.host };
  return {
    fate: { kind: "finish" },
    isReached: true,
    record(isHeld) {
      parts.emails.insertAttempt(attemptOf(job, ending, { outcome: "bounced", category }));
      if (!isHeld) return;
      const end = { deliveredAt: null, failedReason: reason, bounce: JSON.stringify(bounce), attempts: job.attempt };
      parts.emails.end(job.id, { status: "bounced", sentAt, ...end });
      if (verdict.isHard) suppress(email, comparableAddress(to), endedAt, parts);
    },
    committed: () => tell(parts, "email.bounced", ended, reason),
  };
}

function settleDeferred(ended: Ended, ending: Extract<Ending, { kind: "transmitted" }>, judged: Judged): Settlement {
  const { job } = ended;
  const { transmission } = ending;
  const { verdict, sentAt, parts } = judged;
  const reason = describeTransmission(transmission);
  const isUnknown = transmission.isOutcomeUnknown;
  if (isUnknown && parts.emails.lostAnswers(job.id) + 1 >= MAX_UNKNOWN) return settleLost(ended, ending, judged);
  return {
    fate: { kind: "defer", at: null, lastReply: reason, badDomainAt: null },
    isReached: transmission.isReached || transmission.lastReply !== null,
    record(isHeld) {
      parts.emails.insertAttempt(
        attemptOf(job, ending, { outcome: isUnknown ? "unknown" : "deferred", category: verdict.category }),
      );
      if (!isHeld) return;
      if (sentAt !== null) parts.emails.setSentAt(job.id, sentAt);
      // R28: it may have been taken, and it will be sent again.
      if (isUnknown) parts.emails.setPossibleDuplicate(job.id);
    },
    committed: () => tell(parts, "email.delivery_delayed", ended, reason),
  };
}

/** It may have arrived as often as it was sent: sending it for three days would fill somebody's inbox. */
function settleLost(ended: Ended, ending: Extract<Ending, { kind: "transmitted" }>, judged: Judged): Settlement {
  const { job } = ended;
  const { sentAt, parts } = judged;
  const last = describeTransmission(ending.transmission);
  const reason = `Given up after ${MAX_UNKNOWN} attempts whose answer was lost; it may have been delivered. Last: ${last}`;
  const failedReason = reason.slice(0, MAX_REASON);
  const { category } = judged.verdict;
  const { host } = ending.transmission;
  const bounce: Bounce = { type: "undetermined", category, smtpCode: null, enhancedCode: null, mx: host };
  return {
    fate: { kind: "finish" },
    isReached: true,
    record(isHeld) {
      parts.emails.insertAttempt(attemptOf(job, ending, { outcome: "unknown", category }));
      if (!isHeld) return;
      const end = { deliveredAt: null, failedReason, bounce: JSON.stringify(bounce), attempts: job.attempt };
      parts.emails.end(job.id, { status: "failed", sentAt, ...end });
      parts.emails.setPossibleDuplicate(job.id);
    },
    committed: () => tell(parts, "email.failed", ended, failedReason),
  };
}

function suppress(email: EmailRow, address: string, createdAt: number, parts: SettleParts): void {
  parts.suppressions.insert({
    workspaceId: email.workspaceId,
    channel: "email",
    address,
    reason: "hard_bounce",
    createdAt,
  });
}

function blankAttempt(job: Job, endedAt: number): Omit<AttemptRow, "outcome"> {
  const nothing = {
    host: null,
    address: null,
    tls: null,
    stage: null,
    code: null,
    enhancedCode: null,
    reply: null,
    category: null,
  };
  return { emailId: job.id, number: job.attempt, startedAt: job.startedAt, endedAt, ...nothing };
}

function attemptOf(
  job: Job,
  ending: Extract<Ending, { kind: "transmitted" }>,
  judged: Pick<AttemptRow, "outcome" | "category">,
): AttemptRow {
  const { transmission, endedAt } = ending;
  const { result, host, address, tls, lastReply } = transmission;
  return {
    ...blankAttempt(job, endedAt),
    host,
    address,
    tls: tls === null ? null : `${tls.protocol} ${tls.cipher}`,
    stage: result.kind === "accepted" ? "dot" : result.stage,
    code: lastReply?.code ?? null,
    enhancedCode: lastReply?.enhanced ?? null,
    reply: result.kind === "broken" ? result.reason : result.reply.text,
    ...judged,
  };
}

function tell(parts: SettleParts, event: string, { email, job }: Ended, detail: string): void {
  parts.log.event(event, {
    id: email.uid,
    to: parts.showAddress(email.recipient),
    attempt: job.attempt,
    detail: showAll(detail, parts),
  });
}

/** A server's words may hold the address too. */
function showAll(words: string, parts: SettleParts): string {
  return words.replaceAll(/[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g, (address) => parts.showAddress(address));
}
