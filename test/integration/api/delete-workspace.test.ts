import { randomBytes } from "node:crypto";
import { expect, setDefaultTimeout, test } from "bun:test";
import { attach } from "../../support/api/attachments.ts";
import type { Client, Instance, Workspace } from "../../support/fakes/instance.ts";
import { drop } from "../../support/fakes/mx.ts";
import { until } from "../../support/queue/kit.ts";
import { errorItems, expectErrors, type HeldInstance, startHeld } from "../../support/api/kit.ts";
import { attempted, gate, HOUR, LATER, MINUTE, NOON, send, startAtNoon } from "../../support/api/one-email.ts";

setDefaultTimeout(20_000);

const EMAILS = "/api/v1/emails";
const WORKSPACES = "/api/v1/operator/workspaces";
const NO_KEY = [{ code: "INVALID_API_KEY" }];

const remove = (pombo: Instance, workspace: Workspace = pombo.workspace) =>
  pombo.operator.call("DELETE", `${WORKSPACES}/${workspace.id}`);

function count(pombo: Instance, table: string): number {
  const query = pombo.app.db.sqlite.query<{ count: number }, []>(`SELECT COUNT(*) AS count FROM ${table}`);
  return query.get()?.count ?? 0;
}

const TABLES = [
  ...["workspace", "domain", "dkim_key", "api_key", "email", "email_body", "lane", "email_queue", "attempt"],
  ...["email_extra", "email_attachment", "attachment", "attachment_piece"],
  ...["idempotency", "usage", "email_total", "suppression", "suppression_held", "sender_id", "sms_credit"],
];

/** Lets the removal come to its end; what is left then, by table. */
async function leftAfter({ pombo, clock }: HeldInstance): Promise<Record<string, number>> {
  const isRemoved = () => pombo.events.some(({ name }) => name === "workspace.removed");
  for (let i = 0; i < 500 && !isRemoved(); i++) {
    clock.advance(1_000);
    for (let turn = 0; turn < 4; turn++) await new Promise<void>((next) => setImmediate(next));
  }
  expect(isRemoved()).toBe(true);
  return Object.fromEntries(TABLES.map((table) => [table, count(pombo, table)]).filter(([, rows]) => rows !== 0));
}

/** Everything that a workspace can have. */
async function furnish(pombo: Instance): Promise<void> {
  const { workspace, operator } = pombo;
  const own = `${WORKSPACES}/${workspace.id}`;
  const domains = await workspace.call("GET", "/api/v1/domains");
  const key = { name: "one", domainId: domains.body.data[0].id };
  await workspace.call("POST", "/api/v1/auth/keys", { body: key });
  await operator.call("POST", `${own}/credits`, { body: { amount: 5 } });
  await operator.call("POST", `${own}/sender-ids`, { body: { name: "Loja" } });
  await attempted(pombo, { to: "gone@example.com" });
  const attachments = attach({ filename: "a.bin", content: randomBytes(2_500_000) });
  await attempted(pombo, { to: "later@example.com", attachments });
  const headers = { "idempotency-key": "one" };
  await workspace.call("POST", EMAILS, { body: pombo.email({ to: "maria@example.com" }), headers });
  await pombo.app.worker.idle();
}

test("a deleted workspace is unknown to everybody at once, and nothing of it is left in the end", async () => {
  await using held = await startAtNoon({
    rcpt: (line) => (line.includes("gone@") ? "550 5.1.1 No" : line.includes("later@") ? LATER : "250 Ok"),
  });
  const { pombo } = held;
  const { workspace } = pombo;
  await furnish(pombo);
  const before = Object.fromEntries(TABLES.map((table) => [table, count(pombo, table)]));
  expect(Object.entries(before).filter(([, rows]) => rows === 0)).toEqual([["suppression_held", 0]]);
  const { status, body } = await remove(pombo);
  expect([status, body]).toEqual([200, { data: { id: workspace.id, deleted: true } }]);
  // In the first transaction: its keys, those of its domains too.
  expect(["api_key", "dkim_key", "domain"].map((table) => count(pombo, table))).toEqual([0, 0, 0]);
  for (const path of [EMAILS, "/api/v1/domains"]) expectErrors(await workspace.call("GET", path), 401, NO_KEY);
  expectErrors(await workspace.call("POST", EMAILS, { body: pombo.email() }), 401, NO_KEY);
  expect((await pombo.operator.call("GET", WORKSPACES)).body.data).toEqual([]);
  for (const [method, rest] of [
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/unblock"],
    ["GET", "/credits"],
  ] as const) {
    const answer = await pombo.operator.call(method, `${WORKSPACES}/${workspace.id}${rest}`);
    expectErrors(answer, 404, [{ code: "NOT_FOUND" }]);
  }
  expect(await leftAfter(held)).toEqual({});
  expect(pombo.events.filter(({ name }) => /^workspace\.(deleted|removed)$/.test(name))).toEqual([
    { name: "workspace.deleted", fields: { workspace: workspace.id } },
    { name: "workspace.removed", fields: { workspace: workspace.id } },
  ]);
  expect([pombo.bugs, JSON.stringify(pombo.events).includes("svc_")]).toEqual([[], false]);
});

