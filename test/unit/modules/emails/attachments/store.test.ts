import { expect, test } from "bun:test";
import { openAttachmentStore } from "../../../../../src/modules/emails/attachments/store.ts";
import { createAttachmentSweep } from "../../../../../src/modules/emails/attachments/sweep.ts";
import { SkippedRows } from "../../../../../src/platform/db/skipped-rows.ts";
import { walkBatch } from "../../../../../src/platform/db/purge.ts";
import { seeded, temporaryDatabase, turn } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const HOUR_MS = 3_600_000;

function start() {
  const temporary = temporaryDatabase();
  const { db, committer } = temporary;
  const { sqlite } = db;
  const given: Record<number, number> = {};
  const attachments = openAttachmentStore(db, (workspaceId, bytes) => {
    given[workspaceId] = (given[workspaceId] ?? 0) + bytes;
  });
  const clock = fakeClock(0);
  const errors: unknown[] = [];
  const log = { event: () => undefined, error: (_: string, error: unknown) => void errors.push(error) };
  const context = { commit: committer.commit, clock, log };
  const skipped = new SkippedRows({ ...context, component: "database" });
  const insertEmail = sqlite.query<{ id: number }, [string, number | null, number | null]>(
    `INSERT INTO email (uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
       recipient_address, subject, return_path, created_at, status, ended_at, group_id)
     VALUES (?, 1, 1, 'a', 'a', 'a', 'b', 'b', 's', 'r', 0, 'queued', ?, ?) RETURNING id`,
  );
  let files = 0;
  return {
    attachments,
    sqlite,
    clock,
    given,
    commit: committer.commit,
    errors,
    issue: () => skipped.issue,
    sweep: createAttachmentSweep({ ...context, skipped }, attachments),
    addFile(pieces = 1, { isWhole = true, stagedAt = 0, workspaceId = 1 } = {}) {
      files += 1;
      const sha256 = isWhole ? Buffer.alloc(32, `file ${files} `) : null;
      const id = attachments.add({
        workspaceId,
        sha256,
        bytes: 9,
        storedBytes: pieces * 100,
        encoding: "plain",
        stagedAt,
      });
      for (let number = 0; number < pieces; number += 1) attachments.addPiece(id, number, new Uint8Array(100));
      return id;
    },
    addEmail: (endedAt: number | null, groupId: number | null = null) =>
      insertEmail.get(Bun.randomUUIDv7(), endedAt, groupId)?.id ?? 0,
    refer(emailId: number, ...attachmentIds: number[]) {
      for (const [number, attachmentId] of attachmentIds.entries())
        attachments.refer({
          emailId,
          number,
          attachmentId,
          filename: `${number}.pdf`,
          contentType: "application/pdf",
          contentId: null,
          transferEncoding: null,
          bytes: 9,
        });
    },
    left: () =>
      sqlite
        .query<{ id: number }, []>("SELECT id FROM attachment ORDER BY id")
        .all()
        .map(({ id }) => id),
    pieces: () => sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM attachment_piece").get()?.n,
    [Symbol.dispose]: () => temporary[Symbol.dispose](),
  };
}

async function pass(clock: ReturnType<typeof fakeClock>, ms: number): Promise<void> {
  clock.advance(ms);
  for (let n = 0; n < 60; n += 1) {
    await turn(2);
    clock.advance(60);
  }
}

test("a file that no email refers to is gone after an hour, piece by piece; its storage is given back once", async () => {
  using on = start();
  const [alone, needed, unfinished] = [on.addFile(5), on.addFile(2), on.addFile(2, { isWhole: false })];
  on.refer(on.addEmail(null), needed);
  on.sweep.start();
  await pass(on.clock, HOUR_MS - 60_000);
  expect(on.left()).toEqual([alone, needed, unfinished]);
  // One that came again counts anew.
  on.sqlite.run("UPDATE attachment SET staged_at = ? WHERE id = ?", [on.clock.now(), unfinished]);
  await pass(on.clock, 15 * 60_000);
  expect([on.left(), on.pieces(), on.given]).toEqual([[needed, unfinished], 4, { 1: 500 }]);
  for (let times = 0; times < 8; times += 1) await pass(on.clock, 10 * 60_000);
  expect([on.left(), on.pieces(), on.given]).toEqual([[needed], 2, { 1: 700 }]);
  await on.sweep.stop();
  expect(on.errors).toEqual([]);
});

