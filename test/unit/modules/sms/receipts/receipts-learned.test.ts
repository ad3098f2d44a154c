import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { LEARNED, type ReceiptPdu, Receipts } from "../../../../../src/modules/sms/receipts/process.ts";
import type { Receipt } from "../../../../../src/modules/sms/receipts/parse.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { addMessage, addWorkspace, NUMBERING, openLedger } from "../../../../support/sms/rows.ts";

const ROUTE = "vodacom";
const NOTHING = { providerStatus: null, providerCode: null, category: null, reason: null };

/** A text that the SMSC accepted under the id `ff`, and its receipts, which write that in decimal. */
async function start() {
  const of = temporaryDatabase();
  const sms = openLedger(of.db);
  const receipts = new Receipts({ sms, routes: openRoutes([defaultSmsRoute(ROUTE)]), numbering: NUMBERING });
  const { commit } = of.committer;
  await commit(() => {
    const id = addMessage(sms, 1, { message: { workspaceId: addWorkspace(sms, 10) } });
    sms.segments.claim({
      route: ROUTE,
      priority: "transactional",
      workspaceId: 1,
      link: "a",
      leaseEpoch: 1,
      now: 0,
      limit: 1,
    });
    const row = sms.segments.find(id, 1);
    if (row === undefined) throw new Error("there is no such segment");
    sms.segments.accept(row, { smscId: "ff", smscIdKey: "ff", expectsReceipt: true, now: 0 }, NOTHING);
  });
  const receipt: Receipt = {
    isIntermediate: true,
    id: "255",
    state: "enroute",
    word: null,
    err: null,
    networkError: null,
    errorCode: null,
    text: null,
    submitDate: null,
  };
  const address = (digits: string) => ({ ton: 1, npi: 1, address: digits });
  const pdu: ReceiptPdu = {
    source: address("258841234567"),
    destination: address("Loja"),
    userMessageReference: null,
    bytes: Buffer.alloc(0),
  };
  const take = () => void receipts.take(ROUTE, receipt, pdu, 1);
  return {
    commit,
    take,
    /** One transaction each. */
    async takeEach(count: number) {
      for (let i = 0; i < count; i++) await commit(take);
    },
    learned: () => sms.links.learned(ROUTE, LEARNED),
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

test("how an SMSC writes its ids is learned from twenty receipts that agree", async () => {
  using on = await start();
  await on.takeEach(19);
  expect(on.learned()).toBeNull();
  await on.takeEach(1);
  expect(on.learned()).toBe("decimal_to_hex");
});

test("a receipt counts once, however often its transaction runs", async () => {
  using on = await start();
  const fail = () => {
    throw new Error("a bug of a neighbour");
  };
  const all = Array.from({ length: 12 }, () => on.commit(on.take));
  // All those before it are run again.
  await expect(on.commit(fail)).rejects.toThrow("a bug of a neighbour");
  await Promise.all(all);
  await on.takeEach(7);
  expect(on.learned()).toBeNull();
  await on.takeEach(1);
  expect(on.learned()).toBe("decimal_to_hex");
});

test("what is rolled back was not learned: the next receipt stores it", async () => {
  using on = await start();
  await on.takeEach(19);
  const rolledBack = on.commit(() => {
    on.take();
    throw new Error("a bug");
  });
  await expect(rolledBack).rejects.toThrow("a bug");
  expect(on.learned()).toBeNull();
  await on.takeEach(1);
  expect(on.learned()).toBe("decimal_to_hex");
});
