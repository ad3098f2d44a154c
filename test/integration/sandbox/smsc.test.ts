import { afterEach, beforeEach, expect, test } from "bun:test";
import { systemRandom } from "../../../src/platform/random.ts";
import { MAX_INCOMPLETE } from "../../../src/sandbox/smsc/handset.ts";
import { buildNumber } from "../../../src/sandbox/smsc/magic-numbers.ts";
import { type SandboxSmsc, startSandboxSmsc } from "../../../src/sandbox/smsc/server.ts";
import { openTexts, type Texts } from "../../../src/sandbox/smsc/message-store.ts";
import { type FakeClock, fakeClock } from "../../support/fakes/clock.ts";
import { ANSWER, cstring, ID, pdu, TAG, tlv } from "../../support/peers/smsc/codec.ts";
import { runEsme } from "../../support/peers/smsc/esme.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { Esme, partOf, sarOf, submitBody } from "./esme.ts";

const NOON = Date.UTC(2026, 2, 1, 12);
const ONE = "258841234567";

let clock: FakeClock;
let texts: Texts;
let smsc: SandboxSmsc;
let lines: string[];
let open: Esme[];

beforeEach(async () => {
  clock = fakeClock(NOON);
  texts = openTexts(":memory:");
  [lines, open] = [[], []];
  const onEvent = (line: string) => void lines.push(line);
  smsc = await startSandboxSmsc({
    accounts: ["a", "b"],
    password: "geheim",
    texts,
    clock,
    random: systemRandom,
    onEvent,
  });
});

afterEach(async () => {
  for (const esme of open) esme.close();
  await smsc.close();
  texts.close();
});

function connect(): Esme {
  const esme = new Esme(smsc.port);
  open.push(esme);
  return esme;
}

async function bound(systemId = "a", id: number = ID.bindTransceiver): Promise<Esme> {
  const esme = connect();
  expect(await esme.bind(systemId, "geheim", id)).toBe(0);
  return esme;
}

test("a bind needs a known account and the password; a second bind on one connection is refused", async () => {
  expect(await connect().bind("nobody", "geheim")).toBe(0x0f);
  const wrong = connect();
  expect(await wrong.bind("a", "falsch")).toBe(0x0e);
  await wrong.closed;
  const esme = await bound();
  expect(await esme.bind("a", "geheim")).toBe(0x05);
  expect((await esme.submit({})).status).toBe(0);
});

test("nothing is taken before a bind or from a receiver, and one that never binds is let go", async () => {
  expect((await connect().submit({})).status).toBe(0x04);
  expect((await (await bound("a", ID.bindReceiver)).submit({})).status).toBe(0x04);
  const idle = connect();
  expect((await idle.ask(ID.enquireLink)).status).toBe(0);
  clock.advance(10_000);
  await idle.closed;
  expect(texts.list()).toEqual([]);
});

test("enquire_link and unbind are answered, what nobody knows is a generic_nack", async () => {
  const esme = await bound();
  expect((await esme.ask(ID.enquireLink)).status).toBe(0);
  esme.write(pdu(0x0000_0003, { sequence: 77 }, cstring("x")));
  expect(await esme.next(ID.genericNack)).toMatchObject({ status: 3, sequence: 77 });
  expect((await esme.ask(ID.unbind)).status).toBe(0);
  await esme.closed;
});

test("an ESME that is not pombo's sends, and has a receipt for each", async () => {
  // Its receipts come when the clock moves on.
  const turn = setInterval(() => clock.advance(50), 5);
  const to = [ONE, "258821234567", buildNumber({ ending: "01" }).slice(1)];
  const seen = await runEsme({ port: smsc.port, systemId: "a", password: "geheim", to, deliveries: 3 });
  clearInterval(turn);
  expect(seen).toMatchObject({ bindStatus: 0, systemId: "sandbox", enquireStatus: 0, unbindStatus: 0 });
  expect(seen.answers.map(({ status }) => status)).toEqual([0, 0, 0]);
  const states = seen.deliveries.map(({ receiptedId, state }) => [receiptedId, state]);
  expect(new Map(states as [string, number][])).toEqual(
    new Map(seen.answers.map(({ id }, at): [string, number] => [id, at === 2 ? 5 : 2])),
  );
  expect(texts.list().map(({ from, to: phone }) => [from, phone])).toEqual([
    ["LOJA", "+258821234567"],
    ["LOJA", "+258841234567"],
  ]);
});

