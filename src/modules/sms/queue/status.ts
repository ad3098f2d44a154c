// Derives the public state of an SMS from its segments. Only this file decides these words. Pure.
//
// A message is `queued` until a segment is under way, `sending` until the SMSC has all, then `sent`. From then on the
// receipts count: all delivered, or else the worst of the last words. A segment that the SMSC never took makes it `failed`,
// or `expired` when our own time ran out, whatever became of the others; the rest of it is not sent. Late evidence of a
// segment that was given up corrects all of that.

import type { FailureCategory } from "../receipts/failure.ts";
import { isFinalState, type ReceiptState } from "../receipts/parse.ts";
import type { MessageRow } from "./message-store.ts";
import type { SegmentRow } from "./segment-read-store.ts";

/**
 * A segment's row, as far as it counts here; times in Unix ms. `submittedAt` null: no submit_sm was written. `acceptedAt`:
 * by its response or by a receipt. `receiptState`: the last word of receipts that counted (`advance`). `expectsReceipt`
 * false: the route gives none for this part, and one that comes all the same counts. `overdue` null: its last receipt is
 * still waited for. `category` null: nothing is wrong.
 */
export type Segment = Pick<
  SegmentRow,
  | "seq"
  | "state"
  | "submittedAt"
  | "acceptedAt"
  | "receiptState"
  | "receiptAt"
  | "expectsReceipt"
  | "overdue"
  | "category"
  | "credit"
>;
/** `unknown`: submitted, and whether it arrived is not known. `accepted` also says that no final receipt came. */
export type SegmentState = Segment["state"];
type DeliveryState = NonNullable<MessageRow["deliveryState"]>;

/** `deliveryState` null: before a submit. */
export interface MessageState extends Pick<MessageRow, "status" | "deliveryState" | "failureCategory"> {
  /** When the SMSC had taken the last segment; Unix ms, null: it has not taken all. */
  sentAt: number | null;
  /** When the last receipt of delivery came; null: not all are delivered. */
  deliveredAt: number | null;
  /** Segments that wait and are not to be sent any more: end them, `failed`, in the same transaction. */
  abandoned: number[];
  /** All were taken, and a last receipt is waited for. */
  isOpen: boolean;
  /** Segments whose credit is to be given back now, those of `abandoned` among them. */
  refunded: number[];
}

/** What a message is called whose receipts did not come in time. */
type OverdueStatus = NonNullable<Segment["overdue"]>;
type Words = Pick<MessageState, "status" | "deliveryState" | "failureCategory">;

/** The state of a message of these segments, at least one, in any order. */
export function deriveMessageState(segments: readonly Segment[]): MessageState {
  const overdueStatus = segments.find(({ overdue }) => overdue !== null)?.overdue ?? "sent";
  const refused = segments.filter((each) => each.acceptedAt === null && isGivenUp(each));
  const isStopped = refused.length > 0;
  const abandoned = isStopped ? segments.filter(({ state }) => state === "ready") : [];
  const refunded = [...refused, ...abandoned].filter(({ credit }) => credit === "reserved");
  const areAllAccepted = segments.every(({ acceptedAt }) => acceptedAt !== null);
  const words = deriveWords(segments, refused, overdueStatus);
  const isOpen = words.status === "sent" && filterReported(segments).some((each) => !isClosed(each));
  return {
    ...words,
    sentAt: areAllAccepted ? latest(segments.map(({ acceptedAt }) => acceptedAt)) : null,
    deliveredAt: words.status === "delivered" ? latest(segments.map(({ receiptAt }) => receiptAt)) : null,
    abandoned: toNumbers(abandoned),
    refunded: toNumbers(refunded),
    isOpen,
  };
}

function isGivenUp({ state }: Segment): boolean {
  return state === "failed" || state === "expired";
}

function deriveWords(segments: readonly Segment[], refused: readonly Segment[], overdueStatus: OverdueStatus): Words {
  const isUnderWay = segments.some(({ state }) => state === "in_flight" || state === "unknown");
  if (refused.length > 0 && !isUnderWay) return deriveRefused(segments, refused);
  if (segments.every(({ acceptedAt }) => acceptedAt !== null)) return deriveAccepted(segments, overdueStatus);
  const isSending = isUnderWay || segments.some(({ acceptedAt }) => acceptedAt !== null);
  const status = isSending ? "sending" : "queued";
  return { status, deliveryState: segments.some(wasTried) ? "pending" : null, failureCategory: null };
}

/** A part at least never reached the SMSC. What reached it may still arrive, and then part of the message did. */
function deriveRefused(segments: readonly Segment[], refused: readonly Segment[]): Words {
  const inOrder = refused.toSorted((a, b) => a.seq - b.seq);
  const failed = inOrder.find(({ state }) => state === "failed");
  const category = (failed ?? inOrder[0])?.category ?? (failed === undefined ? "expired" : "internal_error");
  return {
    status: failed === undefined ? "expired" : "failed",
    deliveryState: deriveRefusedDelivery(segments, category),
    failureCategory: category,
  };
}

