import { expect, test } from "bun:test";
import {
  dateValue,
  headerLine,
  mailboxLine,
  parameterLine,
  subjectFault,
  subjectLine,
  textLine,
} from "../../../../src/protocols/mime/header.ts";
import { CONTROLS, mailbox } from "../../../support/mime/mailbox.ts";

test("a short ASCII subject is written as it is", () => {
  expect(subjectLine("Order 42 has shipped")).toBe("Subject: Order 42 has shipped\r\n");
});

test("a long subject is folded before spaces, at 78 at most (R48)", () => {
  const subject = Array.from({ length: 30 }, (_, i) => `word${i}`).join(" ");
  const line = subjectLine(subject);
  expect(line.replaceAll("\r\n", "")).toBe(`Subject: ${subject}`);
  expect(Math.max(...line.split("\r\n").map((one) => one.length))).toBeLessThanOrEqual(78);
});

test("Portuguese goes as Q, Arabic as B, in words of at most 75 characters (RFC 2047 §2)", () => {
  expect(subjectLine("Confirmação do pedido, envio hoje")).toBe(
    "Subject: =?utf-8?Q?Confirma=C3=A7=C3=A3o_do_pedido=2C_envio_hoje?=\r\n",
  );
  const line = subjectLine("مرحبا بكم في المتجر ".repeat(8).trim());
  for (const word of line.slice("Subject: ".length).trim().split("\r\n ")) {
    expect(word).toMatch(/^=\?utf-8\?B\?[A-Za-z0-9+/=]+\?=$/);
    expect(word.length).toBeLessThanOrEqual(75);
  }
});

