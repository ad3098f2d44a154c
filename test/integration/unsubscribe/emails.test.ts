// The member `unsubscribe` of an email, from the request to the header of what arrives and what a click changes.

import { expect, setDefaultTimeout, test } from "bun:test";
import { simpleParser } from "mailparser";
import { errorItems, expectErrors, startHeld } from "../../support/api/kit.ts";
import { attempted, HOUR, LATER, MINUTE, NOON, recordOf, send } from "../../support/api/one-email.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { ask, PUBLIC, suppressionsOf, withPublicUrl } from "../../support/unsubscribe/kit.ts";

setDefaultTimeout(30_000);

const EMAILS = "/api/v1/emails";
const LIST = { unsubscribe: { list: "news" } };
const post = (pombo: Instance, changes: Record<string, unknown>) =>
  pombo.workspace.call("POST", EMAILS, { body: pombo.email(changes) });

/** What arrived last, as its reader takes it apart. */
async function readLast({ mx }: Instance) {
  const raw = mx.messages.at(-1)?.content.toString("latin1") ?? "";
  const lines = raw
    .slice(0, raw.indexOf("\r\n\r\n"))
    .replaceAll(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const values = (name: string) =>
    lines.filter((line) => line.toLowerCase().startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim());
  return { raw, values, parsed: await simpleParser(raw) };
}

test("an email of a list says how to unsubscribe, signed, and one click ends this list and nothing else", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const html = `<p>Olá $& {{unsubscribe_url}}</p><a href="{{unsubscribe_url}}">Sair</a>`;
  const id = await attempted(pombo, { html, text: "{{unsubscribe_url}}\n{{unsubscribe_url}} {{other}}", ...LIST });
  expect((await recordOf(pombo, id)).unsubscribe).toEqual({ list: "news" });
  const { values, parsed } = await readLast(pombo);
  const [field = ""] = values("list-unsubscribe");
  const [, url = "", mail = ""] = /^<(https:[^>]+)>, <mailto:([^>]+)>$/.exec(field) ?? [];
  expect([url, mail]).toEqual([
    expect.stringMatching(/^https:\/\/mail\.pombo\.example\/u\/[a-z2-7]{42}$/),
    expect.stringMatching(/^u\+[a-z2-7]{42}@bounce\.pombo\.test$/),
  ]);
  expect(values("list-unsubscribe-post")).toEqual(["List-Unsubscribe=One-Click"]);
  const signatures = values("dkim-signature");
  expect(signatures.length).toBe(2);
  for (const signature of signatures) {
    const signed = (/; h=([^;]+)/.exec(signature)?.[1] ?? "").toLowerCase().split(/\s*:\s*/);
    // Once more than it is there: nobody adds another.
    for (const name of ["list-unsubscribe", "list-unsubscribe-post"])
      expect([name, signed.filter((each) => each === name).length]).toEqual([name, 2]);
  }
  expect(parsed.html).toBe(`<p>Olá $& ${url}</p><a href="${url}">Sair</a>`);
  expect(parsed.text?.trim()).toBe(`${url}\n${url} {{other}}`);

  const clicked = await ask(pombo, url.slice(PUBLIC.length), {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "List-Unsubscribe=One-Click",
  });
  expect(clicked.status).toBe(200);
  const refused = await post(pombo, LIST);
  expectErrors(refused, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to", message: "suppressed (unsubscribe)" }]);
  expect(errorItems(refused)[0]?.hint).toContain(
    "DELETE /api/v1/suppressions/maria%40example.com lifts that, with ?list=news",
  );
  expect((await post(pombo, {})).status).toBe(202);
  expect((await post(pombo, { unsubscribe: { list: "offers" } })).status).toBe(202);
  expect((await post(pombo, { to: "joao@example.com", ...LIST })).status).toBe(202);
  const lifted = await pombo.workspace.call("DELETE", "/api/v1/suppressions/maria%40example.com?list=news");
  expect(lifted.status).toBe(200);
  expect((await post(pombo, LIST)).status).toBe(202);
  expect(pombo.bugs).toEqual([]);
});

test("a text that is made from html has the address too, and without the member nothing is replaced", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const html = `<p>Olá</p><p><a href="{{unsubscribe_url}}">Sair</a></p>`;
  await attempted(pombo, { html, text: undefined, ...LIST });
  const listed = await readLast(pombo);
  const [, url = ""] = /^<([^>]+)>/.exec(listed.values("list-unsubscribe")[0] ?? "") ?? [];
  expect(listed.parsed.text).toContain(`Sair [${url}]`);
  await attempted(pombo, { html, text: undefined });
  const plain = await readLast(pombo);
  expect([plain.values("list-unsubscribe"), plain.values("list-unsubscribe-post")]).toEqual([[], []]);
  expect(plain.parsed.html).toBe(html);
});

