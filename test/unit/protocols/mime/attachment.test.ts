import { expect, test } from "bun:test";
import {
  type AttachmentHeader,
  attachmentHeader,
  isContentId,
  parseContentType,
} from "../../../../src/protocols/mime/attachment.ts";
import { CONTROLS } from "../../../support/mime/mailbox.ts";

const header = (changes: Partial<AttachmentHeader> = {}, isInline = false) =>
  attachmentHeader({ filename: "fatura.pdf", contentType: "application/pdf", contentId: null, ...changes }, isInline);

test("a plain name stands in both fields", () => {
  expect(header()).toBe(
    'Content-Type: application/pdf; name="fatura.pdf"\r\n' +
      "Content-Transfer-Encoding: base64\r\n" +
      'Content-Disposition: attachment; filename="fatura.pdf"\r\n',
  );
});

test("an inline part has its Content-ID (RFC 2392)", () => {
  expect(header({ contentId: "logo@loja" }, true)).toEndWith(
    'Content-Disposition: inline; filename="fatura.pdf"\r\nContent-ID: <logo@loja>\r\n',
  );
});

test("a name beyond ASCII stands in filename*, its likeness in the type's name (RFC 2231)", () => {
  expect(header({ filename: "relatório nº 5.pdf" })).toBe(
    'Content-Type: application/pdf; name="relatorio n_ 5.pdf"\r\n' +
      "Content-Transfer-Encoding: base64\r\n" +
      "Content-Disposition: attachment;\r\n filename*=utf-8''relat%C3%B3rio%20n%C2%BA%205.pdf\r\n",
  );
});

test("a long name is written in pieces that split no character, on lines of at most 76", () => {
  const filename = `${"😀é".repeat(40)}.pdf`;
  const written = header({ filename });
  for (const line of written.split("\r\n")) expect(line.length).toBeLessThanOrEqual(76);
  const pieces = [...written.matchAll(/filename\*(\d+)\*=([^;\r]+)/g)];
  expect(pieces.map(([, number]) => Number(number))).toEqual(pieces.map((_, i) => i));
  const values = pieces.map(([, , value = ""], i) =>
    decodeURIComponent(i === 0 ? value.replace("utf-8''", "") : value),
  );
  expect(values.join("")).toBe(filename);
  expect(/name="([^"]*)"/.exec(written)?.[1]).toMatch(/^[ -~]{1,60}\.pdf$/);
});

test("the likeness keeps the extension and has no quote, backslash or encoded-word", () => {
  const likeness = (filename: string) => /Content-Type: .*;\s+name="(.*)"/.exec(header({ filename }))?.[1];
  expect(likeness(`${"x".repeat(300)}.pdf`)).toBe(`${"x".repeat(56)}.pdf`);
  expect(likeness('a"b\\c.txt')).toBe("a_b_c.txt");
  expect(likeness("=?utf-8?Q?a?=.txt")).not.toContain("=?");
  expect(likeness("请.docx")).toBe("_.docx");
});

test("parameters of the type are kept, but not a name of its own", () => {
  expect(header({ contentType: 'text/calendar; method=REQUEST; charset="utf-8"; name=evil.exe' })).toStartWith(
    'Content-Type: text/calendar; method=REQUEST; charset="utf-8";\r\n name="fatura.pdf"\r\n',
  );
});

test("message/* goes as application/octet-stream, multipart/* not at all (RFC 2046 §5.2.1)", () => {
  for (const contentType of ["message/rfc822", "MESSAGE/partial; id=a; number=1"])
    expect(header({ contentType })).toStartWith("Content-Type: application/octet-stream; name=");
  for (const contentType of ["multipart/mixed; boundary=a", "Multipart/x"])
    expect(() => header({ contentType })).toThrow("multipart");
});

test("a media type is type/subtype with parameters, on one line", () => {
  expect(parseContentType("Application/PDF")).toEqual({ type: "application/pdf", parameters: [] });
  expect(parseContentType('text/plain;charset=utf-8 ; x="a b"')).toEqual({
    type: "text/plain",
    parameters: ["charset=utf-8", 'x="a b"'],
  });
  for (const wrong of [
    "",
    "pdf",
    "application/",
    "/pdf",
    "a/b/c",
    "text/plain; charset",
    "text/plain; charset=",
    'text/plain; x="a',
    'text/plain; x="a"b"',
    "text/plain,text/html",
    "text/plain\r\nBcc: x@y.co",
    "text/plain; x=\u202e",
    "téxt/plain",
    `a/${"b".repeat(300)}`,
  ])
    expect([wrong, parseContentType(wrong)]).toEqual([wrong, null]);
});

test("no control character in any value starts a field of its own", () => {
  const names = ["Content-Type", "Content-Transfer-Encoding", "Content-Disposition", "Content-ID"];
  for (const character of CONTROLS) {
    for (const changes of [
      { filename: `a${character}Bcc: x@y.co` },
      { contentType: `text/plain${character}Bcc: x@y.co` },
      { contentType: `text/plain; x="${character}Bcc: x@y.co"` },
      { contentId: `a${character}Bcc: x@y.co` },
    ]) {
      let written = "";
      try {
        written = header({ contentId: "a", ...changes });
      } catch {
        continue;
      }
      const fields = written.trimEnd().split(/\r\n(?![ \t])/);
      expect(fields.map((field) => field.slice(0, field.indexOf(":")))).toEqual(names);
      expect(written).toMatch(/^[\r\n -~]*$/);
    }
  }
});

test("a Content-ID has no space, bracket or character beyond ASCII", () => {
  for (const right of ["logo", "logo@loja.test", "a.b-c_d+e"]) expect(isContentId(right)).toBe(true);
  for (const wrong of ["", "<logo>", "a b", "a>b", 'a"', "é", "a\r\nb", "x".repeat(251), "a@b@c", "@a", "a@"])
    expect([wrong, isContentId(wrong)]).toEqual([wrong, false]);
  expect(() => header({ contentId: "<logo>" })).toThrow("Content-ID");
});