test("an encoded-word holds whole code points only", () => {
  for (let offset = 0; offset < 8; offset++) {
    const line = subjectLine("x".repeat(offset) + "😀é".repeat(60));
    for (const [, kind, content] of line.matchAll(/=\?utf-8\?([QB])\?(.*?)\?=/g)) {
      const octets =
        kind === "B"
          ? Buffer.from(content ?? "", "base64")
          : Buffer.from(
              (content ?? "").replace(/=(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
              "latin1",
            );
      expect(() => new TextDecoder("utf-8", { fatal: true }).decode(octets)).not.toThrow();
    }
  }
});

test("spaces that folding would lose, and text that looks encoded, are encoded", () => {
  for (const subject of [" leading", "trailing ", "two  spaces", " ", "=?utf-8?Q?not_me?=", "x".repeat(100)]) {
    expect(subjectLine(subject)).toMatch(/^Subject: =\?utf-8\?[QB]\?/);
  }
});

test("names are atoms, quoted or encoded, always from the parts", () => {
  expect(mailboxLine("From", [mailbox("a@b.co")])).toBe("From: a@b.co\r\n");
  expect(mailboxLine("From", [mailbox("Jane Doe <a@b.co>")])).toBe("From: Jane Doe <a@b.co>\r\n");
  expect(mailboxLine("From", [mailbox('"Doe, \\"Jane\\"" <a@b.co>')])).toBe('From: "Doe, \\"Jane\\"" <a@b.co>\r\n');
  expect(mailboxLine("From", [mailbox("João <a@b.co>")])).toBe("From: =?utf-8?B?Sm/Do28=?= <a@b.co>\r\n");
  expect(mailboxLine("From", [mailbox('"=?x?Q?y?=" <a@b.co>')])).toContain("=?utf-8?");
  expect(mailboxLine("From", [mailbox('"ceo@bank.com" <a@good.co>')])).toBe('From: "ceo@bank.com" <a@good.co>\r\n');
});

test("a long name is folded, and an encoded-word never touches the address (R48)", () => {
  const line = mailboxLine("Reply-To", [mailbox(`"${"Ministério da Saúde, ".repeat(10)}" <a@b.co>`)]);
  for (const one of line.trimEnd().split("\r\n")) expect(one.length).toBeLessThanOrEqual(78);
  expect(line).toMatch(/\?=(?:\r\n)? <a@b\.co>\r\n$/);
});

test("an address too long to fold stays whole on its line", () => {
  const address = `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.co`;
  expect(mailboxLine("To", [mailbox(`Ana <${address}>`)])).toBe(`To: Ana\r\n <${address}>\r\n`);
});

test("a list of addresses is broken after commas, and within a mailbox only where it is too long", () => {
  const list = ["a@b.co", '"Doe, Jane" <jane@example.com>', "João da Silva <joao@example.com>", "Ana Sá <ana@b.co>"];
  expect(mailboxLine("Cc", list.map(mailbox))).toBe(
    'Cc: a@b.co, "Doe, Jane" <jane@example.com>,\r\n' +
      " =?utf-8?Q?Jo=C3=A3o_da_Silva?= <joao@example.com>,\r\n" +
      " =?utf-8?Q?Ana_S=C3=A1?= <ana@b.co>\r\n",
  );
  const long = mailboxLine("To", [mailbox("a@b.co"), mailbox(`"${"Ministério da Saúde ".repeat(10)}" <m@b.co>`)]);
  for (const line of long.trimEnd().split("\r\n")) expect(line.length).toBeLessThanOrEqual(76);
});

test("fifty addresses stand on lines of at most 76, each whole, and none is no field", () => {
  const list = Array.from({ length: 50 }, (_, i) => mailbox(`recipient.number.${i}@department${i}.example.com`));
  const lines = mailboxLine("To", list).trimEnd().split("\r\n");
  for (const line of lines) expect(line).toMatch(/^.{1,75}[,m]$/);
  expect(lines.join("").slice("To: ".length).split(", ")).toEqual(list.map(({ address }) => address));
  expect(mailboxLine("Cc", [])).toBe("");
});

test("a text field is ASCII as it stands, and encoded where a reader would not get it back", () => {
  expect(textLine("X-A", "plain text, <b@c.co> (x)")).toBe("X-A: plain text, <b@c.co> (x)\r\n");
  expect(textLine("X-A", `{"id":"${"x".repeat(200)}"}`)).toBe(`X-A: {"id":"${"x".repeat(200)}"}\r\n`);
  expect(textLine("List-Unsubscribe", "<https://a.co/?x=?y>")).toBe("List-Unsubscribe: <https://a.co/?x=?y>\r\n");
  for (const text of [
    "é",
    "two  spaces",
    " x",
    "x ",
    "=?utf-8?Q?x?=",
    "a =?x?Q? b?=",
    "x".repeat(998),
    "a\tb",
    "\u202e",
  ])
    expect(textLine("X-A", text)).toMatch(/^X-A: =\?utf-8\?[BQ]\?/);
});

test("an encoded text begins on the next line where the name leaves it no room (RFC 2047 §2)", () => {
  for (let length = 1; length <= 76; length++) {
    const line = textLine("X".repeat(length), "ação ".repeat(30));
    for (const one of line.trimEnd().split("\r\n")) expect(one.length).toBeLessThanOrEqual(77);
    expect(line).not.toContain("??=");
    const words = line
      .slice(length + 1)
      .trim()
      .split(/\r\n | /);
    expect(words.every((word) => /^=\?utf-8\?B\?[^? ]+\?=$/.test(word))).toBe(true);
  }
});

test("a text field throws on a line break or NUL, and on a name that is none", () => {
  for (const character of ["\r", "\n", "\r\n", "\0"])
    expect(() => textLine("X-A", `a${character}Bcc: x@y.co`)).toThrow("line break");
  for (const name of ["", "A:B", "A B", "é", "A\r\nBcc", "X".repeat(77)])
    for (const value of ["x", "é"]) expect(() => textLine(name, value)).toThrow("field name");
});

test("parameters are broken between each other only", () => {
  expect(parameterLine("Content-Type", "a/b", ['x="1 2"', "y=3"])).toBe('Content-Type: a/b; x="1 2"; y=3\r\n');
  expect(parameterLine("Content-Disposition", "attachment", [`filename="${"a b ".repeat(20)}c"`])).toBe(
    `Content-Disposition: attachment;\r\n filename="${"a b ".repeat(20)}c"\r\n`,
  );
  expect(() => parameterLine("Content-Type", "a/b", ["x=\r\nBcc: x@y.co"])).toThrow("printable");
});

test("an internationalised local part is UTF-8 in the header, for SMTPUTF8 only (RFC 6532)", () => {
  const line = mailboxLine("To", [mailbox("用户 <用户@例え.テスト>")]);
  expect(Buffer.from(line, "latin1").toString("utf8")).toEndWith("<用户@xn--r8jz45g.xn--zckzah>\r\n");
});

test("the writer throws on every control and on anything beyond ASCII in a value or name", () => {
  for (const character of [...CONTROLS, "é", "😀"]) {
    expect(() => headerLine("Feedback-ID", `a${character}b`)).toThrow();
    expect(() => headerLine(`Feed${character}back`, "a")).toThrow();
  }
  for (const name of ["", "A:B", "A B", "é", "A\r\nBcc"]) expect(() => headerLine(name, "x")).toThrow();
  for (const value of [" x", "x ", " "]) expect(() => headerLine("X-A", value)).toThrow();
  expect(() => headerLine("X-A", "x".repeat(1_000))).toThrow();
});

test("mailboxes not made by the parser cannot inject either", () => {
  const honest = mailbox("Ana <a@b.co>");
  for (const character of ["\r", "\n", "\r\n", "\0"]) {
    expect(() => mailboxLine("To", [{ ...honest, displayName: `A${character}Bcc: x@y.co` }])).toThrow();
    expect(() => mailboxLine("To", [{ ...honest, address: `a${character}@b.co` }])).toThrow();
  }
});

test("subjectFault refuses controls and says which; bidi marks and emoji are fine", () => {
  for (const character of CONTROLS) expect(subjectFault(`a${character}b`)).toContain("U+");
  for (const subject of ["Olá", "مرحبا \u200f!", "👩‍🍳", "  x  "]) expect(subjectFault(subject)).toBeNull();
});

test("dates have a numeric zone (R47)", () => {
  expect(dateValue(0)).toBe("Thu, 01 Jan 1970 00:00:00 +0000");
  expect(() => dateValue(Number.NaN)).toThrow();
});
