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
      replyTo: [mailbox("r@b.co")],
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
        { replyTo: [{ ...mailbox("a@b.co"), address: injected }] },
        { cc: [mailbox("a@b.co"), { ...mailbox("a@b.co"), displayName: injected }] },
      ] as Partial<MessageSource>[]) {
        let message = "";
        try {
          message = compose({ headers: [["X-A", "b"]], ...changes });
        } catch {
          continue;
        }
        expect(
          fieldNames(message).filter((name) => !names.includes(name) && !/^(?:Reply-To|Cc|Content-.*)$/.test(name)),
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
  expect(compose({ to: [mailbox("用户@例え.テスト")] })).toMatch(/[\x80-\xff]/);
});

const PDF = { filename: "a.pdf", contentType: "application/pdf", contentId: null, content: Buffer.from("%PDF") };
const LOGO = { filename: "a.png", contentType: "image/png", contentId: "logo", content: Buffer.from("PNG") };

/** The types of the tree: `multipart/x(child, …)`. */
function treeOf(message: string): string {
  const type = /^Content-Type: ([^;\r]+)/m.exec(message)?.[1] ?? "";
  const boundary = /^Content-Type: multipart[^]*?boundary="([^"]+)"/m.exec(
    message.slice(0, message.indexOf("\r\n\r\n")),
  )?.[1];
  if (boundary === undefined) return type;
  const children = message.split(`--${boundary}\r\n`).slice(1);
  expect(message).toContain(`--${boundary}--\r\n`);
  return `${type.replace("multipart/", "")}(${children.map((child) => treeOf(child.split(`\r\n--${boundary}--`)[0] ?? "")).join(", ")})`;
}

test("each level of the tree is there only where it is needed (RFC 2046 §5.1, RFC 2387)", () => {
  const [text, html] = ["t", "<p>h</p>"];
  for (const [changes, tree] of [
    [{ text }, "text/plain"],
    [{ text, html }, "alternative(text/plain, text/html)"],
    [{ text, attachments: [PDF] }, "mixed(text/plain, application/pdf)"],
    [{ text: null, html, attachments: [LOGO] }, "related(text/html, image/png)"],
    [{ text, html, attachments: [LOGO] }, "related(alternative(text/plain, text/html), image/png)"],
    [
      { text, html, attachments: [PDF, LOGO, PDF] },
      "mixed(related(alternative(text/plain, text/html), image/png), application/pdf, application/pdf)",
    ],
    // Without html nothing refers to it.
    [{ text, attachments: [LOGO] }, "mixed(text/plain, image/png)"],
  ] as [Partial<MessageSource>, string][])
    expect(treeOf(compose(changes))).toBe(tree);
});

test("an inline file is one only beside html, and the first part of related is named", () => {
  const inline = compose({ text: "t", html: "h", attachments: [LOGO] });
  expect(inline).toContain('Content-Disposition: inline; filename="a.png"\r\nContent-ID: <logo>\r\n');
  expect(inline).toContain('multipart/related; type="multipart/alternative";\r\n');
  expect(compose({ text: null, html: "h", attachments: [LOGO] })).toContain('multipart/related; type="text/html";');
  expect(compose({ attachments: [LOGO] })).toContain(
    'Content-Disposition: attachment; filename="a.png"\r\nContent-ID: <logo>\r\n',
  );
});

test("no boundary begins with another or occurs in a text", () => {
  const { id } = source();
  const taken = ["=_", "=_r.", "=_m."].map((prefix) => `--${prefix}${id}`);
  const message = compose({ text: taken.join("\n"), html: `<p>${taken.join("--\n")}`, attachments: [PDF, LOGO] });
  const boundaries = [...message.matchAll(/boundary="([^"]+)"/g)].map(([, boundary = ""]) => boundary);
  expect(boundaries).toEqual([`=_m.${id}.1`, `=_r.${id}.1`, `=_${id}.1`]);
  for (const one of boundaries)
    for (const other of boundaries) if (one !== other) expect(one.startsWith(other)).toBe(false);
});

test("two attachments with one Content-ID are refused", () => {
  expect(() => compose({ html: "h", attachments: [LOGO, { ...LOGO, filename: "b.png" }] })).toThrow("Content-ID");
});

test("the sender's own fields stand after the service's, beyond ASCII encoded", () => {
  const message = compose({
    headers: [
      ["Feedback-ID", "a:b:c:pombo"],
      ["X-Order", "nº 5"],
    ],
  });
  expect(message).toContain("Feedback-ID: a:b:c:pombo\r\nX-Order: =?utf-8?B?bsK6IDU=?=\r\nMIME-Version: 1.0\r\n");
});

test("copies and several recipients stand in To and Cc in their order", () => {
  const message = compose({
    to: [mailbox("a@b.co"), mailbox("Ana <c@b.co>")],
    cc: [mailbox("d@b.co")],
    replyTo: [mailbox("e@b.co"), mailbox("f@b.co")],
  });
  expect(message).toContain("\r\nTo: a@b.co, Ana <c@b.co>\r\nCc: d@b.co\r\nReply-To: e@b.co, f@b.co\r\nSubject: ");
});
