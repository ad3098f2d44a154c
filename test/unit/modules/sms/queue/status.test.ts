import { expect, test } from "bun:test";
import { isFinalState, type ReceiptState } from "../../../../../src/modules/sms/receipts/parse.ts";
import {
  advance,
  type MessageState,
  type Segment,
  toSegmentState,
  deriveMessageState,
} from "../../../../../src/modules/sms/queue/status.ts";
import { seeded } from "../../../../support/db/temporary.ts";

function segment(seq: number, more: Partial<Segment> = {}): Segment {
  return {
    ...{ seq, state: "ready", submittedAt: null, acceptedAt: null, receiptState: null, receiptAt: null },
    ...{ expectsReceipt: true, overdue: null, category: null, credit: "reserved" },
    ...more,
  };
}

const ready = (more: Partial<Segment> = {}) => ({ ...more });
const inFlight = { state: "in_flight", submittedAt: 500 } as const;
const unknown = { state: "unknown", submittedAt: 500 } as const;
const accepted = { state: "accepted", submittedAt: 500, acceptedAt: 1_000 } as const;
const refused = { state: "failed", submittedAt: 500, category: "sender_rejected" } as const;
const heldTooLong = { state: "failed", submittedAt: 500, category: "outcome_unknown" } as const;
const late = { state: "expired", category: "throttled" } as const;
const mute = { expectsReceipt: false } as const;
const overdue = { ...accepted, overdue: "sent" } as const;
function reported(receipt: ReceiptState, more: Partial<Segment> = {}): Partial<Segment> {
  return { ...accepted, state: toSegmentState(receipt), receiptState: receipt, receiptAt: 2_000, ...more };
}

type Row = [what: string, segments: Partial<Segment>[], expected: Partial<MessageState>];

const nothing = { failureCategory: null, sentAt: null, deliveredAt: null, abandoned: [], refunded: [] };

