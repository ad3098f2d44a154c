// The timeline of an SMS, oldest first, read from its own times and those of its segments: no row is written for it. A
// segment keeps its last submission only, with the number of them.

import { toIsoTime } from "../../../platform/http/times.ts";
import type { MessageRow } from "../queue/message-store.ts";
import type { SegmentRow } from "../queue/segment-read-store.ts";
import type { SmsTimelineEntry } from "./schema.ts";

type Entry = typeof SmsTimelineEntry.static;

/** `segments`: all of the message's, in their order. */
export function showSmsTimeline(message: MessageRow, segments: readonly SegmentRow[]): Entry[] {
  const { status, failedReason, createdAt, sentAt, deliveredAt, lastEventAt, isFinal } = message;
  const entries = [toEntry("sms.queued", createdAt), ...segments.flatMap(listSegmentEntries)];
  if (sentAt !== null) entries.push(toEntry("sms.sent", sentAt));
  if (status === "delivered" && deliveredAt !== null) entries.push(toEntry("sms.delivered", deliveredAt));
  else if (isFinal && status !== "sent" && status !== "sending" && lastEventAt !== null)
    entries.push({ ...toEntry(`sms.${status}`, lastEventAt), reason: failedReason });
  return entries.toSorted((a, b) => a.at - b.at).map(({ at, ...entry }) => ({ ...entry, at: toIsoTime(at) }));
}

type DatedEntry = Omit<Entry, "at"> & { at: number };

function toEntry(type: Entry["type"], at: number): DatedEntry {
  return { type, at, reason: null };
}

function listSegmentEntries(row: SegmentRow): DatedEntry[] {
  const entries: DatedEntry[] = [];
  const add = (type: Entry["type"], at: number | null, rest: Partial<DatedEntry> = {}) => {
    if (at !== null) entries.push({ ...toEntry(type, at), segment: row.seq, ...rest });
  };
  const said = { providerStatus: row.providerStatus, providerErrorCode: row.providerCode };
  const attempt = row.attempts;
  add("segment.submitted", row.submittedAt, { attempt });
  add("segment.accepted", row.acceptedAt, { providerId: row.smscId });
  add("segment.receipt", row.receiptAt, { ...said, receiptState: row.receiptState });
  if (row.receiptAt !== null) return entries;
  const { reason, changedAt } = row;
  if (row.state === "ready" && row.attempts > 0)
    add("segment.deferred", changedAt, { ...said, reason, attempt, nextAttemptAt: toIsoTime(row.nextAt) });
  if (row.state === "unknown") add("segment.uncertain", changedAt, { reason: LOST_RESPONSE });
  if (row.state === "failed" || row.state === "expired") add(`segment.${row.state}`, changedAt, { ...said, reason });
  return entries;
}

const LOST_RESPONSE = "The provider's response was lost: it may have been delivered";
