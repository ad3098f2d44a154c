import { expect, test } from "bun:test";
import { type Answer, type Instance, type RequestOptions, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, exchange, expectErrors, head, totalOf, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const JSON_TYPE = { "Content-Type": "application/json" };

/** One request for each status that the API answers with, by the status and code. */
const ANSWERS: [
  status: number,
  code: string,
  method: string,
  path: string,
  options: (pombo: Instance) => RequestOptions,
][] = [
  [400, "INVALID_JSON", "POST", EMAILS, () => ({ rawBody: "{" })],
  [401, "MISSING_API_KEY", "POST", EMAILS, (pombo) => ({ key: null, body: pombo.email() })],
  [401, "INVALID_API_KEY", "GET", EMAILS, () => ({ key: "svc_x" })],
  [401, "MISSING_API_KEY", "GET", "/api/v1/nothing", () => ({ key: null })],
  [403, "API_KEY_RESTRICTED", "GET", EMAILS, (pombo) => ({ key: pombo.operator.key })],
  [404, "NOT_FOUND", "GET", `${EMAILS}/${UNKNOWN_ID}`, () => ({})],
  [404, "NOT_FOUND", "GET", "/api/v1/nothing", () => ({})],
  [404, "NOT_FOUND", "GET", "/nothing", () => ({ key: null })],
  [404, "NOT_FOUND", "GET", "/", () => ({ key: null })],
  [404, "NOT_FOUND", "GET", "/api/v2/emails", () => ({})],
  [404, "NOT_FOUND", "POST", "/api/v1/EMAILS", (pombo) => ({ body: pombo.email() })],
  [405, "METHOD_NOT_ALLOWED", "PUT", EMAILS, (pombo) => ({ body: pombo.email() })],
  [409, "DOMAIN_ALREADY_EXISTS", "POST", "/api/v1/domains", () => ({ body: { domain: "loja.test" } })],
  [413, "PAYLOAD_TOO_LARGE", "POST", "/api/v1/domains", () => ({ body: { domain: "x".repeat(70_000) } })],
  [
    415,
    "UNSUPPORTED_MEDIA_TYPE",
    "POST",
    EMAILS,
    (pombo) => ({ body: pombo.email(), headers: { "content-type": "text/plain" } }),
  ],
  [422, "VALIDATION_ERROR", "POST", EMAILS, () => ({ body: {} })],
  [422, "VALIDATION_ERROR", "GET", `${EMAILS}?page=0`, () => ({})],
];

test("every error has the form of the API, a code, and a request id of its own", async () => {
  await using pombo = await startInstance();
  const ids = new Set<string>();
  for (const [status, code, method, path, options] of ANSWERS) {
    const answer = await pombo.workspace.call(method, path, options(pombo));
    expect([method, path, answer.status]).toEqual([method, path, status]);
    expect(errorItems(answer)[0]?.code).toBe(code);
    expect(answer.headers.has("www-authenticate")).toBe(status === 401);
    ids.add(answer.headers.get("x-request-id") ?? "");
  }
  expect(ids.size).toBe(ANSWERS.length);
  expect(pombo.bugs).toEqual([]);
});

test("every answer that is not an error carries a request id too", async () => {
  await using pombo = await startInstance();
  const requests: [method: string, path: string, body?: unknown][] = [
    ["GET", "/health"],
    ["GET", "/ready"],
    ["GET", "/api/v1/openapi.json"],
    ["GET", EMAILS],
    ["GET", "/api/v1/domains"],
    ["POST", EMAILS, pombo.email()],
    ["POST", "/api/v1/auth/keys", { name: "x" }],
    ["POST", "/api/v1/domains", { domain: "x.test" }],
  ];
  for (const [method, path, body] of requests) {
    const answer = await pombo.workspace.call(method, path, body === undefined ? {} : { body });
    expect([path, answer.status < 300, answer.headers.get("x-request-id")]).toEqual([
      path,
      true,
      expect.stringMatching(UUID_V7),
    ]);
  }
});

test("health, readiness and the API's description need no key", async () => {
  await using pombo = await startInstance();
  const get = (path: string) => pombo.workspace.call("GET", path, { key: null });
  expect(await get("/health")).toMatchObject({ status: 200, body: { status: "alive" } });
  expect(await get("/ready")).toMatchObject({ status: 200, body: { status: "ready", reason: null } });
  expect(await get("/api/v1/openapi.json")).toMatchObject({ status: 200, body: { info: { version: "1.0" } } });
});

test("a method that a path does not know is 405 with those that it knows", async () => {
  await using pombo = await startInstance();
  const cases: [method: string, path: string, allowed: string[]][] = [
    ["PUT", EMAILS, ["GET", "POST"]],
    ["DELETE", `${EMAILS}/${UNKNOWN_ID}`, ["GET"]],
    ["POST", `${EMAILS}/${UNKNOWN_ID}`, ["GET"]],
    ["PATCH", "/api/v1/domains", ["GET", "POST"]],
    ["GET", `/api/v1/domains/${UNKNOWN_ID}/verification-checks`, ["POST"]],
    ["GET", "/api/v1/workspaces", ["POST"]],
    ["DELETE", "/api/v1/auth/keys", ["GET", "POST"]],
    ["POST", "/health", ["GET"]],
    ["OPTIONS", EMAILS, ["GET", "POST"]],
  ];
  for (const [method, path, allowed] of cases) {
    const answer = await pombo.workspace.call(method, path);
    expectErrors(answer, 405, [{ code: "METHOD_NOT_ALLOWED", message: `${method} is not a method of this path` }]);
    for (const one of allowed)
      expect([path, answer.headers.get("allow")?.split(", ")]).toEqual([path, expect.arrayContaining([one])]);
  }
});

test("the key is looked at before the body is read, let alone parsed", async () => {
  await using pombo = await startInstance();
  const { url } = pombo.app;
  const announced = { ...JSON_TYPE, "Content-Length": 1_000_000 };
  const cases: [headers: Record<string, string | number>, code: string][] = [
    [announced, "MISSING_API_KEY"],
    [{ ...announced, "X-API-Key": "svc_no" }, "INVALID_API_KEY"],
    [{ ...JSON_TYPE, "Transfer-Encoding": "chunked" }, "MISSING_API_KEY"],
    [{ ...announced, "Content-Length": 999_999_999_999 }, "MISSING_API_KEY"],
  ];
  // The answer comes although not a byte of the body does.
  for (const [headers, code] of cases)
    expectErrors(await exchange(url, head(`POST ${EMAILS}`, headers)), 401, [{ code }]);
  for (const rawBody of ["{", "[]", "\xff", '{"from":1}']) {
    expectErrors(await pombo.workspace.call("POST", EMAILS, { key: "svc_no", rawBody }), 401, [
      { code: "INVALID_API_KEY" },
    ]);
  }
});

test("the checks come in order: key, JSON, fields, batch limit", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("launch");
  const path = `${EMAILS}/batch`;
  const emails = Array.from({ length: 51 }, () => pombo.email());
  const broken = JSON.stringify({ emails }).slice(0, -1);
  expectErrors(await workspace.call("POST", path, { rawBody: broken, key: null }), 401, [{ code: "MISSING_API_KEY" }]);
  expectErrors(await workspace.call("POST", path, { rawBody: broken }), 400, [{ code: "INVALID_JSON" }]);
  expectErrors(await workspace.call("POST", path, { body: { emails, x: 1 } }), 422, [{ field: "x" }]);
  expectErrors(await workspace.call("POST", path, { body: { emails } }), 422, [
    { code: "BATCH_LIMIT_EXCEEDED", field: "emails" },
  ]);
});