test("a sender's own addresses stand in the header as they were given, and in html as html", async () => {
  await using pombo = await startInstance();
  const url = `https://loja.test/sair?id=1&list=a"b'c,d%20${"x".repeat(300)}`;
  const unsubscribe = { url, mailto: "sair+a=b?c#d@loja.test" };
  const id = await attempted(pombo, {
    html: `<a href="{{unsubscribe_url}}">x</a>`,
    text: "{{unsubscribe_url}}",
    unsubscribe,
  });
  expect((await recordOf(pombo, id)).unsubscribe).toEqual(unsubscribe);
  const { values, parsed } = await readLast(pombo);
  expect(values("list-unsubscribe")).toEqual([`<${url}>, <mailto:sair+a%3Db%3Fc%23d@loja.test>`]);
  expect(values("list-unsubscribe-post")).toEqual(["List-Unsubscribe=One-Click"]);
  expect(parsed.text?.trim()).toBe(url);
  expect(parsed.html).toContain(`href="${Bun.escapeHTML(url)}"`);
  await attempted(pombo, { unsubscribe: { url: "https://loja.test/sair" } });
  expect((await readLast(pombo)).values("list-unsubscribe")).toEqual(["<https://loja.test/sair>"]);
});

test("who unsubscribes while an email of the list waits does not get it", async () => {
  await using held = await startHeld(NOON, { mx: { rcpt: LATER }, configure: withPublicUrl });
  const { pombo } = held;
  const listed = await attempted(pombo, LIST);
  const other = await attempted(pombo, { unsubscribe: { list: "offers" } });
  await pombo.workspace.call("POST", "/api/v1/suppressions", {
    body: { address: "maria@example.com", list: "news", reason: "unsubscribe" },
  });
  pombo.mx.script = {};
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, listed)).toMatchObject({
    status: "suppressed",
    failedReason: "The recipient became suppressed (unsubscribe) after the email was accepted",
  });
  expect((await recordOf(pombo, other)).status).toBe("delivered");
});

test("of several recipients each unsubscribes by a link of its own, before and after the others have the email", async () => {
  await using held = await startHeld(NOON, { configure: withPublicUrl });
  const { pombo } = held;
  const people = { to: ["maria@example.com", "joao@example.com"], bcc: "arquivo@example.com" };
  const sendAt = new Date(NOON + HOUR).toISOString();
  await attempted(pombo, { ...people, ...LIST });
  const links = new Map(
    pombo.mx.messages.map(({ to, content }) => [
      to[0],
      /List-Unsubscribe: <https:\/\/[^/]+([^>]+)>/.exec(content.toString())?.[1] ?? "",
    ]),
  );
  expect(new Set(links.values()).size).toBe(3);
  const later = (await post(pombo, { ...people, ...LIST, sendAt })).body.data;
  const click = (address: string) => ask(pombo, links.get(address) ?? "", { method: "POST" });
  expect((await click("arquivo@example.com")).status).toBe(200);
  expect(await suppressionsOf(pombo)).toEqual(["arquivo@example.com unsubscribe news"]);
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  const statuses = (await recordOf(pombo, later.id)).recipients.map((one: Json) => one.status);
  expect(statuses).toEqual(["delivered", "delivered", "suppressed"]);
  await click("maria@example.com");
  const again = (await post(pombo, { ...people, ...LIST })).body.data.recipients;
  expect(again.map((one: Json) => one.status)).toEqual(["suppressed", "queued", "suppressed"]);
  expect(pombo.bugs).toEqual([]);
});

test("without a public URL a list is refused with the sentence for the operator, and the sender's own page is not", async () => {
  await using pombo = await startInstance();
  const refused = await post(pombo, LIST);
  expectErrors(refused, 422, [{ field: "unsubscribe", message: "needs a public address" }]);
  expect(errorItems(refused)[0]?.hint).toContain('public_url = "https://…" under [http]');
  const emails = [pombo.email(), pombo.email(LIST), pombo.email(LIST)];
  expectErrors(await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } }), 422, [
    { field: "unsubscribe", path: "emails[1].unsubscribe" },
    { field: "unsubscribe", path: "emails[2].unsubscribe" },
  ]);
  expect((await post(pombo, { unsubscribe: { url: "https://loja.test/" } })).status).toBe(202);
});

test("an email of a list waits while the public URL is gone, and goes once it is back", async () => {
  await using held = await startHeld(NOON, { mx: { rcpt: LATER }, configure: withPublicUrl });
  const { pombo } = held;
  const id = await attempted(pombo, LIST);
  pombo.config.http.publicUrl = null;
  pombo.mx.script = {};
  await held.advance(2 * MINUTE);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({
    status: "delivery_delayed",
    lastReply: expect.stringContaining("[http] public_url"),
  });
  pombo.config.http.publicUrl = PUBLIC;
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivered");
});

