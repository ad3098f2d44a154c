import { expect, test } from "bun:test";
import { openInbox } from "../../../src/sandbox/mx/inbox.ts";
import { sandboxRoutes } from "../../../src/sandbox/web/routes.ts";
import { openSentStore, type SentStore } from "../../../src/sandbox/web/sent-store.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { received } from "../../support/sandbox/kit.ts";
import { startPhones } from "./phone-kit.ts";

const KEYS = { apiKey: "svc_api", operatorKey: "svc_operator" };
const STRANGERS = [
  ["host", "evil.example"],
  ["origin", "https://evil.example"],
  // That of a message's own html.
  ["origin", "null"],
] as const;
const ONE = "+258841234567";

const createLink = () => Promise.resolve("/dashboard/setup#token");

/** A pombo whose mail server refuses bounce@, beside the sandbox's routes with an inbox that only the test fills. */
async function open() {
  const inbox = openInbox(":memory:");
  let sent: SentStore | null = null;
  const beside = sandboxRoutes(inbox, { instance: () => (sent === null ? null : { sent, keys: KEYS, createLink }) });
  const rcpt = (command: string) => (command.includes("bounce@") ? "550 5.1.1 No such mailbox" : "250 2.1.5 Ok");
  const instance = await startInstance({ beside, mx: { rcpt } });
  sent = openSentStore(instance.app.db);
  const store = sent;
  return {
    instance,
    /** Sends an email and waits for its end; its record and its return path. */
    async send(to: string, from: Pick<Instance["workspace"], "call"> = instance.workspace, domain?: string) {
      const changes = { to, subject: `To ${to}`, ...(domain === undefined ? {} : { from: `a@${domain}` }) };
      const accepted = await from.call("POST", "/api/v1/emails", { body: instance.email(changes) });
      const { id } = accepted.body.data;
      for (;;) {
        const { data } = (await from.call("GET", `/api/v1/emails/${id}`)).body;
        if (["delivered", "bounced"].includes(data.status)) {
          const state = store.listEmails(100).find(({ email }) => email.uid === id);
          return { record: data, returnPath: state?.email.returnPath ?? "" };
        }
      }
    },
    /** The email comes into the inbox. */
    arrive: (envelopeFrom: string, to: string) => inbox.add(received({ envelopeFrom, to, receivedAt: Date.now() })),
    feed: async () => (await instance.workspace.call("GET", "/sandbox/feed", { key: null })).body,
  };
}

test("an email that arrived has its record, as often as it came; one that bounced is there without a message", async () => {
  const { instance, send, arrive, feed } = await open();
  await using _ = instance;
  const bounced = await send("bounce@example.com");
  const { record, returnPath } = await send("maria@example.com");
  arrive(returnPath, "maria@example.com");
  arrive(returnPath, "maria@example.com");
  arrive("nobody@elsewhere.example", "ada@example.com");
  const { mail, phones } = await feed();
  const {
    html: _html,
    text: _text,
    headers: _headers,
    recipients: _recipients,
    attachments: _attachments,
    sentBy: _sentBy,
    ...shown
  } = record;
  expect(mail).toHaveLength(4);
  expect(mail[0]).toMatchObject({ message: { id: "3", to: "ada@example.com" }, sent: null });
  expect(mail.slice(1, 3).map((each: Json) => [each.message.id, each.sent])).toEqual([
    ["2", shown],
    ["1", shown],
  ]);
  expect(mail[3].message).toBeNull();
  expect(mail[3].sent).toMatchObject({ id: bounced.record.id, status: "bounced" });
  expect(mail[3].sent.failedReason).toContain("550 5.1.1 No such mailbox");
  expect(phones).toEqual([]);
});

test("a page that has the feed gets it again only after a change", async () => {
  const { instance, send, arrive } = await open();
  await using _ = instance;
  const ask = (tag: string) =>
    instance.workspace.call("GET", "/sandbox/feed", { key: null, headers: { "if-none-match": tag } });
  const { returnPath } = await send("maria@example.com");
  const seen = new Set<string>();
  const changes = [
    () => undefined,
    () => send("bounce@example.com"),
    () => arrive(returnPath, "maria@example.com"),
    () => instance.workspace.call("DELETE", "/sandbox/messages", { key: null }),
  ];
  let tag = "";
  for (const change of changes) {
    await change();
    const answer = await ask(tag);
    expect(answer.status).toBe(200);
    tag = answer.headers.get("etag") ?? "";
    const again = await ask(tag);
    expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag]);
    seen.add(tag);
  }
  // Empty at first and at the end.
  expect(seen.size).toBe(3);
});

