// The operator's look at the queue and hand in it, over a whole instance whose time stands still.
import { expect, test } from "bun:test";
import { startReceiver } from "../../support/fakes/receiver.ts";
import type { Instance, Json, RequestOptions } from "../../support/fakes/instance.ts";
import { expectErrors, type HeldInstance, startHeld, UNKNOWN_ID } from "../../support/api/kit.ts";
import { TO } from "./texts.ts";
import { allowLoopback } from "../../support/api/webhook-kit.ts";

const START = Date.parse("2026-03-01T08:00:00Z");
const QUEUE = "/api/v1/operator/queue";

/** Emails to `later.test` are put off; to other domains they are taken. */
function startWorld() {
  return startHeld(START, {
    mx: { rcpt: (command) => (command.includes("later.test") ? "451 4.7.1 Come back later" : "250 2.1.5 Ok") },
  });
}

async function ask(pombo: Instance, method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await pombo.operator.call(method, path, body === undefined ? {} : { body });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.body.data;
}

async function send(pombo: Instance, to: string, options: RequestOptions = {}): Promise<string> {
  const { body, status } = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to }),
    ...options,
  });
  expect(status).toBe(202);
  return body.data.id;
}

async function statusOf(pombo: Instance, id: string): Promise<Json> {
  return (await pombo.workspace.call("GET", `/api/v1/emails/${id}`)).body.data;
}

const addZone = (pombo: Instance) => {
  pombo.dns.zone["later.test"] = { MX: [[10, "mx.later.test"]] };
  pombo.dns.zone["mx.later.test"] = { A: ["127.0.0.1"] };
};

async function startWithDelayed(count: number): Promise<HeldInstance & { ids: string[] }> {
  const held = await startWorld();
  addZone(held.pombo);
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await send(held.pombo, `u${index}@later.test`));
  await held.pombo.app.worker.idle();
  return Object.assign(held, { ids });
}

