// Receipts as vendors write them, each way with a whole pombo: wordings, states, codings, parts.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Delivery } from "../../support/peers/smsc/codec.ts";
import type { ReceiptText } from "../../support/peers/smsc/script.ts";
import { judged, shiftedClock, startTexting } from "../../support/texting/world.ts";

setDefaultTimeout(40_000);

const HOUR = 3_600_000;
const THREE_PARTS = "Um texto que vai em partes. ".repeat(14);

const WORDINGS: ReceiptText[] = [
  ...(["standard", "seconds", "century", "zero_dates", "empty_dates", "joined_keys", "no_counts"] as const),
  ...(["no_text", "upper_keys", "id_last", "ucs2"] as const),
];

test("every wording, with and without TLVs, under each data coding over ASCII", async () => {
  await using world = await startTexting();
  const ids: string[] = [];
  for (const text of WORDINGS) {
    for (const dataCoding of text === "ucs2" ? [8] : [0, 1, 3, 8]) {
      const tlvs = dataCoding === 1 ? (["receipted_message_id"] as const) : [];
      await world.smsc.script({ receipts: { text, dataCoding, tlvs: [...tlvs] } });
      const id = await world.text({ to: `+25884${String(ids.length).padStart(7, "0")}` });
      ids.push(id);
      const message = await world.until(id, ({ status }) => status === "delivered");
      expect([text, dataCoding, message.providerStatus]).toEqual([text, dataCoding, "DELIVRD"]);
    }
  }
  expect((await judged(world, ids)).broken).toEqual([]);
});

const WORDS: [word: string, status: string, deliveryState: string, category: string | null][] = [
  ["FAILED", "undelivered", "undeliverable", "provider_error"],
  ["UNDELIV", "undelivered", "undeliverable", "provider_error"],
  ["REJECTED", "undelivered", "rejected", "provider_error"],
  ["REJECTD", "undelivered", "rejected", "provider_error"],
  ["DELETED", "undelivered", "deleted", "provider_error"],
  ["EXPIRED", "expired", "expired", "expired"],
  ["DELIVERED", "delivered", "delivered", null],
  ["2", "delivered", "delivered", null],
  ["BUFFRED", "sent", "enroute", null],
  ["BUFFERD", "sent", "enroute", null],
  ["ENROUTE", "sent", "enroute", null],
  ["ACKED", "sent", "accepted", null],
  ["ACCEPTD", "sent", "accepted", null],
  ["0", "sent", "enroute", null],
  ["UNKNOWN", "sent", "unknown", null],
];

test("every state in a vendor's own word", async () => {
  await using world = await startTexting();
  for (const [nth, [word, status, deliveryState, category]] of WORDS.entries()) {
    await world.smsc.script({ receipts: { states: [word], tlvs: [] } });
    const id = await world.text({ to: `+25884${String(nth).padStart(7, "0")}` });
    const message = await world.until(id, (each) => each.status === status && each.deliveryState !== "pending");
    expect([word, message.deliveryState, message.failureCategory]).toEqual([word, deliveryState, category]);
    expect(message.providerStatus).toBe(word);
  }
});

test("a vendor's error is its own, unless the route has a word for it", async () => {
  await using world = await startTexting({
    route: { errors: [{ code: "12A", category: "blocked" }] },
    script: { receipts: { states: ["UNDELIV"] } },
  });
  for (const [err, category, code] of [
    ["027", "absent_subscriber", "027"],
    ["001", "unknown_subscriber", "001"],
    ["12A", "blocked", "12A"],
    ["999", "provider_error", "999"],
  ] as const) {
    await world.smsc.script({ receipts: { err } });
    const message = await world.until(await world.text(), ({ status }) => status === "undelivered");
    expect(message).toMatchObject({ failureCategory: category, providerErrorCode: code });
  }
  await world.smsc.script({
    receipts: { err: "27", tlvs: ["receipted_message_id", "message_state", "network_error_code"] },
  });
  const message = await world.until(await world.text(), ({ status }) => status === "undelivered");
  expect(message).toMatchObject({ failureCategory: "absent_subscriber", providerErrorCode: "gsm:27" });
});

