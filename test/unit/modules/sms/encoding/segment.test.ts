import { expect, test } from "bun:test";
import { type Coding, normalForm } from "../../../../../src/modules/sms/encoding/encoding.ts";
import { readHeader } from "../../../../../src/modules/sms/encoding/user-data-header.ts";
import {
  capacities,
  splitText,
  toSubmissions,
  type WireForm,
} from "../../../../../src/modules/sms/encoding/segment.ts";
import { joinParts, METHODS, PLAIN, SHIFT_TABLES } from "../../../../support/sms/texts.ts";

const GSM7: WireForm = { segmentation: "udh8", defaultCharset: "gsm7", reference: 0x1234 };
const count = (text: string, coding: Coding = PLAIN) => splitText(normalForm(text), coding).parts.length;

/** The rulebook's table. Where it has no figure, the header's octets give it. */
const LIMITS = [
  ["gsm7", "gsm", "udh8", 160, 153],
  ["gsm7", "gsm", "sar", 160, 153],
  ["gsm7", "gsm", "payload", 160, 153],
  ["gsm7", "gsm", "udh16", 160, 152],
  ["ucs2", "gsm", "udh8", 70, 67],
  ["ucs2", "gsm", "sar", 70, 67],
  ["ucs2", "gsm", "payload", 70, 67],
  ["ucs2", "gsm", "udh16", 70, 66],
  ["gsm7", "pt-single", "udh8", 155, 149],
  ["gsm7", "pt-locking", "udh8", 155, 149],
  ["gsm7", "pt-both", "udh8", 152, 146],
  ["gsm7", "pt-single", "udh16", 155, 148],
  ["gsm7", "pt-both", "udh16", 152, 145],
] as const;

for (const [encoding, alphabet, method, single, part] of LIMITS) {
  test(`${encoding} in ${alphabet} by ${method}: ${single} alone, ${part} beside others`, () => {
    expect(capacities(encoding, alphabet, method)).toEqual({ single, part });
  });
}

const COUNTS: [what: string, text: string, segments: number, coding?: Coding][] = [
  ["nothing", "", 1],
  ["160 letters", "a".repeat(160), 1],
  ["161 letters", "a".repeat(161), 2],
  ["306 letters", "a".repeat(306), 2],
  ["307 letters", "a".repeat(307), 3],
  ["307 letters, 16-bit reference", "a".repeat(305), 3, { ...PLAIN, segmentation: "udh16" }],
  ["80 euros", "€".repeat(80), 1],
  ["81 euros", "€".repeat(81), 2],
  // 153 is odd: of each part one septet stays empty.
  ["152 euros", "€".repeat(152), 2],
  ["153 euros", "€".repeat(153), 3],
  ["70 of UCS-2", "ã".repeat(70), 1],
  ["71 of UCS-2", "ã".repeat(71), 2],
  ["135 of UCS-2", "ã".repeat(135), 3],
  ["35 emoji", "😀".repeat(35), 1],
  ["36 emoji", "😀".repeat(36), 2],
  ["155 septets in the single shift table", `${"ã".repeat(77)}a`, 1, { ...PLAIN, shiftTables: "pt-single" }],
  ["156 septets in the single shift table", "ã".repeat(78), 2, { ...PLAIN, shiftTables: "pt-single" }],
  ["155 letters in the locking table", "ã".repeat(155), 1, { ...PLAIN, shiftTables: "pt-locking" }],
  ["156 letters in the locking table", "ã".repeat(156), 2, { ...PLAIN, shiftTables: "pt-locking" }],
  ["299 letters in the locking table", "ã".repeat(299), 3, { ...PLAIN, shiftTables: "pt-locking" }],
  ["1,600 letters", "a".repeat(1_600), 11],
  ["1,600 euros", "€".repeat(1_600), 22],
  ["1,600 of UCS-2", "ã".repeat(1_600), 24],
  ["1,600 emoji", "😀".repeat(1_600), 49],
  ["1,600 emoji, 16-bit reference", "😀".repeat(1_600), 49, { ...PLAIN, segmentation: "udh16" }],
];

for (const [what, text, segments, coding = PLAIN] of COUNTS) {
  test(`${what}: ${segments} ${segments === 1 ? "segment" : "segments"}, nothing left out`, () => {
    const split = splitText(text, coding);
    expect(split.parts.length).toBe(segments);
    expect(joinParts(split)).toBe(text);
  });
}

test("a character of two septets or two units is never cut", () => {
  for (let offset = 0; offset < 6; offset += 1) {
    const filler = "a".repeat(150 + offset);
    for (const part of splitText(`${filler}${"€".repeat(80)}`, PLAIN).parts) {
      expect([0x1b, 0x65].indexOf(part[0] ?? 0)).not.toBe(1);
      expect(part.at(-1)).not.toBe(0x1b);
    }
    const { parts } = splitText(`${"ã".repeat(64 + offset)}${"😀".repeat(80)}`, PLAIN);
    for (const part of parts) expect(joinParts({ encoding: "ucs2", alphabet: "gsm", parts: [part] })).not.toBe("");
  }
});

test("what a reader sees as one sign is cut only where it alone is longer than a part", () => {
  const family = "👨‍👩‍👧‍👦";
  const { parts } = splitText(`a${family.repeat(12)}`, PLAIN);
  expect(parts.map((part) => part.length / 2)).toEqual([1 + 6 * 11, 6 * 11]);
  const stacked = `${"a".repeat(30)}x${"\u0323\u0301".repeat(60)}`;
  const split = splitText(stacked, PLAIN);
  expect(split.parts.map((part) => part.length / 2)).toEqual([30, 67, 54]);
  expect(joinParts(split)).toBe(stacked);
  // CR and LF are one cluster, and two characters.
  expect(count(`${"ã".repeat(66)}\r\n${"ã".repeat(66)}`)).toBe(2);
});

