import { expect, test } from "bun:test";
import { type Client, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, startHeld, TIMESTAMP, totalOf, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";

const KEYS = "/api/v1/auth/keys";
const EMAILS = "/api/v1/emails";

const create = (client: Client, body: unknown) => client.call("POST", KEYS, { body });

test("a key is answered once with 201, works at once, and only its digest and prefix are kept", async () => {
  await using pombo = await startInstance();
  const { status, body } = await create(pombo.workspace, { name: "shop" });
  expect(status).toBe(201);
  expect(body).toEqual({
    data: {
      ...{ id: expect.stringMatching(UUID_V7), name: "shop", domainId: null, lastUsedAt: null },
      ...{ createdAt: expect.stringMatching(TIMESTAMP), key: expect.stringMatching(/^svc_[\w-]{43}$/) },
    },
  });
  const { key } = body.data;
  expect((await pombo.workspace.call("GET", EMAILS, { key })).status).toBe(200);
  const row = pombo.app.db.sqlite
    .query<{ prefix: string; hash: string }, [string]>("SELECT prefix, hash FROM api_key WHERE uid = ?")
    .get(body.data.id);
  expect(row).toEqual({ prefix: key.slice(4, 12), hash: new Bun.CryptoHasher("sha256").update(key).digest("hex") });
});

test("domainId null makes a key for the whole workspace, as an answer shows it", async () => {
  await using pombo = await startInstance();
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "all", domainId: null } });
  expect(made.status).toBe(201);
  expect(made.body.data.domainId).toBeNull();
  const { key } = made.body.data;
  expect((await pombo.workspace.call("GET", "/api/v1/domains", { key })).status).toBe(200);
});

test("a key's name has 1 to 100 characters, and every fault is named", async () => {
  await using pombo = await startInstance();
  for (const name of ["x", "x".repeat(100), "😀".repeat(100)])
    expect((await create(pombo.workspace, { name })).status).toBe(201);
  const wrong: [unknown, ...{ field: string; message: string }[]][] = [
    [{}, { field: "name", message: "name is required" }],
    [{ name: "" }, { field: "name", message: "name must not be empty" }],
    [{ name: "x".repeat(101) }, { field: "name", message: "at most 100 characters" }],
    [{ name: "😀".repeat(101) }, { field: "name", message: "at most 100 characters" }],
    [{ name: null }, { field: "name", message: "not null" }],
    [
      { name: "x", domainId: "x" },
      { field: "domainId", message: "domainId must be a UUID" },
    ],
    [
      { name: 1, domainId: 2, scope: 3 },
      { field: "name", message: "" },
      { field: "domainId", message: "" },
      { field: "scope", message: "" },
    ],
  ];
  for (const [body, ...faults] of wrong) expectErrors(await create(pombo.workspace, body), 422, faults);
});

test("a key for a domain that the workspace does not have is 404 with the field domainId", async () => {
  await using pombo = await startInstance();
  const other = await pombo.newWorkspace();
  const domainId = await pombo.addDomain(other, "other.test");
  for (const id of [UNKNOWN_ID, domainId]) {
    const answer = await create(pombo.workspace, { name: "x", domainId: id });
    expectErrors(answer, 404, [{ code: "NOT_FOUND", field: "domainId" }]);
  }
});

test("a key without one, of another form, unknown, cut or doubled is 401 with WWW-Authenticate", async () => {
  await using pombo = await startInstance();
  const { key } = pombo.workspace;
  const missing = await pombo.workspace.call("GET", EMAILS, { key: null });
  expectErrors(missing, 401, [{ code: "MISSING_API_KEY", message: "X-API-Key is missing" }]);
  expect(missing.headers.get("www-authenticate")).toContain("X-API-Key");
  expectErrors(await pombo.workspace.call("GET", EMAILS, { key: "  " }), 401, [{ code: "MISSING_API_KEY" }]);
  const wrong = [
    "x",
    `svc_${"A".repeat(43)}`,
    key.slice(0, -1),
    `${key}x`,
    key.toUpperCase(),
    key.slice(4),
    `Bearer ${key}`,
    `${key}, ${key}`,
  ];
  for (const one of wrong) {
    const answer = await pombo.workspace.call("GET", EMAILS, { key: one });
    expectErrors(answer, 401, [{ code: "INVALID_API_KEY" }]);
    expect(answer.headers.get("www-authenticate")).toContain("X-API-Key");
    expect(errorItems(answer)[0]?.hint).toBeString();
  }
  expect((await pombo.workspace.call("GET", EMAILS, { key: `  ${key} ` })).status).toBe(200);
});

