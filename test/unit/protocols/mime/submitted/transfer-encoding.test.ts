import { describe, expect, test } from "bun:test";
import {
  countDecoded,
  createTransferDecoder,
  decodeTransfer,
  type TransferEncoding,
} from "../../../../../src/protocols/mime/submitted/transfer-encoding.ts";

const decode = (text: string, encoding: TransferEncoding) =>
  Buffer.from(decodeTransfer(Buffer.from(text, "latin1"), encoding)).toString("latin1");

/** Every cut in two, and every octet for itself. */
function expectSameAtEveryCut(text: string, encoding: TransferEncoding): void {
  const octets = Buffer.from(text, "latin1");
  const whole = decode(text, encoding);
  const inPieces = (pieces: Uint8Array[]) => {
    const decoder = createTransferDecoder(encoding);
    const decoded = pieces.map((piece) => {
      const given = Uint8Array.from(piece);
      const out = Buffer.from(decoder.write(given));
      given.fill(0x58);
      return out;
    });
    return Buffer.concat([...decoded, decoder.end()]).toString("latin1");
  };
  for (let cut = 0; cut <= octets.length; cut++)
    expect(inPieces([octets.subarray(0, cut), octets.subarray(cut)])).toBe(whole);
  expect(inPieces([...octets].map((octet) => Buffer.from([octet])))).toBe(whole);
  expect(countDecoded(octets, encoding)).toBe(whole.length);
}

describe("base64", () => {
  const CASES: [string, string][] = [
    ["QUJDRA==", "ABCD"],
    ["QUJD\r\nRA==\r\n", "ABCD"],
    ["QU\u00e9J!D-RA", "ABCD"],
    ["QQ==QUI=QUJD", "AABABC"],
    ["Q", ""],
    ["", ""],
    ["====", ""],
    ["//79\r\n\r\n", "\u00ff\u00fe\u00fd"],
  ];
  for (const [text, decoded] of CASES)
    test(`${JSON.stringify(text)} is read alike at every cut`, () => {
      expect(decode(text, "base64")).toBe(decoded);
      expectSameAtEveryCut(text, "base64");
    });
});

describe("quoted-printable", () => {
  const CASES: [string, string][] = [
    ["a=3Db", "a=b"],
    ["a=3db=C3=A9", "a=b\u00c3\u00a9"],
    ["one =\r\ntwo", "one two"],
    ["one = \t\r\ntwo", "one two"],
    ["one=\ntwo", "onetwo"],
    ["one  \t\r\n two \r\n", "one\r\n two\r\n"],
    ["broken =XY =3 = end=", "broken =XY =3 = end"],
    ["=4", "=4"],
    ["ends =3D =", "ends = "],
    ["spaces at the end  ", "spaces at the end"],
    ["raw \u00e9\u00ff", "raw \u00e9\u00ff"],
    ["a=\r\n=\r\nb==3D", "ab=="],
    ["a \r b\r\rc=\rd", "a \r b\r\rc=\rd"],
  ];
  for (const [text, decoded] of CASES)
    test(`${JSON.stringify(text)} is read alike at every cut`, () => {
      expect(decode(text, "quoted-printable")).toBe(decoded);
      expectSameAtEveryCut(text, "quoted-printable");
    });
});

test("other encodings leave the octets as they are", () => {
  expect(decode("a=3D\r\n", "identity")).toBe("a=3D\r\n");
  expectSameAtEveryCut("a=3D \r\n", "identity");
});
