import { describe, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { Committer } from "../../../../../src/platform/db/group-commit.ts";
import { type Db, openDatabase } from "../../../../../src/platform/db/open.ts";
import { changeCredits } from "../../../../../src/modules/workspaces/credit-store.ts";
import { seeded, temporaryFolder, turn } from "../../../../support/db/temporary.ts";
import { addMessage, addWorkspace, type Ledger, openLedger } from "../../../../support/sms/rows.ts";
import type { SegmentRow, ProviderWords } from "../../../../../src/modules/sms/queue/segment-read-store.ts";

// Random histories of texts, with closures that are rolled back, transactions that are lost and databases that
// are closed in the middle and opened again: after each, credits add up.

const SAID: ProviderWords = { providerStatus: "x", providerCode: null, category: "provider_error", reason: null };
const STEPS = 250;

interface Life {
  db: Db;
  committer: Committer;
  ledger: Ledger;
}

function open(file: string): Life {
  const db = openDatabase(file);
  return { db, committer: new Committer(db), ledger: openLedger(db) };
}

/** As acceptance does it. */
function accept({ ledger }: Life, workspaceId: number, parts: number): void {
  const messageId = addMessage(ledger, parts, { message: { workspaceId } });
  const entry = { workspaceId, kind: "reservation", amount: -parts, messageId, segments: parts } as const;
  if (changeCredits({ ...entry, note: null, createdAt: 0 }, ledger) === null) throw new Error("rolled back");
}

/** One move of a segment that its state allows. */
function move({ ledger }: Life, row: SegmentRow, draw: (below: number) => number, now: number): void {
  const { segments } = ledger;
  const answer = { smscId: "1", smscIdKey: "1", expectsReceipt: draw(4) > 0, now };
  const again = { now, nextAt: now, isCounted: draw(2) === 0, isResend: row.state === "unknown" };
  const end = { state: draw(3) === 0 ? "expired" : "failed", now } as const;
  const receipts = ["delivered", "expired", "undeliverable"] as const;
  const receiptState = receipts[draw(3)] ?? "delivered";
  const state = receiptState === "undeliverable" ? "failed" : receiptState;
  const proof = () => segments.receipt(row, { state, receiptState, now }, SAID);
  const choices: Record<SegmentRow["state"], (() => unknown)[]> = {
    ready: [() => segments.endReady(row.messageId, end, SAID)],
    in_flight: [
      () => segments.accept(row, answer, SAID),
      () => segments.retry(row, again, SAID),
      () => segments.end(row, end, SAID),
      () => segments.unknown(row, { now, giveUpAt: now + 10 }),
    ],
    unknown: [
      () => segments.accept(row, answer, SAID),
      () => segments.retry(row, again, SAID),
      () => segments.end(row, { ...end, state: "failed" }, { ...SAID, category: "outcome_unknown" }),
      proof,
    ],
    accepted: [proof, () => segments.overdue(row, { status: "sent", now })],
    delivered: [],
    failed: [proof, () => segments.accept(row, answer, SAID)],
    expired: [proof],
  };
  const possible = choices[row.state];
  possible[draw(possible.length)]?.();
}

const query = <Row>(db: Db, sql: string) => db.sqlite.query<Row, []>(sql).all();

function expectToAddUp(db: Db): void {
  // A balance is the sum of its entries, and never below 0.
  const wrong = query(
    db,
    `SELECT id, sms_credits FROM workspace w WHERE sms_credits < 0
       OR sms_credits <> (SELECT SUM(amount) FROM sms_credit c WHERE c.workspace_id = w.id)`,
  );
  expect(wrong).toEqual([]);
  // What a message took is what its segments say: reserved once, given back once, written off once.
  const messages = query<{ id: number }>(
    db,
    `SELECT m.id, m.segments, m.credits,
       (SELECT SUM(amount) FROM sms_credit c WHERE c.message_id = m.id) AS taken,
       (SELECT SUM(segments) FROM sms_credit c WHERE c.message_id = m.id AND kind = 'reservation') AS reserved,
       (SELECT COALESCE(SUM(segments), 0) FROM sms_credit c WHERE c.message_id = m.id AND kind = 'writeoff') AS lost,
       (SELECT COUNT(*) FROM sms_segment s WHERE s.message_id = m.id AND credit <> 'reserved') AS returned,
       (SELECT COUNT(*) FROM sms_segment s WHERE s.message_id = m.id AND credit = 'written_off') AS written_off
     FROM sms_message m
     WHERE reserved <> m.segments OR taken <> returned - m.segments OR lost <> written_off
       OR m.credits <> m.segments - returned`,
  );
  expect(messages).toEqual([]);
  // Given back is what the SMSC never had, as far as anybody knew; and nothing that it has is still owed.
  const segments = query(
    db,
    `SELECT message_id, seq, state, accepted_at, credit FROM sms_segment WHERE
       (state IN ('failed', 'expired') AND accepted_at IS NULL AND credit <> 'refunded')
       OR (accepted_at IS NOT NULL AND credit = 'refunded')
       OR (state IN ('ready', 'in_flight', 'unknown') AND credit <> 'reserved')`,
  );
  expect(segments).toEqual([]);
}

describe("random histories", () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`the ledger adds up (seed ${seed})`, async () => {
      using folder = temporaryFolder();
      let file = join(folder.path, "test.db");
      const random = seeded(seed);
      const draw = (below: number) => Math.floor(random() * below);
      let life = open(file);
      const workspaces = await life.committer.commit(() => [
        addWorkspace(life.ledger, 40),
        addWorkspace(life.ledger, 400),
      ]);
      const ready = (workspaceId: number) =>
        ({ route: "vodacom", priority: "transactional", workspaceId, link: "a" }) as const;
      const seen = { done: 0, undone: 0, lost: 0, reopened: 0 };
      for (let step = 1; step <= STEPS; step++) {
        const workspaceId = workspaces[draw(workspaces.length)] ?? 0;
        const fate = draw(25);
        const kind = draw(6);
        const at = draw(1_000_000);
        const now = step;
        const { db, ledger } = life;
        const current = life;
        const work = () => {
          if (kind === 0) accept(current, workspaceId, 1 + draw(4));
          else if (kind === 1) ledger.segments.claim({ ...ready(workspaceId), leaseEpoch: 1, now, limit: 1 + draw(5) });
          else {
            const rows = query<{ message_id: number; seq: number }>(db, "SELECT message_id, seq FROM sms_segment");
            const chosen = rows[at % Math.max(1, rows.length)];
            const row = chosen === undefined ? undefined : ledger.segments.find(chosen.message_id, chosen.seq);
            if (row !== undefined) move(current, row, draw, now);
          }
          if (fate === 0) throw new Error("rolled back");
          if (fate === 1) db.sqlite.run("ROLLBACK"); // as a full disk ends the whole transaction
          if (fate === 1) throw new Error("gone");
        };
        void life.committer.commit(work).then(
          () => (seen.done += 1),
          (error: unknown) =>
            (seen[error instanceof Error && error.message === "rolled back" ? "undone" : "lost"] += 1),
        );
        if (draw(4) === 0) await turn(2);
        if (draw(40) === 0) {
          // As a crash leaves the files: what is queued in memory is lost, and was promised to nobody.
          if (draw(2) === 0) await turn(2);
          seen.reopened += 1;
          const copy = join(folder.path, `${seen.reopened}.db`);
          for (const suffix of ["", "-wal"]) copyFileSync(file + suffix, copy + suffix);
          await turn(3);
          life.db.close();
          file = copy;
          life = open(file);
          const { segments } = life.ledger;
          await life.committer.commit(() => segments.markInFlightUnknown(now, now + 10));
        }
        if (step % 25 === 0) {
          await turn(3);
          expectToAddUp(life.db);
        }
      }
      await turn(3);
      expectToAddUp(life.db);
      const kinds = query<{ kind: string }>(life.db, "SELECT DISTINCT kind FROM sms_credit ORDER BY kind");
      expect(kinds.map(({ kind }) => kind)).toEqual(["grant", "refund", "reservation", "writeoff"]);
      expect(seen.done).toBeGreaterThan(STEPS / 2);
      expect(seen.undone).toBeGreaterThan(0);
      life.db.close();
    });
  }
});
