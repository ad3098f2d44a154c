import { expect, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import {
  expectErrors,
  type ExpectedFault,
  omit,
  startHeld,
  TIMESTAMP,
  UNKNOWN_ID,
  UUID_V7,
} from "../../support/api/kit.ts";
import { attempted, LATER, MINUTE, NOON, startAtNoon } from "../../support/api/one-email.ts";

const WORKSPACES = "/api/v1/operator/workspaces";
const EMAILS = "/api/v1/emails";
const FORBIDDEN = [{ code: "API_KEY_RESTRICTED" }];

const told = (pombo: Instance, name: string) => pombo.events.filter((event) => event.name === name);
const ask = (pombo: Instance, method: string, rest: string, body?: unknown) =>
  pombo.operator.call(method, `${WORKSPACES}/${pombo.workspace.id}${rest}`, body === undefined ? {} : { body });

test("a workspace's record tells what it uses, has and is blocked for", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const { workspace } = pombo;
  for (let i = 0; i < 3; i++) await attempted(pombo);
  const emails = await workspace.call("GET", EMAILS);
  await workspace.call("POST", `${EMAILS}/${emails.body.data[0].id}/cancel`);
  await ask(pombo, "POST", "/credits", { amount: 7 });
  await ask(pombo, "POST", "/sender-ids", { name: "Loja" });
  const { status, body } = await ask(pombo, "GET", "");
  expect(status).toBe(200);
  expect(body.data).toEqual({
    id: workspace.id,
    name: expect.any(String),
    plan: "scale",
    createdAt: expect.stringMatching(TIMESTAMP),
    smsCredits: 7,
    smsFolding: "none",
    smsPriority: "transactional",
    senderIds: [{ name: "Loja", isDefault: true, priority: null }],
    blocks: [],
    usage: {
      emailsToday: 3,
      emailsThisMonth: 3,
      smsThisMonth: 0,
      domains: 1,
      apiKeys: 1,
      storageBytes: expect.any(Number),
    },
    waiting: 2,
  });
});

for (const [what, startsAt, emailsThisMonth] of [
  ["day", Date.UTC(2026, 10, 29, 23, 59, 30), 1],
  ["month", Date.UTC(2026, 10, 30, 23, 59, 30), 0],
] as const) {
  test(`what a workspace uses begins at 0 with the next ${what} (UTC)`, async () => {
    await using held = await startHeld(startsAt);
    const { pombo } = held;
    await attempted(pombo);
    expect((await ask(pombo, "GET", "")).body.data.usage).toMatchObject({ emailsToday: 1, emailsThisMonth: 1 });
    await held.advance(MINUTE);
    expect((await ask(pombo, "GET", "")).body.data.usage).toMatchObject({ emailsToday: 0, emailsThisMonth });
  });
}

test("all workspaces are listed, newest first, page by page", async () => {
  await using pombo = await startInstance();
  for (let i = 0; i < 4; i++) await pombo.newWorkspace();
  const all = await pombo.operator.call("GET", WORKSPACES);
  const ids = all.body.data.map(({ id }: { id: string }) => id);
  expect([ids.length, ids.at(-1), all.body.meta]).toEqual([
    5,
    pombo.workspace.id,
    { has_more: false, next_cursor: null },
  ]);
  const paged: string[] = [];
  for (let cursor = ""; ;) {
    const { body } = await pombo.operator.call("GET", `${WORKSPACES}?limit=2${cursor}`);
    paged.push(...body.data.map(({ id }: { id: string }) => id));
    if (!body.meta.has_more) break;
    cursor = `&cursor=${body.meta.next_cursor}`;
  }
  expect(paged).toEqual(ids);
  expect(all.body.data.at(-1)).toEqual((await ask(pombo, "GET", "")).body.data);
  expectErrors(await pombo.operator.call("GET", `${WORKSPACES}?limit=0`), 422, [{ field: "limit" }]);
  expectErrors(await pombo.operator.call("GET", `${WORKSPACES}?cursor=x`), 422, [{ field: "cursor" }]);
  expectErrors(await pombo.operator.call("GET", `${WORKSPACES}?name=x`), 422, [{ field: "name" }]);
});

test("nobody but the operator gets in, whatever they ask for and before their body is read", async () => {
  await using pombo = await startInstance();
  const { workspace } = pombo;
  expectErrors(await workspace.call("GET", `${WORKSPACES}/${workspace.id}`), 403, FORBIDDEN);
  expectErrors(await workspace.call("POST", "/api/v1/operator/nothing", { rawBody: "{" }), 403, FORBIDDEN);
  expectErrors(await workspace.call("GET", WORKSPACES, { key: null }), 401, [{ code: "MISSING_API_KEY" }]);
  // And the operator gets in nowhere else.
  for (const path of [EMAILS, "/api/v1/domains", "/api/v1/operator"])
    expectErrors(await pombo.operator.call("GET", path), 403, FORBIDDEN);
  expectErrors(await pombo.operator.call("GET", "/api/v1/operator/nothing"), 404, [{ code: "NOT_FOUND" }]);
});

