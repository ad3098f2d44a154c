import { expect, test } from "bun:test";
import type { MessageChange } from "../../../../../src/modules/sms/queue/message-store.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { addMessage, addWorkspace, openLedger } from "../../../../support/sms/rows.ts";
import type { SegmentRow, ProviderWords } from "../../../../../src/modules/sms/queue/segment-read-store.ts";

const FINE: ProviderWords = { providerStatus: "ESME_ROK", providerCode: "0x00000000", category: null, reason: null };
const DELIVERED: ProviderWords = { providerStatus: "DELIVRD", providerCode: "000", category: null, reason: null };
const REFUSED: ProviderWords = {
  providerStatus: "ESME_RINVDSTADR",
  providerCode: "0x0000000B",
  category: "invalid_destination",
  reason: "The provider knows no such number",
};
const LOST: ProviderWords = { providerStatus: null, providerCode: null, category: "outcome_unknown", reason: null };

async function start(parts = 1) {
  const of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const { commit } = of.committer;
  const told: string[] = [];
  ledger.messages.followChanges(({ status, message }: MessageChange) => void told.push(`${status} ${message.uid}`));
  const workspaceId = await commit(() => addWorkspace(ledger, 100));
  const id = await commit(() => addMessage(ledger, parts, { message: { workspaceId } }));
  const { segments, messages, credits, workspaces } = ledger;
  const claim = { route: "vodacom", priority: "transactional", workspaceId, link: "a", leaseEpoch: 1 } as const;
  return {
    commit,
    id,
    segments,
    messages,
    workspaces,
    told,
    /** Puts all that is ready in flight. */
    claim: (now: number) => commit(() => segments.claim({ ...claim, now, limit: 100 })),
    row: (seq = 1): SegmentRow => {
      const found = segments.find(id, seq);
      if (found === undefined) throw new Error("there is no such segment");
      return found;
    },
    accept: (seq: number, now: number) => {
      const from = segments.find(id, seq);
      if (from === undefined) throw new Error("there is no such segment");
      return segments.accept(from, { smscId: `ID${seq}`, smscIdKey: `id${seq}`, expectsReceipt: true, now }, FINE);
    },
    message: () => {
      const found = messages.byId(id);
      if (found === undefined) throw new Error("there is no such message");
      const { uid: _, ...shown } = found;
      return shown;
    },
    ledger: () =>
      credits
        .list(workspaceId, null, 10)
        .map(({ kind, amount, segments: count, messageId }) => [kind, amount, count, messageId]),
    balance: () => workspaces.byId(workspaceId)?.smsCredits,
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

test("a text goes from queued over sending and sent to delivered, each told once", async () => {
  using on = await start();
  expect(on.message()).toMatchObject({ status: "queued", deliveryState: null, lastEventAt: null, isFinal: false });
  await on.claim(10);
  expect(on.message()).toMatchObject({ status: "sending", deliveryState: "pending", lastEventAt: 10 });
  await on.commit(() => on.accept(1, 20));
  expect(on.message()).toMatchObject({
    status: "sent",
    deliveryState: "pending",
    providerId: "ID1",
    providerStatus: "ESME_ROK",
    providerErrorCode: "0x00000000",
    sentAt: 20,
    deliveredAt: null,
    lastEventAt: 20,
    isFinal: false,
  });
  const delivered = { state: "delivered", receiptState: "delivered", now: 30 } as const;
  await on.commit(() => on.segments.receipt(on.row(), delivered, DELIVERED));
  expect(on.message()).toMatchObject({
    status: "delivered",
    deliveryState: "delivered",
    providerStatus: "DELIVRD",
    failureCategory: null,
    failedReason: null,
    sentAt: 20,
    deliveredAt: 30,
    lastEventAt: 30,
    credits: 1,
    isFinal: true,
  });
  expect(on.told.map((each) => each.split(" ")[0])).toEqual(["sent", "delivered"]);
  expect(on.ledger()).toEqual([["grant", 100, null, null]]);
});

test("an answer and its receipt in one transaction tell of both, and a change of nothing public tells of nothing", async () => {
  using on = await start(2);
  await on.claim(10);
  await on.commit(() => on.accept(1, 20));
  const before = on.message();
  // The second part's answer says nothing new of the message before all are accepted.
  expect(before).toMatchObject({ status: "sending", sentAt: null });
  await on.commit(() => {
    on.accept(2, 30);
    for (const seq of [1, 2])
      on.segments.receipt(on.row(seq), { state: "delivered", receiptState: "delivered", now: 30 }, DELIVERED);
  });
  expect(on.told.map((each) => each.split(" ")[0])).toEqual(["sent", "delivered"]);
  await on.commit(() => on.segments.delayReady(on.id, 99));
  expect(on.told).toHaveLength(2);
});

test("a part that is refused ends the parts that wait, and all that never got through is given back once", async () => {
  using on = await start(3);
  await on.claim(10);
  await on.commit(() => {
    on.accept(1, 20);
    const again = { now: 20, nextAt: 50, isCounted: true, isResend: false };
    on.segments.retry(on.row(3), again, { ...FINE, providerStatus: "ESME_RTHROTTLED" });
  });
  await on.commit(() => on.segments.end(on.row(2), { state: "failed", now: 30 }, REFUSED));
  expect(on.message()).toMatchObject({
    status: "failed",
    deliveryState: "rejected",
    failureCategory: "invalid_destination",
    failedReason: "The provider knows no such number",
    providerStatus: "ESME_RINVDSTADR",
    providerErrorCode: "0x0000000B",
    credits: 1,
    isFinal: true,
  });
  expect(on.row(3)).toMatchObject({ state: "failed", category: "invalid_destination", credit: "refunded" });
  expect(on.ledger()[0]).toEqual(["refund", 2, 2, on.id]);
  expect(on.balance()).toBe(102);
  // Whatever comes after that gives nothing back again.
  const delivered = { state: "delivered", receiptState: "delivered", now: 40 } as const;
  await on.commit(() => on.segments.receipt(on.row(1), delivered, DELIVERED));
  expect(on.message()).toMatchObject({ status: "failed", deliveryState: "partially_delivered" });
  expect(on.balance()).toBe(102);
  expect(on.told.map((each) => each.split(" ")[0])).toEqual(["failed"]);
});

test("a text that expires unsent is given back", async () => {
  using on = await start(2);
  const said: ProviderWords = { ...REFUSED, category: "expired", reason: null };
  await on.commit(() => on.segments.endReady(on.id, { state: "expired", now: 50 }, said));
  expect(on.message()).toMatchObject({
    status: "expired",
    deliveryState: null,
    failureCategory: "expired",
    failedReason: "It could not be delivered before its time was over",
    credits: 0,
  });
  expect(on.ledger()[0]).toEqual(["refund", 2, 2, on.id]);
  expect(on.told.map((each) => each.split(" ")[0])).toEqual(["expired"]);
});

test("a lost outcome is given back, and the late proof is written off instead of taken again", async () => {
  using on = await start();
  await on.claim(10);
  await on.commit(() => on.segments.unknown(on.row(), { now: 20, giveUpAt: 140 }));
  expect(on.message()).toMatchObject({ status: "sending", deliveryState: "pending" });
  await on.commit(() => on.segments.end(on.row(), { state: "failed", now: 140 }, LOST));
  expect(on.message()).toMatchObject({
    status: "failed",
    deliveryState: "unknown",
    failureCategory: "outcome_unknown",
    credits: 0,
  });
  expect(on.message().failedReason).toContain("it may have been delivered");
  expect(on.balance()).toBe(101);
  const delivered = { state: "delivered", receiptState: "delivered", now: 200 } as const;
  await on.commit(() => on.segments.receipt(on.row(), delivered, DELIVERED));
  expect(on.message()).toMatchObject({ status: "delivered", sentAt: 200, deliveredAt: 200, credits: 0 });
  expect(on.ledger().slice(0, 2)).toEqual([
    ["writeoff", 0, 1, on.id],
    ["refund", 1, 1, on.id],
  ]);
  expect(on.balance()).toBe(101);
  expect(on.told.map((each) => each.split(" ")[0])).toEqual(["failed", "sent", "delivered"]);
});

test("what is sent again after a lost answer is marked as a possible duplicate", async () => {
  using on = await start();
  await on.claim(10);
  await on.commit(() => on.segments.unknown(on.row(), { now: 20, giveUpAt: 140 }));
  const again = { now: 30, nextAt: 30, isCounted: true, isResend: true };
  await on.commit(() => on.segments.retry(on.row(), again, FINE));
  expect(on.message()).toMatchObject({ possibleDuplicate: true, status: "queued", deliveryState: "pending" });
  expect(on.told).toEqual([]);
});

test("a receipt that never comes ends the wait as the route says", async () => {
  for (const [status, end] of [
    ["sent", "sent"],
    ["undelivered", "undelivered"],
  ] as const) {
    using on = await start();
    await on.claim(10);
    await on.commit(() => on.accept(1, 20));
    expect(on.messages.expired("sent", 86_400_000, 10)).toEqual([on.id]);
    await on.commit(() => on.segments.overdue(on.row(), { status, now: 90_000_000 }));
    expect(on.message()).toMatchObject({
      status: end,
      deliveryState: "unknown",
      failureCategory: "receipt_timeout",
      isFinal: true,
      credits: 1,
    });
    expect(on.messages.expired("sent", 86_400_000, 10)).toEqual([]);
    expect(on.balance()).toBe(100);
  }
});

test("on a route without receipts accepted is all that is known, and final", async () => {
  using on = await start();
  await on.claim(10);
  const answer = { smscId: null, smscIdKey: null, expectsReceipt: false, now: 20 };
  await on.commit(() => on.segments.accept(on.row(), answer, FINE));
  expect(on.message()).toMatchObject({ status: "sent", deliveryState: "unknown", providerId: null, isFinal: true });
});

test("of a message that was removed with its workspace nothing is settled", async () => {
  using on = await start();
  const row = on.row();
  await on.claim(10);
  expect(await on.commit(() => on.segments.end({ ...row, messageId: 999 }, { state: "failed", now: 1 }, LOST))).toBe(
    false,
  );
  expect(on.balance()).toBe(100);
});

test("of an erased message nothing that waits is sent, nor what is refused for now; what was taken counts on", async () => {
  using other = await start(2);
  await other.claim(10);
  await other.commit(() => other.segments.erase(other.id));
  expect(other.message()).toMatchObject({
    recipient: "+99900000000",
    body: "[erased]",
    sentText: null,
    status: "sending",
  });
  expect(other.row(1).payload).toHaveLength(0);
  await other.commit(() => other.accept(1, 20));
  const busy = { now: 21, nextAt: 1_000, isCounted: true, isResend: false };
  await other.commit(() => other.segments.retry(other.row(2), busy, REFUSED));
  expect([other.row(1).state, other.row(2).state]).toEqual(["accepted", "failed"]);
  expect(other.message()).toMatchObject({ status: "failed", credits: 1 });
  expect(other.ledger()[0]).toEqual(["refund", 1, 1, other.id]);
  expect(other.segments.readyWork()).toEqual([]);
  // A crash leaves it uncertain; it is never ready again.
  using lost = await start();
  await lost.claim(10);
  await lost.commit(() => lost.segments.erase(lost.id));
  await lost.commit(() => lost.segments.markInFlightUnknown(20, 30));
  const again = { now: 30, nextAt: 30, isCounted: true, isResend: true };
  await lost.commit(() => lost.segments.retry(lost.row(), again, LOST));
  expect([lost.row().state, lost.segments.readyWork()]).toEqual(["failed", []]);
  expect(lost.ledger()[0]).toEqual(["refund", 1, 1, lost.id]);
});