test("the queue says by destination what waits, since when, for what, and what was said last", async () => {
  await using held = await startWithDelayed(3);
  const { pombo } = held;
  const queue = await ask(pombo, "GET", QUEUE);
  expect(queue).toMatchObject({ paused: null, waiting: 3, running: 0, others: { destinations: 0, waiting: 0 } });
  expect(queue.destinations).toEqual(
    [
      {
        to: "later.test",
        site: "mx.later.test",
        waiting: 3,
        running: 0,
        held: 0,
        oldestAt: new Date(START).toISOString(),
        nextAttemptAt: expect.stringMatching(/^2026-03-01T08:0/),
        state: expect.stringMatching(/^(delayed|blocked)$/),
        reason: expect.stringContaining("451 4.7.1"),
        blockedUntil: expect.anything(),
      },
    ].map((row) => ({ ...row, blockedUntil: queue.destinations[0].blockedUntil })),
  );
  await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/block`, {
    body: { hold: true },
  });
  expect((await ask(pombo, "GET", QUEUE)).destinations[0]).toMatchObject({ state: "held", held: 3 });
  expect((await ask(pombo, "GET", `${QUEUE}?limit=1`)).destinations).toHaveLength(1);
  expectErrors(await pombo.operator.call("GET", `${QUEUE}?limit=0`), 422, [{ field: "limit" }]);
});

test("single messages are listed oldest first, by recipient, workspace and time, page by page", async () => {
  await using held = await startWithDelayed(5);
  const { pombo, ids } = held;
  const seen: string[] = [];
  for (let cursor = ""; ;) {
    const { body } = await pombo.operator.call("GET", `${QUEUE}/messages?limit=2${cursor}`);
    seen.push(...body.data.map(({ id }: Json) => id));
    if (!body.meta.has_more) break;
    cursor = `&cursor=${body.meta.next_cursor}`;
  }
  expect(seen).toEqual(ids);
  const [first] = await ask(pombo, "GET", `${QUEUE}/messages?to=u3@later.test`);
  expect(first).toMatchObject({
    kind: "email",
    id: ids[3],
    workspaceId: pombo.workspace.id,
    to: "u3@later.test",
    state: "delivery_delayed",
    attempts: 1,
    lastReply: expect.stringContaining("451 4.7.1"),
  });
  expect(await ask(pombo, "GET", `${QUEUE}/messages?to=other.test`)).toEqual([]);
  expect(await ask(pombo, "GET", `${QUEUE}/messages?workspaceId=${pombo.workspace.id}`)).toHaveLength(5);
  expect(await ask(pombo, "GET", `${QUEUE}/messages?queuedBefore=2026-03-01T08:00:00Z`)).toEqual([]);
  expect(await ask(pombo, "GET", `${QUEUE}/messages?queuedBefore=2026-03-01T08:00:01Z`)).toHaveLength(5);
  const path = `${QUEUE}/messages`;
  expectErrors(await pombo.operator.call("GET", `${path}?cursor=abc`), 422, [{ field: "cursor" }]);
  expectErrors(await pombo.operator.call("GET", `${path}?queuedBefore=today`), 422, [{ field: "queuedBefore" }]);
  expectErrors(await pombo.operator.call("GET", `${path}?workspaceId=${UNKNOWN_ID}`), 404, [
    { code: "NOT_FOUND", field: "workspaceId" },
  ]);
  expectErrors(await pombo.operator.call("GET", `${path}?to=%2B258&kind=email`), 422, [{ field: "to" }]);
});

test("dropped emails are failed, say who dropped them and why, and are never tried again", async () => {
  await using held = await startWithDelayed(3);
  const { pombo, ids } = held;
  const attempts = pombo.mx.messages.length;
  const counted = await ask(pombo, "POST", `${QUEUE}/drop`, { to: "later.test", dryRun: true });
  expect(counted).toEqual({
    changed: { email: 3, sms: 0, webhook: 0 },
    running: { email: 0, sms: 0, webhook: 0 },
    unknown: [],
    ended: [],
    next: null,
  });
  expect((await statusOf(pombo, ids[0] ?? "")).status).toBe("delivery_delayed");
  const reason = "the list was sent by mistake";
  const dropped = await ask(pombo, "POST", `${QUEUE}/drop`, { to: "later.test", reason });
  expect(dropped.changed).toEqual({ email: 3, sms: 0, webhook: 0 });
  for (const id of ids)
    expect(await statusOf(pombo, id)).toMatchObject({
      status: "failed",
      failedReason: `Dropped by the operator: ${reason}`,
      bounce: null,
      nextAttemptAt: null,
    });
  await held.advance(24 * 3_600_000);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(attempts);
  expect(await ask(pombo, "GET", QUEUE)).toMatchObject({ waiting: 0, destinations: [] });
  const totals = await pombo.workspace.call("GET", "/api/v1/emails?status=failed");
  expect(totals.body.meta.total).toBe(3);
  const { fields } = pombo.events.find(({ name }) => name === "queue.dropped") ?? {};
  expect(fields).toMatchObject({ email: 3, destination: "later.test", reason: `Dropped by the operator: ${reason}` });
  expect(await ask(pombo, "POST", `${QUEUE}/drop`, { to: "later.test" })).toMatchObject({ changed: { email: 0 } });
});

test("by id, workspace and time what is meant is dropped, and nothing else", async () => {
  await using held = await startWithDelayed(3);
  const { pombo, ids } = held;
  const drop = (body: unknown) => ask(pombo, "POST", `${QUEUE}/drop`, body);
  const [first = "", second = "", third = ""] = ids;
  const named = await drop({ ids: [first.toUpperCase(), UNKNOWN_ID] });
  expect(named).toMatchObject({ changed: { email: 1 }, unknown: [UNKNOWN_ID], ended: [] });
  expect(await drop({ ids: [first], dryRun: true })).toMatchObject({ changed: { email: 0 }, ended: [first] });
  expect(await drop({ ids: [first] })).toMatchObject({ changed: { email: 0 }, ended: [first] });
  const other = await pombo.newWorkspace();
  expect(await drop({ workspaceId: other.id })).toMatchObject({ changed: { email: 0 } });
  expect(await drop({ queuedBefore: "2026-03-01T08:00:00Z" })).toMatchObject({ changed: { email: 0 } });
  expect(await drop({ to: "u1@later.test" })).toMatchObject({ changed: { email: 1 } });
  expect((await statusOf(pombo, second)).status).toBe("failed");
  expect((await statusOf(pombo, third)).status).toBe("delivery_delayed");
  expect(await drop({ workspaceId: pombo.workspace.id, queuedBefore: "2026-03-01T09:00:00Z" })).toMatchObject({
    changed: { email: 1 },
  });
  expect((await statusOf(pombo, third)).failedReason).toBe("Dropped by the operator");
});

test("it must be said what is meant, and only what fits together", async () => {
  await using held = await startWorld();
  const { pombo } = held;
  const drop = (body: unknown) => pombo.operator.call("POST", `${QUEUE}/drop`, { body });
  const retry = (body: unknown) => pombo.operator.call("POST", `${QUEUE}/retry`, { body });
  expectErrors(await drop({}), 422, [{ field: "ids" }]);
  expectErrors(await drop({ kinds: ["email"] }), 422, [{ field: "ids" }]);
  expectErrors(await drop({ ids: [UNKNOWN_ID], to: "x.test" }), 422, [{ field: "ids" }]);
  expectErrors(await drop({ all: true }), 422, [{ field: "all" }, { field: "ids" }]);
  expectErrors(await drop({ to: "x.test", kinds: ["sms"] }), 422, [{ field: "to" }]);
  expectErrors(await drop({ to: "x.test", reason: "a\nb" }), 422, [{ field: "reason" }]);
  expectErrors(await drop({ to: "x.test", cursor: "x" }), 422, [{ field: "cursor" }]);
  expectErrors(await drop({ workspaceId: UNKNOWN_ID }), 404, [{ code: "NOT_FOUND", field: "workspaceId" }]);
  expectErrors(await retry({}), 422, [{ field: "ids" }]);
  expectErrors(await retry({ all: false }), 422, [{ field: "ids" }]);
  expectErrors(await retry({ all: true, to: "x.test" }), 422, [{ field: "all" }]);
});

test("what is being delivered is left alone, counted, and told", async () => {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: go, resolve: letGo } = Promise.withResolvers<void>();
  await using held = await startHeld(START, {
    mx: {
      rcpt: async () => {
        isAsked();
        await go;
        return "250 2.1.5 Ok";
      },
    },
  });
  const { pombo } = held;
  const id = await send(pombo, "maria@example.com");
  await asked;
  const drop = (body: unknown) => ask(pombo, "POST", `${QUEUE}/drop`, body);
  const running = { changed: { email: 0 }, running: { email: 1 } };
  expect(await drop({ to: "example.com", dryRun: true })).toMatchObject(running);
  expect(await drop({ to: "example.com" })).toMatchObject(running);
  expect(await drop({ ids: [id] })).toMatchObject({ ...running, ended: [] });
  expect((await ask(pombo, "GET", QUEUE)).destinations[0]).toMatchObject({ running: 1, waiting: 0, state: "running" });
  letGo();
  await pombo.app.worker.idle();
  expect((await statusOf(pombo, id)).status).toBe("delivered");
});

test("a million rows would take many calls: each does a part, and what comes meanwhile is not meant", async () => {
  await using held = await startWithDelayed(1);
  const { pombo } = held;
  const { sqlite } = pombo.app.db;
  const columns = (table: string) =>
    sqlite
      .query<{ name: string; hidden: number }, []>(`SELECT name, hidden FROM pragma_table_xinfo('${table}')`)
      .all()
      .filter(({ name, hidden }) => hidden === 0 && name !== "id" && name !== "uid")
      .map(({ name }) => name)
      .join(", ");
  // As many more as take three calls.
  const copies = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)";
  sqlite.run(`${copies} INSERT INTO email (id, uid, ${columns("email")})
    SELECT 1000 + i, printf('%08x-0000-7000-8000-000000000000', i), ${columns("email")} FROM email, n WHERE id = 1`);
  sqlite.run(`${copies} INSERT INTO email_queue (id, ${columns("email_queue")})
    SELECT 1000 + i, ${columns("email_queue")} FROM email_queue, n WHERE id = 1`);
  const body = { to: "later.test" };
  let done = 0;
  let calls = 0;
  for (let cursor: string | undefined; ;) {
    const part = await ask(pombo, "POST", `${QUEUE}/drop`, { ...body, ...(cursor === undefined ? {} : { cursor }) });
    done += part.changed.email;
    calls += 1;
    if (calls === 1) await send(pombo, "new@later.test");
    if (part.next === null) break;
    cursor = part.next;
  }
  expect([done, calls]).toEqual([12_001, expect.any(Number)]);
  expect(calls).toBeGreaterThan(1);
  expect(sqlite.query("SELECT COUNT(*) AS n FROM email_queue").get()).toEqual({ n: 1 });
});

test("retry makes those due that wait for an attempt", async () => {
  await using held = await startWithDelayed(2);
  const { pombo, ids, clock } = held;
  clock.advance(6_000);
  const retried = await ask(pombo, "POST", `${QUEUE}/retry`, { ids });
  expect(retried).toMatchObject({ changed: { email: 2 }, next: null });
  clock.advance(120_000);
  await pombo.app.worker.idle();
  for (const id of ids) expect((await statusOf(pombo, id)).attempts).toBeGreaterThan(1);
  expect(await ask(pombo, "POST", `${QUEUE}/retry`, { all: true })).toMatchObject({ changed: { email: 2 } });
  expect(await ask(pombo, "POST", `${QUEUE}/retry`, { to: "other.test" })).toMatchObject({ changed: { email: 0 } });
});

test("dropped texts are failed, their credits come back, and they are listed until then", async () => {
  await using held = await startWorld();
  const { pombo } = held;
  await pombo.enableSms(pombo.workspace, 10);
  const sent = await pombo.workspace.call("POST", "/api/v1/sms", { body: { to: TO, body: "x".repeat(200) } });
  expect(sent.status).toBe(202);
  const { id } = sent.body.data;
  const [listed] = await ask(pombo, "GET", `${QUEUE}/messages?kind=sms`);
  expect(listed).toMatchObject({ kind: "sms", id, to: TO, state: "queued", attempts: 0 });
  expect((await ask(pombo, "GET", QUEUE)).sms).toEqual([
    expect.objectContaining({
      ...{ route: "test", waiting: 2, running: 0, isMinimum: false },
      ...{ oldestAt: new Date(START).toISOString(), reason: null },
    }),
  ]);
  pombo.config.sms.routes = [];
  expect((await ask(pombo, "GET", QUEUE)).sms).toMatchObject([
    { route: "test", reason: "no such route in the configuration" },
  ]);
  expect(await ask(pombo, "POST", `${QUEUE}/drop`, { to: "+25885" })).toMatchObject({ changed: { sms: 0 } });
  const reason = "dropped after a restore; may have been delivered";
  const before = new Date(START + 1).toISOString();
  const dropped = await ask(pombo, "POST", `${QUEUE}/drop`, { queuedBefore: before, reason });
  expect(dropped.changed).toEqual({ email: 0, sms: 1, webhook: 0 });
  const record = (await pombo.workspace.call("GET", `/api/v1/sms/${id}`)).body.data;
  expect(record).toMatchObject({ status: "failed", failedReason: `Dropped by the operator: ${reason}`, credits: 0 });
  const { usage } = (await pombo.workspace.call("GET", "/api/v1/workspace/usage")).body.data;
  expect(usage.smsCreditsBalance).toBe(10);
  expect(await ask(pombo, "POST", `${QUEUE}/drop`, { ids: [id] })).toMatchObject({ ended: [id] });
  expect(await ask(pombo, "GET", `${QUEUE}/messages?kind=sms`)).toEqual([]);
});

test("a dropped call stands among the deliveries, is not made, and can be recovered", async () => {
  await using receiver = await startReceiver();
  receiver.answer = () => new Response("no", { status: 500 });
  await using held = await startHeld(START, {
    configure: allowLoopback,
  });
  const { pombo } = held;
  const made = await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  expect(made.status).toBe(201);
  const tested = await pombo.workspace.call("POST", `/api/v1/webhooks/${made.body.data.id}/test`);
  expect(tested.status).toBe(202);
  await pombo.app.webhooks.worker.idle();
  const [listed] = await ask(pombo, "GET", `${QUEUE}/messages?kind=webhook`);
  expect(listed).toMatchObject({ kind: "webhook", to: receiver.url, state: "delivery_delayed", attempts: 1 });
  expect((await ask(pombo, "GET", QUEUE)).webhooks).toEqual([
    expect.objectContaining({ id: made.body.data.id, waiting: 1, url: receiver.url }),
  ]);
  const dropped = await ask(pombo, "POST", `${QUEUE}/drop`, { workspaceId: pombo.workspace.id, kinds: ["webhook"] });
  expect(dropped.changed).toEqual({ email: 0, sms: 0, webhook: 1 });
  const { body } = await pombo.workspace.call("GET", `/api/v1/webhooks/${made.body.data.id}/deliveries`);
  expect(body.meta.total).toBe(2);
  expect(body.data[0]).toMatchObject({ errorMessage: "Dropped by the operator", responseStatus: null });
  expect(await ask(pombo, "POST", `${QUEUE}/drop`, { ids: [listed.id] })).toMatchObject({ ended: [listed.id] });
  const since = new Date(START - 1).toISOString();
  await pombo.workspace.call("POST", `/api/v1/webhooks/${made.body.data.id}/recover`, { body: { since } });
  await pombo.app.webhooks.worker.idle();
  expect(await ask(pombo, "GET", `${QUEUE}/messages?kind=webhook`)).toHaveLength(1);
  const retried = await ask(pombo, "POST", `${QUEUE}/retry`, { all: true, kinds: ["webhook"] });
  expect(retried.changed.webhook).toBe(1);
});
