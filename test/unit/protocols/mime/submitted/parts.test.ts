import { describe, expect, test } from "bun:test";
import { accept, lines, sent, utf8 } from "../../../../support/mime/submitted.ts";

const FROM = "From: ana@example.com";
const multipart = (boundary: string, type = "mixed") => `Content-Type: multipart/${type}; boundary="${boundary}"`;
const PDF = ["Content-Type: application/pdf; name=a.pdf", "Content-Transfer-Encoding: base64", "", "QUJD"];
const attachmentsOf = (message: string) =>
  accept(message).attachments.map(({ filename, contentType, encoded, bytes }) => [
    filename,
    contentType,
    Buffer.from(encoded).toString("latin1"),
    bytes,
  ]);
const bodyOf = (message: string) => Buffer.from(accept(message).body).toString("latin1");

describe("the tree", () => {
  test("contents of attachments are cut out, and holes say where", () => {
    const message = lines(
      FROM,
      multipart("b"),
      "",
      "pre",
      "--b",
      "",
      "text",
      "--b",
      ...PDF,
      "--b",
      ...PDF,
      "--b--",
      "post",
    );
    const { body, holes } = accept(message);
    const cut =
      lines("pre", "--b", "", "text", "--b", ...PDF.slice(0, 3)) +
      lines("", "--b", ...PDF.slice(0, 3)) +
      lines("", "--b--", "post");
    expect(Buffer.from(body).toString("latin1")).toBe(cut);
    expect(holes.map((hole) => cut.slice(hole - 4, hole + 2))).toEqual(["\r\n\r\n\r\n", "\r\n\r\n\r\n"]);
    expect(attachmentsOf(message)).toEqual([
      ["a.pdf", "application/pdf", "QUJD", 3],
      ["a.pdf", "application/pdf", "QUJD", 3],
    ]);
    expect(sent(message)).toBe(message);
  });

  test("a message that is one file is an attachment from the first octet of the body", () => {
    const message = lines(FROM, ...PDF);
    const { body, holes, attachments } = accept(message);
    expect([body.length, holes, attachments[0]?.bytes]).toEqual([0, [0], 3]);
    expect(sent(message)).toBe(message);
  });

  test("without a closing delimiter the last part runs to the end", () => {
    expect(attachmentsOf(lines(FROM, multipart("b"), "", "--b", ...PDF))).toEqual([
      ["a.pdf", "application/pdf", "QUJD\r\n", 3],
    ]);
  });

  test("a delimiter of the outer multipart ends the inner one", () => {
    const message = lines(
      FROM,
      multipart("b"),
      "",
      "--b",
      multipart("in"),
      "",
      "--in",
      ...PDF,
      "--b",
      ...PDF,
      "--in",
      "--b--",
    );
    expect(attachmentsOf(message)).toEqual([
      ["a.pdf", "application/pdf", "QUJD", 3],
      ["a.pdf", "application/pdf", "QUJD\r\n--in", 4],
    ]);
  });

  test("a boundary may be the start of another, or end with hyphens, and white space may follow it", () => {
    const message = lines(
      FROM,
      multipart("b"),
      "",
      "--b \t",
      multipart("b2"),
      "",
      "--b2",
      ...PDF,
      "--b2--  ",
      "--b",
      ...PDF,
      "--bx",
      "--b-- ",
    );
    expect(attachmentsOf(message).map(([, , content]) => content)).toEqual(["QUJD", "QUJD\r\n--bx"]);
    const hyphens = lines(
      FROM,
      multipart("b--"),
      "",
      "--b--",
      multipart("b"),
      "",
      "--b",
      ...PDF,
      "--b--",
      ...PDF,
      "--b----",
    );
    expect(attachmentsOf(hyphens).map(([, , content]) => content)).toEqual(["QUJD"]);
  });

  test("the same boundary within itself means the inner multipart", () => {
    const message = lines(
      FROM,
      multipart("b"),
      "",
      "--b",
      multipart("b"),
      "",
      "--b",
      ...PDF,
      "--b--",
      "--b",
      ...PDF,
      "--b--",
    );
    expect(attachmentsOf(message).length).toBe(2);
    expect(sent(message)).toBe(message);
  });

  test("a boundary that never comes, or is none, leaves a text that is no attachment", () => {
    for (const field of [
      multipart("never"),
      multipart(""),
      multipart("x".repeat(71)),
      "Content-Type: multipart/mixed",
      utf8(multipart("é")),
      "Content-Type: multipart/mixed; boundary=",
    ]) {
      const message = lines(FROM, field, "", "--b", ...PDF, "--", "----", "x");
      expect(attachmentsOf(message)).toEqual([]);
      expect(bodyOf(message)).toBe(message.slice(message.indexOf("\r\n\r\n") + 4));
    }
  });

  test("parts without a header, without a body, and without anything", () => {
    const message = lines(
      FROM,
      multipart("b"),
      "",
      "--b",
      "",
      "--b",
      "--b",
      "X: y",
      "--b",
      "X: y",
      "",
      "--b",
      "stray",
      " x",
      "",
      "text",
      "--b--",
    );
    expect(attachmentsOf(message)).toEqual([]);
    expect(sent(message)).toBe(message);
  });

  test("a line of hyphens in the header of an inner message is no delimiter of its own", () => {
    const message = lines(
      FROM,
      "Content-Type: message/rfc822",
      "",
      "--in",
      multipart("in"),
      "",
      "x",
      "--in",
      ...PDF,
      "--in--",
    );
    expect(attachmentsOf(message).map(([name]) => name)).toEqual(["message.eml"]);
    expect(sent(message)).toBe(message);
  });

  test("in a digest a part without a type is a message", () => {
    const message = lines(FROM, multipart("b", "digest"), "", "--b", "", "Subject: x", "", "text", "--b--");
    expect(attachmentsOf(message)).toEqual([["message.eml", "message/rfc822", "Subject: x\r\n\r\ntext", 18]]);
  });
});

