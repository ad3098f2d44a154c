// Receipts of ids that nobody knows, against texts in doubt: what they settle, and what they must not.

import { describe, expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { NumberingPlan } from "../../../../../src/modules/sms/encoding/phone-number.ts";
import { resolveUncertain } from "../../../../../src/modules/sms/gateway/resolve-uncertain.ts";
import { type ReceiptPdu, Receipts } from "../../../../../src/modules/sms/receipts/process.ts";
import { readReceipt } from "../../../../../src/modules/sms/receipts/parse.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { addMessage, addWorkspace, NUMBERING, openLedger } from "../../../../support/sms/rows.ts";
import type { SegmentRow } from "../../../../../src/modules/sms/queue/segment-read-store.ts";

const ROUTE = "vodacom";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 5, 1, 12, 3);
const WAIT_MS = 2 * MINUTE;
const NOTHING = { providerStatus: null, providerCode: null, category: null, reason: null };

interface Given {
  to?: string;
  from?: string;
  id?: string | null;
  /** Of the SMSC's clock; null: it says none. */
  submitDate?: number | null;
  stat?: string;
  text?: string;
}

const written = (at: number) => new Date(at).toISOString().replaceAll(/\D/g, "").slice(2, 12);

async function start(numbering = NUMBERING) {
  const of = temporaryDatabase();
  const sms = openLedger(of.db);
  const routes = openRoutes([defaultSmsRoute(ROUTE)]);
  const receipts = new Receipts({ sms, routes, numbering });
  const { commit } = of.committer;
  let [epoch, now, workspaceId] = [0, START, 0];
  await commit(() => void (workspaceId = addWorkspace(sms, 1_000)));
  const recipientOf = (id: number) => sms.messages.byId(id)?.recipient ?? "";
  const world = {
    sms,
    shift: (ms: number) => void (now += ms),
    show: (id: number) => sms.messages.byId(id),
    segments: (id: number) => sms.segments.listByMessage(id),
    balance: () => sms.workspaces.byId(workspaceId)?.smsCredits,
    /** Accepts a text. */
    text: (parts = 1, message: Partial<{ recipient: string; sender: string; body: string }> = {}) =>
      commit(() =>
        addMessage(sms, parts, {
          message: { body: "Ola Ana", createdAt: now, expiresAt: now + 24 * HOUR, ...message, workspaceId },
          segment: { nextAt: now },
        }),
      ),
    /** All that is ready goes out. */
    send: () =>
      commit(() => {
        epoch += 1;
        const claim = { route: ROUTE, priority: "transactional", workspaceId, link: "a", now } as const;
        return sms.segments.claim({ ...claim, leaseEpoch: epoch, limit: 100 });
      }),
    /** The SMSC's answer. */
    answer: (id: number, seq: number, smscId: string) =>
      commit(() => {
        const row = one(id, seq);
        sms.segments.accept(row, { smscId, smscIdKey: smscId, expectsReceipt: true, now }, NOTHING);
        receipts.join([row], () => recipientOf(id), smscId, now);
      }),
    /** All that is in flight loses its answer, and is decided on. */
    lose: () =>
      commit(() => {
        for (const row of sms.segments.inFlight()) {
          sms.segments.unknown(row, { now, giveUpAt: now });
          decide(one(row.messageId, row.seq));
        }
      }),
    /** What is in doubt is waited for in vain. */
    async giveUp() {
      now += WAIT_MS + 1;
      await commit(() => {
        for (const row of sms.segments.unknownDue(now, 100)) {
          const present = one(row.messageId, row.seq);
          if (present.state === "unknown") decide(present);
        }
      });
    },
    /** Sent twice, both answers lost. */
    async loseTwice() {
      await world.send();
      await world.lose();
      world.shift(10_000);
      await world.send();
      await world.lose();
    },
    receive: (given: Given = {}) => {
      const { to = "258841234567", from = "Loja", id = "9001", stat = "DELIVRD", text = "" } = given;
      const date = given.submitDate === null ? "" : ` submit date:${written(given.submitDate ?? now)}`;
      const words = `${id === null ? "" : `id:${id}`} sub:001 dlvrd:001${date} done date: stat:${stat} err:000 text:${text}`;
      const none = { messagePayload: null, receiptedMessageId: null, messageState: null, networkErrorCode: null };
      const receipt = readReceipt({ esmClass: 4, shortMessage: Buffer.from(words), ...none });
      if (receipt === null) throw new Error("no receipt");
      const address = (digits: string) => ({ ton: 1, npi: 1, address: digits });
      const pdu: ReceiptPdu = {
        ...{ source: address(to), destination: address(from) },
        ...{ userMessageReference: null, bytes: Buffer.alloc(0) },
      };
      return commit(() => void receipts.take(ROUTE, receipt, pdu, now));
    },
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
  const one = (id: number, seq: number): SegmentRow => {
    const row = sms.segments.find(id, seq);
    if (row === undefined) throw new Error("there is no such segment");
    return row;
  };
  const decide = (row: SegmentRow) =>
    resolveUncertain(row, now, {
      sms,
      routes,
      lostResponseWaitMs: WAIT_MS,
      applyEvidence: (each, at) => receipts.applyEvidence(each, recipientOf(each.messageId), at),
    });
  return world;
}

for (const [when, isGivenUp] of [
  ["while it is held", false],
  ["after it was given up", true],
] as const)
  test(`a text sent twice, both answers lost, is delivered by a receipt of its number, sender and time ${when}`, async () => {
    using world = await start();
    const id = await world.text();
    await world.loseTwice();
    expect(world.segments(id)).toMatchObject([{ state: "unknown", resends: 1 }]);
    if (isGivenUp) {
      await world.giveUp();
      expect(world.show(id)).toMatchObject({ status: "failed", failureCategory: "outcome_unknown", credits: 0 });
    }
    // The SMSC's clock is in another zone.
    await world.receive({ submitDate: START + 2 * HOUR });
    expect(world.show(id)).toMatchObject({ status: "delivered", deliveryState: "delivered", failureCategory: null });
    // What was given back stays so, and is written off.
    expect([world.show(id)?.credits, world.balance()]).toEqual(isGivenUp ? [0, 1_001] : [1, 1_000]);
    expect(world.segments(id)).toMatchObject([{ credit: isGivenUp ? "written_off" : "reserved" }]);
    // The other submit's.
    await world.receive({ id: "9002", submitDate: START + 2 * HOUR });
    expect(world.show(id)).toMatchObject({ status: "delivered" });
  });

describe("where the SMSC leaves the country code out", () => {
  const PORTUGAL_AND_BRAZIL = new NumberingPlan(["3519xxxxxxxx", "55xx9xxxxxxxx"]);

  test.each([
    ["+351912345678", "912345678", "912345670"],
    ["+5511987654321", "11987654321", "21987654321"],
  ])("a receipt before the answer is that of %s", async (recipient, national, other) => {
    using world = await start(PORTUGAL_AND_BRAZIL);
    const id = await world.text(1, { recipient });
    await world.send();
    await world.receive({ to: other, id: "9001", stat: "UNDELIV" });
    await world.receive({ to: national, id: "9001" });
    await world.answer(id, 1, "9001");
    expect(world.show(id)).toMatchObject({ status: "delivered" });
  });

  test.each([
    ["+351912345678", "912345678", "912345670"],
    ["+5511987654321", "11987654321", "21987654321"],
  ])("a receipt of an unknown id is that of %s, whose answer was lost", async (recipient, national, other) => {
    using world = await start(PORTUGAL_AND_BRAZIL);
    const id = await world.text(1, { recipient });
    await world.send();
    await world.receive({ to: other, id: "9001" });
    await world.lose();
    // To be sent again.
    expect(world.show(id)).toMatchObject({ status: "queued", possibleDuplicate: true });
    await world.receive({ to: national, id: "9002" });
    expect(world.show(id)).toMatchObject({ status: "delivered" });
  });

  test("a receipt that swaps the two addresses is that of the subscriber", async () => {
    using world = await start(new NumberingPlan(["2389"]));
    const id = await world.text(1, { recipient: "+2389912345" });
    await world.send();
    await world.receive({ to: "84000", from: "2389912345", id: "9001" });
    await world.answer(id, 1, "9001");
    expect(world.show(id)).toMatchObject({ status: "delivered" });
  });
});

test("receipts that came while it was sent the second time, or waited for that, count as well", async () => {
  using world = await start();
  const id = await world.text();
  await world.send();
  await world.lose();
  // It waits to be sent again: now it need not be.
  await world.receive();
  expect(world.show(id)).toMatchObject({ status: "delivered" });
  expect(await world.send()).toEqual([]);

  const other = await world.text();
  world.shift(20 * MINUTE);
  const later = await world.text(1, { recipient: "+258841111111" });
  await world.send();
  await world.lose();
  await world.send();
  for (const receipt of ["9010", "9011"]) await world.receive({ id: receipt, to: "258841111111" });
  expect(world.show(later)).toMatchObject({ status: "sending" });
  await world.lose();
  expect(world.show(later)).toMatchObject({ status: "delivered" });
  expect(world.show(other)).toMatchObject({ status: "sending" });
});

test("of two submits one that arrived is enough, whichever receipt comes first", async () => {
  for (const stats of [
    ["UNDELIV", "DELIVRD"],
    ["DELIVRD", "UNDELIV"],
  ]) {
    using world = await start();
    const id = await world.text();
    await world.loseTwice();
    for (const [index, stat] of stats.entries()) await world.receive({ id: `900${index}`, stat });
    expect(world.show(id)).toMatchObject({ status: "delivered", deliveryState: "delivered" });
  }
});

const NOT_ITS: [name: string, receipt: Given][] = [
  ["another number's", { to: "258841234568" }],
  ["another sender's", { from: "Banco" }],
  ["another time's", { submitDate: START + 6 * MINUTE }],
  ["that of another day", { submitDate: START - 24 * HOUR }],
  ["one that begins otherwise", { text: "Pague ate amanha" }],
  ["one without a date and a text", { submitDate: null }],
];
for (const [name, receipt] of NOT_ITS)
  test(`a receipt of an unknown id does not settle a text that was sent twice: ${name}`, async () => {
    using world = await start();
    const id = await world.text();
    await world.loseTwice();
    await world.receive({ submitDate: START, ...receipt });
    await world.giveUp();
    expect(world.show(id)).toMatchObject({ status: "failed", failureCategory: "outcome_unknown", credits: 0 });
  });

test("where a receipt fits two texts in doubt it settles neither; their times tell them apart", async () => {
  using world = await start();
  const first = await world.text();
  await world.loseTwice();
  world.shift(5 * MINUTE);
  const second = await world.text();
  await world.loseTwice();
  await world.receive({ submitDate: START + 5 * MINUTE });
  expect([first, second].map((id) => world.show(id)?.status)).toEqual(["sending", "delivered"]);
  const third = await world.text();
  await world.loseTwice();
  const fourth = await world.text();
  await world.loseTwice();
  await world.receive({ id: "9100" });
  expect([third, fourth].map((id) => world.show(id)?.status)).toEqual(["sending", "sending"]);
});

test("a text that was answered and waits for its receipt may be meant while ids are written in unknown ways", async () => {
  using world = await start();
  const answered = await world.text();
  await world.send();
  await world.answer(answered, 1, "77");
  const id = await world.text();
  await world.loseTwice();
  // It may be that of 77, by another name.
  await world.receive({ id: "abc-77" });
  expect(world.show(id)).toMatchObject({ status: "sending" });
  // Once that has its own, it is not.
  await world.receive({ id: "77" });
  await world.receive({ id: "abc-78" });
  expect([answered, id].map((each) => world.show(each)?.status)).toEqual(["delivered", "delivered"]);
});

test("once the SMSC's clock is known by other receipts, another zone is another time", async () => {
  using world = await start();
  const known = await world.text(1, { recipient: "+258841111111" });
  await world.send();
  await world.answer(known, 1, "77");
  await world.receive({ id: "77", to: "258841111111", submitDate: START + 2 * HOUR });
  const id = await world.text();
  await world.loseTwice();
  await world.receive({ submitDate: START + HOUR });
  expect(world.show(id)).toMatchObject({ status: "sending" });
  await world.receive({ submitDate: START + 2 * HOUR });
  expect(world.show(id)).toMatchObject({ status: "delivered" });
});

test("a part in doubt is settled where it alone is; of two, when each has a receipt and all say the same", async () => {
  using world = await start();
  const one = await world.text(2);
  await world.send();
  await world.answer(one, 1, "77");
  await world.receive({ id: "77" });
  await world.lose();
  await world.receive({ id: "9001" });
  expect(world.show(one)).toMatchObject({ status: "delivered", credits: 2 });

  world.shift(5 * MINUTE);
  const both = await world.text(2);
  await world.send();
  await world.lose();
  await world.receive({ id: "9002" });
  expect(world.segments(both).map(({ state }) => state)).toEqual(["unknown", "unknown"]);
  await world.receive({ id: "9003" });
  expect(world.show(both)).toMatchObject({ status: "delivered", credits: 2 });

  world.shift(5 * MINUTE);
  const mixed = await world.text(2);
  await world.send();
  await world.lose();
  await world.receive({ id: "9004" });
  await world.receive({ id: "9005", stat: "UNDELIV" });
  await world.giveUp();
  expect(world.show(mixed)).toMatchObject({ status: "failed", failureCategory: "outcome_unknown", credits: 0 });

  world.shift(5 * MINUTE);
  const late = await world.text(2);
  await world.send();
  await world.receive({ id: "9006" });
  await world.receive({ id: "9007" });
  await world.lose();
  expect(world.show(late)).toMatchObject({ status: "delivered", credits: 2 });
});

test("the same receipt twice is not one for each of two parts", async () => {
  using world = await start();
  const id = await world.text(2);
  await world.send();
  await world.lose();
  await world.receive({ id: "9001" });
  await world.receive({ id: "9001" });
  await world.giveUp();
  expect(world.show(id)).toMatchObject({ status: "failed", failureCategory: "outcome_unknown" });
});
