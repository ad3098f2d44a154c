// The timeline of an email, oldest first, read from its own times and its attempts: no row is
// written for it. An attempt stands where it ended, as what the email came to by it; an end that no
// attempt brought (canceled, expired, suppressed, bounced by mail) has an entry of its own. Reports
// by mail have their own entries, beside the status that they led to.

import { toIsoTime } from "../../../platform/http/times.ts";
import { parseDialogue } from "../../../protocols/smtp/session/transcript.ts";
import type { EmailStatus, TimelineEntry } from "./schema.ts";
import type { ReportRow } from "../reports/store.ts";
import type { AttemptRow, EmailRow, EmailState, QueueRow } from "../store/store.ts";
import { NO_CONNECTION, parseTries, type StoredTry } from "../delivery/connection-attempts.ts";

/** An email has about 20 attempts in 72 hours; a caller that retries it by hand may make many more. */
export const MAX_SHOWN_ATTEMPTS = 1_000;

type ShownEntry = typeof TimelineEntry.static;
type Entry = Omit<ShownEntry, "dialogue">;

/** `attempts`: those that have ended, in their order; `reports` in theirs. */
export function showTimeline(
  { email, queue }: EmailState,
  attempts: AttemptRow[],
  reports: readonly ReportRow[] = [],
): Entry[] {
  const entries: Entry[] = [
    {
      type: email.sendAt === null ? "email.queued" : "email.scheduled",
      at: toIsoTime(email.createdAt),
      reason: null,
    },
    ...attempts.map((attempt) => ended(attempt, email)),
    ...reports.map(reported),
  ];
  const isEndTold = attempts.some((attempt) => isEnd(attempt, email));
  if (email.endedAt !== null && !isEndTold) {
    entries.push({ type: `email.${email.status}`, at: toIsoTime(email.endedAt), reason: email.failedReason });
  }
  if (queue?.inFlight === true && queue.startedAt !== null) entries.push(running(queue, queue.startedAt));
  // A report that overtakes the answer to its message ends it before the attempt has ended.
  return entries.toSorted((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1));
}

/** The entries of attempts that have ended with what was said in them. */
export function addDialogues(entries: Entry[], attempts: readonly AttemptRow[]): ShownEntry[] {
  const stored = new Map(attempts.map(({ number, dialogue }) => [number, dialogue]));
  return entries.map((entry) => {
    const dialogue = entry.attempt === undefined ? undefined : (stored.get(entry.attempt) ?? null);
    return dialogue === undefined ? entry : { ...entry, dialogue: dialogue === null ? null : parseDialogue(dialogue) };
  });
}

function ended(attempt: AttemptRow, email: EmailRow): Entry {
  const { outcome, category, egress, host, address, tls, stage, code, enhancedCode, reply } = attempt;
  const endedAt = toIsoTime(attempt.endedAt);
  return {
    type: `email.${statusAfter(attempt, email)}`,
    at: endedAt,
    reason: isEnd(attempt, email) ? email.failedReason : null,
    attempt: attempt.number,
    startedAt: toIsoTime(attempt.startedAt),
    endedAt,
    outcome,
    category,
    egress,
    host,
    address,
    tls,
    stage,
    code,
    enhancedCode,
    reply,
    tries: parseTries(attempt.tries)?.map(showTry) ?? null,
  };
}

function reported({ emailId: _emailId, number: _number, kind, at, ...report }: ReportRow): Entry {
  const { isPermanent: permanent, remoteMta: host, diagnostic: reply, ...rest } = report;
  return { type: `report.${kind}`, at: toIsoTime(at), reason: null, permanent, host, reply, ...rest };
}

function showTry({ isReused, endedAt, ...connection }: StoredTry): NonNullable<Entry["tries"]>[number] {
  return { ...connection, reused: isReused, endedAt: toIsoTime(endedAt) };
}

/** Nothing is known of it yet but that it began. */
function running({ attempts }: QueueRow, startedAt: number): Entry {
  const at = toIsoTime(startedAt);
  const begun = { type: "email.sending", at, reason: null, attempt: attempts, startedAt: at, endedAt: null } as const;
  const { dialogue: _dialogue, ...connection } = NO_CONNECTION;
  return { ...begun, outcome: null, category: null, ...connection };
}

/** The email came to its end by this attempt, and not by a report while it ran. */
function isEnd(attempt: AttemptRow, email: EmailRow): boolean {
  return statusAfter(attempt, email) === email.status && attempt.endedAt === email.endedAt;
}

function statusAfter({ number, outcome, endedAt }: AttemptRow, email: EmailRow): EmailStatus {
  switch (outcome) {
    case "delivered":
    case "sent":
    case "bounced":
    case "failed":
      return outcome;
    case "deferred":
      return "delivery_delayed";
    case "unknown":
      // Of several lost answers the last is one too many (modules/emails/delivery/record-result.ts), and ends the email with itself.
      return email.status === "failed" && email.attempts === number && email.endedAt === endedAt
        ? "failed"
        : "delivery_delayed";
  }
}