test("a receipt has the usual text, and id, state and our reference in TLVs too", async () => {
  const esme = await bound();
  const reference = tlv(TAG.userMessageReference, Buffer.from([0x12, 0x34]));
  const { id } = await esme.submit({
    message: Buffer.from("Ol\u0007 a todos os nossos clientes", "latin1"),
    tlvs: [reference],
  });
  clock.advance(100);
  const { body } = await esme.delivered();
  const text = body.toString("latin1");
  expect(text).toContain(
    `id:${id} sub:001 dlvrd:001 submit date:2603011200 done date:2603011200 stat:DELIVRD err:000 text:Ol? a todos os nosso`,
  );
  const tlvs = Buffer.concat([
    tlv(TAG.receiptedMessageId, cstring(id)),
    tlv(TAG.messageState, Buffer.from([2])),
    reference,
  ]);
  expect(body.subarray(-tlvs.length)).toEqual(tlvs);
});

test.each([
  ["none", 0, ONE, false],
  ["for failures only, and it arrived", 2, ONE, false],
  ["for failures only, and it failed", 2, buildNumber({ ending: "01" }).slice(1), true],
])("receipts are as asked for: %s", async (_what, registered, to, isSent) => {
  const esme = await bound();
  const before = await esme.submit({ registered, to });
  clock.advance(100);
  // One that is reported in any case tells where it ends.
  const { id } = await esme.submit({});
  clock.advance(100);
  expect((await esme.delivered()).body.toString("latin1")).toContain(isSent ? before.id : id);
});

test.each([
  ["8 bits", (part: string, seq: number) => partOf(part, { reference: 7, total: 3, seq })],
  ["16 bits", (part: string, seq: number) => partOf(part, { reference: 700, total: 3, seq }, 16)],
  ["SAR", (part: string, seq: number) => ({ message: Buffer.from(part), tlvs: sarOf(700, 3, seq) })],
])("parts joined by %s are one text, in whatever order and however often they come", async (_what, write) => {
  const esme = await bound();
  for (const [part, seq] of [
    ["C", 3],
    ["A", 1],
    ["A", 1],
    ["B", 2],
  ] as const)
    await esme.submit(write(part, seq));
  expect(texts.list()).toEqual([]);
  clock.advance(100);
  expect(texts.list()).toMatchObject([{ body: "ABC", segments: 3, encoding: "gsm7", from: "Loja", to: `+${ONE}` }]);
});

test("message_payload is one text, of as many segments as the network makes of it", async () => {
  const esme = await bound();
  const payload = Buffer.alloc(400, 0x61);
  await esme.submit({ message: Buffer.alloc(0), tlvs: [tlv(TAG.messagePayload, payload)] });
  clock.advance(100);
  expect(texts.list()).toMatchObject([{ body: "a".repeat(400), segments: 3 }]);
});

test.each([
  ["GSM 03.38", 0, "00011b65", "@£€", "gsm7"],
  ["octets that are no septets", 0, "41e3", "Aã", "gsm7"],
  ["UCS-2", 8, "00e3d83ddca9", "ã💩", "ucs2"],
  ["Latin-1", 3, "e3", "ã", "latin1"],
  ["binary", 4, "0102", "(2 octets that are no text)", "binary"],
])("%s is shown as a phone shows it", async (_what, dataCoding, hex, ...shown) => {
  const esme = await bound();
  await esme.submit({ dataCoding, message: Buffer.from(hex, "hex") });
  clock.advance(100);
  expect(texts.list().map((text) => [text.body, text.encoding])).toEqual([shown as never]);
});

