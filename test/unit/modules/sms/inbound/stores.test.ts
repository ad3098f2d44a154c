import { expect, test } from "bun:test";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { openEmailAdminStore } from "../../../../../src/modules/emails/queue/admin-store.ts";
import { type InboundKey, openInboundStore } from "../../../../../src/modules/sms/inbound/store.ts";
import { createRouting } from "../../../../../src/modules/sms/api/routing.ts";
import { openSenderIdStore } from "../../../../../src/modules/workspaces/sender-store.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { addMessage, addWorkspace, openLedger } from "../../../../support/sms/rows.ts";
import { openSegmentStore } from "../../../../../src/modules/sms/queue/segment-store.ts";

function start() {
  const of = temporaryDatabase();
  const senderIds = openSenderIdStore(of.db);
  return {
    commit: of.committer.commit,
    changes: of.db.changes,
    senderIds,
    ...openLedger(of.db),
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

test("references to a number go up to sixteen bits and begin again, each number for itself", async () => {
  using on = start();
  const { references } = on;
  const next = (recipient: string, times: number) =>
    on.commit(() => Array.from({ length: times }, () => references.next(recipient)).at(-1));
  expect([await next("a", 1), await next("a", 1), await next("b", 1), await next("a", 65_533)]).toEqual([
    0, 1, 0, 65_534,
  ]);
  expect([await next("a", 1), await next("a", 1)]).toEqual([65_535, 0]);
});

test("parts of a text are kept until it is whole, once each, and found when they are late", async () => {
  using on = start();
  const { inbound } = on;
  const key: InboundKey = {
    ...{ route: "r", source: "258841234567", destination: "84000", scheme: "udh8", reference: 7, total: 2 },
  };
  const part = (seq: number, text: string, receivedAt: number) => ({
    ...{ ...key, seq, dataCoding: 0, alphabet: "gsm" as const, payload: Buffer.from(text), receivedAt },
  });
  await on.commit(() => {
    inbound.insertPart(part(2, "b", 10));
    inbound.insertPart(part(1, "a", 20));
    inbound.insertPart(part(1, "again", 30));
    inbound.insertPart({ ...part(1, "other", 40), reference: 8 });
  });
  expect(inbound.listParts(key).map(({ payload }) => payload.toString())).toEqual(["a", "b"]);
  expect(inbound.waitingSince(10, 10)).toEqual([]);
  expect(inbound.waitingSince(25, 10)).toEqual([key]);
  await on.commit(() => inbound.removeParts(key));
  expect(inbound.listParts(key)).toEqual([]);
  expect(inbound.waitingSince(99, 10)).toHaveLength(1);
});

test("a text that is nobody's is kept for a while and told to nobody", async () => {
  using on = start();
  const told: string[] = [];
  on.inbound.followTexts(({ uid }) => void told.push(uid));
  const changed: string[] = [];
  on.changes.watch(1, (kind) => void changed.push(kind));
  const row = { route: "r", sender: "+258841234567", recipient: "84000", body: "x", isWhole: true, raw: null };
  await on.commit(() => {
    on.inbound.insert({ ...row, uid: "a", workspaceId: null, receivedAt: 10 });
    on.inbound.insert({ ...row, uid: "b", workspaceId: 1, receivedAt: 10 });
  });
  expect(told).toEqual(["b"]);
  expect(changed).toEqual(["sms"]);
  expect(on.inbound.listOld(10, 10)).toEqual([]);
  const [nobodys, second] = on.inbound.listOld(11, 10);
  expect(second).toBeUndefined();
  await on.commit(() => on.inbound.remove(nobodys ?? 0));
  expect(on.inbound.listOld(11, 10)).toEqual([]);
  expect(on.inbound.list(1, { from: null, since: null, until: null }, null, 10)).toHaveLength(1);
});

test("receipts that match nothing are found by id and by number, and forgotten in time", async () => {
  using on = start();
  const { orphans } = on;
  const row = {
    ...{ route: "r", smscId: "0A", smscIdKey: "a", numberKey: "841234567", umr: 5 },
    ...{ receiptState: "delivered" as const, receipt: "{}", raw: Buffer.from("id:0A") },
  };
  await on.commit(() => {
    orphans.insert({ ...row, receivedAt: 10 });
    orphans.insert({ ...row, smscIdKey: null, receivedAt: 20 });
    orphans.insert({ ...row, route: "s", receivedAt: 30 });
  });
  expect(orphans.bySmscId("r", "a").map(({ receivedAt }) => receivedAt)).toEqual([10]);
  expect(orphans.byNumber("r", "841234567", 5).map(({ receivedAt }) => receivedAt)).toEqual([20, 10]);
  expect(orphans.byNumber("r", "841234567", 15)).toHaveLength(1);
  expect(orphans.counts()).toEqual([
    { route: "r", count: 2 },
    { route: "s", count: 1 },
  ]);
  const [first] = orphans.bySmscId("r", "a");
  await on.commit(() => orphans.remove(first?.id ?? 0));
  await on.commit(() => orphans.listOld(25, 10).forEach((id) => orphans.remove(id)));
  expect(orphans.counts()).toEqual([{ route: "s", count: 1 }]);
});

test("of a link the last five hundred things are kept, and of a route what was learned last", async () => {
  using on = start();
  const { links } = on;
  await on.commit(() => {
    for (let createdAt = 1; createdAt <= 510; createdAt++)
      links.note({ link: "a", kind: "bound", detail: null, createdAt });
    links.note({ link: "b", kind: "bound", detail: "x", createdAt: 1 });
    links.learn({ route: "r", name: "ids", value: "same", learnedAt: 1 });
    links.learn({ route: "r", name: "ids", value: "hex_to_decimal", learnedAt: 2 });
  });
  const kept = links.listEvents("a", 1_000);
  expect([kept.length, kept[0]?.createdAt, kept.at(-1)?.createdAt]).toEqual([500, 510, 11]);
  expect(links.listEvents("b", 10)).toMatchObject([{ kind: "bound", detail: "x" }]);
  expect([links.learned("r", "ids"), links.learned("r", "x")]).toEqual(["hex_to_decimal", null]);
});

test("who texted a number from a sender id last is known, and whose a sender id is", async () => {
  using on = start();
  const [one, two] = await on.commit(() => [addWorkspace(on, 10), addWorkspace(on, 10)]);
  if (one === undefined || two === undefined) throw new Error("there is no workspace");
  await on.commit(() => {
    for (const [workspaceId, createdAt] of [
      [one, 100],
      [two, 200],
      [one, 300],
      [two, 50],
    ] as const)
      addMessage(on, 1, { message: { workspaceId, createdAt, sender: "84000" } });
    addMessage(on, 1, { message: { workspaceId: two, createdAt: 400, sender: "Loja" } });
  });
  expect(on.messages.textedFrom("+258841234567", "84000", 0)).toEqual([
    { workspaceId: one, lastAt: 300 },
    { workspaceId: two, lastAt: 200 },
  ]);
  expect(on.messages.textedFrom("+258841234567", "84000", 250)).toEqual([{ workspaceId: one, lastAt: 300 }]);
  await on.commit(() => {
    for (const workspaceId of [one, two]) on.senderIds.insert({ workspaceId, name: "84000", createdAt: 0 });
  });
  expect([on.senderIds.listOwners("84000"), on.senderIds.listOwners("84001")]).toEqual([[one, two], []]);
});

test("a number goes by its longest prefix, and without one by the route that takes all others", () => {
  const vodacom = { ...defaultSmsRoute("vodacom"), prefixes: ["25884", "25885"] };
  const single = { ...defaultSmsRoute("single"), prefixes: ["258841111111"] };
  const rest = { ...defaultSmsRoute("rest"), segmentation: "udh16" as const, shiftTables: "pt-single" as const };
  const all = createRouting([vodacom, single, rest]);
  const names = ["+258841234567", "+258851234567", "+258841111111", "+258861234567"].map((to) => all.find(to)?.name);
  expect(names).toEqual(["vodacom", "vodacom", "single", "rest"]);
  expect(all.usual).toMatchObject({
    ...{ name: "rest", segmentation: "udh16", shiftTables: "pt-single", defaultCharset: "gsm7" },
  });
  expect(createRouting([vodacom]).find("+258861234567")).toBeNull();
  expect(createRouting([vodacom]).usual?.name).toBe("vodacom");
  expect(createRouting([]).usual).toBeNull();
});

test("what is asked of all rows goes by the index of the few that are meant, though no value is known when it is planned", () => {
  using of = temporaryDatabase();
  const { sqlite } = of.db;
  const asked: string[] = [];
  const db = { ...of.db, orm: drizzle(sqlite, { logger: { logQuery: (query) => void asked.push(query) } }) };
  const segments = openSegmentStore(
    db,
    () => undefined,
    () => undefined,
  );
  segments.listStrayed(["vodacom"], 500);
  segments.listPinnedElsewhere(["vodacom-1"], 500);
  openInboundStore(db).waitingSince(1_000, 500);
  openEmailAdminStore(db).runningLanes();
  const plans = asked.map((query) =>
    sqlite
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${query.replaceAll("?", "+$value")}`)
      .all()
      .map(({ detail }) => detail),
  );
  expect(plans.map((plan) => plan.find((detail) => detail.includes("INDEX")))).toEqual([
    "SCAN sms_segment USING COVERING INDEX sms_segment_ready",
    "SCAN sms_segment USING INDEX sms_segment_ready",
    expect.stringContaining("USING COVERING INDEX sms_inbound_part_age (received_at<?)"),
    "SCAN email_queue USING INDEX email_queue_in_flight",
  ]);
});