describe("what is an attachment", () => {
  const kindOf = (...header: string[]) => {
    const message = lines(FROM, multipart("b"), "", "--b", ...header, "", "x", "--b--");
    expect(sent(message)).toBe(message);
    return attachmentsOf(message).map(([filename, type]) => [filename, type]);
  };

  test("texts are not, unless they have a name or say so", () => {
    expect(kindOf("Content-Type: text/plain; charset=utf-8")).toEqual([]);
    expect(kindOf("Content-Type: TEXT/HTML (comment); charset=utf-8")).toEqual([]);
    expect(kindOf("Content-Type: text/calendar; method=REQUEST")).toEqual([]);
    expect(kindOf("Content-Type: text", "Content-Disposition: inline")).toEqual([]);
    expect(kindOf("Content-Type: text/plain; name=a.txt")).toEqual([["a.txt", "text/plain"]]);
    expect(
      kindOf("Content-Type: text/plain; charset=utf-8 (x)", "Content-Disposition: inline; filename=a.txt"),
    ).toEqual([["a.txt", "text/plain; charset=utf-8"]]);
    expect(kindOf("Content-Disposition: Attachment")).toEqual([["text.txt", "text/plain"]]);
  });

  test("other types are, and get a name where they have none", () => {
    expect(kindOf("Content-Type: image/PNG")).toEqual([["image.png", "image/png"]]);
    expect(kindOf("Content-Type: application/x-unknown; x=y")).toEqual([["attachment.bin", "application/x-unknown"]]);
    expect(kindOf("Content-Type: nonsense")).toEqual([["attachment.bin", "application/octet-stream"]]);
    expect(kindOf("Content-Type: message/delivery-status")).toEqual([["attachment.bin", "message/delivery-status"]]);
    expect(kindOf("Content-Type: message/rfc822")).toEqual([["message.eml", "message/rfc822"]]);
  });

  test("a message in the message is one attachment with all that is in it", () => {
    const inner = lines("From: b@x.co", multipart("in"), "", "--in", ...PDF, "--in--");
    const message = lines(FROM, multipart("b"), "", "--b", "Content-Type: message/rfc822", "", `${inner}--b--`);
    expect(attachmentsOf(message)).toEqual([["message.eml", "message/rfc822", inner.slice(0, -2), inner.length - 2]]);
    expect(sent(message)).toBe(message);
  });

  test("its Content-ID is returned without brackets", () => {
    const id = (value: string) =>
      accept(lines(FROM, multipart("b"), "", "--b", `Content-ID: ${value}`, ...PDF, "--b--")).attachments[0]?.contentId;
    expect([id("<logo@x>"), id("\r\n <logo>"), id("logo"), id("<a b>"), id("")]).toEqual([
      "logo@x",
      "logo",
      "logo",
      null,
      null,
    ]);
  });
});

describe("names of files", () => {
  const nameOf = (...header: string[]) =>
    accept(lines(FROM, "Content-Type: application/x", ...header, "", "x")).attachments[0]?.filename;
  const disposition = (parameters: string) => nameOf(utf8(`Content-Disposition: attachment; ${parameters}`));

  const CASES: [string, string][] = [
    ["filename=a.txt", "a.txt"],
    ['filename="a; b.txt"; size=3', "a; b.txt"],
    ["filename=my file (1).txt ; size=3", "my file (1).txt"],
    ['filename="a \\"b\\".txt"', 'a "b".txt'],
    ["filename*=utf-8''ol%C3%A1.txt; filename=x.txt", "olá.txt"],
    ["filename*=iso-8859-1'pt'ol%E1.txt", "olá.txt"],
    ["filename*0*=utf-8''%E2%82; filename*1*=%AC; filename*2=%41.txt", "€%41.txt"],
    ['filename*1="b.txt"; filename*0="a"', "ab.txt"],
    ["filename==?utf-8?Q?ol=C3=A1.txt?=", "olá.txt"],
    ['filename="=?utf-8?B?b2zDoQ==?=\r\n =?utf-8?Q?.txt?="', "olá.txt"],
    ['filename="olá.txt"', "olá.txt"],
    ['filename="../../etc/passwd"', "passwd"],
    ['filename="..\\\\x.txt"', "x.txt"],
    ['filename=".."', "attachment.bin"],
    ['filename="a/"', "attachment.bin"],
    ['filename=""', "attachment.bin"],
    ["filename*=utf-8''a%0D%0Ab%00.txt", "a  b .txt"],
    ["filename*=utf-8''a%E2%80%AEtxt.exe", "atxt.exe"],
    [`filename="${"x".repeat(300)}.docx"`, `${"x".repeat(250)}.docx`],
    ["filename*=nonsense''a%FF.txt", "aÿ.txt"],
  ];
  for (const [parameters, name] of CASES)
    test(`${parameters.slice(0, 60)} is ${name.slice(0, 40)}`, () => expect(disposition(parameters)).toBe(name));

  test("that of the type counts where the disposition has none", () => {
    expect(accept(lines(FROM, 'Content-Type: application/x; name="b.txt"', "", "x")).attachments[0]?.filename).toBe(
      "b.txt",
    );
  });
});
