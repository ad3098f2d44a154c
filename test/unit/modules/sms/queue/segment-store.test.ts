import { expect, test } from "bun:test";
import { type TemporaryDatabase, temporaryDatabase } from "../../../../support/db/temporary.ts";
import { prepareAtOnce } from "../../../../../src/platform/db/statement.ts";
import { openSegmentStore } from "../../../../../src/modules/sms/queue/segment-store.ts";
import { openMessageStore } from "../../../../../src/modules/sms/queue/message-store.ts";
import { addMessage } from "../../../../support/sms/rows.ts";
import type { Claim, SegmentRow, ProviderWords } from "../../../../../src/modules/sms/queue/segment-read-store.ts";

const CLAIM: Claim = {
  route: "vodacom",
  priority: "transactional",
  workspaceId: 1,
  link: "a",
  leaseEpoch: 5,
  now: 1_000,
  limit: 10,
};
const FINE: ProviderWords = { providerStatus: "ESME_ROK", providerCode: "0x00000000", category: null, reason: null };
const THROTTLED: ProviderWords = {
  providerStatus: "ESME_RTHROTTLED",
  providerCode: "0x00000058",
  category: "throttled",
  reason: "x",
};

function start(of: TemporaryDatabase = temporaryDatabase()) {
  const settled: number[] = [];
  const messages = openMessageStore(of.db);
  const segments = openSegmentStore(
    of.db,
    (id) => void settled.push(id),
    () => undefined,
  );
  return { of, settled, messages, segments, commit: of.committer.commit, [Symbol.dispose]: () => of[Symbol.dispose]() };
}

const places = (rows: SegmentRow[]) => rows.map(({ messageId, seq }) => [messageId, seq]);

test("a claim takes what is due of one workspace, route and priority, in the order in which it must be written", async () => {
  using on = start();
  const { segments } = on;
  const [late, early, long] = await on.commit(() => [
    addMessage(on, 1, { segment: { nextAt: 900 } }),
    addMessage(on, 1, { segment: { nextAt: 100 } }),
    addMessage(on, 3, { segment: { nextAt: 100 } }),
  ]);
  await on.commit(() => {
    addMessage(on, 1, { segment: { nextAt: 1_001 } });
    addMessage(on, 1, { message: { workspaceId: 2 } });
    addMessage(on, 1, { segment: { route: "tmcel" } });
    addMessage(on, 1, { segment: { priority: "bulk" } });
  });
  const rows = await on.commit(() => segments.claim(CLAIM));
  expect(places(rows)).toEqual([
    [early, 1],
    [long, 1],
    [long, 2],
    [long, 3],
    [late, 1],
  ]);
  expect(rows[0]).toMatchObject({ state: "in_flight", link: "a", leaseEpoch: 5, attempts: 1, submittedAt: 1_000 });
  expect(await on.commit(() => segments.claim(CLAIM))).toEqual([]);
});

test("the parts of a message stay with the link that has the first of them", async () => {
  using on = start();
  const id = await on.commit(() => addMessage(on, 3));
  expect(places(await on.commit(() => on.segments.claim({ ...CLAIM, limit: 1 })))).toEqual([[id, 1]]);
  expect(await on.commit(() => on.segments.claim({ ...CLAIM, link: "b" }))).toEqual([]);
  expect(places(await on.commit(() => on.segments.claim(CLAIM)))).toEqual([
    [id, 2],
    [id, 3],
  ]);
});

test("claims, starts and receipts read by the partial indexes", () => {
  using on = start();
  const findPlan = (sql: string) =>
    on.of.db.sqlite
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join("\n");
  const asked: string[] = [];
  const { prepare } = on.of.db.sqlite;
  on.of.db.sqlite.prepare = ((sql: string, ...rest: []) => {
    asked.push(sql);
    return prepare.call(on.of.db.sqlite, sql, ...rest);
  }) as typeof prepare;
  using _all = prepareAtOnce();
  openMessageStore(on.of.db);
  openSegmentStore(
    on.of.db,
    () => undefined,
    () => undefined,
  );
  const plan = (...words: string[]) =>
    findPlan((asked.find((sql) => words.every((word) => sql.includes(word))) ?? "").replaceAll("?", "0"));
  const claim = plan("IN (", "LIMIT");
  expect(claim).toContain("sms_segment_ready (route=? AND priority=? AND workspace_id=? AND next_at<?)");
  expect(claim).toContain("SEARCH sms_segment USING PRIMARY KEY (message_id=? AND seq=?)");
  expect(claim).not.toContain("SCAN");
  expect(claim).not.toContain("TEMP B-TREE");
  expect(plan("update", "state = 'in_flight'")).toContain("sms_segment_open (state=?)");
  expect(plan("select", "state = 'unknown'")).toContain("sms_segment_open (state=? AND next_at<?)");
  expect(plan("select", '"smsc_id_key" = +?')).toContain("sms_segment_id (route=? AND smsc_id_key=?)");
  expect(plan("select", '"smsc_id_key2" = +?')).toContain("sms_segment_id2 (route=? AND smsc_id_key2=?)");
  expect(plan("is_final = 0")).toContain("sms_message_open (status=? AND expires_at<?)");
});