const WRONG: [unsubscribe: unknown, field: string, message: string][] = [
  [{}, "list", "or url is required"],
  [null, "unsubscribe", "must be"],
  ["news", "unsubscribe", "must be"],
  [["news"], "unsubscribe", "must be"],
  [{ list: "a b" }, "list", "must consist of"],
  [{ list: "news\r\nBcc: a@b.c" }, "list", "must consist of"],
  [{ list: "" }, "list", "must not be empty"],
  [{ list: "x".repeat(65) }, "list", "at most 64"],
  [{ list: 1 }, "list", "must be a string"],
  [{ list: "news", url: "https://loja.test/" }, "url", "cannot be combined"],
  [{ list: "news", mailto: "a@loja.test" }, "mailto", "is only for url"],
  [{ mailto: "a@loja.test" }, "list", "or url is required"],
  [{ list: "news", page: 1 }, "page", "is not a member"],
  ...[
    "http://loja.test/",
    "https://",
    "javascript:alert(1)",
    "loja.test",
    "https://loja.test/a b",
    "https://loja.test/>,<mailto:x@y.z",
    "https://loja.test/\r\nBcc: a@b.c",
    "https://loja.test/\0",
    "https://loja.test/\u2028",
    "https://lojä.test/",
    "https://a:b@loja.test/",
    "https://[::1/",
  ].map((url): [unknown, string, string] => [{ url }, "url", "url must"]),
  [{ url: `https://loja.test/${"x".repeat(500)}` }, "url", "at most 500"],
  ...[
    "maria",
    "Maria <a@loja.test>",
    "mailto:a@loja.test?subject=x",
    "ä@loja.test",
    "a@loja.test\r\nBcc: x@y.z",
    "a@b.c, d@e.f",
  ].map((mailto): [unknown, string, string] => [{ url: "https://loja.test/", mailto }, "mailto", "mailto "]),
];

test("every faulty way to unsubscribe is refused by its member, alone and in a batch", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  for (const [unsubscribe, field, message] of WRONG) {
    const answer = await post(pombo, { unsubscribe });
    expect([unsubscribe, answer.status]).toEqual([unsubscribe, 422]);
    expect([
      unsubscribe,
      errorItems(answer).some((item) => item.field === field && item.message.includes(message)),
    ]).toEqual([unsubscribe, true]);
    const batch = await pombo.workspace.call("POST", `${EMAILS}/batch`, {
      body: { emails: [pombo.email(), pombo.email({ unsubscribe })] },
    });
    const paths = errorItems(batch).map(({ path }) => path);
    expect([unsubscribe, batch.status, paths.every((path) => path?.startsWith("emails[1].unsubscribe"))]).toEqual([
      unsubscribe,
      422,
      true,
    ]);
  }
  expect(pombo.mx.messages).toEqual([]);
  expect(await suppressionsOf(pombo)).toEqual([]);
});

test("the placeholder may stand a hundred times, and no more: each grows to an address", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const text = "{{unsubscribe_url}}".repeat(100);
  expect((await post(pombo, { text, ...LIST })).status).toBe(202);
  for (const name of ["html", "text"])
    expectErrors(await post(pombo, { [name]: `${text}{{unsubscribe_url}}`, ...LIST }), 422, [
      { field: name, message: "at most 100 times" },
    ]);
  expect((await post(pombo, { text: `${text}{{unsubscribe_url}}` })).status).toBe(202);
});

test("beside attachments the size of the message counts with the addresses in the placeholders' places", async () => {
  await using pombo = await startInstance({
    configure: (config) => void (config.email.maxMessageBytes = 1024 * 1024),
  });
  const text = "{{unsubscribe_url}}".repeat(100);
  const attachments = [{ filename: "a.bin", content: "A".repeat(800_000) }];
  // Each & has five characters in html.
  const long = { url: `https://loja.test/?${"&".repeat(480)}` };
  expectErrors(await post(pombo, { html: text, attachments, unsubscribe: long }), 422, [
    { field: "attachments", message: /make a message of 1\.2 MiB; the largest has 1\.0 MiB/ },
  ]);
  expect((await post(pombo, { html: text, attachments })).status).toBe(202);
  expect((await post(pombo, { html: text, attachments, unsubscribe: { url: "https://loja.test/" } })).status).toBe(202);
});

test("beside it no header field of the sender's own says how to unsubscribe; without it one may", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const headers = {
    "list-unsubscribe": "<https://loja.test/a>",
    "List-Unsubscribe-Post": "x",
    "List-Id": "<a.loja.test>",
  };
  const message = "is written by the service from unsubscribe";
  const faults = ["list-unsubscribe", "List-Unsubscribe-Post"].map((field) => ({ field, message }));
  expectErrors(await post(pombo, { headers, ...LIST }), 422, faults);
  const emails = [pombo.email(), pombo.email({ headers, unsubscribe: { url: "https://loja.test/" } })];
  const batch = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  expectErrors(
    batch,
    422,
    faults.map((fault) => ({ ...fault, path: `emails[1].headers.${fault.field}` })),
  );
  await attempted(pombo, { headers });
  expect((await readLast(pombo)).values("list-unsubscribe")).toEqual(["<https://loja.test/a>"]);
});

test("the records of an email without it say null", async () => {
  await using pombo = await startInstance();
  const record: Json = await recordOf(pombo, await send(pombo));
  expect(record.unsubscribe).toBeNull();
});
