import { expect, test } from "bun:test";
import {
  bodyFault,
  type Coding,
  decodeUcs2,
  encodeText,
  encodeUcs2,
  normalForm,
  offendingCharacters,
} from "../../../../../src/modules/sms/encoding/encoding.ts";
import { PLAIN } from "../../../../support/sms/texts.ts";

const single: Coding = { ...PLAIN, shiftTables: "pt-single" };
const locking: Coding = { ...PLAIN, shiftTables: "pt-locking" };

const CHOICES: [text: string, coding: Coding, encoding: string, alphabet: string][] = [
  ["Ola, custa 5 €", PLAIN, "gsm7", "gsm"],
  ["", PLAIN, "gsm7", "gsm"],
  ["não", PLAIN, "ucs2", "gsm"],
  ["não", single, "gsm7", "pt-single"],
  ["não", locking, "gsm7", "pt-locking"],
  // No table where none is needed: a header can only be misunderstood.
  ["à é Ç", single, "gsm7", "gsm"],
  ["à é Ç", locking, "gsm7", "gsm"],
  ["não Φ", locking, "gsm7", "pt-both"],
  ["1ª não", single, "ucs2", "gsm"],
  ["1ª não", locking, "gsm7", "pt-locking"],
  ["não ñ", locking, "ucs2", "gsm"],
  ["não 😀", single, "ucs2", "gsm"],
  // The tables are named in a header, and these routes have none.
  ["não", { ...single, segmentation: "sar" }, "ucs2", "gsm"],
  ["não", { ...single, segmentation: "payload" }, "ucs2", "gsm"],
  ["não", { ...single, segmentation: "udh16" }, "gsm7", "pt-single"],
  // An SMSC that reads Latin-1 or ASCII can be told that alone.
  ["é", { ...PLAIN, defaultCharset: "latin1" }, "gsm7", "gsm"],
  ["é", { ...PLAIN, defaultCharset: "ascii" }, "ucs2", "gsm"],
  ["€", { ...PLAIN, defaultCharset: "latin1" }, "ucs2", "gsm"],
  ["Δ", { ...PLAIN, defaultCharset: "latin1" }, "ucs2", "gsm"],
  // In Latin-1, but nothing that a phone would get from GSM.
  ["ã", { ...PLAIN, defaultCharset: "latin1" }, "ucs2", "gsm"],
  ["não", { ...single, defaultCharset: "latin1" }, "ucs2", "gsm"],
];

for (const [text, coding, encoding, alphabet] of CHOICES) {
  test(`${JSON.stringify(text)} by ${coding.segmentation}, ${coding.shiftTables}, ${coding.defaultCharset} is ${encoding}`, () => {
    expect(encodeText(text, coding)).toMatchObject({ encoding, alphabet });
  });
}

test("letters and their accents written apart become one before anything is counted", () => {
  expect(normalForm("a\u0303 e\u0301")).toBe("ã é");
  expect(encodeText(normalForm("cafe\u0301"), PLAIN).encoding).toBe("gsm7");
});

const FAULTS: [body: string, fault: string | null][] = [
  ["Olá\r\nAna\n\r", null],
  ["😀", null],
  ["\u007f\u0085", null],
  ["a\ud83d", "surrogate"],
  ["\ude00\ud83d", "surrogate"],
  ["a\tb", null],
  ["\u0008", "U+0008"],
  ["a\0b", "U+0000"],
  ["\u001b", "U+001B"],
  ["\f", "U+000C"],
  ["\u001f", "U+001F"],
];

for (const [body, fault] of FAULTS) {
  test(`${JSON.stringify(body)} ${fault === null ? "can be sent" : "is refused"}`, () => {
    if (fault === null) expect(bodyFault(body)).toBe(null);
    else expect(bodyFault(body)).toContain(fault);
  });
}

test("the characters that force UCS-2 are named once each, in the order of the text", () => {
  expect(offendingCharacters("não à 😀 Não ç ç 😀", PLAIN)).toEqual(["ã", "😀", "ç"]);
  expect(offendingCharacters("só 5 €", single)).toEqual([]);
  expect(offendingCharacters("não “1ª”", single)).toEqual(["“", "ª", "”"]);
  // Each alphabet lacks one or more: the one that lacks fewest is the one to write for.
  expect(offendingCharacters("ãõ ñ", locking)).toEqual(["ñ"]);
  expect(offendingCharacters("é €", { ...PLAIN, defaultCharset: "latin1" })).toEqual(["€"]);
});

test("UCS-2 is UTF-16 with the high octet first, and never half of a pair", () => {
  expect(Buffer.from(encodeUcs2("ã😀")).toString("hex")).toBe("00e3d83dde00");
  expect(decodeUcs2(encodeUcs2("ã😀"))).toBe("ã😀");
  expect(() => encodeUcs2("\ud83d")).toThrow(RangeError);
  expect(decodeUcs2(Uint8Array.of(0, 0x41, 0))).toBe(null);
  expect(decodeUcs2(Uint8Array.of(0xd8, 0x3d))).toBe(null);
});