test("units used and left tell how much more the last segment takes", () => {
  for (const [text, unitsUsed, unitsLeft] of [
    ["a".repeat(100), 100, 60],
    ["a".repeat(160), 160, 0],
    ["a".repeat(161), 161, 145],
    ["€".repeat(81), 162, 143],
    ["ã".repeat(70), 70, 0],
    ["ã".repeat(71), 71, 63],
    ["😀".repeat(36), 72, 61],
  ] as const)
    expect(splitText(text, PLAIN)).toMatchObject({ unitsUsed, unitsLeft });
});

test("the header of each part is that of its method", () => {
  const split = splitText("a".repeat(161), PLAIN);
  const headers = (wire: Partial<WireForm>) =>
    toSubmissions(split, { ...GSM7, ...wire }).map(({ hasHeader, shortMessage, sar }) =>
      hasHeader ? Buffer.from(shortMessage.subarray(0, 1 + (shortMessage[0] ?? 0))).toString("hex") : sar,
    );
  expect(headers({ segmentation: "udh8" })).toEqual(["050003340201", "050003340202"]);
  expect(headers({ segmentation: "udh16" })).toEqual(["06080412340201", "06080412340202"]);
  expect(headers({ segmentation: "sar" })).toEqual([
    { reference: 0x1234, total: 2, seq: 1 },
    { reference: 0x1234, total: 2, seq: 2 },
  ]);
  expect(toSubmissions(split, GSM7).map(({ shortMessage }) => shortMessage.length)).toEqual([159, 14]);
});

test("a whole text has no header but for its tables", () => {
  const one = (text: string, coding: Coding) => toSubmissions(splitText(text, coding), GSM7)[0]!;
  expect(one("Ola", PLAIN)).toEqual({
    seq: 1,
    partCount: 1,
    dataCoding: 0,
    hasHeader: false,
    shortMessage: Uint8Array.from([0x4f, 0x6c, 0x61]),
    messagePayload: null,
    sar: null,
  });
  const bytes = (text: string, coding: Coding) => Buffer.from(one(text, coding).shortMessage).toString("hex");
  expect(bytes("ã", { ...PLAIN, shiftTables: "pt-single" })).toBe("032401031b7b");
  expect(bytes("ã", { ...PLAIN, shiftTables: "pt-locking" })).toBe("032501037b");
  expect(bytes("ãΦ", { ...PLAIN, shiftTables: "pt-locking" })).toBe("062401032501037b1b12");
  expect(one("ã", PLAIN)).toMatchObject({ dataCoding: 8, shortMessage: Uint8Array.from([0, 0xe3]) });
});

test("a payload carries the whole text at once; a text of one segment needs none", () => {
  const wire: WireForm = { ...GSM7, segmentation: "payload" };
  const coding: Coding = { ...PLAIN, segmentation: "payload" };
  const [long, ...others] = toSubmissions(splitText("a".repeat(400), coding), wire);
  expect(others).toEqual([]);
  expect(long).toMatchObject({ seq: 1, partCount: 3, hasHeader: false, shortMessage: new Uint8Array(), sar: null });
  expect(Buffer.from(long!.messagePayload!).toString("latin1")).toBe("a".repeat(400));
  expect(toSubmissions(splitText("a", coding), wire)).toMatchObject([{ messagePayload: null, partCount: 1 }]);
});

test("a part beside its header is never more than 140 octets once packed, whatever the method", () => {
  for (const segmentation of METHODS.filter((each) => each !== "payload"))
    for (const shiftTables of SHIFT_TABLES)
      for (const text of ["a".repeat(500), "ãΦ€".repeat(200), "ã“".repeat(200), "😀".repeat(200)]) {
        const split = splitText(text, { ...PLAIN, segmentation, shiftTables });
        for (const { shortMessage, hasHeader } of toSubmissions(split, { ...GSM7, segmentation })) {
          const header = hasHeader ? readHeader(shortMessage)!.length : 0;
          const units = shortMessage.length - header;
          const bits =
            split.encoding === "gsm7" ? Math.ceil((header * 8) / 7) * 7 + units * 7 : shortMessage.length * 8;
          expect(bits).toBeLessThanOrEqual(140 * 8);
        }
      }
});

test("for an SMSC of Latin-1 or ASCII the septets are translated, and throw where they cannot be", () => {
  const write = (text: string, defaultCharset: "latin1" | "ascii") =>
    Buffer.from(toSubmissions(splitText(text, PLAIN), { ...GSM7, defaultCharset })[0]!.shortMessage).toString("latin1");
  expect(write("@é_[{~", "latin1")).toBe("@é_[{~");
  expect(write("@$_[{~", "ascii")).toBe("@$_[{~");
  expect(() => write("é", "ascii")).toThrow(RangeError);
  expect(() => write("€", "latin1")).toThrow(RangeError);
  expect(toSubmissions(splitText("ã", PLAIN), { ...GSM7, defaultCharset: "ascii" })[0]!.shortMessage).toEqual(
    Uint8Array.of(0, 0xe3),
  );
});

test("more segments than a header can number throw", () => {
  expect(count("a".repeat(153 * 255))).toBe(255);
  expect(() => count("a".repeat(153 * 255 + 1))).toThrow(RangeError);
});