test("what waits is not sent any more from the answer on, whatever falls due", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  for (let i = 0; i < 3; i++) await attempted(pombo, { to: `u${i}@example.com` });
  pombo.mx.script = {};
  await remove(pombo);
  for (let i = 0; i < 20; i++) await held.advance(HOUR);
  expect([pombo.mx.messages, await leftAfter(held), pombo.bugs]).toEqual([[], {}, []]);
});

test("another workspace keeps all it has, and may verify the deleted one's domain", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const other = await pombo.newWorkspace();
  const twin = (await other.call("POST", "/api/v1/domains", { body: { domain: "loja.test" } })).body.data;
  await pombo.addDomain(other, "other.test");
  const mail = (from: string) => other.call("POST", EMAILS, { body: pombo.email({ from }) });
  expect((await mail("a@other.test")).status).toBe(202);
  await attempted(pombo);
  await remove(pombo);
  for (const { type, name, value } of [...twin.dns.dkim, twin.dns.spf])
    pombo.dns.zone[name] = type === "CNAME" ? { CNAME: value } : { TXT: [value] };
  held.clock.advance(2 * HOUR); // what DNS said is remembered for a while
  const checked = await other.call("POST", `/api/v1/domains/${twin.id}/verification-checks`);
  expect(checked.body.data.verifiedAt).not.toBeNull();
  await leftAfter(held);
  expect((await mail("a@loja.test")).status).toBe(202);
  await pombo.app.worker.idle();
  const list = await other.call("GET", `${EMAILS}?include=status`);
  expect(list.body.data.map(({ status }: { status: string }) => status)).toEqual(["delivered", "delivered"]);
  expect([count(pombo, "workspace"), count(pombo, "domain"), count(pombo, "email")]).toEqual([1, 2, 2]);
});

for (const [what, answer] of [
  ["is delivered", "250 2.0.0 Ok"],
  ["is put off", LATER],
  ["bounces", "550 5.1.1 No such user"],
  ["is lost after its dot", drop()],
] as const) {
  test(`an attempt that runs meanwhile and ${what} leaves nothing behind`, async () => {
    const atRcpt = gate();
    await using held = await startAtNoon({
      rcpt: async () => {
        const given = await atRcpt.step();
        return typeof answer === "string" ? answer : given;
      },
      dot: answer,
    });
    const { pombo } = held;
    await send(pombo, { to: "first@example.com" });
    await atRcpt.reached;
    // Composed, and waiting for the session.
    await send(pombo, { to: "second@example.com" });
    await send(pombo, { to: "third@example.com" });
    await remove(pombo);
    for (let i = 0; i < 5; i++) {
      held.clock.advance(1_000);
      await until(() => count(pombo, "email_queue") === 2);
    }
    // Those two are waited for; of the third nothing is left.
    expect([count(pombo, "email"), count(pombo, "workspace")]).toEqual([2, 1]);
    atRcpt.open("250 2.1.5 Ok");
    await pombo.app.worker.idle();
    expect([await leftAfter(held), pombo.bugs]).toEqual([{}, []]);
    // The second may have been composed too late to wait for longer than a moment, as far as this clock knows:
    // then it is not looked at again.
    const lines = pombo.mx.connections.flatMap(({ commands }) => commands);
    expect(lines.some((line) => line.includes("third@"))).toBe(false);
  });
}