for (const parts of ["first", "last", "none"] as const) {
  test(`an SMSC that reports ${parts === "none" ? "no part" : `the ${parts} part only`}`, async () => {
    await using world = await startTexting({ route: { receipts: parts }, script: { receipts: { parts } } });
    const id = await world.text({ body: THREE_PARTS });
    const status = parts === "none" ? "sent" : "delivered";
    const message = await world.until(id, (each) => each.status === status);
    expect(message.deliveryState).toBe(parts === "none" ? "unknown" : "delivered");
    expect((await judged(world, [id])).broken).toEqual([]);
  });
}

function receiptFor(smscId: string | null, state: string): Delivery {
  return {
    command: "deliver_sm",
    from: "258841234567",
    to: "Loja",
    esmClass: 4,
    dataCoding: 0,
    bytes: Buffer.from(`id:${smscId} stat:${state} err:000`).toString("hex"),
    isPayload: false,
    tlvs: [],
  };
}

test("the receipts of parts come days apart: the text is what the last of them says", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ script: { receipts: { states: [] } }, instance: { clock } });
  const id = await world.text({ body: THREE_PARTS });
  await world.until(id, ({ status }) => status === "sent");
  const ids = world.segments().map(({ smsc_id }) => smsc_id);
  await world.smsc.deliver("loja", receiptFor(ids[1] ?? null, "DELIVRD"));
  await world.until(id, ({ deliveryState }) => deliveryState === "enroute");
  clock.shift(48 * HOUR);
  await world.instance.app.sms.sweep();
  const given = await world.until(id, ({ deliveryState }) => deliveryState === "partially_delivered");
  expect(given).toMatchObject({ status: "sent", failureCategory: "receipt_timeout" });
  clock.shift(48 * HOUR);
  await world.smsc.deliver("loja", receiptFor(ids[2] ?? null, "DELIVRD"), receiptFor(ids[0] ?? null, "DELIVRD"));
  await world.until(id, ({ status }) => status === "delivered");
  expect((await judged(world, [id])).broken).toEqual([]);
});

test("of a text of which one part arrived and one did not, that is told", async () => {
  await using world = await startTexting({
    script: { rules: [{ part: 2, answer: { receipt: { states: ["UNDELIV"] } } }] },
  });
  const id = await world.text({ body: THREE_PARTS });
  const message = await world.until(id, ({ status }) => status === "undelivered");
  expect(message).toMatchObject({ deliveryState: "partially_delivered", failureCategory: "provider_error" });
});

test("a number that the network calls nobody's is suppressed, and texts that wait for it are not sent", async () => {
  await using world = await startTexting({
    script: { receipts: { states: ["UNDELIV"], err: "001", tlvs: ["receipted_message_id", "network_error_code"] } },
  });
  const { workspace } = world.instance;
  const id = await world.text({ body: "Um texto que vai em duas partes. ".repeat(6) });
  const message = await world.until(id, ({ status }) => status === "undelivered");
  expect(message).toMatchObject({ failureCategory: "unknown_subscriber", providerErrorCode: "gsm:1" });
  const list = await workspace.call("GET", "/api/v1/suppressions");
  expect(list.body.data).toMatchObject([{ address: "+258841234567", channel: "sms", reason: "invalid_number" }]);
  const again = await workspace.call("POST", "/api/v1/sms", { body: { to: "+258841234567", body: "Olá" } });
  expect([again.status, again.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);
  // A vendor's own number says nothing.
  await world.smsc.script({ receipts: { tlvs: ["receipted_message_id"] } });
  const other = await world.text({ to: "+258841111111" });
  await world.until(other, ({ status }) => status === "undelivered");
  expect((await workspace.call("GET", "/api/v1/suppressions")).body.data).toHaveLength(1);
});
