import { expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openInbox } from "../../../src/sandbox/mx/inbox.ts";
import { findEnd, MAGIC_NUMBERS, buildNumber } from "../../../src/sandbox/smsc/magic-numbers.ts";
import { sandboxRoutes } from "../../../src/sandbox/web/routes.ts";
import type { WrittenBack } from "../../../src/sandbox/smsc/server.ts";
import { openTexts, type PhoneText } from "../../../src/sandbox/smsc/message-store.ts";
import type { Json } from "../../support/fakes/instance.ts";
import { NUMBERING } from "../../support/sms/rows.ts";
import { startPhones } from "./phone-kit.ts";

const NOON = Date.UTC(2026, 2, 1, 12);
const ONE = "+258841234567";

function arrived(changes: Partial<PhoneText> = {}): PhoneText {
  const usual = { from: "Loja", to: ONE, body: "Bom dia", segments: 1, encoding: "gsm7" } as const;
  return { ...usual, receivedAt: NOON, direction: "in", reference: null, ...changes };
}

function open(outcome: WrittenBack, ...kept: PhoneText[]) {
  const texts = openTexts(":memory:");
  for (const text of kept) texts.add(text);
  const written: object[] = [];
  const smsc = {
    writeBack(text: object) {
      written.push(text);
      return Promise.resolve(outcome);
    },
  };
  const phone = { texts, smsc, ownNumber: "84000", numbering: NUMBERING };
  const app = new Elysia({ aot: false }).use(sandboxRoutes(openInbox(":memory:"), { phone }));
  const ask = (path: string, init: RequestInit = {}) => app.handle(new Request(`http://localhost${path}`, init));
  const write = (body: unknown, headers: Record<string, string> = {}) =>
    ask("/sandbox/texts", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  return { app, texts, written, ask, write };
}

async function jsonOf(answer: Response): Promise<Json> {
  return answer.json();
}

test("the list holds exactly the promised members, newest first, of what arrived alone", async () => {
  const back = arrived({ from: ONE, to: "84000", body: "STOP", direction: "out" });
  const { ask } = open("taken", arrived({ body: "one" }), back, arrived({ body: "dois ã", encoding: "ucs2" }));
  const answer = await ask("/sandbox/texts");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(await jsonOf(answer)).toEqual([
    {
      id: "3",
      from: "Loja",
      to: ONE,
      body: "dois ã",
      segments: 1,
      encoding: "ucs2",
      receivedAt: "2026-03-01T12:00:00.000Z",
    },
    {
      id: "1",
      from: "Loja",
      to: ONE,
      body: "one",
      segments: 1,
      encoding: "gsm7",
      receivedAt: "2026-03-01T12:00:00.000Z",
    },
  ]);
  const all = await jsonOf(await ask("/sandbox/texts?include=sent"));
  expect(all.map(({ id, direction }: Json) => [id, direction])).toEqual([
    ["3", "in"],
    ["2", "out"],
    ["1", "in"],
  ]);
});

test.each([ONE, "%2B258841234567", "258841234567", "841234567"])("?to=%s picks one phone", async (to) => {
  const { ask } = open("taken", arrived(), arrived({ to: "+258820000001" }));
  expect(await jsonOf(await ask(`/sandbox/texts?to=${to}`))).toMatchObject([{ to: ONE }]);
});

test("?limit= bounds the list, and a limit that is none is told", async () => {
  const { ask } = open("taken", arrived(), arrived());
  expect(await jsonOf(await ask("/sandbox/texts?limit=1"))).toMatchObject([{ id: "2" }]);
  const answer = await ask("/sandbox/texts?limit=0");
  expect(answer.status).toBe(422);
  expect(await jsonOf(answer)).toMatchObject({ errors: [{ code: "VALIDATION_ERROR", field: "limit" }] });
});

test("DELETE empties the phones", async () => {
  const { ask } = open("taken", arrived(), arrived());
  expect(await jsonOf(await ask("/sandbox/texts", { method: "DELETE" }))).toEqual({ deleted: 2 });
  expect(await jsonOf(await ask("/sandbox/texts"))).toEqual([]);
});

test("a phone writes back to the workspace's number, or to another that is named", async () => {
  const { write, written } = open("taken");
  const answer = await write({ from: ONE, body: "STOP" });
  expect(answer.status).toBe(201);
  expect(await jsonOf(answer)).toEqual({ data: { from: ONE, to: "84000", body: "STOP" } });
  await write({ from: ONE, to: "+258840001111", body: "Olá" });
  expect(written).toEqual([
    { from: ONE, to: "84000", body: "STOP" },
    { from: ONE, to: "+258840001111", body: "Olá" },
  ]);
});

test.each([
  ["a name, which no phone can answer", { from: ONE, to: "Loja", body: "x" }, "to"],
  ["no phone", { from: "84000", body: "x" }, "from"],
  ["a phone of another country", { from: "+351912345678", body: "x" }, "from"],
  ["nothing", { from: ONE, body: "" }, "body"],
  ["too much", { from: ONE, body: "ã".repeat(1_601) }, "body"],
  ["a control character", { from: ONE, body: "a\u0007" }, "body"],
  ["half of a surrogate pair", { from: ONE, body: "\ud83d" }, "body"],
  ["numbers in place of texts", { from: ONE, to: 84_000, body: "x" }, "to"],
])("a text back with %s is 422 and names the member", async (_what, body, field) => {
  const { write, written } = open("taken");
  const answer = await write(body);
  expect(answer.status).toBe(422);
  expect(await jsonOf(answer)).toMatchObject({ errors: [{ code: "VALIDATION_ERROR", field }] });
  expect(written).toEqual([]);
});

test.each([[[]], ["text"], [null], [7]])("a text back of %p is 400", async (body) => {
  expect((await open("taken").write(body)).status).toBe(400);
});

test.each(["refused", "not_connected"] as const)("a text back that is %s is 503, to be sent again", async (outcome) => {
  expect((await open(outcome).write({ from: ONE, body: "x" })).status).toBe(503);
});

test("another site's page reads, writes and deletes nothing, nor does a name that merely points here", async () => {
  const { ask, write, written, texts } = open("taken", arrived());
  const strangers: Record<string, string>[] = [
    { host: "localhost:8080", origin: "https://evil.example" },
    { host: "evil.example" },
  ];
  for (const headers of strangers) {
    const statuses = [
      (await ask("/sandbox/texts", { headers })).status,
      (await ask("/sandbox/texts", { method: "DELETE", headers })).status,
      (await write({ from: ONE, body: "STOP" }, headers)).status,
    ];
    expect(statuses).toEqual([403, 403, 403]);
  }
  expect(written).toEqual([]);
  expect(texts.list()).toHaveLength(1);
});

test("the page has the phones, with every magic number as the one table tells it, escaped", async () => {
  const html = await (await open("taken").ask("/sandbox")).text();
  expect(html).toContain('data-number="84000"');
  for (const row of MAGIC_NUMBERS) {
    expect(html).toContain(`<dt>${buildNumber(row)}</dt><dd>${Bun.escapeHTML(row.told)}`);
    expect(html).toContain(Bun.escapeHTML(findEnd(row)));
  }
});

test("without an SMSC there are no phones", async () => {
  const app = new Elysia({ aot: false }).use(sandboxRoutes(openInbox(":memory:")));
  expect((await app.handle(new Request("http://localhost/sandbox/texts"))).status).toBe(404);
});

test("what is written on the phone goes all the way: the workspace that owns the number has it, STOP shuts the sender out", async () => {
  await using world = await startPhones();
  const { workspace } = world.instance;
  const write = async (body: object) => {
    const answer = await workspace.call("POST", "/sandbox/texts", { body, key: null });
    return [answer.status, answer.body];
  };
  const body = "Não recebi a encomenda. ".repeat(10).trim();
  // The clock moves while pombo writes it down.
  const turn = setInterval(() => world.clock.advance(50), 5);
  expect(await write({ from: ONE, body })).toEqual([201, { data: { from: ONE, to: "84000", body } }]);
  expect(await write({ from: ONE, body: "Parar" })).toMatchObject([201, {}]);
  clearInterval(turn);
  const inbound = (await workspace.call("GET", "/api/v1/sms/inbound")).body.data;
  expect(inbound.map((each: Json) => [each.from, each.to, each.body])).toEqual([
    [ONE, "84000", "Parar"],
    [ONE, "84000", body],
  ]);
  const refused = await workspace.call("POST", "/api/v1/sms", { body: { to: ONE, body: "x" } });
  expect(refused.body.errors[0].code).toBe("RECIPIENT_SUPPRESSED");
});
