// Settles a message whose segments changed, inside that transaction and once for each message.
// Its public state is derived (status.ts) and written, what is not to be sent any more is ended, credits of segments that
// never reached the SMSC are given back, and its events are emitted. The store of the segments calls it for each change,
// once.

import { changeCredits, type CreditStore } from "../../workspaces/credit-store.ts";
import type { WorkspaceStore } from "../../workspaces/store.ts";
import { type MessageState, deriveMessageState } from "./status.ts";
import type { SegmentStore } from "./segment-store.ts";
import type { MessageChange, MessageRow, MessageStore, PublicState } from "./message-store.ts";
import { SILENT, type SegmentRow, type ProviderWords } from "./segment-read-store.ts";

export interface SettleDeps {
  messages: Pick<MessageStore, "byId" | "setState" | "changed">;
  segments: Pick<SegmentStore, "listByMessage" | "abandonReady" | "setCredit">;
  workspaces: Pick<WorkspaceStore, "addCredits">;
  credits: Pick<CreditStore, "insert">;
  /** Inside the transaction: messages ended so, and were sent again because an answer was lost. */
  counts: { changed: (status: MessageChange["status"]) => void; duplicated: () => void };
}

/** A message of a deleted workspace has nothing left to settle. */
export function settleMessage(messageId: number, deps: SettleDeps): void {
  const before = deps.messages.byId(messageId);
  if (before === undefined) return;
  const rows = listSegments(before, deps);
  if (rows.length === 0) return;
  const state = deriveMessageState(rows);
  const at = rows.reduce((last, { changedAt }) => Math.max(last, changedAt ?? 0), before.createdAt);
  if (state.abandoned.length > 0) deps.segments.abandonReady(messageId, at, toAbandonedWords(state));
  settleCredits(before, { rows, refunded: state.refunded, at }, deps);
  const after = publicState(state, rows);
  if (isSame(before, after)) return;
  const message = deps.messages.setState(before, { ...after, lastEventAt: at });
  if (after.possibleDuplicate && !before.possibleDuplicate) deps.counts.duplicated();
  emitChanges(before, message, at, deps);
}

/** Segments that wait are abandoned if the message's recipient was erased. */
function listSegments({ id, isErased, createdAt }: MessageRow, { segments }: SettleDeps): SegmentRow[] {
  const rows = segments.listByMessage(id);
  if (!isErased || !rows.some(({ state }) => state === "ready")) return rows;
  const at = rows.reduce((last, { changedAt }) => Math.max(last, changedAt ?? 0), createdAt);
  segments.abandonReady(id, at, { ...SILENT, category: "internal_error", reason: "Its recipient was erased" });
  return segments.listByMessage(id);
}

/** Another part of the message was refused for good, so that the rest is worth nothing. */
function toAbandonedWords({ failureCategory }: MessageState): ProviderWords {
  return { ...SILENT, category: failureCategory, reason: "Another part of the message could not be sent" };
}

/**
 * Gives credits back, each once. What was given back and turns out to have reached the SMSC after all stays
 * given back: it is written off, so that the operator sees what it cost.
 */
function settleCredits(
  message: MessageRow,
  { rows, refunded, at }: { rows: SegmentRow[]; refunded: number[]; at: number },
  deps: SettleDeps,
): void {
  const lost = rows.filter(({ credit, acceptedAt }) => credit === "refunded" && acceptedAt !== null);
  const returned = rows.filter(({ seq }) => refunded.includes(seq));
  for (const [segments, credit, kind] of [
    [returned, "refunded", "refund"],
    [lost, "written_off", "writeoff"],
  ] as const) {
    const count = segments.length;
    if (count === 0) continue;
    for (const segment of segments) deps.segments.setCredit(segment, credit);
    const amount = kind === "refund" ? count : 0;
    const { id: messageId, workspaceId } = message;
    changeCredits({ workspaceId, kind, amount, messageId, segments: count, note: null, createdAt: at }, deps);
  }
}

function publicState(state: MessageState, rows: SegmentRow[]): Omit<PublicState, "lastEventAt"> {
  const { status, deliveryState, failureCategory, sentAt, deliveredAt } = state;
  const said = rows
    .filter(({ providerStatus }) => providerStatus !== null)
    .toSorted((a, b) => (b.changedAt ?? 0) - (a.changedAt ?? 0) || b.seq - a.seq)[0];
  return {
    status,
    deliveryState,
    failureCategory,
    providerId: rows[0]?.smscId ?? null,
    providerStatus: said?.providerStatus ?? null,
    providerErrorCode: said?.providerCode ?? null,
    failedReason: failureCategory === null ? null : findReason(failureCategory, rows),
    credits: rows.filter(({ seq, credit }) => credit === "reserved" && !state.refunded.includes(seq)).length,
    possibleDuplicate: rows.some(({ resends }) => resends > 0),
    sentAt,
    deliveredAt,
    isFinal: isFinal(state),
  };
}

/** Whether the passing of time changes nothing any more. */
function isFinal({ status, deliveryState, isOpen }: MessageState): boolean {
  if (status === "queued" || status === "sending" || isOpen) return false;
  return status !== "sent" || deliveryState === "unknown" || deliveryState === "partially_delivered";
}

function findReason(category: NonNullable<MessageState["failureCategory"]>, rows: SegmentRow[]): string {
  const given = rows.find((row) => row.category === category && row.reason !== null)?.reason;
  return given ?? REASONS[category];
}

const REASONS: Record<NonNullable<MessageState["failureCategory"]>, string> = {
  invalid_destination: "The number cannot be reached from this provider",
  unknown_subscriber: "There is no subscriber with this number",
  absent_subscriber: "The phone was switched off or out of reach",
  handset_error: "The phone could not take it",
  blocked: "The network or the subscriber blocks such messages",
  opted_out: "The recipient does not want messages any more",
  sender_rejected: "The provider does not take this sender id",
  content_rejected: "The provider refused the message",
  throttled: "The provider could not take it in time: too many messages at once",
  provider_auth: "The provider did not let us in",
  provider_unavailable: "The provider could not be reached in time",
  provider_error: "The provider could not deliver it, and did not say why",
  protocol_error: "The provider did not understand how it was sent",
  expired: "It could not be delivered before its time was over",
  receipt_timeout: "The provider accepted it and never said what became of it",
  outcome_unknown: "The provider's answer was lost: it may have been delivered",
  internal_error: "Something went wrong inside pombo",
};

function isSame(before: MessageRow, after: Omit<PublicState, "lastEventAt">): boolean {
  const names = Object.keys(after) as (keyof typeof after)[];
  return names.every((name) => before[name] === after[name]);
}

/** `sent` is emitted also where its receipt came in the same transaction. */
function emitChanges(before: MessageRow, message: MessageRow, at: number, { messages, counts }: SettleDeps): void {
  const tell = (status: MessageChange["status"]) => {
    messages.changed({ message, status, at });
    counts.changed(status);
  };
  const { status } = message;
  if (before.sentAt === null && message.sentAt !== null) tell("sent");
  if (status !== before.status && status !== "queued" && status !== "sending" && status !== "sent") tell(status);
}