test("while the disk is low sends are 503 with Retry-After, readiness says why, and the rest goes on", async () => {
  let freeBytes = 10_000;
  await using pombo = await startInstance({
    readFree: () => ({ freeBytes, freeInodesPercent: 100 }),
    configure: (config) => void (config.disk.minFreeBytes = 1_000),
  });
  freeBytes = 10;
  await pombo.restart();
  for (const [path, body] of [
    [EMAILS, pombo.email()],
    [`${EMAILS}/batch`, { emails: [pombo.email()] }],
  ] as const) {
    const refused = await pombo.workspace.call("POST", path, { body });
    expectErrors(refused, 503, [{ code: "UNAVAILABLE" }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect(await pombo.workspace.call("GET", "/ready")).toMatchObject({
    status: 503,
    body: { status: "not ready", reason: expect.stringContaining("disk") },
  });
  expect((await pombo.workspace.call("GET", "/health")).status).toBe(200);
  expect(await totalOf(pombo.workspace)).toBe(0);
  expect((await pombo.workspace.call("POST", EMAILS, { body: {} })).status).toBe(422);
});

test("while nothing can be written everything that writes is 503 with Retry-After and nothing is accepted", async () => {
  await using pombo = await startInstance();
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  const writes: [path: string, body: unknown][] = [
    [EMAILS, pombo.email()],
    ["/api/v1/auth/keys", { name: "x" }],
    ["/api/v1/domains", { domain: "x.test" }],
  ];
  for (const [path, body] of writes) {
    const refused = await pombo.workspace.call("POST", path, { body });
    expectErrors(refused, 503, [{ code: "UNAVAILABLE" }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect(await totalOf(pombo.workspace)).toBe(0);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
});

test("a fault of our own is 500 in the form of the API, tells nothing of the inside, and is logged", async () => {
  await using pombo = await startInstance();
  pombo.app.db.sqlite.run("ALTER TABLE email RENAME TO elsewhere");
  for (const [method, path, body] of [
    ["GET", `${EMAILS}/01900000-0000-7000-8000-000000000000`, undefined],
    ["POST", EMAILS, pombo.email()],
  ] as const) {
    const answer = await pombo.workspace.call(method, path, body === undefined ? {} : { body });
    expectErrors(answer, 500, [{ code: "INTERNAL_ERROR" }]);
    expect(answer.text).not.toMatch(/elsewhere|SQL|table/i);
  }
  expect(pombo.bugs).toHaveLength(2);
  pombo.app.db.sqlite.run("ALTER TABLE elsewhere RENAME TO email");
  expect(await totalOf(pombo.workspace)).toBe(0);
});

test("a path with a slash at its end is the same path", async () => {
  await using pombo = await startInstance();
  expect((await pombo.workspace.call("GET", `${EMAILS}/`)).body.meta.total).toBe(0);
  // With the same room for its body as well.
  const large = pombo.email({ html: "x".repeat(500_000) });
  expect((await pombo.workspace.call("POST", `${EMAILS}/`, { body: large })).status).toBe(202);
  expect((await pombo.workspace.call("POST", `${EMAILS}/batch/`, { body: { emails: [large] } })).status).toBe(202);
});

test("whatever host a request names, or none, it is answered the same", async () => {
  await using pombo = await startInstance();
  const key = { "X-API-Key": pombo.workspace.key };
  const body = JSON.stringify(pombo.email());
  for (const host of [
    "a",
    "db",
    "api",
    "pombo",
    "api:80",
    "[::1]",
    "user@evil.example:99999",
    "a b/c?d",
    "",
    "x".repeat(300),
    "127.0.0.1:1",
  ]) {
    const list = await exchange(pombo.app.url, head(`GET ${EMAILS}?limit=7`, { ...key, Host: host }));
    // What is no host at all Bun may refuse with 400 by itself.
    expect([host, list.status === 400 ? 7 : list.body?.meta?.perPage]).toEqual([host, 7]);
    const sent = await exchange(
      pombo.app.url,
      head(`POST ${EMAILS}`, { ...key, ...JSON_TYPE, Host: host, "Content-Length": Buffer.byteLength(body) }) + body,
    );
    expect([host, sent.status === 400 || sent.status === 202]).toEqual([host, true]);
    const none = await exchange(pombo.app.url, head(`GET ${EMAILS}`, { Host: host }));
    expect([host, none.status === 400 || none.status === 401]).toEqual([host, true]);
    const hidden = await exchange(pombo.app.url, head(`GET /zz${EMAILS}`, { Host: host }));
    expect([host, hidden.status === 400 || hidden.status === 404]).toEqual([host, true]);
  }
  const old = await exchange(pombo.app.url, `GET ${EMAILS} HTTP/1.0\r\nX-API-Key: ${pombo.workspace.key}\r\n\r\n`);
  expect(old.status).toBe(200);
  expect(pombo.bugs).toEqual([]);
}, 30_000);

test("no spelling of a path gets round the key", async () => {
  await using pombo = await startInstance();
  const targets = [
    ...[
      "/x/../api/v1/emails",
      "/./api/v1/emails",
      "//api/v1/emails",
      "/api//v1/emails",
      "/api/v1/emails?x=/../../health",
      "/api/v1/emails#x",
    ],
    ...[
      "/%61pi/v1/emails",
      "/api%2fv1/emails",
      "/api/v1/%65mails",
      "/API/v1/emails",
      "\\api\\v1\\emails",
      "/api/v1/emails;x=1",
      "/api/v1/emails/%2e%2e",
    ],
    ...[
      "http://localhost/api/v1/emails",
      "http://x/api/v1/emails",
      "/api/v1/openapi.json/../emails",
      "/health/../api/v1/emails",
      "/api/v1/emails/..;/",
    ],
  ];
  for (const target of targets) {
    const answer: Answer = await exchange(pombo.app.url, head(`GET ${target}`, {}));
    expect([target, [400, 401, 404].includes(answer.status)]).toEqual([target, true]);
  }
  expect(pombo.bugs).toEqual([]);
});

test("strange headers do no harm", async () => {
  await using pombo = await startInstance();
  const strange: Record<string, string>[] = [
    ...["a=%E0%A4%A", "__proto__=1; constructor=2", "=; ;;=x", "x".repeat(5000)].map((cookie) => ({ cookie })),
    { upgrade: "websocket", connection: "upgrade" },
    { "x-http-method-override": "DELETE" },
    { expect: "100-continue" },
    { range: "bytes=0-1" },
  ];
  for (const headers of strange) {
    const answer = await pombo.workspace.call("POST", EMAILS, { body: pombo.email(), headers });
    expect([headers, answer.status]).toEqual([headers, 202]);
    expect([headers, (await pombo.workspace.call("GET", EMAILS, { headers })).status]).toEqual([headers, 200]);
  }
  expect(pombo.bugs).toEqual([]);
});