const ROWS: Row[] = [
  ["new", [ready(), ready()], { status: "queued", deliveryState: null, ...nothing }],
  ["between retries", [ready({ submittedAt: 500 })], { status: "queued", deliveryState: "pending", ...nothing }],
  ["one under way", [inFlight, ready()], { status: "sending", deliveryState: "pending", ...nothing }],
  ["one in doubt", [unknown], { status: "sending", deliveryState: "pending", ...nothing }],
  ["some accepted", [accepted, ready()], { status: "sending", deliveryState: "pending", ...nothing }],
  [
    "all accepted",
    [accepted, { ...accepted, acceptedAt: 3_000 }],
    {
      ...{ status: "sent", deliveryState: "pending", ...nothing, sentAt: 3_000 },
    },
  ],
  ["SMSC accepted", [reported("accepted"), accepted], { status: "sent", deliveryState: "accepted" }],
  ["on its way", [reported("enroute"), reported("accepted")], { status: "sent", deliveryState: "enroute" }],
  ["one of two delivered", [reported("delivered"), accepted], { status: "sent", deliveryState: "enroute" }],
  ["one of two failed", [reported("rejected"), accepted], { status: "sent", deliveryState: "enroute" }],
  ["a receipt that knows nothing", [reported("unknown")], { status: "sent", deliveryState: "unknown", isOpen: true }],
  [
    "one that knows nothing, one on its way",
    [reported("unknown"), reported("enroute")],
    { status: "sent", deliveryState: "enroute" },
  ],
  [
    "all delivered",
    [reported("delivered"), reported("delivered", { receiptAt: 5_000 })],
    {
      ...{ status: "delivered", deliveryState: "delivered", ...nothing, sentAt: 1_000, deliveredAt: 5_000 },
    },
  ],
  [
    "one delivered, one not",
    [reported("delivered"), reported("undeliverable", { category: "absent_subscriber" })],
    {
      ...{ status: "undelivered", deliveryState: "partially_delivered", failureCategory: "absent_subscriber" },
      ...{ deliveredAt: null, refunded: [] },
    },
  ],
  [
    "one delivered, one expired",
    [reported("delivered"), reported("expired")],
    {
      ...{ status: "undelivered", deliveryState: "partially_delivered", failureCategory: "expired" },
    },
  ],
  [
    "undeliverable",
    [reported("undeliverable")],
    {
      ...{ status: "undelivered", deliveryState: "undeliverable", failureCategory: "provider_error", refunded: [] },
    },
  ],
  ["rejected", [reported("rejected")], { status: "undelivered", deliveryState: "rejected" }],
  ["deleted", [reported("deleted")], { status: "undelivered", deliveryState: "deleted" }],
  [
    "expired in the network",
    [reported("expired")],
    {
      ...{ status: "expired", deliveryState: "expired", failureCategory: "expired", refunded: [] },
    },
  ],
  [
    "expired and worse",
    [reported("expired"), reported("deleted"), reported("rejected")],
    {
      ...{ status: "undelivered", deliveryState: "rejected" },
    },
  ],
  [
    "our time over before any submit",
    [{ ...late }],
    {
      ...{ status: "expired", deliveryState: null, failureCategory: "throttled", sentAt: null, refunded: [1] },
    },
  ],
  [
    "our time over after a try",
    [{ ...late, submittedAt: 500, category: null }],
    {
      ...{ status: "expired", deliveryState: "pending", failureCategory: "expired", refunded: [1] },
    },
  ],
  [
    "refused",
    [refused],
    {
      ...{
        status: "failed",
        deliveryState: "rejected",
        failureCategory: "sender_rejected",
        refunded: [1],
        abandoned: [],
      },
    },
  ],
  [
    "taken off the queue after a try",
    [{ ...refused, category: "internal_error" }],
    { status: "failed", deliveryState: "pending", failureCategory: "internal_error" },
  ],
  [
    "one that the network did not deliver, one that we ended",
    [reported("undeliverable", { category: "absent_subscriber" }), { ...refused, category: "provider_unavailable" }],
    { status: "failed", deliveryState: "undeliverable", failureCategory: "provider_unavailable" },
  ],
  [
    "one that the network did not deliver, one that was refused",
    [reported("undeliverable", { category: "absent_subscriber" }), refused],
    { status: "failed", deliveryState: "rejected", failureCategory: "sender_rejected" },
  ],
  [
    "one that the network rejected, one out of time",
    [reported("rejected"), { ...late, submittedAt: 500 }],
    { status: "expired", deliveryState: "rejected", failureCategory: "throttled" },
  ],
  [
    "opted out before sending",
    [{ state: "failed", category: "opted_out" }],
    {
      ...{ status: "failed", deliveryState: null, failureCategory: "opted_out", refunded: [1] },
    },
  ],
  [
    "the second refused, the third not sent any more",
    [accepted, refused, ready()],
    {
      ...{ status: "failed", deliveryState: "rejected", failureCategory: "sender_rejected" },
      ...{ abandoned: [3], refunded: [2, 3] },
    },
  ],
  [
    "the first refused while the second is under way",
    [refused, inFlight, ready()],
    {
      ...{ status: "sending", deliveryState: "pending", failureCategory: null, abandoned: [3], refunded: [1, 3] },
    },
  ],
  [
    "refused, and a part arrived",
    [reported("delivered"), refused],
    {
      ...{ status: "failed", deliveryState: "partially_delivered", failureCategory: "sender_rejected", refunded: [2] },
    },
  ],
  ["one refused, one out of time", [{ ...late }, refused], { status: "failed", failureCategory: "sender_rejected" }],
  [
    "held and not resolved",
    [heldTooLong],
    {
      ...{ status: "failed", deliveryState: "unknown", failureCategory: "outcome_unknown", refunded: [1] },
    },
  ],
  ["refunded before", [{ ...heldTooLong, credit: "refunded" }], { status: "failed", refunded: [] }],
  [
    "resolved after all",
    [reported("delivered", { credit: "refunded", category: null })],
    {
      ...{ status: "delivered", deliveryState: "delivered", failureCategory: null, refunded: [], sentAt: 1_000 },
    },
  ],
  [
    "a route without receipts",
    [{ ...accepted, ...mute }],
    {
      ...{ status: "sent", deliveryState: "unknown", failureCategory: null, sentAt: 1_000 },
    },
  ],
  [
    "a receipt for the first part only",
    [reported("delivered"), { ...accepted, ...mute }],
    {
      ...{ status: "delivered", deliveryState: "delivered", deliveredAt: 2_000 },
    },
  ],
  [
    "that first part not delivered",
    [reported("undeliverable"), { ...accepted, ...mute }],
    {
      ...{ status: "undelivered", deliveryState: "undeliverable" },
    },
  ],
  ["a receipt that was not expected", [reported("undeliverable", mute)], { status: "undelivered" }],
  [
    "no receipt in time",
    [overdue],
    {
      ...{ status: "sent", deliveryState: "unknown", failureCategory: "receipt_timeout", refunded: [] },
    },
  ],
  [
    "nothing but unknown in time",
    [reported("unknown", { overdue: "sent" })],
    {
      ...{ status: "sent", deliveryState: "unknown", failureCategory: "receipt_timeout" },
    },
  ],
  [
    "one delivered, one silent",
    [reported("delivered"), overdue],
    {
      ...{ status: "sent", deliveryState: "partially_delivered", failureCategory: "receipt_timeout" },
    },
  ],
  ["one rejected, one silent", [reported("rejected"), overdue], { status: "undelivered", deliveryState: "rejected" }],
];

