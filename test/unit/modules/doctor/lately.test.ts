// What the doctor reads of texts, from a real database.
import { expect, test } from "bun:test";
import { openSmsLookStore } from "../../../../src/modules/doctor/lately/sms-store.ts";
import { openSenderIdStore } from "../../../../src/modules/workspaces/sender-store.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";
import { addMessage, addWorkspace, openLedger } from "../../../support/sms/rows.ts";

const END = Number.MAX_SAFE_INTEGER;

test("SMS come newest first, with whether a receipt is expected and when the last one came", async () => {
  using on = temporaryDatabase();
  const ledger = openLedger(on.db);
  const look = openSmsLookStore(on.db);
  const [first, second] = await on.committer.commit(() => [
    addMessage(ledger, 2, { message: { createdAt: 1_000 } }),
    addMessage(ledger, 3, { message: { recipient: "+258821234567", createdAt: 2_000 } }),
  ]);
  if (first === undefined || second === undefined) throw new Error("nothing was written");
  on.db.sqlite.run("UPDATE sms_segment SET expects_receipt = 0 WHERE message_id = ?", [first]);
  on.db.sqlite.run("UPDATE sms_segment SET receipt_at = 5000 + seq WHERE message_id = ?", [second]);
  on.db.sqlite.run("UPDATE sms_message SET sent_at = 3000, delivery_state = 'delivered' WHERE id = ?", [second]);
  const newest = {
    id: second,
    recipient: "+258821234567",
    createdAt: 2_000,
    sentAt: 3_000,
    deliveryState: "delivered" as const,
    expectsReceipt: 1,
    receiptAt: 5_003,
  };
  const all = look.listMessagesBefore(END, 10);
  expect(all[0]).toEqual(newest);
  expect(all[1]).toMatchObject({ id: first, sentAt: null, expectsReceipt: 0, receiptAt: null });
  expect(look.listMessagesBefore(END, 1)).toEqual([newest]);
  expect(look.listMessagesBefore(second, 10).map(({ id }) => id)).toEqual([first]);
});

test("sender ids and balances are those of workspaces that are there, and the used ones those of the newest SMS", async () => {
  using on = temporaryDatabase();
  const ledger = openLedger(on.db);
  const senders = openSenderIdStore(on.db);
  const look = openSmsLookStore(on.db);
  const [one, gone] = await on.committer.commit(() => {
    const ids = [addWorkspace(ledger, 7), addWorkspace(ledger, 9)];
    for (const workspaceId of ids) senders.insert({ workspaceId, name: "Loja", createdAt: 4 });
    return ids;
  });
  if (one === undefined || gone === undefined) throw new Error("nothing was written");
  await on.committer.commit(() => {
    for (const [at, sender] of ["Old", "Loja", "Nova"].entries())
      addMessage(ledger, 1, { message: { workspaceId: one, sender, createdAt: at } });
    addMessage(ledger, 1, { message: { workspaceId: gone, sender: "Another", createdAt: 9 } });
  });
  on.db.sqlite.run("UPDATE workspace SET deleted_at = 1 WHERE id = ?", [gone]);
  expect(look.listSenders(10)).toEqual([
    { workspaceId: one, workspaceUid: expect.any(String), name: "Loja", createdAt: 4 },
  ]);
  expect(look.listUsedSenders(one, 2)).toEqual(["Nova", "Loja"]);
  expect(look.findWorkspace(one)).toMatchObject({ name: "Loja", balance: 7 });
  expect([look.findWorkspace(gone), look.findWorkspace(999)]).toEqual([null, null]);
  const changes = look.listCreditsBefore(END, 10);
  expect(changes.map(({ workspaceId, kind, amount }) => [workspaceId, kind, amount])).toEqual([
    [gone, "grant", 9],
    [one, "grant", 7],
  ]);
  expect(look.listCreditsBefore(changes[0]?.id ?? 0, 10)).toEqual(changes.slice(1));
});