test("an id is taken in either case; a malformed one is 422, an unknown one 404, on every route", async () => {
  await using pombo = await startInstance();
  const routes: [method: string, rest: string, body?: unknown][] = [
    ["GET", ""],
    ["PATCH", "", { name: "x" }],
    ["DELETE", ""],
    ["POST", "/block", {}],
    ["POST", "/unblock"],
    ["POST", "/credits", { amount: 1 }],
    ["GET", "/credits"],
    ["POST", "/sender-ids", { name: "x" }],
    ["DELETE", "/sender-ids/x"],
    ["POST", "/keys", { name: "x" }],
  ];
  for (const [method, rest, body] of routes) {
    const call = (id: string) =>
      pombo.operator.call(method, `${WORKSPACES}/${id}${rest}`, body === undefined ? {} : { body });
    expectErrors(await call(UNKNOWN_ID), 404, [{ code: "NOT_FOUND" }]);
    expectErrors(await call("x"), 422, [{ field: "id" }]);
    if (method !== "DELETE") expect((await call(pombo.workspace.id.toUpperCase())).status).toBeLessThan(300);
  }
});

test("name and plan change; an unknown plan names those that there are", async () => {
  await using pombo = await startInstance();
  const before = (await ask(pombo, "GET", "")).body.data;
  const renamed = await ask(pombo, "PATCH", "", { name: "Loja do João" });
  expect(renamed.body.data).toEqual({ ...before, name: "Loja do João" });
  const both = await ask(pombo, "PATCH", "", { name: "Loja", plan: "launch" });
  expect(both.body.data).toEqual({ ...before, name: "Loja", plan: "launch" });
  expect((await ask(pombo, "GET", "")).body.data).toEqual(both.body.data);
  // The plan holds from now on, though it was remembered for the last send.
  const batch = { emails: Array.from({ length: 51 }, () => pombo.email()) };
  const send = () => pombo.workspace.call("POST", `${EMAILS}/batch`, { body: batch });
  expectErrors(await send(), 422, [{ code: "BATCH_LIMIT_EXCEEDED", field: "emails" }]);
  await ask(pombo, "PATCH", "", { plan: "scale" });
  expect((await send()).status).toBe(202);
  const wrong: [unknown, ...ExpectedFault[]][] = [
    [{}, { message: "name, plan, smsFolding or smsPriority" }],
    [{ plan: "gold" }, { field: "plan", message: "launch, starter, growth, scale" }],
    [{ plan: "__proto__" }, { field: "plan" }],
    [{ name: "" }, { field: "name" }],
    [{ name: "a\nb" }, { field: "name", message: "control characters" }],
    [{ name: "\u001b[2J" }, { field: "name", message: "control characters" }],
    [{ name: "x", smsCredits: 5 }, { field: "smsCredits" }],
  ];
  for (const [body, ...faults] of wrong) expectErrors(await ask(pombo, "PATCH", "", body), 422, faults);
  expect(told(pombo, "workspace.changed").at(-1)?.fields).toEqual({
    ...{ workspace: pombo.workspace.id, name: "Loja", plan: "scale" },
    ...{ smsFolding: "none", smsPriority: "transactional" },
  });
});

