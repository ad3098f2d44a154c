import { expect, test } from "bun:test";
import { seeded, temporaryDatabase } from "../../../support/db/temporary.ts";
import { type Ledger, addMessage, addWorkspace, openLedger } from "../../../support/sms/rows.ts";

// The stores of the texts remember rows over transactions: what they say must be what is stored.

const SILENT = { providerStatus: null, providerCode: null, category: null, reason: null };
const CLAIM = { route: "vodacom", priority: "transactional", link: "a", limit: 3 } as const;
const STEPS = 160;

/** One change of a text, whether or not it can be made. */
function change(ledger: Ledger, id: number, { pick, now }: { pick: (of: number) => number; now: number }): void {
  const { segments, messages } = ledger;
  const rows = segments.listByMessage(id);
  const row = rows[pick(rows.length)];
  const workspaceId = messages.byId(id)?.workspaceId ?? 0;
  if (row === undefined) return;
  const { seq } = row;
  const moves = [
    () => segments.claim({ ...CLAIM, workspaceId, now, leaseEpoch: now }),
    () => segments.claim({ ...CLAIM, workspaceId, now, leaseEpoch: now }),
    () => segments.accept(row, { smscId: `A${id}`, smscIdKey: `a${id}`, expectsReceipt: true, now }, SILENT),
    () => segments.accept(row, { smscId: null, smscIdKey: null, expectsReceipt: false, now }, SILENT),
    () => segments.receipt(row, { state: "delivered", receiptState: "delivered", now }, SILENT),
    () => segments.receipt(row, { state: "accepted", receiptState: "enroute", now }, SILENT),
    () => segments.retry(row, { now, nextAt: now, isCounted: true, isResend: false, retries: { 88: 1 } }, SILENT),
    () => segments.unknown(row, { now, giveUpAt: now + 5 }),
    () => segments.end(row, { state: "failed", now }, { ...SILENT, category: "throttled" }),
    () => segments.overdue(row, { status: "sent", now }),
    () => segments.addId(id, seq, `b${id}`),
    () => segments.delayReady(id, now + 1),
    () => segments.endReady(id, { state: "expired", now }, SILENT),
    () => segments.moveReady(id, { route: "vodacom", isRefused: true }),
    () => segments.markInFlightUnknown(now, now + 5),
    () => segments.claimRest(id, { link: "a", leaseEpoch: now, now }),
    () => segments.recode(id, [Buffer.from("y")]),
    () => segments.moveTimes({ byMs: 3, beforeMs: now, seenForMs: 0 }),
    () => segments.unpin(id),
  ];
  moves[pick(moves.length)]?.();
}

test("what is remembered of texts and credits is what is stored, whatever changes them and whatever is rolled back", async () => {
  using of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const unit = seeded(7);
  const pick = (count: number) => Math.floor(unit() * count);
  const { commit } = of.committer;
  const workspaceId = await commit(() => addWorkspace(ledger, 100));
  const ids: number[] = [];
  const balance = of.db.sqlite.query<{ credits: number }, [number]>(
    "SELECT sms_credits AS credits FROM workspace WHERE id = ?",
  );
  for (let now = 1; now <= STEPS; now += 1) {
    if (now % 20 === 1)
      ids.push(
        await commit(() => addMessage(ledger, 1 + pick(2), { message: { workspaceId }, segment: { nextAt: 0 } })),
      );
    const changes = Array.from({ length: 1 + pick(3) }, () => {
      const id = ids[Math.max(0, ids.length - 1 - pick(3))] ?? 0;
      const throws = pick(5) === 0;
      return commit(() => {
        change(ledger, id, { pick, now });
        if (throws) throw new Error("rolled back");
      });
    });
    await Promise.allSettled(changes);
    // Nothing of the fresh stores is remembered.
    const fresh = openLedger(temporaryView(of.db));
    for (const id of ids.slice(-4)) {
      expect(ledger.segments.listByMessage(id)).toEqual(fresh.segments.listByMessage(id));
      expect(ledger.messages.byId(id)).toEqual(fresh.messages.byId(id));
    }
    expect(ledger.workspaces.byId(workspaceId)?.smsCredits).toBe(balance.get(workspaceId)?.credits);
  }
  const states = of.db.sqlite.query<{ state: string }, []>("SELECT DISTINCT state FROM sms_segment").all();
  expect(states.length).toBeGreaterThan(3);
});

test("the segments of long texts are not remembered", () => {
  using of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const isRemembered = (parts: number) => {
    const id = addMessage(ledger, parts);
    for (const follower of of.db.listeners) follower.onCommit?.();
    return ledger.segments.listByMessage(id) === ledger.segments.listByMessage(id);
  };
  expect([1, 4, 5, 49].map(isRemembered)).toEqual([true, true, false, false]);
});

/** The same database for stores that follow none of its transactions. */
function temporaryView(db: Parameters<typeof openLedger>[0]): typeof db {
  return { ...db, listeners: [] };
}
