import { expect, test } from "bun:test";
import { type Instance, SENDING_DOMAIN, startInstance } from "../../support/fakes/instance.ts";
import { expectErrors, totalOf } from "../../support/api/kit.ts";

// What a sender can write must stay text: no byte of it may become an SMTP command, a header or
// another sender. Looked at on the wire, as the recipient's server got it.

const EMAILS = "/api/v1/emails";

const send = (pombo: Instance, changes: Record<string, unknown>) =>
  pombo.workspace.call("POST", EMAILS, { body: pombo.email(changes) });

const BREAKS: [name: string, characters: string][] = [
  ["CR", "\r"],
  ["LF", "\n"],
  ["CRLF", "\r\n"],
  ["NUL", "\0"],
  ["U+0085", "\u0085"],
  ["U+2028", "\u2028"],
  ["U+2029", "\u2029"],
  ["VT", "\v"],
  ["FF", "\f"],
];

/** Values of a field with a break in each of its places. */
const PLACES: Record<string, ((at: string) => string)[]> = {
  from: [
    (at) => `${at}loja@loja.test`,
    (at) => `loja@loja.test${at}`,
    (at) => `loja@loja.test${at}Bcc: evil@example.com`,
    (at) => `lo${at}ja@loja.test`,
    (at) => `loja@loja.test${at}>${at}RCPT TO:<evil@example.com>`,
    (at) => `Loja${at}Bcc: evil@example.com <loja@loja.test>`,
    (at) => `"Loja${at}Bcc: evil@example.com" <loja@loja.test>`,
    (at) => `Loja <loja@loja.test${at}>`,
    (at) => `"lo${at}ja"@loja.test`,
  ],
  to: [
    (at) => `${at}maria@example.com`,
    (at) => `maria@example.com${at}`,
    (at) => `maria@example.com${at}Bcc: evil@example.com`,
    (at) => `maria@exam${at}ple.com`,
    (at) => `maria@example.com>${at}RCPT TO:<evil@example.com`,
    (at) => `"ma${at}ria"@example.com`,
  ],
  replyTo: [
    (at) => `ana@example.com${at}`,
    (at) => `ana@example.com${at}Bcc: evil@example.com`,
    (at) => `"a${at}"@example.com`,
  ],
  subject: [
    (at) => `${at}Hi`,
    (at) => `Hi${at}`,
    (at) => `Hi${at}Bcc: evil@example.com`,
    (at) => `Hi${at}${at}<html>`,
    (at) => `Hi${at} folded`,
  ],
};

test("a line break or control character in an address or the subject is refused wherever it stands", async () => {
  await using pombo = await startInstance();
  for (const [field, places] of Object.entries(PLACES)) {
    for (const place of places) {
      for (const [name, characters] of BREAKS) {
        const value = place(characters);
        const answer = await send(pombo, { [field]: value });
        expect([name, value, answer.status]).toEqual([name, value, 422]);
        expectErrors(answer, 422, [{ field }]);
      }
    }
  }
  expect(await totalOf(pombo.workspace)).toBe(0);
  expect(pombo.mx.connections).toHaveLength(0);
  expect(pombo.dns.queries.some(({ name }) => name === "example.com")).toBe(false);
}, 30_000);

test("whatever text and html hold, the wire carries one sender, one recipient and no header of theirs", async () => {
  await using pombo = await startInstance();
  const smuggled = BREAKS.filter(([name]) => name !== "NUL").flatMap(([, at]) => [
    `x${at}.${at}MAIL FROM:<evil@example.com>${at}RCPT TO:<evil@example.com>${at}DATA${at}Subject: evil${at}${at}evil${at}.${at}`,
    `${at}Bcc: evil@example.com${at}${at}body`,
    `${at}--=_boundary${at}Content-Type: text/html${at}${at}<b>`,
    `${at}.${at}${at}..${at}QUIT${at}`,
  ]);
  const bodies = [
    { text: smuggled.join("") },
    { html: smuggled.join("") },
    { html: smuggled.join(""), text: smuggled.join("") },
  ];
  for (const parts of bodies) {
    expect((await send(pombo, { text: "", ...parts })).status).toBe(202);
  }
  await pombo.mx.until(() => pombo.mx.messages.length === bodies.length);
  await pombo.app.worker.idle();
  const commands = pombo.mx.connections.flatMap((connection) => connection.commands);
  for (const verb of ["MAIL FROM:", "RCPT TO:", "DATA"]) {
    expect([verb, commands.filter((line) => line.startsWith(verb)).length]).toEqual([verb, bodies.length]);
  }
  expect(commands.filter((line) => line.includes("evil"))).toEqual([]);
  for (const { to, content } of pombo.mx.messages) {
    expect(to).toEqual(["maria@example.com"]);
    const headers = headersOf(content);
    // Signatures are base64, which may spell anything.
    expect(headers).not.toMatch(/evil@|^Bcc:|^Subject: evil/im);
    for (const name of ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version"]) {
      expect([name, headers.match(new RegExp(`^${name}:`, "gim"))?.length]).toEqual([name, 1]);
    }
  }
});

