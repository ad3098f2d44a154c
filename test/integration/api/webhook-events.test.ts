import { expect, setDefaultTimeout, test } from "bun:test";
import { startInstance } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { faultsOfEvents } from "./documented-events.ts";
import { allowLoopback } from "../../support/api/webhook-kit.ts";

setDefaultTimeout(20_000);

test("an email's life is told in its order, as the record is at each moment", async () => {
  await using receiver = startReceiver();
  let isLater = true;
  await using pombo = await startInstance({
    configure(config) {
      allowLoopback(config);
      config.email.retryScheduleMs = [50];
    },
    mx: { rcpt: () => (isLater ? ((isLater = false), "450 4.2.0 Later") : "250 Ok") },
  });
  await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["email.*"] } });
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ html: "<b>secret words</b>" }),
  });
  await receiver.until(() => receiver.calls.length === 3);
  expect(receiver.calls.map(({ event }) => [event.type, event.data.status])).toEqual([
    ["email.queued", "queued"],
    ["email.delivery_delayed", "delivery_delayed"],
    ["email.delivered", "delivered"],
  ]);
  const [, delayed, delivered] = receiver.calls;
  expect(delayed?.event.data.lastReply).toContain("450 4.2.0 Later");
  const shown = await pombo.workspace.call("GET", `/api/v1/emails/${sent.body.data.id}`);
  const { html, text, headers, recipients, attachments, sentBy: _sentBy, ...record } = shown.body.data;
  expect([typeof html, typeof text, headers, recipients, attachments]).toEqual(["string", "string", null, null, []]);
  expect(delivered?.event.data).toEqual(record);
  for (const call of receiver.calls) expect(call.body).not.toContain("secret words");
  expect(await faultsOfEvents(pombo, receiver)).toEqual([]);
});

test("events of emails are written only while somebody wants them", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const count = () =>
    pombo.app.db.sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM event WHERE type LIKE 'email.%'").get()?.n;
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  expect(count()).toBe(0);
  await pombo.workspace.call("POST", "/api/v1/webhooks", {
    body: { url: "http://127.0.0.1:9/", events: ["email.delivered"] },
  });
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  await pombo.mx.until(() => pombo.mx.messages.length === 2);
  await pombo.app.worker.idle();
  expect(count()).toBe(1);
});

test("a listener hears what happens from its first question on, another workspace hears nothing of it", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const stranger = await pombo.newWorkspace();
  const listen = async (client: typeof stranger, query: string) =>
    (await client.call("GET", `/api/v1/events${query}`)).body;
  const first = await listen(pombo.workspace, "");
  const other = await listen(stranger, "");
  expect(first.data).toEqual([]);
  const asked = listen(pombo.workspace, `?cursor=${first.meta.next_cursor}&wait=20&limit=1`);
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  const heard = await asked;
  expect(heard.data.map(({ type }: { type: string }) => type)).toEqual(["email.queued"]);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  const rest = await listen(pombo.workspace, `?cursor=${heard.meta.next_cursor}`);
  expect(rest.data.map(({ type }: { type: string }) => type)).toEqual(["email.delivered"]);
  expect(rest.meta.has_more).toBe(false);
  expect((await listen(stranger, `?cursor=${other.meta.next_cursor}`)).data).toEqual([]);
});

test("a cursor is good for its own workspace alone, stays good over a start, and says no number", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const stranger = await pombo.newWorkspace();
  const ask = (client: typeof stranger, cursor: string) => client.call("GET", `/api/v1/events?cursor=${cursor}`);
  const first = (await pombo.workspace.call("GET", "/api/v1/events")).body.meta.next_cursor;
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
  for (const cursor of ["YWZ0ZXIgMA", `${first}A`, "x"]) {
    const refused = await ask(pombo.workspace, cursor);
    expect([cursor, refused.status, refused.body.errors[0].field]).toEqual([cursor, 422, "cursor"]);
  }
  expect((await ask(stranger, first)).status).toBe(422);
  await pombo.restart();
  const heard = await ask(pombo.workspace, first);
  expect(heard.body.data.map(({ type }: { type: string }) => type)).toEqual(["suppression.created"]);
  // The same place has the same cursor, whatever came beside it.
  expect((await ask(pombo.workspace, heard.body.meta.next_cursor)).body.meta.next_cursor).toBe(
    heard.body.meta.next_cursor,
  );
});

test("a key that is deleted while it listens hears nothing more", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const made = (await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "lost" } })).body.data;
  const first = (await pombo.workspace.call("GET", "/api/v1/events")).body.meta.next_cursor;
  const path = `/api/v1/events?cursor=${first}&wait=20`;
  const asked = [made.key, pombo.workspace.key].map((key) => pombo.workspace.call("GET", path, { key }));
  await pombo.workspace.call("DELETE", `/api/v1/auth/keys/${made.id}`);
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
  const [lost, valid] = await Promise.all(asked);
  expect([lost?.status, lost?.body.errors[0].code]).toEqual([401, "INVALID_API_KEY"]);
  expect([valid?.status, valid?.body.data.length]).toEqual([200, 1]);
});

test("a listener hears a test of a webhook at once", async () => {
  await using receiver = startReceiver();
  await using pombo = await startInstance({ configure: allowLoopback });
  const { body } = await pombo.workspace.call("POST", "/api/v1/webhooks", {
    body: { url: receiver.url, events: ["email.*"] },
  });
  const first = (await pombo.workspace.call("GET", "/api/v1/events")).body.meta.next_cursor;
  const asked = pombo.workspace.call("GET", `/api/v1/events?cursor=${first}&wait=25`);
  const sent = await pombo.workspace.call("POST", `/api/v1/webhooks/${body.data.id}/test`);
  expect((await asked).body.data).toMatchObject([{ id: sent.body.data.eventId, type: "webhook.test" }]);
});

test("a listener from before a backup was restored hears what happens after its next question", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const suppress = (name: string) =>
    pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: `${name}@example.com` } });
  for (const name of ["ana", "rui", "eva"]) await suppress(name);
  const ask = async (cursor: string) =>
    (await pombo.workspace.call("GET", `/api/v1/events${cursor === "" ? "" : `?cursor=${cursor}`}`)).body;
  const { meta } = await ask("");
  // As the database was before.
  pombo.app.db.sqlite.run("DELETE FROM event");
  pombo.app.db.sqlite.run("DELETE FROM sqlite_sequence WHERE name = 'event'");
  const next = await ask(meta.next_cursor);
  expect(next.data).toEqual([]);
  await suppress("zita");
  expect((await ask(next.meta.next_cursor)).data).toMatchObject([{ type: "suppression.created" }]);
});