function deriveRefusedDelivery(segments: readonly Segment[], category: FailureCategory): DeliveryState | null {
  if (segments.some(isDelivered)) return "partially_delivered";
  if (category === "outcome_unknown") return "unknown";
  if (!segments.some(wasTried)) return null;
  if (segments.some(isRefused)) return "rejected";
  const reported = segments.filter(hasLastWord);
  return reported.length > 0 ? findWorst(reported).receiptState : "pending";
}

/** By the SMSC's answer to its submit, for good. What it took may have failed too, by a receipt. */
function isRefused(segment: Segment): boolean {
  const { state, acceptedAt, category } = segment;
  return state === "failed" && wasTried(segment) && acceptedAt === null && !OUR_OWN.includes(category);
}

function wasTried({ submittedAt }: Segment): boolean {
  return submittedAt !== null;
}

function isDelivered({ receiptState }: Segment): boolean {
  return receiptState === "delivered";
}

/** Why we end what waits to be tried again, though it was not refused. */
const OUR_OWN: readonly (FailureCategory | null)[] = [
  "opted_out",
  "outcome_unknown",
  "provider_unavailable",
  "internal_error",
];

/** The SMSC has all of it. */
function deriveAccepted(segments: readonly Segment[], overdueStatus: OverdueStatus): Words {
  const reported = filterReported(segments);
  if (reported.length === 0) return { status: "sent", deliveryState: "unknown", failureCategory: null };
  if (reported.some((each) => !isClosed(each)))
    return { status: "sent", deliveryState: openState(reported), failureCategory: null };
  const delivered = reported.filter(isDelivered);
  if (delivered.length === reported.length)
    return { status: "delivered", deliveryState: "delivered", failureCategory: null };
  const worst = findWorst(reported);
  const failureCategory = worst.category ?? defaultCategory(worst);
  if (delivered.length > 0) {
    const status = hasLastWord(worst) ? "undelivered" : overdueStatus;
    return { status, deliveryState: "partially_delivered", failureCategory };
  }
  if (!hasLastWord(worst)) return { status: overdueStatus, deliveryState: "unknown", failureCategory };
  const status = worst.receiptState === "expired" ? "expired" : "undelivered";
  return { status, deliveryState: worst.receiptState, failureCategory };
}

/** Those that the network says something of. */
function filterReported(segments: readonly Segment[]): Segment[] {
  return segments.filter(({ expectsReceipt, receiptState }) => expectsReceipt || receiptState !== null);
}

/** Whether its last receipt came. */
export function hasLastWord({ receiptState }: Pick<Segment, "receiptState">): boolean {
  return receiptState !== null && isFinalState(receiptState);
}

function isClosed(segment: Segment): boolean {
  return hasLastWord(segment) || segment.overdue !== null;
}

/** While a part is open: the first receipt that says more than that the SMSC has it makes it enroute, but for `unknown`. */
function openState(reported: readonly Segment[]): DeliveryState {
  const words = reported.map(({ receiptState }) => receiptState).filter((receipt) => receipt !== null);
  if (words.some((word) => word !== "accepted" && word !== "unknown")) return "enroute";
  if (words.includes("unknown")) return "unknown";
  return words.length > 0 ? "accepted" : "pending";
}

/** From the worst on. An unknown outcome is no worse than a known one. */
const WORST_FIRST: readonly (ReceiptState | null)[] = ["undeliverable", "rejected", "deleted", "expired"];

function findWorst(reported: readonly Segment[]): Segment {
  const rank = ({ receiptState }: Segment) =>
    (WORST_FIRST.indexOf(receiptState) + WORST_FIRST.length + 1) % (WORST_FIRST.length + 1);
  const undelivered = reported.filter((each) => !isDelivered(each));
  const [worst] = undelivered.toSorted((a, b) => rank(a) - rank(b) || a.seq - b.seq);
  if (worst === undefined) throw new Error("all segments are delivered");
  return worst;
}

/** Where neither the receipt nor the route says why. */
function defaultCategory(segment: Segment): FailureCategory {
  if (!hasLastWord(segment)) return "receipt_timeout";
  return segment.receiptState === "expired" ? "expired" : "provider_error";
}

function latest(times: (number | null)[]): number | null {
  return times.reduce((last, time) => (time !== null && (last === null || time > last) ? time : last), null);
}

function toNumbers(segments: readonly Segment[]): number[] {
  return segments.map(({ seq }) => seq).toSorted((a, b) => a - b);
}

/**
 * The word that counts after another receipt for the same segment, or null: the new one changes nothing.
 * Receipts come twice, late and out of order. A last word stays, except that a message reported expired
 * may be reported delivered after all; words before it are replaced by whatever comes, but for `unknown`.
 */
export function advance(current: ReceiptState | null, incoming: ReceiptState): ReceiptState | null {
  if (current === incoming) return null;
  if (current === null) return incoming;
  if (isFinalState(current)) return current === "expired" && incoming === "delivered" ? incoming : null;
  return incoming === "unknown" ? null : incoming;
}

/** The state of a segment's row that the word of a receipt makes, `accepted` for one that is not the last. */
export function toSegmentState(receipt: ReceiptState): SegmentState {
  if (!isFinalState(receipt)) return "accepted";
  if (receipt === "delivered" || receipt === "expired") return receipt;
  return "failed";
}
