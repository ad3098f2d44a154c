import { expect, test } from "bun:test";
import {
  type InboundPart,
  type InboundPdu,
  readPart,
  reassemble,
  textKey,
} from "../../../../../src/modules/sms/encoding/reassemble.ts";

const hex = (digits: string) => new Uint8Array(Buffer.from(digits, "hex"));
const pdu = (message: Uint8Array, more: Partial<InboundPdu> = {}) =>
  readPart({ esmClass: 0, dataCoding: 0, message, sar: null, ...more });
const ascii = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));

function part(seq: number, text: string, total = 3): InboundPart {
  return pdu(Buffer.concat([hex("050003aa"), Uint8Array.of(total, seq), ascii(text)]), { esmClass: 0x40 });
}
const [one, two, three] = [part(1, "um "), part(2, "dois "), part(3, "tres")];

test("parts make a text in whatever order they come, once all are there", () => {
  for (const order of [
    [one, two, three],
    [three, two, one],
    [two, three, one],
    [three, one, two],
  ]) {
    for (let count = 1; count < 3; count += 1) expect(reassemble(order.slice(0, count), false, "gsm7")).toBe(null);
    expect(reassemble(order, false, "gsm7")).toEqual({ text: "um dois tres", missing: [] });
  }
});

test("a part that comes twice counts once, the first time", () => {
  expect(reassemble([one, part(1, "x"), two], false, "gsm7")).toBe(null);
  expect(reassemble([one, two, part(1, "x"), three, three], false, "gsm7")?.text).toBe("um dois tres");
});

test("what stays incomplete is told with its gaps", () => {
  expect(reassemble([one, three], true, "gsm7")).toEqual({ text: "um […]tres", missing: [2] });
  expect(reassemble([two], true, "gsm7")).toEqual({ text: "[…]dois […]", missing: [1, 3] });
  expect(reassemble([part(4, "x", 4)], true, "gsm7")).toEqual({ text: "[…]x", missing: [1, 2, 3] });
  expect(reassemble([], true, "gsm7")).toBe(null);
});

test("references of 8 and 16 bits and of SAR are read, and kept apart", () => {
  const wide = pdu(hex("060804012a020141"), { esmClass: 0x40 });
  expect(wide).toMatchObject({ place: { scheme: "udh16", reference: 298, total: 2, seq: 1 }, userData: ascii("A") });
  const sar = pdu(ascii("B"), { sar: { reference: 298, total: 2, seq: 2 } });
  expect(sar).toMatchObject({ place: { scheme: "sar", reference: 298, total: 2, seq: 2 }, userData: ascii("B") });
  expect([one, wide, sar].map(({ place }) => textKey(place!))).toEqual(["udh8:170:3", "udh16:298:2", "sar:298:2"]);
});

const WHOLE: [what: string, header: string][] = [
  ["part 0", "050003aa0200"],
  ["part 3 of 2", "050003aa0203"],
  ["part 1 of 1", "050003aa0101"],
  ["none of 0", "050003aa0000"],
  ["a concatenation of the wrong length", "0400020201"],
  ["an element longer than the header", "050005aa0201"],
  ["ports and nothing else", "06050415811581"],
];

for (const [what, header] of WHOLE) {
  test(`a header with ${what} leaves the text whole`, () => {
    const read = pdu(Buffer.concat([hex(header), ascii("Ola")]), { esmClass: 0x40 });
    expect(read.place).toBe(null);
    expect(reassemble([read], false, "gsm7")).toEqual({ text: "Ola", missing: [] });
  });
}

test("elements that we do not know are stepped over, and of two of a kind the last counts", () => {
  const header = "12050415811581000301020100030202020901";
  expect(pdu(hex(`${header}00`), { esmClass: 0x40 }).place).toMatchObject({ reference: 2, total: 2, seq: 2 });
});

test("a header longer than the message is text", () => {
  expect(pdu(hex("4f6c61"), { esmClass: 0x40 })).toMatchObject({ place: null, userData: hex("4f6c61") });
});

const CODINGS: [dataCoding: number, bytes: string, text: string | null][] = [
  [0, "4f6c1b65", "Ol€"],
  // No septets: the SMSC means Latin-1.
  [0, "6ee36f", "não"],
  [1, "40", "@"],
  [3, "6ee36f5f", "não_"],
  [8, "006e00e3006f", "não"],
  [8, "006e00", null],
  [8, "d83d", null],
  [4, "ffff", null],
  [2, "00", null],
  [5, "41", null],
  [0x10, "1b65", "€"],
  [0x18, "00e3", "ã"],
  [0x14, "00e3", null],
  [0xf1, "1b65", "€"],
  [0xf5, "00", null],
];

for (const [dataCoding, bytes, text] of CODINGS) {
  test(`${bytes} of data coding 0x${dataCoding.toString(16)} is ${JSON.stringify(text)}`, () => {
    expect(reassemble([pdu(hex(bytes), { dataCoding })], false, "gsm7")).toEqual({ text, missing: [] });
  });
}

test("data coding 0 is what the route says", () => {
  expect(reassemble([pdu(hex("40"))], false, "gsm7")?.text).toBe("¡");
  expect(reassemble([pdu(hex("40"))], false, "latin1")?.text).toBe("@");
});

test("a pair that a phone has cut is joined, and the tables that a header names are used", () => {
  const place = (seq: number) => ({ sar: { reference: 1, total: 2, seq } });
  const wide = [pdu(hex("0041d83d"), { dataCoding: 8, ...place(1) }), pdu(hex("de00"), { dataCoding: 8, ...place(2) })];
  expect(reassemble(wide, false, "gsm7")?.text).toBe("A😀");
  const escaped = [pdu(hex("411b"), place(1)), pdu(hex("65"), place(2))];
  expect(reassemble(escaped, false, "gsm7")?.text).toBe("A€");
  expect(reassemble([pdu(hex("032401031b7b"), { esmClass: 0x40 })], false, "gsm7")?.text).toBe("ã");
  expect(reassemble([pdu(hex("032501037b"), { esmClass: 0x40 })], false, "gsm7")?.text).toBe("ã");
  // Of a language that we have no table for, what the basic one says.
  expect(reassemble([pdu(hex("032401011b65"), { esmClass: 0x40 })], false, "gsm7")?.text).toBe("€");
});

test("parts of different codings are read each in its own, and one that cannot be makes it unreadable", () => {
  const place = (seq: number) => ({ sar: { reference: 1, total: 2, seq } });
  const mixed = [pdu(ascii("Ola "), place(1)), pdu(hex("00e3"), { dataCoding: 8, ...place(2) })];
  expect(reassemble(mixed, false, "gsm7")?.text).toBe("Ola ã");
  const binary = [pdu(ascii("Ola "), place(1)), pdu(hex("00"), { dataCoding: 4, ...place(2) })];
  expect(reassemble(binary, false, "gsm7")).toEqual({ text: null, missing: [] });
});
