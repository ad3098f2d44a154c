import { expect, test } from "bun:test";
import { parseMailbox } from "../../../../src/protocols/mime/address.ts";
import { composeMessage, type MessageSource } from "../../../../src/protocols/mime/compose.ts";
import { CONTROLS, mailbox, source } from "../../../support/mime/mailbox.ts";

const compose = (changes: Partial<MessageSource> = {}) =>
  Buffer.from(composeMessage(source(changes))).toString("latin1");
const fieldNames = (message: string) =>
  message
    .slice(0, message.indexOf("\r\n\r\n"))
    .split(/\r\n(?![ \t])/)
    .map((line) => line.slice(0, line.indexOf(":")));

test("a text alone is a single part with its fields in a fixed order", () => {
  expect(
    compose({
      replyTo: mailbox("r@b.co"),
      headers: [
        ["X-Pombo-Trace", "abc"],
        ["Feedback-ID", "a:b:c:pombo"],
      ],
    }),
  ).toBe(
    [
      "From: =?utf-8?B?QcOnw6NvIFNvY2lhbA==?= <x@exemplo.co.mz>",
      "To: ana@example.com",
      "Reply-To: r@b.co",
      "Subject: Hello",
      "Date: Tue, 03 Feb 2026 04:05:06 +0000",
      "Message-ID: <01890a5d-ac96-774b-bcce-b302099a8057@exemplo.co.mz>",
      "X-Pombo-Trace: abc",
      "Feedback-ID: a:b:c:pombo",
      "MIME-Version: 1.0",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: 7bit",
      "",
      "Hello, Ana.",
      "",
    ].join("\r\n"),
  );
});

test("text and html are alternatives, text first (R49)", () => {
  const message = compose({ text: "t", html: "<p>h</p>" });
  const boundary = /boundary="([^"]+)"/.exec(message)?.[1] ?? "";
  const body = message.slice(message.indexOf("\r\n\r\n") + 4);
  expect(message).toContain("Content-Type: multipart/alternative;");
  expect(body.split(`--${boundary}`).length).toBe(4);
  expect(body).toEndWith(`\r\n--${boundary}--\r\n`);
  expect(body.indexOf("text/plain")).toBeLessThan(body.indexOf("text/html"));
});

test("an empty text or html is no part, and neither at all is an error", () => {
  expect(compose({ text: "", html: "<p>h</p>" })).toContain("Content-Type: text/html; charset=utf-8");
  expect(compose({ text: "t", html: "" })).toContain("Content-Type: text/plain; charset=utf-8");
  expect(() => compose({ text: null, html: null })).toThrow("needs a text or an html");
});

test("the same source gives the same octets", () => {
  expect(compose({ text: "olá", html: "<p>olá</p>" })).toBe(compose({ text: "olá", html: "<p>olá</p>" }));
});

test("a boundary that occurs in a part is not used", () => {
  const stem = `=_${source().id}`;
  const message = compose({ text: `--${stem}--\n--${stem}.1`, html: "<p>h</p>" });
  expect(/boundary="([^"]+)"/.exec(message)?.[1]).toBe(`${stem}.2`);
});

test("every message ends with one CRLF of its own making at most", () => {
  expect(compose({ text: "a" })).toEndWith("\r\n\r\na\r\n");
  expect(compose({ text: "a\n" })).toEndWith("\r\n\r\na\r\n");
  expect(compose({ text: "a\n\n" })).toEndWith("\r\n\r\na\r\n\r\n");
});

test("end-of-data variants in the body or subject leave as CRLF lines (SMTP smuggling)", () => {
  for (const variant of ["\n.\n", "\r.\r", "\r\n.\n", "\n.\r\n", "\r\n.\r\n", "\r\n.\r", "\n.\r", "\r.\n"]) {
    for (const changes of [{ text: `a${variant}b` }, { html: `a${variant}b` }, { text: `é${variant}b` }]) {
      expect(compose(changes)).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
    }
    expect(() => compose({ subject: `a${variant}b` })).toThrow();
  }
});

test("no control character in any field starts a header of its own", () => {
  const names = fieldNames(compose({ headers: [["X-A", "b"]] }));
  for (const character of CONTROLS) {
    for (const injected of [
      `a${character}Bcc: evil@x.co`,
      `a${character}${character}Bcc: evil@x.co`,
      `a\r${character}\nBcc: evil@x.co`,
    ]) {
      for (const text of [`${injected} <a@b.co>`, `"${injected}" <a@b.co>`, `a${character}@b.co`])
        expect(parseMailbox(text).kind).toBe("fault");
      for (const changes of [
        { subject: injected },
        { messageId: `${injected}@b.co` },
        { id: injected, html: "<p>h</p>" },
        { headers: [["X-A", injected]] },
        { headers: [[injected, "b"]] },
        { from: { ...mailbox("a@b.co"), displayName: injected } },
        { replyTo: { ...mailbox("a@b.co"), address: injected } },
      ] as Partial<MessageSource>[]) {
        let message = "";
        try {
          message = compose({ headers: [["X-A", "b"]], ...changes });
        } catch {
          continue;
        }
        expect(
          fieldNames(message).filter((name) => !names.includes(name) && !/^(?:Reply-To|Content-.*)$/.test(name)),
        ).toEqual([]);
      }
    }
  }
});

test("fields that the service or a later hop writes are refused", () => {
  for (const name of [
    "From",
    "to",
    "BCC",
    "Sender",
    "Return-Path",
    "Received",
    "DKIM-Signature",
    "Content-Type",
    "Resent-From",
    "Message-Id",
  ]) {
    expect(() => compose({ headers: [[name, "x"]] })).toThrow("written by the service");
  }
});

test("a Message-ID that is not left@right is refused", () => {
  for (const messageId of ["", "a", "<a@b.co>", "a b@c.co", "a@b.co>\r\nX: y", "a@"])
    expect(() => compose({ messageId })).toThrow();
});

test("only an internationalised address brings octets above 127", () => {
  expect(compose({ subject: "é😀", text: "مرحبا", html: "<p>é</p>" })).not.toMatch(/[\x80-\xff]/);
  expect(compose({ to: mailbox("用户@例え.テスト") })).toMatch(/[\x80-\xff]/);
});