test("credits are granted and taken back, never below 0, and every entry is listed", async () => {
  await using pombo = await startInstance();
  const grant = (body: unknown) => ask(pombo, "POST", "/credits", body);
  const first = await grant({ amount: 500, note: "Invoice 7" });
  expect(first.status).toBe(201);
  expect(first.body.data).toEqual({
    workspaceId: pombo.workspace.id,
    amount: 500,
    balance: 500,
    note: "Invoice 7",
    createdAt: expect.stringMatching(TIMESTAMP),
  });
  expect((await grant({ amount: -200 })).body.data).toMatchObject({ amount: -200, balance: 300, note: null });
  expectErrors(await grant({ amount: -301 }), 422, [
    { field: "amount", message: "more than the balance of 300 credits" },
  ]);
  const wrong: [unknown, ...ExpectedFault[]][] = [
    [{}, { field: "amount", message: "amount is required" }],
    [{ amount: 0 }, { field: "amount", message: "must not be 0" }],
    [{ amount: 1.5 }, { field: "amount", message: "whole number" }],
    [{ amount: "5" }, { field: "amount", message: "whole number" }],
    [{ amount: 1e300 }, { field: "amount", message: "1,000,000,000" }],
    [
      { amount: 1, note: "a\u0007" },
      { field: "note", message: "control characters" },
    ],
    [
      { amount: 1, note: "x".repeat(201) },
      { field: "note", message: "at most 200" },
    ],
    [{ amount: 1, kind: "refund" }, { field: "kind" }],
  ];
  for (const [body, ...faults] of wrong) expectErrors(await grant(body), 422, faults);
  expect((await grant({ amount: -300 })).body.data.balance).toBe(0);
  const list = await ask(pombo, "GET", "/credits");
  const entry = (amount: number, balance: number, note: string | null = null) => ({
    ...{ kind: "grant", amount, balance, note, smsId: null, segments: null },
    createdAt: expect.stringMatching(TIMESTAMP),
  });
  expect(list.body).toEqual({
    data: [entry(-300, 0), entry(-200, 300), entry(500, 500, "Invoice 7")],
    meta: { has_more: false, next_cursor: null },
  });
  const page = await ask(pombo, "GET", "/credits?limit=2");
  const rest = await ask(pombo, "GET", `/credits?limit=2&cursor=${page.body.meta.next_cursor}`);
  expect([...page.body.data, ...rest.body.data]).toEqual(list.body.data);
  expect(told(pombo, "credits.granted").map(({ fields }) => [fields["amount"], fields["balance"]])).toEqual([
    ...[
      [500, 500],
      [-200, 300],
      [-300, 0],
    ],
  ]);
});

test("of many that take the last credits at once, no more get them than there are", async () => {
  await using pombo = await startInstance();
  await ask(pombo, "POST", "/credits", { amount: 30 });
  const takes = await Promise.all(
    Array.from({ length: 12 }, (_, index) => ask(pombo, "POST", "/credits", { amount: index % 3 === 0 ? 2 : -9 })),
  );
  const taken = takes.filter(({ status }) => status === 201).map(({ body }) => body.data.amount as number);
  const { smsCredits } = (await ask(pombo, "GET", "")).body.data;
  expect(smsCredits).toBe(30 + taken.reduce((sum, amount) => sum + amount, 0));
  expect(smsCredits).toBeGreaterThanOrEqual(0);
  expect(taken.filter((amount) => amount < 0).length).toBeLessThan(8);
});

test("the first sender id is the default, another may become it, and one that goes leaves it to the oldest", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const add = async (body: unknown) => {
    const answer = await ask(pombo, "POST", "/sender-ids", body);
    await held.advance(1_000);
    return [answer.status, answer.body.data];
  };
  const remove = (name: string) => ask(pombo, "DELETE", `/sender-ids/${encodeURIComponent(name)}`);
  const shown = async () => {
    const { senderIds } = (await ask(pombo, "GET", "")).body.data;
    return senderIds.map(({ name, isDefault }: { name: string; isDefault: boolean }) =>
      isDefault ? `*${name}` : name,
    );
  };
  expect(await add({ name: "Loja", isDefault: false })).toEqual([
    201,
    { name: "Loja", isDefault: true, priority: null },
  ]);
  expect(await add({ name: "Loja & Cia" })).toEqual([201, { name: "Loja & Cia", isDefault: false, priority: null }]);
  expect(await add({ name: "+258841234567", isDefault: true })).toEqual([
    201,
    { name: "+258841234567", isDefault: true, priority: null },
  ]);
  expect(await shown()).toEqual(["Loja", "Loja & Cia", "*+258841234567"]);
  // There already: nothing new, but it may become the default, and does not cease to be.
  expect(await add({ name: "Loja & Cia" })).toEqual([200, { name: "Loja & Cia", isDefault: false, priority: null }]);
  expect(await add({ name: "Loja & Cia", isDefault: true })).toEqual([
    200,
    { name: "Loja & Cia", isDefault: true, priority: null },
  ]);
  expect(await add({ name: "Loja & Cia", isDefault: false })).toEqual([
    200,
    { name: "Loja & Cia", isDefault: true, priority: null },
  ]);
  const removed = await remove("Loja & Cia");
  expect([removed.status, removed.body.data]).toEqual([200, { name: "Loja & Cia", deleted: true }]);
  expect(await shown()).toEqual(["*Loja", "+258841234567"]);
  expectErrors(await remove("Loja & Cia"), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await remove("loja"), 404, [{ code: "NOT_FOUND" }]);
  expect((await remove("+258841234567")).status).toBe(200);
  expect((await remove("Loja")).status).toBe(200);
  expect(await shown()).toEqual([]);
});