test("a number as sender has its plus, a short code has none", async () => {
  const esme = await bound();
  await esme.submit({ from: "258840001111", fromTon: 1 });
  await esme.submit({ from: "84000", fromTon: 3 });
  clock.advance(100);
  expect(texts.list().map(({ from }) => from)).toEqual(["84000", "+258840001111"]);
});

test("receipts wait for a connection of the account that submitted, and go by any of them", async () => {
  const [sender, stranger] = [await bound("a", ID.bindTransmitter), await bound("b")];
  const { id } = await sender.submit({});
  sender.close();
  await sender.closed;
  clock.advance(100);
  const receiver = await bound("a", ID.bindReceiver);
  expect((await receiver.delivered()).body.toString("latin1")).toContain(`id:${id} `);
  // The stranger's next is its own answer.
  expect((await stranger.submit({})).status).toBe(0);
});

test("a receipt that is refused for now or not answered comes again, in its place", async () => {
  const esme = await bound();
  const first = await esme.submit({});
  clock.advance(100);
  expect((await esme.delivered(0x64)).body.toString("latin1")).toContain(first.id);
  // The refusal is on its way; each second it is tried again.
  const again = setInterval(() => clock.advance(1_000), 5);
  const second = await esme.delivered();
  clearInterval(again);
  expect(second.body.toString("latin1")).toContain(first.id);
});

test("what a subscriber writes goes to the first account in the parts that it needs, and is kept as sent", async () => {
  expect(await smsc.writeBack({ from: `+${ONE}`, to: "84000", body: "Olá" })).toBe("not_connected");
  const esme = await bound();
  const body = "ã".repeat(100);
  const taken = smsc.writeBack({ from: `+${ONE}`, to: "84000", body });
  const parts = [await esme.delivered(), await esme.delivered()];
  expect(await taken).toBe("taken");
  expect(parts.map((part) => part.body.includes(Buffer.from(`${ONE}\0\x03\x0084000\0\x40`, "latin1")))).toEqual([
    true,
    true,
  ]);
  expect(texts.list()).toEqual([]);
  expect(texts.list({ withOut: true })).toMatchObject([
    { from: `+${ONE}`, to: "84000", body, segments: 2, encoding: "ucs2", direction: "out" },
  ]);
  const refused = smsc.writeBack({ from: `+${ONE}`, to: "84000", body: "Não" });
  await esme.delivered(0x64);
  expect(await refused).toBe("refused");
});

test("of texts whose parts are missing only so many are kept, and not for long", async () => {
  const esme = await bound();
  const part = (to: number, seq: number) =>
    esme.submit({ to: String(258_840_100_000 + to), ...partOf("x", { reference: 1, total: 2, seq }) });
  for (let nth = 0; nth <= MAX_INCOMPLETE; nth += 1) await part(nth, 1);
  clock.advance(100);
  await part(0, 2);
  await part(MAX_INCOMPLETE, 2);
  clock.advance(100);
  expect(texts.list().map(({ to }) => to)).toEqual([`+${258_840_100_000 + MAX_INCOMPLETE}`]);
  await part(1_000, 1);
  clock.advance(5 * 60_000 + 1_000);
  await part(1_000, 2);
  clock.advance(100);
  expect(texts.list()).toHaveLength(1);
});

test.each([
  ["a length of 0", Buffer.alloc(16)],
  ["a length of 2", Buffer.from("00000002", "hex")],
  ["a length of 15", pdu(ID.enquireLink, { sequence: 1, length: 15 })],
  ["a length of 2 GiB", Buffer.from("80000000", "hex")],
  ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n")],
])("%s ends that connection alone", async (_what, bytes) => {
  const [esme, other] = [await bound(), await bound()];
  esme.write(bytes);
  expect(await esme.next(ID.genericNack)).toMatchObject({ status: 2, sequence: 0 });
  await esme.closed;
  expect((await other.submit({})).status).toBe(0);
});

