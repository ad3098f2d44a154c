import { expect, test } from "bun:test";
import type { Change, Script } from "../../support/peers/smsc/script.ts";
import { startTexting } from "../../support/texting/world.ts";

const LONG = "Um texto que vai em partes. ".repeat(12);

interface Case {
  name: string;
  script: Change<Script>;
  status: string;
  deliveryState: string;
  /** Receipts for one text. */
  receipts: number;
  body?: string;
}

const CASES: Case[] = [
  {
    name: "before its answer",
    script: { receipts: { isBeforeAnswer: true } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 1,
  },
  { name: "twice", script: { receipts: { times: 2 } }, status: "delivered", deliveryState: "delivered", receipts: 2 },
  {
    name: "in a data_sm",
    script: { receipts: { via: "data_sm" } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 1,
  },
  {
    name: "in message_payload",
    script: { receipts: { via: "message_payload" } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 1,
  },
  {
    name: "with hexadecimal answers and padded decimal ids",
    script: { ids: "hex", receipts: { ids: "padded" } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 1,
  },
  {
    name: "with decimal answers and upper hexadecimal ids",
    script: { receipts: { ids: "upper_hex" } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 1,
  },
  {
    name: "in text alone",
    script: { receipts: { tlvs: [] } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 1,
  },
  {
    name: "in TLVs alone",
    script: { receipts: { text: "none" } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 1,
  },
  {
    name: "UNKNOWN, then DELIVRD",
    script: { receipts: { states: ["UNKNOWN", "DELIVRD"] } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 2,
  },
  {
    name: "DELIVRD, then UNDELIV",
    script: { receipts: { states: ["DELIVRD", "UNDELIV"] } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 2,
  },
  {
    name: "EXPIRED, then DELIVRD",
    script: { receipts: { states: ["EXPIRED", "DELIVRD"] } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 2,
  },
  {
    name: "UNDELIV",
    script: { receipts: { states: ["UNDELIV"], err: "027" } },
    status: "undelivered",
    deliveryState: "undeliverable",
    receipts: 1,
  },
  {
    name: "for one of two parts, before the answers",
    body: LONG,
    script: { receipts: { isBeforeAnswer: true } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 3,
  },
  {
    name: "for each of several parts, all under one id, before the answers",
    body: LONG,
    script: { ids: "constant", answerDelayMs: 20, receipts: { isBeforeAnswer: true } },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 3,
  },
  {
    name: "under the id of a part that was delivered, before the answer",
    body: LONG,
    script: {
      ids: "constant",
      rules: [{ part: 1, answer: {} }, { answer: { delayMs: 400, receipt: { delayMs: 200 } } }],
    },
    status: "delivered",
    deliveryState: "delivered",
    receipts: 3,
  },
];

for (const { name, script, status, deliveryState, receipts, body = "Olá" } of CASES) {
  test(`a receipt comes ${name}`, async () => {
    await using world = await startTexting({ script });
    const id = await world.text({ body });
    await world.smsc.until({ acknowledged: receipts });
    const message = await world.until(id, (each) => each.status === status);
    expect(message).toMatchObject({ status, deliveryState });
    const { refused, faults } = (await world.smsc.state()).counters;
    expect({ refused, faults }).toEqual({ refused: 0, faults: 0 });
    expect(world.instance.bugs).toEqual([]);
    const types = world.instance.app.db.sqlite
      .query("SELECT type FROM event WHERE type LIKE 'sms.%' ORDER BY id")
      .all() as { type: string }[];
    // Each change once, however often it was said.
    expect(types.length).toBeGreaterThan(2);
    expect(new Set(types.map(({ type }) => type)).size).toBe(types.length);
    expect(world.instance.app.db.sqlite.query("SELECT COUNT(*) AS n FROM sms_receipt_orphan").get()).toEqual({ n: 0 });
  });
}

test("a receipt on another bind counts, as one of a route with two links", async () => {
  await using world = await startTexting({
    script: { receipts: { on: "other" } },
    link: { bind: "pair" },
  });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
});

test("a receipt that fits nothing is acknowledged and kept", async () => {
  await using world = await startTexting({ script: { receipts: { ids: "unknown", tlvs: [] } } });
  const id = await world.text();
  await world.smsc.until({ acknowledged: 1 });
  expect(await world.until(id, ({ status }) => status === "sent")).toMatchObject({ deliveryState: "pending" });
  expect(world.instance.app.db.sqlite.query("SELECT COUNT(*) AS n FROM sms_receipt_orphan").get()).toEqual({ n: 1 });
});

test("how an SMSC writes its ids is learned", async () => {
  await using world = await startTexting({ script: { ids: "hex", receipts: { ids: "decimal" } } });
  const ids = await Promise.all(Array.from({ length: 25 }, () => world.text()));
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
  expect(world.instance.app.smsStores.links.learned("vodacom", "ids")).toBe("decimal_to_hex");
});