test("how a workspace's SMS go is set for it and for each of its sender ids", async () => {
  await using pombo = await startInstance();
  const shown = async () => {
    const { smsFolding, smsPriority, senderIds } = (await ask(pombo, "GET", "")).body.data;
    return { smsFolding, smsPriority, senderIds };
  };
  const changed = await ask(pombo, "PATCH", "", { smsFolding: "portuguese", smsPriority: "otp" });
  expect(changed.body.data).toMatchObject({ smsFolding: "portuguese", smsPriority: "otp" });
  await ask(pombo, "PATCH", "", { smsFolding: "punctuation" });
  const add = async (body: unknown) => (await ask(pombo, "POST", "/sender-ids", body)).body.data.priority;
  expect(await add({ name: "Loja", priority: "bulk" })).toBe("bulk");
  // Without a word it stays, and null is the workspace's again.
  expect(await add({ name: "Loja", isDefault: true })).toBe("bulk");
  expect(await add({ name: "Promo" })).toBe(null);
  expect(await shown()).toEqual({
    smsFolding: "punctuation",
    smsPriority: "otp",
    senderIds: [
      { name: "Loja", isDefault: true, priority: "bulk" },
      { name: "Promo", isDefault: false, priority: null },
    ],
  });
  expect(await add({ name: "Loja", priority: null })).toBe(null);
  for (const member of ["smsFolding", "smsPriority"])
    expectErrors(await ask(pombo, "PATCH", "", { [member]: "loud" }), 422, [{ field: member, message: "must be" }]);
  expectErrors(await ask(pombo, "POST", "/sender-ids", { name: "Loja", priority: "loud" }), 422, [
    { field: "priority" },
  ]);
});

test("a sender id is a word of eleven or a number, and not everybody's", async () => {
  await using pombo = await startInstance();
  const add = (name: unknown) => ask(pombo, "POST", "/sender-ids", { name });
  for (const name of [
    "A",
    "Loja Maria",
    "ABCDEFGHIJK",
    "M-Pesa",
    "a.b_c&d-1",
    "1A",
    "123",
    "841234567890123",
    "+258841234567",
  ])
    expect([name, (await add(name)).status]).toEqual([name, 201]);
  const wrong = [
    ...[
      "",
      "ABCDEFGHIJKL",
      " Loja",
      "Loja ",
      " ",
      "12",
      "1234567890123456",
      "++258841",
      "+12",
      "Lojã",
      "Loja\n",
      "...",
      "-",
    ],
    ...["Loja/", "Loja😀", "x".repeat(21), null, 123],
  ];
  for (const name of wrong) expectErrors(await add(name), 422, [{ field: "name" }]);
  pombo.app.db.sqlite.run(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 90)
     INSERT INTO sender_id SELECT 1, 'x' || i, 0, 0, NULL FROM n`,
  );
  expectErrors(await add("x91"), 422, [{ field: "name", message: "100 sender ids" }]);
  expect((await add("x90")).status).toBe(200);
});

test("a key for a workspace that lost its keys is made beyond its plan's limit, and works", async () => {
  await using pombo = await startInstance({
    configure: (config) => void Object.assign(config.plans["scale"] ?? {}, { apiKeys: 1 }),
  });
  const made = await ask(pombo, "POST", "/keys", { name: "Lost" });
  expect(made.status).toBe(201);
  expect(omit(made.body.data, "id", "createdAt", "key")).toEqual({ name: "Lost", domainId: null, lastUsedAt: null });
  const { key, id } = made.body.data;
  expect((await pombo.workspace.call("POST", EMAILS, { key, body: pombo.email() })).status).toBe(202);
  expect(told(pombo, "key.created")).toEqual([
    { name: "key.created", fields: { workspace: pombo.workspace.id, id: expect.stringMatching(UUID_V7) } },
  ]);
  expect(told(pombo, "key.created")[0]?.fields["id"]).toBe(id);
  expectErrors(await ask(pombo, "POST", "/keys", { name: "x", domainId: null }), 422, [{ field: "domainId" }]);
});

test("the operator key is replaced: the old one is invalid at once, and no key is in the log", async () => {
  await using pombo = await startInstance();
  const rotated = await pombo.operator.call("POST", "/api/v1/operator/key/rotate");
  expect([rotated.status, rotated.body]).toEqual([
    200,
    { data: { operatorKey: expect.stringMatching(/^svc_[\w-]{43}$/) } },
  ]);
  const { operatorKey } = rotated.body.data;
  expectErrors(await pombo.operator.call("GET", WORKSPACES), 401, [{ code: "INVALID_API_KEY" }]);
  const list = (key: string) => pombo.operator.call("GET", WORKSPACES, { key });
  expect((await list(operatorKey)).status).toBe(200);
  await pombo.restart();
  expect([(await list(operatorKey)).status, (await list(pombo.operator.key)).status]).toEqual([200, 401]);
  expect(told(pombo, "operator_key.rotated")).toEqual([{ name: "operator_key.rotated", fields: {} }]);
  expect(JSON.stringify(pombo.events)).not.toContain("svc_");
});
