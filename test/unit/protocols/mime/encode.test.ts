import { expect, test } from "bun:test";
import {
  base64Length,
  type EncodedText,
  encodeText,
  toCrlf,
  writeBase64,
} from "../../../../src/protocols/mime/encode.ts";

const encoded = (text: string) => Buffer.from(encodeText(text).bytes).toString("latin1");

const CHOICES: [what: string, text: string, encoding: EncodedText["encoding"]][] = [
  ["plain ASCII", "Hello\r\n.\r\nBye", "7bit"],
  ["a line of 998", "x".repeat(998), "7bit"],
  ["a line of 999", "x".repeat(999), "quoted-printable"],
  ["space at the end of a line", "a \nb", "quoted-printable"],
  ["a tab at the end of the text", "a\t", "quoted-printable"],
  ["From at the start of a line", "a\nFrom b", "quoted-printable"],
  ["NUL", "a\0".padEnd(40, "x"), "quoted-printable"],
  ["Portuguese", "A sua encomenda está a caminho, obrigado.", "quoted-printable"],
  ["Arabic", "مرحبا بكم في المتجر", "base64"],
  ["Chinese", "欢迎光临我们的商店", "base64"],
  ["emoji", "😀😀😀", "base64"],
];

for (const [what, text, encoding] of CHOICES) {
  test(`${what} is sent as ${encoding} (R49, R50)`, () => {
    expect(encodeText(text).encoding).toBe(encoding);
  });
}

test("every kind of line end becomes CRLF (R60)", () => {
  expect(toCrlf("a\nb\rc\r\nd\n\re\r\r\nf")).toBe("a\r\nb\r\nc\r\nd\r\n\r\ne\r\n\r\nf");
});

test("quoted-printable follows RFC 2045 §6.7", () => {
  expect(encoded("á=b, and enough ASCII \t\n after it ")).toBe("=C3=A1=3Db, and enough ASCII =09\r\n after it=20");
  expect(encoded("á long enough line\nFrom here")).toBe("=C3=A1 long enough line\r\n=46rom here");
});

test("quoted-printable lines are at most 76 long and soft breaks split no triplet", () => {
  for (let offset = 0; offset < 80; offset++) {
    const text = ["x".repeat(offset), "é", "y".repeat(70), " é".repeat(9), "z".repeat(200)].join("");
    const out = encoded(text);
    for (const line of out.split("\r\n")) {
      expect(line.length).toBeLessThanOrEqual(76);
      expect(line).toMatch(/^(?:[\t\x20-\x3c\x3e-\x7e]|=[0-9A-F]{2})*=?$/);
      expect(line).not.toMatch(/[ \t]$/);
    }
    const octets = out
      .replaceAll("=\r\n", "")
      .replace(/=(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    expect(Buffer.from(octets, "latin1").toString("utf8")).toBe(text);
  }
});

test("a text of specials only fits the room that was reserved for it", () => {
  const text = "=".repeat(10_000);
  expect(encodeText(`${text}${"x".repeat(60_000)}`).encoding).toBe("quoted-printable");
  expect(encodeText(text).encoding).toBe("base64");
  const out = encoded(`${text}${"x".repeat(60_000)}`);
  expect(out.replaceAll("=\r\n", "").replaceAll("=3D", "=").length).toBe(70_000);
});

test("a lone surrogate becomes U+FFFD", () => {
  expect(Buffer.from(encoded("\ud800"), "base64").toString("utf8")).toBe("\ufffd");
});

test("content is written in base64 in lines of 76, as long as measured, and nothing around it", () => {
  for (const length of [0, 1, 2, 3, 56, 57, 58, 113, 114, 115, 1_000, 65_537]) {
    const content = Buffer.from(Array.from({ length }, (_, i) => (i * 31 + length) % 256));
    const out = Buffer.alloc(base64Length(length) + 8, "#");
    const end = writeBase64(content, out, 5);
    expect(end).toBe(5 + base64Length(length));
    const written = out.toString("latin1");
    expect(written.slice(0, 5) + written.slice(end)).toBe("########");
    expect(written.slice(5, end)).toBe(
      content
        .toString("base64")
        .match(/.{1,76}/g)
        ?.join("\r\n") ?? "",
    );
  }
});