test("a file that cannot be removed stops no other, and is told of once", async () => {
  using on = start();
  on.addFile(1);
  const poisoned = on.addFile(1);
  on.addFile(3);
  on.sqlite.run(
    `CREATE TRIGGER poison BEFORE DELETE ON attachment_piece WHEN OLD.attachment_id = ${poisoned} BEGIN SELECT RAISE(ABORT, 'x'); END`,
  );
  on.sweep.start();
  for (let times = 0; times < 12; times += 1) await pass(on.clock, 10 * 60_000);
  expect([on.left(), on.pieces(), on.errors.length]).toEqual([[poisoned], 1, 1]);
  expect(on.issue()?.reason).toContain(`attachments ${poisoned}`);
  on.sqlite.run("DROP TRIGGER poison");
  await pass(on.clock, 10 * 60_000);
  expect(on.left()).toEqual([]);
  await on.sweep.stop();
});

test("each transaction of the sweep removes a piece of a large file, or small ones up to a megabyte", () => {
  using on = start();
  const [large] = [on.addFile(3), on.addFile(1), on.addFile(1)];
  const steps: [number | null, number | undefined][] = [];
  for (let after: number | null = 0; after !== null;) {
    after = on.attachments.sweep(after, 1);
    steps.push([after, on.pieces()]);
  }
  expect(steps).toEqual([
    [large - 1, 4],
    [large - 1, 3],
    [null, 0],
  ]);
});

test("of a file that is going no email can have any more, and the same content comes anew", () => {
  using on = start();
  const id = on.addFile(2);
  const [sha256] = on.sqlite.query<{ sha256: Buffer }, []>("SELECT sha256 FROM attachment").all();
  on.attachments.sweep(0, 1);
  expect(() => on.refer(1, id)).toThrow("gone");
  expect(
    on.attachments.renew({ workspaceId: 1, sha256: Buffer.from(sha256?.sha256 ?? ""), stagedAt: 5 }),
  ).toBeUndefined();
});

test("attachments are kept until the last email of the group is final for so long, and their names stay", () => {
  using on = start();
  const file = on.addFile();
  const first = on.addEmail(100);
  on.sqlite.run("UPDATE email SET group_id = id WHERE id = ?", [first]);
  const fellow = on.addEmail(null, first);
  on.refer(first, file);
  const walk = (notBefore: number) => walkBatch(on.attachments.kept, { after: 0, limit: 10, notBefore });
  const attachmentId = () => on.attachments.listOf(first)[0]?.attachmentId;
  walk(1_000);
  expect(attachmentId()).toBe(file);
  on.sqlite.run("UPDATE email SET ended_at = 1000 WHERE id = ?", [fellow]);
  walk(1_000);
  expect(attachmentId()).toBe(file);
  walk(1_001);
  expect(on.attachments.listOf(first)).toMatchObject([{ attachmentId: null, filename: "0.pdf", bytes: 9 }]);
  on.attachments.sweep(0, 1);
  expect(on.left()).toEqual([]);
});

test("whatever comes and goes, each file that an email needs is there, and no other for long", () => {
  using on = start();
  on.sqlite.run("PRAGMA synchronous = OFF");
  const random = seeded(1212);
  const upTo = (most: number) => Math.floor(random() * most);
  let now = 0;
  for (let round = 0; round < 300; round += 1) {
    now += upTo(100);
    const files = Array.from({ length: upTo(3) }, () => on.addFile(upTo(4), { stagedAt: now }));
    const old = on.left().filter(() => upTo(4) === 0);
    if (upTo(3) > 0) {
      const usable = [...files, ...old].filter(
        (id) => on.sqlite.query("SELECT 1 FROM attachment WHERE id = ? AND sha256 IS NOT NULL").get(id) !== null,
      );
      on.refer(on.addEmail(upTo(2) === 0 ? null : now), ...usable);
    }
    if (upTo(4) === 0)
      on.sqlite.run("UPDATE email SET ended_at = ? WHERE ended_at IS NULL AND id % 3 = ?", [now, upTo(3)]);
    walkBatch(on.attachments.kept, { after: 0, limit: 500, notBefore: now - 400 });
    for (let after: number | null = 0, steps = upTo(9); after !== null && steps > 0; steps -= 1)
      after = on.attachments.sweep(after, now - 200);
    const lost = on.sqlite
      .query(
        "SELECT 1 FROM email_attachment WHERE attachment_id NOT IN (SELECT id FROM attachment WHERE sha256 IS NOT NULL)",
      )
      .all();
    expect(lost).toEqual([]);
  }
  on.sqlite.run("UPDATE email SET ended_at = 0");
  walkBatch(on.attachments.kept, { after: 0, limit: 500, notBefore: now });
  for (let after: number | null = 0; after !== null;) after = on.attachments.sweep(after, now + 1);
  expect([on.left(), on.pieces()]).toEqual([[], 0]);
});
