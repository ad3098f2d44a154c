import { expect, test } from "bun:test";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { startReceiver, verify } from "../../support/fakes/receiver.ts";
import { expectErrors, UNKNOWN_ID } from "../../support/api/kit.ts";
import { allowLoopback } from "../../support/api/webhook-kit.ts";

async function make(client: Client, url: string, events = ["*"]) {
  const answer = await client.call("POST", "/api/v1/webhooks", { body: { url, events } });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.data as { id: string; secret: string };
}

async function deliveriesOf(pombo: Instance, id: string) {
  return (await pombo.workspace.call("GET", `/api/v1/webhooks/${id}/deliveries`)).body;
}

test("a webhook is made with a secret that is shown once, listed without it, changed and deleted", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const created = await pombo.workspace.call("POST", "/api/v1/webhooks", {
    body: { url: "http://127.0.0.1:9/x", events: ["email.delivered", "email.*"], description: "shop" },
  });
  expect(created.status).toBe(201);
  const { secret, ...shown } = created.body.data;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(shown).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    url: "http://127.0.0.1:9/x",
    events: ["email.delivered", "email.*"],
    createdAt: expect.any(String),
    lastDeliveryAt: null,
    lastFailureAt: null,
    lastFailureReason: null,
    description: "shop",
    enabled: true,
    disabledReason: null,
  });
  const listed = await pombo.workspace.call("GET", "/api/v1/webhooks");
  expect(listed.body).toEqual({ data: [shown], meta: { has_more: false, next_cursor: null } });
  expect(listed.text).not.toContain("whsec");

  const path = `/api/v1/webhooks/${shown.id}`;
  const changed = await pombo.workspace.call("PATCH", path, { body: { enabled: false, events: ["*"] } });
  expect(changed.body.data).toEqual({ ...shown, enabled: false, events: ["*"] });
  const deleted = await pombo.workspace.call("DELETE", path);
  expect([deleted.status, deleted.body]).toEqual([200, { data: { id: shown.id, deleted: true } }]);
  expect((await pombo.workspace.call("DELETE", path)).status).toBe(404);
});

test("no secret stands in the database as it is", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const { secret } = await make(pombo.workspace, "http://127.0.0.1:9/x");
  const bytes = Buffer.from(secret.slice("whsec_".length), "base64");
  const [row] = pombo.app.db.sqlite.query<{ secret: Uint8Array }, []>("SELECT secret FROM webhook").all();
  expect(Buffer.from(row?.secret ?? []).includes(bytes)).toBe(false);
});

test("a test event is delivered, signed as Standard Webhooks has it, and its delivery is listed", async () => {
  await using receiver = startReceiver();
  await using pombo = await startInstance({ configure: allowLoopback });
  const { id, secret } = await make(pombo.workspace, receiver.url, ["email.bounced"]);
  const sent = await pombo.workspace.call("POST", `/api/v1/webhooks/${id}/test`);
  expect(sent.status).toBe(202);
  await receiver.until(() => receiver.calls.length === 1);
  await pombo.app.webhooks.worker.idle();
  const [call] = receiver.calls;
  if (call === undefined) throw new Error("no call");
  expect(verify(call, secret)).toEqual(call.event);
  expect(call.headers["webhook-id"]).toBe(sent.body.data.eventId);
  expect(call.headers["content-type"]).toBe("application/json");
  expect(call.event).toMatchObject({ type: "webhook.test", workspaceId: pombo.workspace.id, data: { id } });
  expect(Object.keys(call.event)).toEqual(["type", "timestamp", "workspaceId", "data"]);
  const { data, meta } = await deliveriesOf(pombo, id);
  expect(meta).toEqual({ total: 1, perPage: 20, page: 1, lastPage: 1 });
  expect(data).toEqual([
    {
      id: expect.any(String),
      event: "webhook.test",
      responseStatus: 204,
      errorMessage: null,
      createdAt: expect.any(String),
      deliveredAt: expect.any(String),
      failedAt: null,
      attempt: 1,
      eventId: sent.body.data.eventId,
      durationMs: expect.any(Number),
      nextAttemptAt: null,
    },
  ]);
  const [webhook] = (await pombo.workspace.call("GET", "/api/v1/webhooks")).body.data;
  expect(webhook).toMatchObject({ lastDeliveryAt: data[0].deliveredAt, lastFailureAt: null });
});