test("a key restricted to a domain sends that domain's email and sees that domain's email alone", async () => {
  await using pombo = await startInstance();
  const domainId = await pombo.addDomain(pombo.workspace, "one.test");
  const { body } = await create(pombo.workspace, { name: "one", domainId: domainId.toUpperCase() });
  expect(body.data.domainId).toBe(domainId);
  const restricted: Client = {
    key: body.data.key,
    call: (method, path, options) => pombo.workspace.call(method, path, { key: body.data.key, ...options }),
  };
  const post = (client: Client, from: string) => client.call("POST", EMAILS, { body: pombo.email({ from }) });
  const others = await post(pombo.workspace, "a@loja.test");
  const own = await post(restricted, "a@one.test");
  expect(own.status).toBe(202);

  const list = await restricted.call("GET", EMAILS);
  expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([own.body.data.id]);
  expect([list.body.meta.total, await totalOf(pombo.workspace)]).toEqual([1, 2]);
  expect((await restricted.call("GET", `${EMAILS}/${own.body.data.id}`)).status).toBe(200);
  expectErrors(await restricted.call("GET", `${EMAILS}/${others.body.data.id}`), 404, [{ code: "NOT_FOUND" }]);

  for (const from of ["a@loja.test", "a@unknown.test", "a@sub.one.test"]) {
    expectErrors(await post(restricted, from), 403, [{ code: "API_KEY_RESTRICTED", field: "from" }]);
  }
  const emails = [pombo.email({ from: "a@one.test" }), pombo.email({ from: "a@loja.test" })];
  expectErrors(await restricted.call("POST", `${EMAILS}/batch`, { body: { emails } }), 403, [
    { code: "API_KEY_RESTRICTED", field: "from", path: "emails[1].from" },
  ]);
  expect(await totalOf(pombo.workspace)).toBe(2);
  expect((await restricted.call("POST", `${EMAILS}/batch`, { body: { emails: emails.slice(0, 1) } })).status).toBe(202);
});

test("a key restricted to a domain is refused everywhere but on emails", async () => {
  await using pombo = await startInstance();
  const domainId = await pombo.addDomain(pombo.workspace, "one.test");
  const { key } = (await create(pombo.workspace, { name: "one", domainId })).body.data;
  const refused: [method: string, path: string, body?: unknown][] = [
    ["GET", "/api/v1/domains"],
    ["POST", "/api/v1/domains", { domain: "two.test" }],
    ["POST", `/api/v1/domains/${domainId}/verification-checks`],
    ["DELETE", `/api/v1/domains/${domainId}`],
    ["POST", KEYS, { name: "more" }],
    ["POST", KEYS, { name: "more", domainId }],
    ["POST", "/api/v1/workspaces", { name: "mine" }],
  ];
  for (const [method, path, body] of refused) {
    const answer = await pombo.workspace.call(method, path, { key, ...(body === undefined ? {} : { body }) });
    expectErrors(answer, 403, [{ code: "API_KEY_RESTRICTED" }]);
    expect(errorItems(answer)[0]?.hint).toBeString();
  }
  expect((await pombo.workspace.call("GET", "/api/v1/domains")).body.data).toHaveLength(2);
});

test("the operator key is refused on the workspaces' routes", async () => {
  await using pombo = await startInstance();
  const requests: [method: string, path: string, body?: unknown][] = [
    ["GET", EMAILS],
    ["GET", `${EMAILS}/${UNKNOWN_ID}`],
    ["POST", EMAILS, pombo.email()],
    ["POST", `${EMAILS}/batch`, { emails: [pombo.email()] }],
    ["GET", `${EMAILS}/${UNKNOWN_ID}/events`],
    ["POST", `${EMAILS}/${UNKNOWN_ID}/cancel`],
    ["POST", `${EMAILS}/${UNKNOWN_ID}/retry`],
    ["GET", "/api/v1/domains"],
    ["POST", "/api/v1/domains", { domain: "two.test" }],
    ["POST", `/api/v1/domains/${UNKNOWN_ID}/verification-checks`],
    ["DELETE", `/api/v1/domains/${UNKNOWN_ID}`],
    ["POST", KEYS, { name: "x" }],
  ];
  for (const [method, path, body] of requests) {
    const answer = await pombo.operator.call(method, path, body === undefined ? {} : { body });
    expectErrors(answer, 403, [{ code: "API_KEY_RESTRICTED", message: "The operator key works on" }]);
  }
});

test("a key's last use is noted at most once a minute", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 21, 9));
  const { pombo, clock } = held;
  const { data } = (await create(pombo.workspace, { name: "x" })).body;
  const use = async () => {
    await pombo.workspace.call("GET", EMAILS, { key: data.key });
    await pombo.app.committer.commit(() => null);
    return pombo.app.db.sqlite
      .query<{ at: number }, [string]>("SELECT last_used_at AS at FROM api_key WHERE uid = ?")
      .get(data.id)?.at;
  };
  const startedAt = clock.now();
  expect(await use()).toBe(startedAt);
  clock.advance(59_999);
  expect(await use()).toBe(startedAt);
  clock.advance(1);
  expect(await use()).toBe(startedAt + 60_000);
});