const WHOLE = submitBody({ message: Buffer.from("abc") });

test.each([
  ["cut off anywhere", WHOLE.subarray(0, 9)],
  ["without the end of a string", Buffer.alloc(30, 0x41)],
  ["with a message longer than itself", Buffer.concat([WHOLE.subarray(0, -4), Buffer.from([200]), Buffer.from("abc")])],
  ["with a TLV longer than itself", Buffer.concat([WHOLE, tlv(0x0424, Buffer.from("x"), 500)])],
  ["with half a TLV", Buffer.concat([WHOLE, Buffer.from([4])])],
])("a submit %s is refused, and the connection goes on", async (_what, body) => {
  const esme = await bound();
  esme.write(pdu(ID.submitSm, { sequence: 900 }, body));
  expect(await esme.next(ID.genericNack)).toMatchObject({ status: 2, sequence: 900 });
  expect((await esme.submit({})).status).toBe(0);
});

test("a PDU that comes octet by octet is read, and one that never ends hurts nobody", async () => {
  const esme = await bound();
  const bytes = pdu(ID.submitSm, { sequence: 5 }, WHOLE);
  for (const octet of bytes) esme.write(Buffer.from([octet]));
  expect(await esme.next((ID.submitSm | ANSWER) >>> 0)).toMatchObject({ status: 0, sequence: 5 });
  esme.write(bytes.subarray(0, 20));
  expect((await (await bound()).submit({})).status).toBe(0);
});

test("destinations that no phone has are refused; answers nobody asked for are ignored", async () => {
  const esme = await bound();
  expect((await esme.submit({ to: "maria" })).status).toBe(0x0b);
  expect((await esme.submit({ to: "" })).status).toBe(0x0b);
  esme.write(pdu((ID.deliverSm | ANSWER) >>> 0, { sequence: 12_345 }, cstring("")));
  expect((await esme.submit({})).status).toBe(0);
});

test("random octets after a bind never end it", async () => {
  for (let nth = 0; nth < 50; nth += 1) {
    const esme = await bound();
    const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(64)));
    esme.write(pdu(nth % 2 === 0 ? ID.submitSm : noise.readUInt32BE(0), { sequence: 1 }, noise));
    esme.write(noise);
    esme.close();
  }
  expect((await (await bound()).submit({})).status).toBe(0);
});

test("where the second part is refused, a text of one segment arrives, and no other part is", async () => {
  const esme = await bound();
  const to = buildNumber({ ending: "18" }).slice(1);
  const statuses: number[] = [];
  for (const seq of [1, 2, 3]) {
    const { status } = await esme.submit({ to, ...partOf("x", { reference: 1, total: 3, seq }) });
    statuses.push(status);
  }
  expect(statuses).toEqual([0, 0x66, 0]);
  await esme.submit({ to, message: Buffer.from("alone") });
  clock.advance(100);
  expect(texts.list().map(({ body }) => body)).toEqual(["alone"]);
});

test("hanging up ends the connections that wait for an answer that never comes, and no others", async () => {
  const [silent, other] = [await bound(), await bound()];
  silent.write(pdu(ID.submitSm, { sequence: 9 }, submitBody({ to: buildNumber({ ending: "16" }).slice(1) })));
  await waitUntil("it is there", 15_000, () => lines.length === 1);
  smsc.hangUp();
  await silent.closed;
  expect((await other.submit({})).status).toBe(0);
});

test("the terminal is told in lines without control characters", async () => {
  const esme = await bound();
  await esme.submit({ from: "Lo\u001b[2Jja", to: buildNumber({ ending: "20" }).slice(1) });
  clock.advance(2_000);
  expect(lines.filter((line) => line.includes("Lo"))).toEqual([
    'nothing is written back: "Lo[2Jja" is a name, which no phone can answer  +258840000020',
  ]);
});
