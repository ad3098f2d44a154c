// Messages that are not what they should be, end to end: refused with the line, or sent as any server can take them.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { recordOf } from "../../support/api/one-email.ts";
import { totalOf } from "../../support/api/kit.ts";
import type { Instance } from "../../support/fakes/instance.ts";
import { contentAt, openClient, startSubmitting } from "../../support/submission/kit.ts";
import { accepted, handIn, message } from "../../support/submission/wire.ts";

setDefaultTimeout(60_000);

/** Each a message; the reply to it, all over one connection. */
async function refuse(cases: [octets: string, words: RegExp][]): Promise<void> {
  await using pombo = await startSubmitting();
  using talk = await openClient(pombo);
  for (const [octets, words] of cases) {
    const shown = octets.slice(0, 200);
    expect([shown, await handIn(talk, octets)]).toEqual([shown, expect.stringMatching(words)]);
  }
  expect(await totalOf(pombo.workspace)).toBe(0);
  await accepted(talk, message());
  expect(pombo.bugs).toEqual([]);
}

/** Hands it in and waits for its delivery; what the server got. */
async function pass(pombo: Instance, octets: string): Promise<{ sent: string; id: string }> {
  using talk = await openClient(pombo);
  const id = await accepted(talk, octets);
  await pombo.app.worker.idle();
  return { sent: contentAt(pombo), id };
}

const BOUNDED = { "MIME-Version": "1.0", "Content-Type": "multipart/mixed; boundary=b" };

test("a From that is none, or several, or no verified domain's is 550 5.7.1", async () => {
  const from = (value: string | null) => message({ From: value });
  await refuse([
    [from(null), /^550 5\.7\.1 the message has no From field/],
    [`From: a@loja.test\r\n${message()}`, /^550 5\.7\.1 the message has 2 From fields/],
    [from("a@loja.test, b@loja.test"), /^550 5\.7\.1 From holds 2 addresses/],
    [from("undisclosed:;"), /^550 5\.7\.1 From holds a group/],
    [from("Loja: a@loja.test;"), /^550 5\.7\.1 From holds a group/],
    [from(""), /^550 5\.7\.1 From holds no address/],
    [from("loja"), /^550 5\.7\.1 From cannot be read/],
    [from("loja@loja.test <ceo@bank.example>"), /^550 5\.7\.1 /],
    [from('"loja@loja.test" <ceo@bank.example>'), /^550 5\.7\.1 Domain not verified: Register bank\.example/],
    [from("=?utf-8?q?loja=40loja.test?="), /^550 5\.7\.1 /],
    [from("=?utf-8?q?=3Cloja=40loja.test=3E?= <ceo@bank.example>"), /^550 5\.7\.1 Domain not verified/],
    [from("loja@loja.test\r\n <ceo@bank.example>"), /^550 5\.7\.1 /],
    [from("ceo@bank.example (loja@loja.test)"), /^550 5\.7\.1 Domain not verified/],
    [from("<@loja.test:ceo@bank.example>"), /^550 5\.7\.1 Domain not verified/],
    [from("Loja <loja@loja.test\0>"), /^554 5\.6\.0 /],
    [from("loja@loja.test.evil.example"), /^550 5\.7\.1 Domain not verified/],
    [from("jo\xc3\xa3o@loja.test"), /^550 5\.7\.1 From has an address with characters beyond ASCII/],
  ]);
});

test("a From whose name holds another address, folded or encoded, shows the one that was checked", async () => {
  await using pombo = await startSubmitting();
  for (const value of [
    '"ceo@bank.example" <loja@loja.test>',
    "Loja\r\n da Maria\r\n <loja@loja.test>",
    "=?utf-8?q?ceo=40bank.example?= <loja@loja.test>",
    "=?utf-8?q?a=0D=0ABcc:_x=40y.test?= <loja@loja.test>",
    "<@bank.example:loja@loja.test>",
    "loja @ loja . test (ceo@bank.example)",
  ]) {
    const { sent } = await pass(pombo, message({ From: value, Date: null, "Message-ID": null }));
    const field = /^From:.*(?:\r\n[ \t].*)*\r\n/m.exec(sent)?.[0] ?? "";
    expect([value, field.match(/loja@loja\.test/g)?.length]).toEqual([value, 1]);
    expect(sent.match(/^from:/gim)).toHaveLength(1);
    expect(sent).not.toMatch(/^bcc:/im);
  }
});

