import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { type FinalReceipt } from "../../../../../src/modules/sms/receipts/invalid-numbers.ts";
import { Receipts } from "../../../../../src/modules/sms/receipts/process.ts";
import type { Receipt } from "../../../../../src/modules/sms/receipts/parse.ts";
import { NumberingPlan } from "../../../../../src/modules/sms/encoding/phone-number.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { addMessage, addWorkspace, openLedger } from "../../../../support/sms/rows.ts";

const ROUTE = "vodacom";
const NUMBER = "+258847654321";
const FINE = { providerStatus: null, providerCode: null, category: null, reason: null };
const DELIVERED: Receipt = {
  ...{ isIntermediate: false, id: "a1", state: "delivered", word: "DELIVRD", err: null, networkError: null },
  ...{ errorCode: null, text: null, submitDate: null },
};
const address = (digits: string) => ({ ton: 1, npi: 1, address: digits });
const pduFrom = (number: string) => ({
  ...{ source: address(number.slice(1)), destination: address("Loja") },
  ...{ userMessageReference: null, bytes: Buffer.from(`id:a1 to ${number}`) },
});

async function start() {
  const of = temporaryDatabase();
  const sms = openLedger(of.db);
  const told: FinalReceipt[] = [];
  const receipts = new Receipts({
    ...{ sms, routes: openRoutes([defaultSmsRoute(ROUTE)]), numbering: new NumberingPlan(["25884"]) },
    onLastWord: (word) => void told.push(word),
  });
  const { commit } = of.committer;
  const workspaceId = await commit(() => addWorkspace(sms, 10));
  const send = (recipient: string) => commit(() => addMessage(sms, 1, { message: { workspaceId, recipient } }));
  const claim = () =>
    commit(() =>
      sms.segments.claim({
        ...{ route: ROUTE, priority: "transactional", workspaceId, link: "a", leaseEpoch: 1, now: 0, limit: 9 },
      }),
    );
  const accept = (id: number) =>
    commit(() => {
      const row = sms.segments.find(id, 1);
      if (row === undefined) throw new Error("there is no such segment");
      sms.segments.accept(row, { smscId: "a1", smscIdKey: "a1", expectsReceipt: true, now: 0 }, FINE);
      return row;
    });
  const orphans = () => of.db.sqlite.query("SELECT number_key FROM sms_receipt_orphan").all();
  return { sms, receipts, commit, send, claim, accept, told, orphans, [Symbol.dispose]: () => of[Symbol.dispose]() };
}

test("the receipt of an erased message counts by its id; the number is kept nowhere, and told to nobody", async () => {
  using on = await start();
  const id = await on.send(NUMBER);
  await on.claim();
  await on.accept(id);
  await on.commit(() => on.sms.segments.erase(id));
  await on.commit(() => void on.receipts.take(ROUTE, DELIVERED, pduFrom(NUMBER), 5));
  expect(on.sms.messages.byId(id)).toMatchObject({ status: "delivered", recipient: "+99900000000" });
  expect([on.orphans(), on.told]).toEqual([[], []]);
});

test("an id that the SMSC gave to two messages means the one to the number, though the other was erased later", async () => {
  using on = await start();
  const [erased, plain] = [await on.send(NUMBER), await on.send("+258841111111")];
  await on.claim();
  for (const id of [erased, plain]) await on.accept(id);
  await on.commit(() => on.sms.segments.erase(erased));
  await on.commit(() => void on.receipts.take(ROUTE, DELIVERED, pduFrom("+258841111111"), 5));
  expect([erased, plain].map((id) => on.sms.messages.byId(id)?.status)).toEqual(["sent", "delivered"]);
});

test("a receipt that came before the response is joined to the erased message by the id, and goes", async () => {
  using on = await start();
  const id = await on.send(NUMBER);
  await on.claim();
  await on.commit(() => void on.receipts.take(ROUTE, DELIVERED, pduFrom(NUMBER), 5));
  expect(on.orphans()).toHaveLength(1);
  await on.commit(() => on.sms.segments.erase(id));
  const row = await on.accept(id);
  await on.commit(() => on.receipts.join([row], () => null, "a1", 6));
  expect([on.sms.messages.byId(id)?.status, on.orphans()]).toEqual(["delivered", []]);
});
