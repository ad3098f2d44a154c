import { expect, test } from "bun:test";
import { type Delivery, readReceipt, type ReceiptState } from "../../../../../src/modules/sms/receipts/parse.ts";
import { seeded } from "../../../../support/db/temporary.ts";
import { cpuTime } from "../../../../support/cpu-time.ts";

const ascii = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const STANDARD =
  "id:0123456789 sub:001 dlvrd:001 submit date:2507011200 done date:2507011201 stat:DELIVRD err:000 text:Ola Ana";

function delivery(text: string | Uint8Array, more: Partial<Delivery> = {}): Delivery {
  const shortMessage = typeof text === "string" ? ascii(text) : text;
  const none = { messagePayload: null, receiptedMessageId: null, messageState: null, networkErrorCode: null };
  return { esmClass: 0x04, shortMessage, ...none, ...more };
}
const read = (text: string | Uint8Array, more: Partial<Delivery> = {}) => readReceipt(delivery(text, more));

test("the example of SMPP 3.4 appendix B is read", () => {
  expect(read(STANDARD)).toEqual({
    isIntermediate: false,
    id: "0123456789",
    state: "delivered",
    word: "DELIVRD",
    err: "000",
    networkError: null,
    errorCode: "000",
    text: "Ola Ana",
    submitDate: Date.UTC(2025, 6, 1, 12, 0),
  });
});

test("the submit date is read with and without seconds and century; what is no date is none", () => {
  const dateOf = (written: string) => read(`id:1 submit date:${written} done date:2601010000 stat:DELIVRD`)?.submitDate;
  expect(dateOf("2507011200")).toBe(Date.UTC(2025, 6, 1, 12, 0));
  expect(dateOf("250701120059")).toBe(Date.UTC(2025, 6, 1, 12, 0, 59));
  expect(dateOf("202507011200")).toBe(Date.UTC(2025, 6, 1, 12, 0));
  expect(dateOf("20250701120059")).toBe(Date.UTC(2025, 6, 1, 12, 0, 59));
  for (const none of ["", "0000000000", "00000000000000", "2513011200", "2507012500", "25070112", "25-07-01", "soon"])
    expect(dateOf(none)).toBeNull();
  expect(read("id:1 stat:DELIVRD submitdate:2507011200")?.submitDate).toBe(Date.UTC(2025, 6, 1, 12, 0));
});

/** Texts of vendors, and the id, state and error that they hold. */
const VARIANTS: [text: string, id: string | null, state: ReceiptState, err: string | null][] = [
  ["id:39f99dd5 submitdate:250701120000 donedate:250701120100 stat:UNDELIV err:1 ", "39f99dd5", "undeliverable", "1"],
  [
    "id:1 sub:1 dlvrd:0 submit date:20250701120000 done date:00000000000000 stat:EXPIRED err:0A7",
    "1",
    "expired",
    "0A7",
  ],
  ["ID:A-1 STAT:FAILED ERR:99 TEXT:", "A-1", "undeliverable", "99"],
  ["stat:REJECTD err:008 id:55", "55", "rejected", "008"],
  ["id:abc_d$e@f stat:REJECTED", "abc_d$e@f", "rejected", null],
  ["id:1 stat:BUFFRED", "1", "enroute", null],
  ["id:1 stat:BUFFERD", "1", "enroute", null],
  ["id:1 stat:ENROUTE", "1", "enroute", null],
  ["id:1 stat:ACKED", "1", "accepted", null],
  ["id:1 stat:ACCEPTD", "1", "accepted", null],
  ["id:1 stat:DELETED", "1", "deleted", null],
  ["id:1 stat:UNKNOWN", "1", "unknown", null],
  ["id:1 stat:DELIVERED", "1", "delivered", null],
  ["id:1 stat:Undelivered", "1", "undeliverable", null],
  ["id:1 stat:0", "1", "enroute", null],
  ["id:1 stat:2", "1", "delivered", null],
  ["id:1 stat:WHATEVR", "1", "unknown", null],
  ["id: 77 stat: DELIVRD err: 000", "77", "delivered", "000"],
  ["id:5, sub:001, stat:DELIVRD, err:000", "5", "delivered", "000"],
  // A value that is missing takes nothing from its neighbour.
  ["id: sub:001 dlvrd:001 stat: err:012 text:", null, "unknown", "012"],
  ["id:1 submit date: done date: stat:DELIVRD err:", "1", "delivered", null],
  // What the customer wrote comes last, and says nothing.
  ["id:1 stat:UNDELIV err:001 text:id:2 stat:DELIVRD err:9", "1", "undeliverable", "001"],
  ["id:1 err:001 Text:stat:DELIVRD", "1", "unknown", "001"],
  ["text: id:1 stat:DELIVRD", "1", "delivered", null],
  ["", null, "unknown", null],
];

for (const [text, id, state, err] of VARIANTS) {
  test(`${JSON.stringify(text)} says ${state}`, () => {
    expect(read(text)).toMatchObject({ id, state, err, errorCode: err });
  });
}