test("fields are not injected by encoded-words, parameters or names that hold line ends", async () => {
  await using pombo = await startSubmitting();
  const evil = "=?utf-8?q?a=0D=0ABcc:_evil=40example.com=0D=0A=0D=0Abody?=";
  const { sent, id } = await pass(
    pombo,
    message({
      Subject: evil,
      To: `${evil} <maria@example.com>`,
      "X-Pombo-Metadata-A": evil,
      "Reply-To": `${evil} <a@b.test>`,
    }),
  );
  expect(sent).not.toMatch(/^bcc:/im);
  expect(sent.split("\r\n\r\n")[1]).toBe("Bom dia\r\n");
  const record = await recordOf(pombo, id);
  expect(record.subject).not.toMatch(/[\r\n]/);
  expect(JSON.stringify(record)).not.toMatch(/\\r|\\n(?!")/);
  expect(pombo.mx.messages.flatMap(({ to }) => to)).toEqual(["maria@example.com"]);
});

test("what breaks the form is 554 5.6.0 with its line", async () => {
  const nested = (depth: number) => {
    let text = "From: x@y.test\r\n\r\nInner\r\n";
    for (let n = 0; n < depth; n += 1) text = `Content-Type: message/rfc822\r\n\r\n${text}`;
    return text;
  };
  await refuse([
    [message({}, `${"y".repeat(999)}\r\n`), /^554 5\.6\.0 line 7 has 999 octets; at most 998 are allowed/],
    [message({ "X-Long": "y".repeat(1_000) }), /^554 5\.6\.0 line 6 has /],
    [message({}, "a\0b\r\n"), /^554 5\.6\.0 line 7 holds a NUL character/],
    [
      message({ "X-Much": `${"y".repeat(900)}\r\n `.repeat(300) }),
      /^554 5\.6\.0 the header section has more than 256 KiB/,
    ],
    [`nonsense\r\n${message()}`, /^554 5\.6\.0 line 1 is not a header field/],
    [` folded\r\n${message()}`, /^554 5\.6\.0 line 1 begins with white space/],
    [
      `From maria Sat Nov 21 2026\r\n${message()}`,
      /^554 5\.6\.0 line 1 is not a header field \(Name: value\), but the first line of an mbox file/,
    ],
    [`${"Received: from a\r\n".repeat(101)}${message()}`, /^554 5\.6\.0 too many hops/],
    [message(BOUNDED, `${"--b\r\n\r\nx\r\n".repeat(10_000)}--b--\r\n`), /^554 5\.6\.0 line \d+ .*1,?000/],
    [message({ "Content-Type": "message/rfc822" }, nested(60)), /^554 5\.6\.0 line \d+ .*50/],
  ]);
});

describe("what is odd, but may be sent", () => {
  test.each([
    ["a boundary that never comes", BOUNDED, "nothing of it\r\n"],
    ["an empty boundary", { "Content-Type": 'multipart/mixed; boundary=""' }, "--\r\n\r\nx\r\n----\r\n"],
    ["a boundary that is not closed", BOUNDED, "--b\r\n\r\nx\r\n"],
    [
      "x-uuencode",
      { "Content-Type": "text/plain", "Content-Transfer-Encoding": "x-uuencode" },
      "begin 644 a\r\n`\r\nend\r\n",
    ],
    [
      "messages within messages, 40 deep",
      { "Content-Type": "message/rfc822" },
      `${"Content-Type: message/rfc822\r\n\r\n".repeat(40)}x\r\n`,
    ],
    ["text that is not in its charset", { "Content-Type": "text/plain; charset=utf-16" }, "ascii\r\n"],
  ])("%s", async (_, fields, body) => {
    await using pombo = await startSubmitting();
    const octets = message(fields, body);
    const { sent, id } = await pass(pombo, octets);
    expect(sent.endsWith(octets.slice(octets.indexOf("From:")))).toBe(true);
    expect((await recordOf(pombo, id)).status).toBe("delivered");
    expect(pombo.bugs).toEqual([]);
  });

  test.each([
    ["base64 with octets above 127", { "Content-Transfer-Encoding": "base64" }, "Ym9t\xe1\xe9IGRpYQ==\r\n"],
    [
      "a charset that lies",
      { "Content-Type": "text/plain; charset=us-ascii", "Content-Transfer-Encoding": "7bit" },
      "ol\xe1\r\n",
    ],
    ["text without any MIME field", {}, "ol\xc3\xa1\r\n"],
    ["lines of 100,000 octets of it", {}, `${"\xc3\xa1".repeat(50_000)}\r\n`],
  ])("%s leaves as ASCII in short lines", async (_, fields, body) => {
    await using pombo = await startSubmitting({ mx: { capabilities: [] } });
    const { sent, id } = await pass(pombo, message(fields, body));
    expect(sent).not.toMatch(/[^\0-\x7f]/);
    expect(sent.split("\r\n").every((line) => line.length <= 998)).toBe(true);
    expect((await recordOf(pombo, id)).status).toBe("delivered");
  });
});
