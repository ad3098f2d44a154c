import { expect, test } from "bun:test";
import { decodeText, plain } from "../../../../src/protocols/dsn/charset.ts";
import { readDeliveryStatus } from "../../../../src/protocols/dsn/delivery-status.ts";
import { decodeWords, findParameter, readFields } from "../../../../src/protocols/dsn/fields.ts";
import { readMessage, decodePart } from "../../../../src/protocols/dsn/message.ts";
import { findCommand, findReplies } from "../../../../src/protocols/dsn/smtp-replies.ts";
import { bytes } from "../../../support/dsn/mails.ts";

const typesOf = (text: string) => readMessage(bytes(text)).parts.map(({ type }) => type);
const bodiesOf = (text: string) => readMessage(bytes(text)).parts.map(({ body }) => body.trim());

test("the leaves of a message come in order, through multiparts in multiparts (RFC 2046 §5.1)", () => {
  const text = `Content-Type: multipart/mixed; boundary="a"

preamble
--a
Content-Type: multipart/alternative; boundary=b

--b

one
--b
Content-Type: TEXT/HTML; charset=utf-8

two
--b--
nothing
--a
Content-Type: message/rfc822

Subject: three
--a--
epilogue`;
  expect(typesOf(text)).toEqual(["text/plain", "text/html", "message/rfc822"]);
  expect(bodiesOf(text)).toEqual(["one", "two", "Subject: three"]);
});

test("an outer delimiter ends what is open within it", () => {
  const text =
    "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--a\n\ntwo\n--a--";
  expect(bodiesOf(text)).toEqual(["one", "two"]);
});

test("a boundary that is the beginning of another is not taken for it", () => {
  const text =
    "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/mixed; boundary=ab\n\n--ab\n\none\n--ab--\n--a--";
  expect(bodiesOf(text)).toEqual(["one"]);
});

test("a part without the line after its header does not swallow the next", () => {
  const text = "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: text/html\n--a\n\ntwo\n--a--";
  expect(typesOf(text)).toEqual(["text/html", "text/plain"]);
  expect(bodiesOf(text)).toEqual(["", "two"]);
});

test("a multipart whose boundary never comes is one text", () => {
  expect(bodiesOf("Content-Type: multipart/mixed; boundary=lost\n\n--other\n\none")).toEqual(["--other\r\n\r\none"]);
  expect(bodiesOf("Content-Type: multipart/mixed\n\none")).toEqual(["one"]);
});

test("half a message gives what is there", () => {
  const text =
    "Subject: x\nContent-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: message/delivery-status\n\nFinal-Recipient: rfc822; a@b\nAction: failed\nStatus: 5.1.1\n";
  for (let length = 0; length <= text.length; length++)
    expect(readMessage(bytes(text.slice(0, length))).parts.length).toBeLessThan(2);
  expect(typesOf(text)).toEqual(["message/delivery-status"]);
});

test("fields are unfolded, and a parameter that lost its indentation is taken back", () => {
  expect(readFields("Subject: a\n b\nContent-Type: multipart/mixed;\nboundary=x\nrubbish\nTo: c")).toEqual([
    { name: "subject", value: "a b" },
    { name: "content-type", value: "multipart/mixed; boundary=x" },
    { name: "to", value: "c" },
  ]);
  expect(findParameter('multipart/mixed; charset=utf-8; boundary = "a b"', "boundary")).toBe("a b");
  expect(findParameter("multipart/mixed", "boundary")).toBeNull();
});

test("encoded words, transfer encodings and charsets are undone (RFC 2045, RFC 2047)", () => {
  expect(decodeWords("=?utf-8?Q?N=C3=A3o?= =?ISO-8859-1?q?_entregue=E1?= x")).toBe("Não entregueá x");
  expect(decodeWords("=?iso-2022-jp?B?GyRCJEskYyE8JHMbKEI=?=")).toBe("にゃーん");
  expect(decodeWords("=?nonsense?B?4pyT?=")).toBe("✓");
  expect(decodeText("\u00e3", "x-unknown")).toBe("ã");
  const part = {
    fields: [{ name: "content-transfer-encoding", value: "quoted-printable" }],
    type: "text/plain",
    body: "a=\r\nb=C3=A3",
  };
  expect(decodePart(part)).toBe("abã");
  expect(plain("  Não\u00a0 Está’s\n“É”")).toBe("nao esta's “e”");
});

test("a delivery-status gives its recipients, whatever is around them (RFC 3464 §2)", () => {
  const none = {
    action: null,
    status: null,
    diagnostic: null,
    diagnosticType: null,
    finalRecipient: null,
    originalRecipient: null,
    remoteMta: null,
    bounceCategory: null,
  };
  const text = `Reporting-MTA: dns; mx.test

Final-Recipient: RFC822; <a@b.test>
Original-Recipient: rfc822;c@d.test
Action: Failed (permanent)
Status: 5.1.1 (bad address)
Remote-MTA: dns; mx.b.test
Diagnostic-Code: smtp; 550-5.1.1 no
550 5.1.1 such user

X-Comment: nothing

Action: delayed`;
  expect(readDeliveryStatus(text)).toEqual([
    {
      ...none,
      action: "failed",
      status: "5.1.1",
      diagnostic: "550-5.1.1 no 550 5.1.1 such user",
      diagnosticType: "smtp",
      finalRecipient: "a@b.test",
      originalRecipient: "c@d.test",
      remoteMta: "mx.b.test",
    },
    { ...none, action: "delayed" },
  ]);
});

test("replies are found in what reporters write around them", () => {
  const found = (text: string) => findReplies(text).map(({ code, enhanced }) => [code, enhanced]);
  expect(found("550 5.1.1 no")).toEqual([[550, "5.1.1"]]);
  expect(found("host mx.test[192.0.2.1] said: 450 later (in reply to RCPT TO command)")).toEqual([[450, null]]);
  expect(found("the other server returned was: 550 550 5.7.1 denied (state 13)")).toEqual([
    [550, null],
    [550, "5.7.1"],
  ]);
  expect(found("<<< 554 no")).toEqual([[554, null]]);
  expect(found("550: 5.1.1 no")).toEqual([[550, "5.1.1"]]);
  expect(found("#550 5.1.10 RESOLVER.ADR.RecipientNotFound")).toEqual([[550, "5.1.10"]]);
  for (const text of ["Thu, 29 Apr 2021 23:34:45", "in 500 days", "192.0.2.550", "id 5501234", "port 587"])
    expect([text, found(text)]).toEqual([text, []]);
});

test("the command that was refused is found, and an explicit one goes before a guess", () => {
  const cases: [string, string | null][] = [
    ["(in reply to rcpt to command)", "rcpt"],
    ["(in reply to end of data command)", "content"],
    ["smtp error from remote mail server after mail from:<x>", "mail"],
    ["smtp error from remote mail server after rcpt to:<x>", "rcpt"],
    ["after initial connection", "early"],
    ["refused to talk to me: 554", "early"],
    ["recipient address rejected: no (in reply to end of data command)", "content"],
    ["recipient address rejected: no", "rcpt"],
    [">>> data <<< 550 no <<< 554 5.5.1 error: no valid recipients", "pipelined"],
    [">>> data <<< 550 no 550 5.1.1 <x>... user unknown <<< 503 5.0.0 need rcpt (recipient)", "pipelined"],
    [">>> data <<< 550 no 554 5.0.0 service unavailable", "content"],
    ["550 user unknown", null],
  ];
  for (const [text, command] of cases)
    expect([text, findCommand(text)]).toEqual([text, command as ReturnType<typeof findCommand>]);
});
