// The SMSC against an ESME that shares no code with it, nor with pombo: what it says is SMPP.
import { expect, setDefaultTimeout, test } from "bun:test";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { ID, headOf, readMessage } from "../../support/peers/smsc/codec.ts";
import { runEsme } from "../../support/peers/smsc/esme.ts";
import type { ReceiptText } from "../../support/peers/smsc/script.ts";

// Each starts an SMSC, a process of its own.
setDefaultTimeout(20_000);

const TO = ["258841234567"];

test("it binds, answers with ids, reports each message as delivered, answers enquire_link and unbind", async () => {
  await using smsc = await startSmsc();
  const seen = await runEsme({ port: smsc.port, to: TO, rounds: 30, deliveries: 30 });
  expect(seen).toMatchObject({ bindStatus: 0, systemId: "SMSC", enquireStatus: 0, unbindStatus: 0 });
  expect(seen.answers.map(({ status }) => status)).toEqual(seen.answers.map(() => 0));
  const ids = seen.answers.map(({ id }) => id);
  expect(new Set(ids).size).toBe(30);
  expect(seen.deliveries.map(({ receiptedId }) => receiptedId).toSorted()).toEqual(ids.toSorted());
  for (const { text, esmClass, receiptedId, state } of seen.deliveries) {
    expect({ esmClass, state }).toEqual({ esmClass: 4, state: 2 });
    expect(text).toMatch(new RegExp(`^id:${receiptedId} sub:001 .* stat:DELIVRD err:000`));
  }
  await smsc.until({ closed: 1 });
  expect((await smsc.state()).counters).toMatchObject({ accepted: 30, acknowledged: 30, unacknowledged: 0, faults: 0 });
});

test("a transmitter gets no receipts; they wait for the next receiver of the same system id", async () => {
  await using smsc = await startSmsc({ script: { receipts: { delayMs: 0 } } });
  await runEsme({ port: smsc.port, command: "bind_transmitter", to: TO, rounds: 15 });
  await smsc.until({ waiting: 15 });
  const other = await runEsme({ port: smsc.port, command: "bind_receiver", systemId: "other" });
  expect(other.deliveries).toEqual([]);
  const seen = await runEsme({ port: smsc.port, command: "bind_receiver", deliveries: 15 });
  expect(seen.deliveries).toHaveLength(15);
  expect(mostOnTheirWay(await smsc.journal())).toBeLessThanOrEqual(10);
});

/** deliver_sm without an answer at any moment. */
function mostOnTheirWay(noted: { what: string; direction: string }[]): number {
  let [now, most] = [0, 0];
  for (const { what, direction } of noted) {
    if (direction === "=") continue;
    const { id } = headOf(Buffer.from(what, "hex"));
    if (id === ID.deliverSm) now += 1;
    if (id === 0x80000005) now -= 1;
    most = Math.max(most, now);
  }
  return most;
}

test("binds are refused by status, by name, by password, by kind, and when there are too many", async () => {
  await using smsc = await startSmsc({ script: { bind: { systemId: "loja", password: "secret" } } });
  const { port } = smsc;
  const statusOf = async (plan: { systemId?: string; password?: string }) =>
    (await runEsme({ port, ...plan })).bindStatus;
  expect(await statusOf({})).toBe(0x0f);
  expect(await statusOf({ systemId: "loja" })).toBe(0x0e);
  expect(await statusOf({ systemId: "loja", password: "secret" })).toBe(0);
  await smsc.script({ bind: { systemId: "", password: "", refused: ["bind_transceiver"] } });
  expect(await statusOf({})).toBe(0x0d);
  expect((await runEsme({ port, command: "bind_receiver" })).bindStatus).toBe(0);
  await smsc.script({ bind: { refused: [], sessions: 0 } });
  expect(await statusOf({})).toBe(0x05);
  await smsc.script({ bind: { sessions: 100, status: 0x08 } });
  expect(await statusOf({})).toBe(0x08);
});

const WORDINGS: Record<ReceiptText, RegExp> = {
  standard: /^id:\d+ sub:001 dlvrd:001 submit date:\d{10} done date:\d{10} stat:FAILED err:12A text:Ola$/,
  seconds: /submit date:\d{12} done date:\d{12} stat:FAILED err:12A Text:Ola$/,
  century: /submit date:20\d{12} /,
  zero_dates: /submit date:0000000000 done date:0000000000 /,
  empty_dates: /submit date: done date: stat:/,
  joined_keys: /submitdate:\d{10} donedate:\d{10} /,
  no_counts: /^id:\d+ submit date:/,
  no_text: /err:12A$/,
  upper_keys: /^ID:\d+ SUB:001 .* STAT:FAILED ERR:12A TEXT:Ola$/,
  id_last: /^stat:FAILED err:12A id:\d+$/,
  ucs2: /^id:\d+ sub:001 /,
};