function headersOf(content: Buffer): string {
  return content.subarray(0, content.indexOf("\r\n\r\n")).toString();
}

/** Senders that mean to look like another's; `refused`: the way it ends. */
const REFUSED_SENDERS: [from: string, reason: "not an address" | "not verified"][] = [
  ["a@evil.test", "not verified"],
  ["loja@loja.test <a@evil.test>", "not an address"],
  ['"loja@loja.test" <a@evil.test>', "not verified"],
  ["a@sub.loja.test", "not verified"],
  ["a@evil-loja.test", "not verified"],
  ["a@loja.test.evil.test", "not verified"],
  ["a@l\u043eja.test", "not verified"], // a Cyrillic o
  ["a@loja.te\u0455t", "not verified"],
  ["a@loja.test, b@evil.test", "not an address"],
  ["a@evil.test, b@loja.test", "not an address"],
  ["a@evil.test; b@loja.test", "not an address"],
  ["a@evil.test b@loja.test", "not an address"],
  ["<a@evil.test> <b@loja.test>", "not an address"],
  ["a@evil.test <b@loja.test> c", "not an address"],
  ["b@loja.test> <a@evil.test", "not an address"],
  ["a@evil.test@loja.test", "not an address"],
  ["@loja.test@evil.test", "not an address"],
  ["@evil.test:a@loja.test", "not an address"],
  ["<@evil.test:a@loja.test>", "not an address"],
  ["@loja.test", "not an address"],
  ["a@", "not an address"],
  ["a@loja.test.", "not an address"],
  ["a@.loja.test", "not an address"],
  ["a@loja..test", "not an address"],
  ["a@[127.0.0.1]", "not an address"],
  ["a@127.0.0.1", "not an address"],
  ["(evil) a@loja.test", "not an address"],
  ["a@loja.test (evil)", "not an address"],
  ["a@(evil)loja.test", "not an address"],
  ["Friends: a@loja.test;", "not an address"],
  ["Loja, Lda <a@loja.test>", "not an address"],
  ['"Loja <a@loja.test>', "not an address"],
  ["a@loja.test\u200b", "not an address"],
  ["a\u202e@loja.test", "not an address"],
  ["Lo\u202eja <a@loja.test>", "not an address"],
  ["a@lo\u00adja.test", "not an address"],
  ["a@loja%2Etest", "not an address"],
  [" ", "not an address"],
];

test("a sender that looks like another's is refused, as no address or as not verified", async () => {
  await using pombo = await startInstance();
  for (const [from, reason] of REFUSED_SENDERS) {
    const answer = await send(pombo, { from });
    expect([from, answer.status]).toEqual([from, 422]);
    const message = reason === "not verified" ? /^Domain not verified$/ : /^from is not a usable address: /;
    expectErrors(answer, 422, [{ field: "from", message }]);
  }
  expect(await totalOf(pombo.workspace)).toBe(0);
});

test("of senders that are unusual but honest the From on the wire names our domain and nobody else's", async () => {
  await using pombo = await startInstance();
  const accepted = [
    "a@LOJA.Test",
    "<a@loja.test>",
    '"a@evil.test" <b@loja.test>',
    '"evil\\" <a@evil.test>" <b@loja.test>',
    '"a@evil.test"@loja.test',
    "a%evil.test@loja.test",
    "=?utf-8?q?a=40evil.test=3E?= <b@loja.test>",
    "a@loja\u3002test",
    "Lója 😀 <b@loja.test>",
  ];
  for (const from of accepted) {
    const answer = await send(pombo, { from });
    expect([from, answer.status]).toEqual([from, 202]);
  }
  await pombo.mx.until(() => pombo.mx.messages.length === accepted.length);
  for (const { content } of pombo.mx.messages) {
    const [line = ""] = /^From: .*(?:\r\n[ \t].*)*/m.exec(headersOf(content)) ?? [];
    const value = line.slice("From: ".length).replaceAll("\r\n", "");
    // What is quoted or encoded names no one; what is left is one address of ours.
    const bare = value.replaceAll(/=\?[^?]+\?[bq]\?[^?]*\?=/gi, "").replaceAll(/"(?:[^"\\]|\\.)*"/g, "quoted");
    expect([value, bare.match(/@[\w.-]+/g)]).toEqual([value, [`@${SENDING_DOMAIN}`]]);
    expect(value).not.toContain("=?utf-8?q?a=40evil");
    expect(headersOf(content).match(/^From:/gim)).toHaveLength(1);
    expect(headersOf(content)).toMatch(/^DKIM-Signature: [^]*?d=loja\.test/m);
  }
});