test("during a rotation a call carries both signatures, afterwards the new one alone", async () => {
  await using receiver = startReceiver();
  await using pombo = await startInstance({ configure: allowLoopback });
  const { id, secret: old } = await make(pombo.workspace, receiver.url);
  const rotated = await pombo.workspace.call("POST", `/api/v1/webhooks/${id}/rotate-secret`, { body: {} });
  expect(rotated.status).toBe(200);
  const { secret } = rotated.body.data;
  expect(secret).not.toBe(old);
  await pombo.workspace.call("POST", `/api/v1/webhooks/${id}/test`);
  await receiver.until(() => receiver.calls.length === 1);
  for (const each of [old, secret]) verify(receiver.calls[0]!, each);
  const again = await pombo.workspace.call("POST", `/api/v1/webhooks/${id}/rotate-secret`, { body: { graceHours: 0 } });
  await pombo.workspace.call("POST", `/api/v1/webhooks/${id}/test`);
  await receiver.until(() => receiver.calls.length === 2);
  verify(receiver.calls[1]!, again.body.data.secret);
  expect(() => verify(receiver.calls[1]!, secret)).toThrow();
});

test("a URL that must not be called is refused with what is wrong", async () => {
  await using pombo = await startInstance();
  const create = (url: string) => pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url, events: ["*"] } });
  for (const [url, words] of [
    ["http://example.com/x", "must begin with https://"],
    ["https://u:p@example.com/", "must not hold a user name"],
    ["https://127.0.0.1/", "loopback"],
    ["https://2130706433/", "loopback"],
    ["https://0x7f.1/", "loopback"],
    ["nonsense", "must be a URL"],
  ]) {
    const answer = await create(url ?? "");
    expect([url, answer.status, answer.body.errors[0].field]).toEqual([url, 422, "url"]);
    expect([url, answer.body.errors[0].message]).toEqual([url, expect.stringContaining(words ?? "")]);
  }
  pombo.dns.zone["inside.test"] = { A: ["10.0.0.7"] };
  const inside = await create("https://inside.test/");
  expect([inside.status, inside.body.errors[0].message]).toEqual([422, expect.stringContaining("private address")]);
});

test("names of events that do not exist are refused with those that do", async () => {
  await using pombo = await startInstance();
  const answer = await pombo.workspace.call("POST", "/api/v1/webhooks", {
    body: { url: "https://example.com/x", events: ["email.opened"] },
  });
  expectErrors(answer, 422, [{ field: "events", path: "events[0]" }]);
  expect(answer.body.errors[0].hint).toContain("email.delivered");
});

test("a URL and a name of an event that are both wrong are told in one answer, with what to do", async () => {
  await using pombo = await startInstance();
  const body = { url: "localhost", events: ["email.opened"] };
  const answer = await pombo.workspace.call("POST", "/api/v1/webhooks", { body });
  expectErrors(answer, 422, [
    { field: "url", message: "url must be a URL such as https://example.com/hook" },
    { field: "events", path: "events[0]" },
  ]);
  const clear = await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { ...body, url: "http://x.test/" } });
  expect(clear.body.errors[0]).toMatchObject({ field: "url", hint: "Events must not cross the network in the clear." });
});

test("the plan's limit of webhooks holds", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const launch = await pombo.newWorkspace("launch");
  const create = () => launch.call("POST", "/api/v1/webhooks", { body: { url: "http://127.0.0.1:9/", events: ["*"] } });
  const answers = await Promise.all([create(), create()]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 402]);
});

test("what is not there is not found", async () => {
  await using pombo = await startInstance({ configure: allowLoopback });
  const { id } = await make(pombo.workspace, "http://127.0.0.1:9/x");
  for (const [method, path, body] of [
    ["PATCH", `/${UNKNOWN_ID}`, { enabled: true }],
    ["DELETE", `/${UNKNOWN_ID}`, undefined],
    ["GET", `/${UNKNOWN_ID}/deliveries`, undefined],
    ["POST", `/${UNKNOWN_ID}/test`, undefined],
    ["POST", `/${UNKNOWN_ID}/rotate-secret`, {}],
    ["POST", `/${id}/deliveries/${UNKNOWN_ID}/replay`, undefined],
    ["POST", `/${UNKNOWN_ID}/recover`, { since: "2026-01-01T00:00:00Z" }],
  ] as const) {
    const answer = await pombo.workspace.call(method, `/api/v1/webhooks${path}`, body === undefined ? {} : { body });
    expect([method, path, answer.status]).toEqual([method, path, 404]);
  }
});
