import { expect, test } from "bun:test";
import { ALPHABETS, alphabetNamed, type AlphabetName } from "../../../../../src/modules/sms/encoding/gsm-alphabet.ts";
import { decodeSeptets, encodeSeptets } from "../../../../../src/modules/sms/encoding/encoding.ts";

const hex = (text: string, alphabet: AlphabetName) => Buffer.from(encodeSeptets(text, alphabet)).toString("hex");

test("the basic table of GSM 03.38 is in its order, ESC aside (TS 23.038 §6.2.1)", () => {
  const rows = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?";
  const letters = "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
  const order = Array.from({ length: 128 }, (_, septet) => septet).filter((septet) => septet !== 0x1b);
  expect([...encodeSeptets(rows + letters, "gsm")]).toEqual(order);
});

const SEPTETS: [text: string, alphabet: AlphabetName, hex: string][] = [
  ["€[]{}\\~^|\f", "gsm", "1b651b3c1b3e1b281b291b2f1b3d1b141b401b0a"],
  ["à é Ç É ü Ü", "gsm", "7f20052009201f207e205e"],
  ["ã", "pt-single", "1b7b"],
  // TS 23.038 A.2.3.
  ["êçÔôÁá", "pt-single", "1b051b091b0b1b0c1b0e1b0f"],
  ["ΦΓ^ΩΠΨΣΘÊ", "pt-both", "1b121b13161b151b161b171b181b191e"],
  ["ÀÍÓÚÃÕÂ", "pt-single", "1b411b491b4f1b551b5b1b5c1b61"],
  ["€íóúãõâ", "pt-single", "1b651b691b6f1b751b7b1b7c1b7f"],
  // What is in both tables takes the basic one.
  ["ΦΓΩ", "pt-single", "121315"],
  ["èìòùñäö", "pt-single", "040708067d7b7c"],
  // TS 23.038 A.3.3.
  ["êéúíóçÔôÁá", "pt-locking", "0405060708090b0c0e0f"],
  ["ªÇÀ∞^\\€Ó|ÂâÊÉ", "pt-locking", "12131415161718191a1c1d1e1f"],
  ["ºÍÃÕÚÜ§~ãõ`üà", "pt-locking", "24405b5c5d5e5f607b7c7d7e7f"],
  ["{}[]", "pt-locking", "1b281b291b3c1b3e"],
];

for (const [text, alphabet, expected] of SEPTETS) {
  test(`${JSON.stringify(text)} in ${alphabet} is ${expected}`, () => {
    expect(hex(text, alphabet)).toBe(expected);
    expect(decodeSeptets(encodeSeptets(text, alphabet), alphabet)).toBe(text);
  });
}

test("every alphabet reads back whatever it writes, and writes no character in two ways", () => {
  for (const name of ALPHABETS) {
    const { codes, basic, extension } = alphabetNamed(name);
    expect(basic.length).toBe(128);
    const text = [...codes.keys()].join("");
    expect(decodeSeptets(encodeSeptets(text, name), name)).toBe(text);
    for (const character of extension.values()) expect(codes.has(character)).toBe(true);
  }
});

const LACKING: [character: string, alphabets: AlphabetName[]][] = [
  ["ã", ["gsm"]],
  ["ç", ["gsm"]],
  ["ª", ["gsm", "pt-single"]],
  ["º", ["gsm", "pt-single"]],
  ["è", ["pt-locking", "pt-both"]],
  ["ñ", ["pt-locking", "pt-both"]],
  ["Φ", ["pt-locking"]],
  ["“", [...ALPHABETS]],
  ["\u001b", [...ALPHABETS]],
  ["😀", [...ALPHABETS]],
];

for (const [character, alphabets] of LACKING) {
  test(`${JSON.stringify(character)} is missing from ${alphabets.join(", ")}, and writing it there throws`, () => {
    for (const name of ALPHABETS) {
      const write = () => encodeSeptets(`a${character}`, name);
      if (alphabets.includes(name)) expect(write).toThrow(RangeError);
      else expect(write).not.toThrow();
    }
  });
}

test("septets that no table has are read as TS 23.038 §6.2.1.1 says", () => {
  const read = (...septets: number[]) => decodeSeptets(Uint8Array.from(septets), "gsm");
  expect(read(0x1b, 0x41)).toBe("A");
  expect(read(0x1b, 0x1b, 0x41)).toBe(" A");
  expect(read(0x41, 0x1b)).toBe("A ");
  expect(read(0x80)).toBe("\ufffd");
});