for (const [what, segments, expected] of ROWS) {
  test(`${what}: ${expected.status}, ${expected.deliveryState ?? "no word of the network"}`, () => {
    const rows = segments.map((each, index) => segment(index + 1, each));
    expect(deriveMessageState(rows)).toMatchObject(expected);
    expect(deriveMessageState(rows.toReversed())).toEqual(deriveMessageState(rows));
  });
}

test("a route may call a message undelivered whose receipts did not come", () => {
  const of = (segments: Partial<Segment>[]) =>
    deriveMessageState(
      segments.map((each, index) => segment(index + 1, each.overdue ? { ...each, overdue: "undelivered" } : each)),
    );
  expect(of([overdue])).toMatchObject({ status: "undelivered", deliveryState: "unknown" });
  expect(of([reported("delivered"), overdue])).toMatchObject({ status: "undelivered" });
  expect(of([accepted])).toMatchObject({ status: "sent" });
  expect(of([{ ...accepted, ...mute }])).toMatchObject({ status: "sent" });
});

const LAST: ReceiptState[] = ["delivered", "expired", "deleted", "undeliverable", "rejected"];
const ALL: ReceiptState[] = [...LAST, "enroute", "accepted", "unknown"];

test("a last word stays, except that what expired may be delivered after all", () => {
  for (const current of LAST)
    for (const incoming of ALL) {
      const isLate = current === "expired" && incoming === "delivered";
      expect([current, incoming, advance(current, incoming)]).toEqual([current, incoming, isLate ? "delivered" : null]);
    }
});

test("words before the last are replaced by what comes, but for unknown", () => {
  for (const incoming of ALL) expect(advance(null, incoming)).toBe(incoming);
  for (const incoming of [...LAST, "accepted"] as const) {
    expect(advance("enroute", incoming)).toBe(incoming);
    expect(advance("unknown", incoming)).toBe(incoming);
  }
  expect([advance("enroute", "unknown"), advance("enroute", "enroute"), advance("accepted", "enroute")]).toEqual([
    ...[null, null, "enroute" as const],
  ]);
});

test("however receipts come, no delivered segment becomes anything else and every credit goes back once at most", () => {
  const chance = seeded(11);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T;
  for (let round = 0; round < 3_000; round += 1) {
    let rows = [1, 2, 3].slice(0, 1 + Math.floor(chance() * 3)).map((seq) => segment(seq));
    const refunds: number[] = [];
    for (let step = 0; step < 12; step += 1) {
      const index = Math.floor(chance() * rows.length);
      rows = rows.map((row, at) => (at === index ? next(row, pick) : row));
      const state = deriveMessageState(rows);
      refunds.push(...state.refunded);
      rows = rows.map((row) => ({
        ...row,
        ...(state.abandoned.includes(row.seq) ? { state: "failed" as const, category: state.failureCategory } : {}),
        credit: state.refunded.includes(row.seq) ? ("refunded" as const) : row.credit,
      }));
      expect(state.status === "delivered").toBe(rows.every(({ receiptState }) => receiptState === "delivered"));
      expect(state.sentAt !== null).toBe(rows.every(({ acceptedAt }) => acceptedAt !== null));
      expect(state.failureCategory !== null).toBe(["failed", "expired", "undelivered"].includes(state.status));
      expect(deriveMessageState(rows).abandoned).toEqual([]);
    }
    expect(new Set(refunds).size).toBe(refunds.length);
  }
});

/** A step that a segment's row may take. */
function next(row: Segment, pick: <T>(list: readonly T[]) => T): Segment {
  switch (row.state) {
    case "ready":
      return { ...row, ...pick([inFlight, inFlight, { ...late }]) };
    case "in_flight":
      return { ...row, ...pick([accepted, accepted, unknown, refused, { state: "ready" as const }]) };
    case "unknown":
      return { ...row, ...pick([accepted, heldTooLong, { state: "ready" as const }]) };
    case "failed":
    case "expired":
      if (row.acceptedAt === null)
        return row.category === "outcome_unknown" ? { ...row, ...accepted, category: null } : row;
      return withReceipt(row, pick(ALL));
    case "accepted":
    case "delivered":
      return withReceipt(row, pick(ALL));
  }
}

function withReceipt(row: Segment, incoming: ReceiptState): Segment {
  const word = advance(row.receiptState, incoming);
  expect(row.receiptState === "delivered" ? word : null).toBe(null);
  if (word === null) return row;
  expect(isFinalState(word) || !isFinalState(row.receiptState ?? "enroute")).toBe(true);
  return { ...row, state: toSegmentState(word), receiptState: word, receiptAt: 2_000 };
}
