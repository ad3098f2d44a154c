import { expect, test } from "bun:test";
import type { SmscHandle } from "../../support/peers/smsc/client.ts";
import { type Delivery, readMessage, TAG, tlvOf } from "../../support/peers/smsc/codec.ts";
import { judged, startTexting } from "../../support/texting/world.ts";

const TWO_PARTS = "Um texto que vai em duas partes. ".repeat(6);

test("a text whose answer was lost with the link goes once more, marked, with the same reference", async () => {
  await using world = await startTexting({
    script: { rules: [{ count: 1, answer: { end: "half", receipt: { states: [] } } }] },
  });
  const id = await world.text();
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ possibleDuplicate: true, credits: 1 });
  const references = (await world.smsc.journal())
    .filter(({ direction, what }) => direction === "<" && what.startsWith("00000004", 8))
    .map(({ what }) => Buffer.from(what, "hex"))
    .map((bytes) => tlvOf(readMessage(bytes), TAG.userMessageReference)?.toString("hex"));
  expect(references).toHaveLength(2);
  expect(new Set(references).size).toBe(1);
  expect(world.instance.bugs).toEqual([]);
});

test("a text of two parts whose answers were lost is held, and given up with its credits", async () => {
  await using world = await startTexting({
    script: { rules: [{ count: 2, answer: { kind: "none", receipt: { states: [] } } }] },
    configure: (config) => void (config.sms.lostResponseWaitMs = 1_500),
  });
  const id = await world.text({ body: TWO_PARTS });
  await world.smsc.until({ submits: 2 });
  await world.smsc.tell("drop", { how: "rst" });
  const held = await world.until(id, () => world.segments().every(({ state }) => state === "unknown"));
  expect(held).toMatchObject({ status: "sending", credits: 2 });
  const message = await world.until(id, ({ status }) => status === "failed");
  expect(message).toMatchObject({ failureCategory: "outcome_unknown", deliveryState: "unknown", credits: 0 });
  expect((await world.smsc.state()).counters.submits).toBe(2);
});

test("receipts under our reference tell that what was given up had arrived; the refund stands", async () => {
  await using world = await startTexting({
    script: {
      rules: [{ count: 1, answer: { end: "half", receipt: { states: [] } } }],
    },
    route: { onLostResponse: "hold" },
    configure: (config) => void (config.sms.lostResponseWaitMs = 1_000),
  });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "failed");
  await world.smsc.deliver("loja", await receiptUnderReference(world.smsc));
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ deliveryState: "delivered", failureCategory: null, credits: 0 });
});

test("a text sent twice, both answers lost, is delivered by receipts of ids that nobody told us", async () => {
  await using world = await startTexting({
    script: {
      rules: [
        { count: 2, answer: { end: "half", receipt: { ids: "unknown", tlvs: [], text: "no_text", delayMs: 1_500 } } },
      ],
    },
    configure: (config) => void (config.sms.lostResponseWaitMs = 300),
  });
  const id = await world.text();
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ possibleDuplicate: true, deliveryState: "delivered", failureCategory: null });
  expect((await judged(world, [id])).broken).toEqual([]);
});

test("a receipt of a text that is held resolves it without another submit", async () => {
  await using world = await startTexting({
    script: { rules: [{ answer: { end: "half", receipt: { states: [] } } }] },
    route: { onLostResponse: "hold" },
  });
  const id = await world.text();
  await world.until(id, () => world.segments().every(({ state }) => state === "unknown"));
  await world.smsc.deliver("loja", await receiptUnderReference(world.smsc));
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ possibleDuplicate: false, credits: 1 });
  expect((await world.smsc.state()).counters.submits).toBe(1);
});