test("sends, domains and keys that come beside the deletion are refused or removed with the rest", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const { workspace } = pombo;
  const beside = (client: Client, domain: string) => [
    ...Array.from({ length: 20 }, (_, i) =>
      client.call("POST", EMAILS, { body: pombo.email({ to: `u${i}@example.com` }) }),
    ),
    client.call("POST", "/api/v1/domains", { body: { domain } }),
    client.call("POST", "/api/v1/auth/keys", { body: { name: "late" } }),
    client.call("POST", `${EMAILS}/batch`, { body: { emails: Array.from({ length: 50 }, () => pombo.email()) } }),
  ];
  const early = beside(workspace, "early.test");
  const removed = remove(pombo);
  const late = beside(workspace, "late.test");
  expect((await removed).status).toBe(200);
  for (const answer of await Promise.all([...early, ...late])) {
    if (answer.status >= 400) expectErrors(answer, 401, NO_KEY);
    else expect([201, 202]).toContain(answer.status);
  }
  await pombo.app.worker.idle();
  expect([await leftAfter(held), pombo.bugs]).toEqual([{}, []]);
});

test("a body that comes slowly over the deletion is refused when it is there", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const opened = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const rawBody = new ReadableStream<Uint8Array>({ start: opened.resolve });
  const answer = pombo.workspace.call("POST", EMAILS, { rawBody });
  const body = await opened.promise;
  const bytes = new TextEncoder().encode(JSON.stringify(pombo.email()));
  body.enqueue(bytes.slice(0, 10));
  expect((await pombo.operator.call("GET", WORKSPACES)).status).toBe(200);
  await remove(pombo);
  expect(await leftAfter(held)).toEqual({});
  body.enqueue(bytes.slice(10));
  body.close();
  expectErrors(await answer, 401, NO_KEY);
  expect(count(pombo, "email")).toBe(0);
});

test("the removal of many emails lets others in between its shares", async () => {
  await using held = await startHeld(NOON, { mx: { rcpt: LATER } });
  const { pombo } = held;
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  for (let i = 0; i < 5; i++) {
    const emails = Array.from({ length: 1_000 }, (_, j) => pombo.email({ to: `u${j}@d${j % 40}.test` }));
    expect((await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } })).status).toBe(202);
  }
  await pombo.app.worker.idle();
  await remove(pombo);
  let shares = 0;
  let longestMs = 0;
  while (count(pombo, "email") > shares) {
    const before = count(pombo, "email");
    const startedAt = performance.now();
    held.clock.advance(20);
    const sent = await other.call("POST", EMAILS, { body: pombo.email({ from: "a@other.test" }) });
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    expect(sent.status).toBe(202);
    expect(before + 1 - count(pombo, "email")).toBeLessThanOrEqual(200);
    shares += 1;
  }
  expect(shares).toBeGreaterThanOrEqual(24);
  console.log(`delete: ${shares} shares of 5,000 emails; others waited ${longestMs.toFixed(0)} ms at the most`);
  expect(longestMs).toBeLessThan(1_000);
});

test("an instance that ends in the middle goes on at its next start", async () => {
  await using held = await startHeld(NOON, { mx: { rcpt: LATER } });
  const { pombo } = held;
  const emails = Array.from({ length: 1_000 }, (_, i) => pombo.email({ to: `u${i}@d${i % 7}.test` }));
  await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  await pombo.app.worker.idle();
  await remove(pombo);
  for (let left = count(pombo, "email"); left > 0 && left < 2_000; left = count(pombo, "email")) {
    await pombo.restart();
    // One share at each start: the clock stands still.
    await until(() => count(pombo, "email") < left);
    expectErrors(await pombo.workspace.call("GET", EMAILS), 401, NO_KEY);
  }
  expect([await leftAfter(held), pombo.mx.messages, pombo.bugs]).toEqual([{}, [], []]);
});

test("while nothing can be stored a delete is 503 and the workspace is as it was", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  const refused = await remove(pombo);
  expect([refused.status, errorItems(refused)[0]?.code]).toEqual([503, "UNAVAILABLE"]);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
  held.clock.advance(MINUTE);
  await until(() => pombo.app.guard.failure === null);
  await attempted(pombo);
  expect([pombo.mx.messages.length, (await pombo.operator.call("GET", WORKSPACES)).body.data.length]).toEqual([1, 1]);
});