test("an answer of another connection, or one that comes twice, changes nothing", async () => {
  using on = start();
  const { segments } = on;
  await on.commit(() => addMessage(on));
  const [row] = await on.commit(() => segments.claim(CLAIM));
  if (row === undefined) throw new Error("nothing was claimed");
  const answer = { smscId: "A1", smscIdKey: "a1", expectsReceipt: true, now: 1_100 };
  expect(await on.commit(() => segments.accept({ ...row, leaseEpoch: 4 }, answer, FINE))).toBe(false);
  on.settled.length = 0;
  expect(await on.commit(() => segments.accept(row, answer, FINE))).toBe(true);
  expect(await on.commit(() => segments.accept(row, { ...answer, smscId: "B" }, FINE))).toBe(false);
  expect(await on.commit(() => segments.unknown(row, { now: 1_200, giveUpAt: 9_000 }))).toBe(false);
  expect(on.settled).toEqual([row.messageId]);
  expect(segments.listByMessage(row.messageId)).toMatchObject([
    {
      state: "accepted",
      smscId: "A1",
      smscIdKey: "a1",
      acceptedAt: 1_100,
      providerStatus: "ESME_ROK",
      expectsReceipt: true,
    },
  ]);
});

test("what was in flight at a start is unknown, and is found when it is to be given up", async () => {
  using on = start();
  const { segments } = on;
  await on.commit(() => [addMessage(on), addMessage(on, 2)]);
  const [row] = await on.commit(() => segments.claim({ ...CLAIM, limit: 2 }));
  expect(await on.commit(() => segments.markInFlightUnknown(2_000, 5_000))).toBe(2);
  expect(segments.unknownDue(4_999, 10)).toEqual([]);
  const [due] = segments.unknownDue(5_000, 10);
  expect(due).toMatchObject({ messageId: row?.messageId, state: "unknown", leaseEpoch: 5 });
  if (due === undefined) throw new Error("nothing is due");
  const again = { now: 5_000, nextAt: 5_000, isCounted: true, isResend: true };
  expect(await on.commit(() => segments.retry(due, again, FINE))).toBe(true);
  expect(segments.listByMessage(due.messageId)).toMatchObject([
    { state: "ready", link: null, attempts: 1, resends: 1 },
  ]);
});

test("a throttled segment is ready again later and loses no attempt; its fellow parts stay on the link", async () => {
  using on = start();
  const { segments } = on;
  const id = await on.commit(() => addMessage(on, 2));
  const [first] = await on.commit(() => segments.claim({ ...CLAIM, limit: 1 }));
  if (first === undefined) throw new Error("nothing was claimed");
  await on.commit(() => {
    segments.retry(first, { now: 1_100, nextAt: 2_100, isCounted: false, isResend: false }, THROTTLED);
    segments.delayReady(id, 2_100);
  });
  expect(segments.listByMessage(id)).toMatchObject([
    { state: "ready", link: "a", attempts: 0, nextAt: 2_100, category: "throttled", reason: "x" },
    { state: "ready", link: "a", nextAt: 2_100 },
  ]);
  expect(segments.nextAt(CLAIM)).toBe(2_100);
  expect(segments.readyWork()).toEqual([
    { route: "vodacom", priority: "transactional", workspaceId: 1, nextAt: 2_100 },
  ]);
});

test("the rest of a message that is refused is ended together, and what is under way stays", async () => {
  using on = start();
  const { segments } = on;
  const id = await on.commit(() => addMessage(on, 3));
  const [first] = await on.commit(() => segments.claim({ ...CLAIM, limit: 1 }));
  const said: ProviderWords = { ...THROTTLED, category: "content_rejected" };
  expect(await on.commit(() => segments.endReady(id, { state: "failed", now: 1_100 }, said))).toBe(2);
  expect(segments.listByMessage(id).map(({ state }) => state)).toEqual(["in_flight", "failed", "failed"]);
  expect(first?.seq).toBe(1);
  expect(segments.listByMessage(id)[2]).toMatchObject({ changedAt: 1_100, category: "content_rejected" });
});

test("an id is found under its route, also when it came twice or belongs to a second submit", async () => {
  using on = start();
  const { segments } = on;
  await on.commit(() => {
    addMessage(on, 1, { message: { recipient: "+258840000001" } });
    addMessage(on, 1, { message: { recipient: "+258840000002" } });
  });
  const rows = await on.commit(() => segments.claim(CLAIM));
  await on.commit(() => {
    for (const row of rows)
      segments.accept(row, { smscId: "7", smscIdKey: "7", expectsReceipt: true, now: 1_100 }, FINE);
    segments.addId(rows[0]?.messageId ?? 0, 1, "8");
  });
  const found = (route: string, key: string) => segments.bySmscId(route, key).map(({ message }) => message.recipient);
  expect(found("vodacom", "7")).toEqual(["+258840000002", "+258840000001"]);
  expect(found("vodacom", "8")).toEqual(["+258840000001"]);
  expect(found("tmcel", "7")).toEqual([]);
});

test("each message is settled once a transaction, and not for a closure that was rolled back", async () => {
  using on = start();
  const { segments } = on;
  const id = await on.commit(() => addMessage(on, 3));
  const rows = await on.commit(() => segments.claim(CLAIM));
  expect(on.settled).toEqual([id]);
  on.settled.length = 0;
  const at = { now: 1_100, giveUpAt: 2_000 };
  const failing = on.commit(() => {
    for (const row of rows) segments.unknown(row, at);
    throw new Error("rolled back");
  });
  await expect(failing).rejects.toThrow("rolled back");
  expect(on.settled).toEqual([]);
  const both = rows.slice(0, 2).map((row) => on.commit(() => segments.unknown(row, at)));
  await Promise.all(both);
  expect(on.settled).toEqual([id]);
});