test("TLVs count before the text, each by itself", () => {
  const text = "id:9 stat:UNDELIV err:005";
  expect(read(text, { receiptedMessageId: "abc" })).toMatchObject({ id: "abc", state: "undeliverable", err: "005" });
  expect(read(text, { messageState: 2 })).toMatchObject({ id: "9", state: "delivered", word: "DELIVRD" });
  expect(read(text, { networkErrorCode: Uint8Array.of(3, 0, 27) })).toMatchObject({ err: "005", errorCode: "gsm:27" });
  expect(read("", { receiptedMessageId: "abc", messageState: 8 })).toMatchObject({
    ...{ id: "abc", state: "rejected", word: "REJECTD", errorCode: null },
  });
  // Without a code it says nothing, and an empty id or a state without a name leaves it to the text.
  expect(read(text, { networkErrorCode: Uint8Array.of(3, 0, 0) })).toMatchObject({ errorCode: "005" });
  expect(read(text, { networkErrorCode: Uint8Array.of(3) })).toMatchObject({ networkError: null, errorCode: "005" });
  expect(read(text, { receiptedMessageId: "", messageState: 77 })).toMatchObject({ id: "9", state: "undeliverable" });
});

test("message_state has its numbers from SMPP 3.4 §5.2.28", () => {
  const states = Array.from({ length: 10 }, (_, messageState) => read("", { messageState })?.state);
  expect(states).toEqual([
    ...(["enroute", "enroute", "delivered", "expired", "deleted"] as const),
    ...(["undeliverable", "accepted", "unknown", "rejected", "unknown"] as const),
  ]);
});

test("the vendor's own word is kept where it says the same as the number", () => {
  expect(read("stat:FAILED", { messageState: 5 })?.word).toBe("FAILED");
  expect(read("stat:\u0001NEW\u0085WORD")?.word).toBe("NEWWORD");
  expect(read(`stat:${"X".repeat(80)}`)?.word).toBe("X".repeat(32));
});

test("an intermediate word is never the last one, but for delivered", () => {
  const intermediate = (stat: string) => read(`id:1 stat:${stat}`, { esmClass: 0x20 });
  expect(intermediate("UNDELIV")).toMatchObject({ isIntermediate: true, state: "enroute", word: "UNDELIV" });
  expect(intermediate("ACCEPTD")?.state).toBe("accepted");
  expect(intermediate("DELIVRD")?.state).toBe("delivered");
});

test("receipts are known by esm_class, by two TLVs, or by a text that can be nothing else", () => {
  expect(read(STANDARD, { esmClass: 0 })).not.toBe(null);
  expect(read("", { esmClass: 0, receiptedMessageId: "1", messageState: 2 })).not.toBe(null);
  expect(read("", { esmClass: 0, receiptedMessageId: "1" })).toBe(null);
  expect(read("Ola", { esmClass: 0x04 })).toMatchObject({ id: null, state: "unknown", word: null });
  for (const text of ["Ola", "id: please send me the stat: of it", `Re: ${STANDARD}`, ""])
    expect([text, read(text, { esmClass: 0 })]).toEqual([text, null]);
  // Acknowledgements by a person or a handset are no receipts.
  for (const esmClass of [0x08, 0x10, 0x18]) expect(read(STANDARD, { esmClass })).toBe(null);
  // Bits beside the kind do not matter: mode and reply path.
  expect(read(STANDARD, { esmClass: 0x04 | 0x80 | 0x03 })).not.toBe(null);
});

test("the text is found in either place, behind a header, and in UTF-16 of either order", () => {
  const expected = { id: "0123456789", state: "delivered", err: "000" } as const;
  expect(read("", { messagePayload: ascii(STANDARD) })).toMatchObject(expected);
  expect(read(STANDARD, { messagePayload: ascii("id:2 stat:UNDELIV") })).toMatchObject(expected);
  const header = Buffer.concat([Buffer.from("0500030a0101", "hex"), ascii(STANDARD)]);
  expect(read(new Uint8Array(header), { esmClass: 0x44 })).toMatchObject(expected);
  const wide = Buffer.from(STANDARD, "utf16le");
  expect(read(new Uint8Array(wide))).toMatchObject(expected);
  expect(read(new Uint8Array(wide.swap16()))).toMatchObject(expected);
});

test("whatever the octets, there is an answer, soon", () => {
  const chance = seeded(Date.now() % 1_000_000);
  const pieces = [
    "id:",
    " ",
    "stat:",
    "\0",
    "err:",
    "text:",
    "id : ",
    "   ",
    "DELIVRD",
    "\u00ff",
    "submit date:",
    "::",
  ];
  for (let round = 0; round < 5_000; round += 1) {
    const text = Array.from({ length: chance() * 60 }, () => pieces[Math.floor(chance() * pieces.length)]).join("");
    const receipt = read(text, { esmClass: Math.floor(chance() * 256), messageState: Math.floor(chance() * 12) });
    expect(receipt?.id ?? "").not.toContain("\0");
  }
  const before = cpuTime();
  for (const text of ["id:".repeat(40_000), `id${" ".repeat(60_000)}:`, "text".repeat(30_000)]) read(text);
  expect(cpuTime() - before).toBeLessThan(1_000);
});