test("the emails of every workspace are there", async () => {
  const { instance, send, feed } = await open();
  await using _ = instance;
  const other = await instance.newWorkspace();
  await instance.addDomain(other, "other.test");
  const { record } = await send("bounce@example.com", other, "other.test");
  expect((await feed()).mail).toMatchObject([{ message: null, sent: { id: record.id, from: "a@other.test" } }]);
});

test("an email that was delivered is not shown without its message", async () => {
  const { instance, send, feed } = await open();
  await using _ = instance;
  await send("maria@example.com");
  expect((await feed()).mail).toEqual([]);
});

test("after DELETE nothing of before is shown, but what arrives of it and what is sent later", async () => {
  const { instance, send, arrive, feed } = await open();
  await using _ = instance;
  await send("bounce@example.com");
  const { returnPath } = await send("maria@example.com");
  await instance.workspace.call("DELETE", "/sandbox/messages", { key: null });
  expect((await feed()).mail).toEqual([]);
  arrive(returnPath, "maria@example.com");
  await send("late-bounce@example.com");
  const { mail } = await feed();
  const shown = mail.map((each: Json) => [each.message === null, each.sent.to, each.sent.status]);
  expect(shown.toSorted()).toEqual([
    [false, "maria@example.com", "delivered"],
    [true, "late-bounce@example.com", "bounced"],
  ]);
});

test("the feed and the keys are only for this machine's own pages", async () => {
  const { instance } = await open();
  await using _ = instance;
  const ask = (path: string, headers: Record<string, string>) =>
    instance.workspace.call("GET", path, { key: null, headers });
  for (const path of ["/sandbox/feed", "/sandbox/keys"]) {
    for (const [name, value] of STRANGERS)
      expect([path, (await ask(path, { [name]: value })).status]).toEqual([path, 403]);
    const own = await ask(path, {});
    expect([own.status, own.headers.get("cross-origin-resource-policy"), own.headers.get("cache-control")]).toEqual([
      200,
      "same-origin",
      "no-store",
    ]);
  }
  expect((await ask("/sandbox/keys", {})).body).toEqual(KEYS);
});

test("before the instance has started there are no keys, and a feed of nothing", async () => {
  const app = sandboxRoutes(openInbox(":memory:"));
  const ask = (path: string) => app.handle(new Request(`http://localhost${path}`));
  expect((await ask("/sandbox/keys")).status).toBe(503);
  expect(await (await ask("/sandbox/feed")).json()).toEqual({ mail: [], phones: [] });
});

test("an SMS has its record on the phone, in one segment or two, each time that it arrives; a refused one is there too", async () => {
  await using world = await startPhones();
  const feed = async () =>
    (await world.instance.workspace.call("GET", "/sandbox/feed", { key: null })).body.phones as Json[];
  const long = "Olá, a sua encomenda está a caminho. ".repeat(5).trim();
  await world.text({ to: ONE, from: "Sandbox", body: "Bom dia" });
  await world.text({ to: ONE, from: "Sandbox", body: "Bom dia" });
  await world.text({ to: ONE, from: "Sandbox", body: long });
  await world.text({ to: "+258840000010", from: "Sandbox", body: "nobody" });
  await world.text({ to: "+258840000017", from: "Sandbox", body: "twice" });
  await world.until("all have come to their end", 60_000, async () =>
    (await world.messages()).every(({ status }) => ["delivered", "failed"].includes(status)),
  );
  const ids = (await world.messages()).map(({ id, body }) => [id, body]);
  const rows = await feed();
  const shown = rows.map(({ text, sent }) => [sent.id, text?.body ?? null]);
  const idsOf = (body: string) => ids.filter((each) => each[1] === body).map(([id]) => id);
  expect(
    shown
      .filter(([, body]) => body === "Bom dia")
      .map(([id]) => id)
      .toSorted(),
  ).toEqual(idsOf("Bom dia").toSorted());
  expect(shown.filter(([, body]) => body === long).map(([id]) => id)).toEqual(idsOf(long));
  expect(shown.filter(([, body]) => body === "twice").map(([id]) => id)).toEqual([
    ...idsOf("twice"),
    ...idsOf("twice"),
  ]);
  expect(rows.filter(({ text }) => text === null)).toMatchObject([
    { sent: { to: "+258840000010", body: "nobody", status: "failed", failureCategory: "invalid_destination" } },
  ]);
  await world.instance.workspace.call("DELETE", "/sandbox/texts", { key: null });
  expect(await feed()).toEqual([]);
});