test("a receipt under our reference tells of all of a text that went whole, be it there before or after its link was lost", async () => {
  await using world = await startTexting({
    script: { rules: [{ answer: { kind: "none", receipt: { states: [] } } }] },
    route: { segmentation: "payload", failoverAfterMs: 60_000 },
  });
  for (const isBefore of [false, true]) {
    const id = await world.text({ body: TWO_PARTS });
    await world.smsc.until({ submits: isBefore ? 2 : 1, bound: 1 });
    if (isBefore) await world.smsc.deliver("loja", await receiptUnderReference(world.smsc));
    await world.smsc.tell("drop", { how: "rst" });
    if (!isBefore) {
      await world.until(id, () => world.segments().every(({ state }) => state === "unknown"));
      await world.smsc.until({ bound: 1 });
      await world.smsc.deliver("loja", await receiptUnderReference(world.smsc));
    }
    const message = await world.until(id, ({ status }) => status === "delivered");
    expect(message).toMatchObject({ possibleDuplicate: false, segments: 2, credits: 2, failureCategory: null });
    expect(world.segments().map(({ state }) => state)).not.toContain("unknown");
  }
  expect((await world.smsc.state()).counters.submits).toBe(2);
  expect(world.instance.bugs).toEqual([]);
});

test("what was in flight at a stop that could not wait goes once more after the start, marked", async () => {
  await using world = await startTexting({
    script: { rules: [{ count: 1, answer: { kind: "none", receipt: { states: [] } } }] },
  });
  const id = await world.text();
  await world.smsc.until({ submits: 1 });
  await world.instance.restart();
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ possibleDuplicate: true });
});

test("a stop waits for the answers, and unbinds", async () => {
  await using world = await startTexting({ script: { answerDelayMs: 400 } });
  const id = await world.text();
  await world.smsc.until({ submits: 1 });
  await world.instance.app.stop(10_000);
  const { counters } = await world.smsc.state();
  expect(counters).toMatchObject({ answers: 1, unbinds: 1 });
  await world.instance.restart();
  const message = await world.until(id, ({ status }) => status !== "queued");
  expect(message.possibleDuplicate).toBe(false);
  expect(message.sentAt).toBeString();
});

test("while nothing can be written receipts are refused and come again, and answers are not forgotten", async () => {
  await using world = await startTexting({
    script: { answerDelayMs: 1_500, retryMs: 200, receipts: { delayMs: 1_000 } },
  });
  const id = await world.text();
  await world.smsc.until({ submits: 1 });
  const { sqlite } = world.instance.app.db;
  sqlite.run("PRAGMA query_only = 1");
  await world.smsc.until({ answers: 1, refused: 1 });
  sqlite.run("PRAGMA query_only = 0");
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ possibleDuplicate: false });
  expect((await world.smsc.state()).counters).toMatchObject({ submits: 1 });
});

for (const [body, isKnown] of [
  ["Ola", true],
  ["Outra coisa", false],
] as const) {
  test(`a receipt without id or reference ${isKnown ? "proves" : "does not prove"} a text that begins ${isKnown ? "" : "not "}as it says`, async () => {
    const receipt = { isBeforeAnswer: true, ids: "unknown", tlvs: [] } as const;
    await using world = await startTexting({
      script: { rules: [{ count: 1, answer: { end: "half", receipt: { ...receipt, tlvs: [] } } }] },
    });
    const id = await world.text({ body });
    const message = await world.until(id, ({ status }) => status === "delivered");
    expect(message).toMatchObject({ possibleDuplicate: !isKnown, credits: 1 });
    expect((await world.smsc.state()).counters.submits).toBe(isKnown ? 1 : 2);
  });
}

/** A receipt for the first submit, under an id that we were never told. */
/** Of the last submit. */
async function receiptUnderReference(smsc: SmscHandle): Promise<Delivery> {
  const submit = (await smsc.journal()).findLast(({ what }) => what.startsWith("00000004", 8));
  const umr = tlvOf(readMessage(Buffer.from(submit?.what ?? "", "hex")), TAG.userMessageReference)?.toString("hex");
  return {
    command: "deliver_sm",
    from: "258841234567",
    to: "Loja",
    esmClass: 4,
    dataCoding: 0,
    bytes: Buffer.from("id:77 stat:DELIVRD err:000").toString("hex"),
    isPayload: false,
    tlvs: [{ tag: TAG.userMessageReference, value: umr ?? "" }],
  };
}