test("receipts come in every wording, in TLVs alone, as data_sm, in message_payload and more than once", async () => {
  await using smsc = await startSmsc({ script: { receipts: { delayMs: 0, states: ["FAILED"], err: "12A" } } });
  const receive = async (times = 1) =>
    (await runEsme({ port: smsc.port, to: TO, deliveries: times })).deliveries.map(({ text }) => text);
  for (const [text, expected] of Object.entries(WORDINGS) as [ReceiptText, RegExp][]) {
    await smsc.script({ receipts: { text, dataCoding: text === "ucs2" ? 8 : 0 } });
    expect((await receive())[0]).toMatch(expected);
  }
  await smsc.script({ receipts: { text: "standard", dataCoding: 0, times: 2 } });
  expect(await receive(2)).toHaveLength(2);
  await smsc.script({ receipts: { times: 1, states: ["UNKNOWN", "DELIVRD"], gapMs: 5 } });
  expect((await receive(2)).map((text) => /stat:(\w+)/.exec(text)?.[1])).toEqual(["UNKNOWN", "DELIVRD"]);
  await smsc.script({ receipts: { text: "none", states: ["UNDELIV"], via: "data_sm" } });
  const [bare] = (await runEsme({ port: smsc.port, to: TO, deliveries: 1 })).deliveries;
  expect(bare).toMatchObject({ state: 5, receiptedId: expect.stringMatching(/^\d+$/) });
});

test("ids are decimal, hexadecimal, padded, constant or empty, and the receipt's may differ from the answer's", async () => {
  await using smsc = await startSmsc({ script: { receipts: { delayMs: 0, ids: "padded" } } });
  const cases = [
    ["hex", "39f99dd5", "0972660181"],
    ["upper_hex", "39F99DD5", "0972660181"],
    ["decimal", "972660181", "0972660181"],
    ["constant", "123456789", "0972660181"],
    ["empty", "", "0972660181"],
  ] as const;
  for (const [ids, answered, reported] of cases) {
    await smsc.script({ ids });
    await smsc.tell("ids", { next: 972_660_181 });
    const seen = await runEsme({ port: smsc.port, to: TO, deliveries: 1 });
    expect([seen.answers[0]?.id, seen.deliveries[0]?.receiptedId]).toEqual([answered, reported]);
  }
});

test("over its rate it answers 0x58", async () => {
  await using smsc = await startSmsc({ script: { ratePerSecond: 5, receipts: { states: [] } } });
  const seen = await runEsme({ port: smsc.port, to: TO, rounds: 20, window: 20 });
  const throttled = seen.answers.filter(({ status }) => status === 0x58).length;
  expect(throttled).toBeGreaterThanOrEqual(14);
  expect((await smsc.state()).counters).toMatchObject({ throttled, accepted: 20 - throttled });
});

test("it sees how many submits without an answer there ever were", async () => {
  await using smsc = await startSmsc({ script: { answerDelayMs: 20 } });
  await runEsme({ port: smsc.port, to: TO, rounds: 20, window: 7 });
  expect((await smsc.state()).maxUnanswered).toBe(7);
});

test("rules make exceptions by number and by part, each n-th, from one on, so often", async () => {
  await using smsc = await startSmsc({ script: { receipts: { states: [] } } });
  await smsc.script({
    rules: [
      { to: "25886", answer: { status: 0x14 } },
      { every: 3, from: 3, count: 2, answer: { status: 0x45 } },
    ],
  });
  const seen = await runEsme({ port: smsc.port, to: TO, rounds: 12, window: 1 });
  expect(seen.answers.map(({ status }) => status)).toEqual([0, 0, 0x45, 0, 0, 0x45, 0, 0, 0, 0, 0, 0]);
  expect((await runEsme({ port: smsc.port, to: ["258861111111"] })).answers[0]?.status).toBe(0x14);
});

test("answers come in the opposite order, and in pieces of one octet, and an ESME understands both", async () => {
  await using smsc = await startSmsc({ script: { reverse: 5, pieceOctets: 1 } });
  const seen = await runEsme({ port: smsc.port, to: TO, rounds: 5, window: 5, deliveries: 5 });
  expect(seen.answers.map(({ status }) => status)).toEqual([0, 0, 0, 0, 0]);
  expect(seen.deliveries.map(({ receiptedId }) => receiptedId).toSorted()).toEqual(
    seen.answers.map(({ id }) => id).toSorted(),
  );
});

test("its journal holds every PDU with its time and its bytes", async () => {
  await using smsc = await startSmsc();
  await runEsme({ port: smsc.port, to: TO, rounds: 2, window: 1, deliveries: 2 });
  await smsc.until({ closed: 1 });
  const noted = await smsc.journal();
  const submits = noted.filter(({ direction, what }) => direction === "<" && what.slice(8, 16) === "00000004");
  const texts = submits.map(({ what }) => readMessage(Buffer.from(what, "hex")).shortMessage.toString("latin1"));
  expect(texts).toEqual(["Mensagem 0", "Mensagem 1"]);
  expect(noted.map(({ at }) => at)).toEqual(noted.map(({ at }) => at).toSorted((a, b) => a - b));
  expect(noted[0]?.what).toBe("connected");
  expect(noted.at(-1)?.what).toBe("closed");
});
