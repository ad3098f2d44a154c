import { expect, test } from "bun:test";
import { NO_RATE_LIMITS } from "../../../src/config/config.ts";
import { openInbox } from "../../../src/sandbox/mx/inbox.ts";
import { sandboxRoutes } from "../../../src/sandbox/web/routes.ts";
import { type RequestOptions, startInstance } from "../../support/fakes/instance.ts";
import { received } from "../../support/sandbox/kit.ts";
import { exchange, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const DOMAINS = "/api/v1/domains";

/** A request, and the status that it gets. */
type Case = [status: number, method: string, path: string, options?: RequestOptions];

async function expectIds(call: (one: Case) => Promise<{ status: number; headers: Headers }>, cases: Case[]) {
  const ids = new Set<string>();
  for (const one of cases) {
    const answer = await call(one);
    const id = answer.headers.get("x-request-id");
    expect([...one.slice(0, 3), id]).toEqual([answer.status, one[1], one[2], expect.stringMatching(UUID_V7)]);
    ids.add(id ?? "");
  }
  expect(ids.size).toBe(cases.length);
}

test("every answer of the API carries a request id of its own, whatever came of the request", async () => {
  await using pombo = await startInstance({
    configure: (config) => void (config.rateLimits = { ...NO_RATE_LIMITS, failedAuthPerMinute: 3 }),
  });
  const launch = await pombo.newWorkspace("launch");
  await pombo.addDomain(launch, "launch.test");
  const body = pombo.email();
  const headers = { "Idempotency-Key": "one" };
  const large = { domain: "x".repeat(70_000) };
  const over = { emails: Array.from({ length: 50 }, () => pombo.email({ from: "a@launch.test" })) };
  const batch = { key: launch.key, body: over };
  await expectIds(
    ([, method, path, options]) => pombo.workspace.call(method, path, options),
    [
      [200, "GET", "/health"],
      [200, "GET", "/ready"],
      [200, "GET", "/api/v1/openapi.json"],
      [200, "GET", EMAILS],
      [200, "GET", DOMAINS],
      [202, "POST", EMAILS, { body, headers }],
      [202, "POST", EMAILS, { body, headers }],
      [202, "POST", EMAILS, { body: pombo.email({ subject: "other" }), headers }],
      [201, "POST", DOMAINS, { body: { domain: "x.test" } }],
      [400, "POST", EMAILS, { rawBody: "{" }],
      [401, "GET", EMAILS, { key: null }],
      [401, "GET", EMAILS, { key: "x" }],
      [401, "POST", EMAILS, { key: "x", body }],
      [429, "GET", EMAILS, { key: "x" }],
      [202, "POST", `${EMAILS}/batch`, batch],
      [202, "POST", `${EMAILS}/batch`, batch],
      [402, "POST", `${EMAILS}/batch`, batch],
      [403, "GET", EMAILS, { key: pombo.operator.key }],
      [404, "GET", `${EMAILS}/${UNKNOWN_ID}`],
      [404, "GET", "/api/v1/nothing"],
      [404, "GET", "/nothing"],
      [404, "GET", "/sandbox"],
      [405, "PUT", EMAILS, { body }],
      [405, "OPTIONS", EMAILS],
      [405, "DELETE", "/health"],
      [409, "POST", DOMAINS, { body: { domain: "x.test" } }],
      [413, "POST", DOMAINS, { body: large }],
      [415, "POST", EMAILS, { rawBody: "x", headers: { "content-type": "text/plain" } }],
      [422, "POST", EMAILS, { body: {} }],
      [422, "GET", `${EMAILS}/x`],
    ],
  );
});

test("answers while the database is in trouble, or pombo is wrong, carry one too", async () => {
  await using pombo = await startInstance();
  const { sqlite } = pombo.app.db;
  sqlite.run("PRAGMA query_only = ON");
  await expectIds(
    ([, method, path, options]) => pombo.workspace.call(method, path, options),
    [
      [503, "POST", EMAILS, { body: pombo.email() }],
      [503, "POST", DOMAINS, { body: { domain: "x.test" } }],
      [503, "GET", "/ready"],
    ],
  );
  sqlite.run("PRAGMA query_only = OFF");
});

test("the log's line about a fault of our own has the id of the answer", async () => {
  await using pombo = await startInstance();
  const { sqlite } = pombo.app.db;
  sqlite.run("ALTER TABLE email RENAME TO elsewhere");
  const first = await pombo.workspace.call("GET", `${EMAILS}/${UNKNOWN_ID}`);
  const second = await pombo.workspace.call("POST", EMAILS, { body: pombo.email() });
  sqlite.run("ALTER TABLE elsewhere RENAME TO email");
  expect([first.status, second.status]).toEqual([500, 500]);
  const ids = [first, second].map(({ headers }) => headers.get("x-request-id"));
  expect(pombo.bugs).toMatchObject(ids.map((requestId) => ({ where: "http", requestId })));
  expect(first.body.errors[0].hint).toContain("X-Request-Id");
});

test("an id that a client sends is not taken over", async () => {
  await using pombo = await startInstance();
  const mine = "0198a5a0-0000-7000-8000-00000000abcd";
  const { headers } = await pombo.workspace.call("GET", EMAILS, { headers: { "X-Request-Id": mine } });
  expect(headers.get("x-request-id")).not.toBe(mine);
  const old = await exchange(pombo.app.url, `GET ${EMAILS} HTTP/1.0\r\n\r\n`);
  expect([old.status, old.headers.get("x-request-id")]).toEqual([401, expect.stringMatching(UUID_V7)]);
  expect((await pombo.workspace.call("HEAD", EMAILS)).headers.get("x-request-id")).toMatch(UUID_V7);
});

test("the sandbox's pages and messages carry one as well", async () => {
  const inbox = openInbox(":memory:");
  const id = inbox.add(received());
  await using pombo = await startInstance({ beside: sandboxRoutes(inbox) });
  const call = ([, method, path, options]: Case) =>
    fetch(pombo.app.url + path, { method, redirect: "manual", ...(options?.headers && { headers: options.headers }) });
  await expectIds(call, [
    [302, "GET", "/"],
    [200, "GET", "/sandbox"],
    [200, "GET", "/sandbox/messages"],
    [422, "GET", "/sandbox/messages?limit=x"],
    [200, "GET", `/sandbox/messages/${id}`],
    [404, "GET", `/sandbox/messages/${id}/html`],
    [200, "GET", `/sandbox/messages/${id}/raw`],
    [404, "GET", "/sandbox/messages/77"],
    [405, "POST", "/sandbox/messages"],
    [403, "DELETE", "/sandbox/messages", { headers: { origin: "https://evil.example" } }],
    [200, "DELETE", "/sandbox/messages"],
  ]);
});
