import { expect, test } from "bun:test";
import { type Config, NO_RATE_LIMITS } from "../../../src/config/config.ts";
import { type Answer, type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, exchange, expectErrors, head, startHeld, totalOf, UNKNOWN_ID } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const NOON = Date.UTC(2026, 10, 21, 12);

/** Small numbers, so that few requests reach them; what a test does not name has no limit. */
const withRates = (rates: Partial<Config["rateLimits"]>) => ({
  configure: (config: Config) => void (config.rateLimits = { ...NO_RATE_LIMITS, ...rates }),
});

const fieldsOf = ({ headers }: Answer) => [headers.get("ratelimit-policy"), headers.get("ratelimit")];

function expectLimited(answer: Answer, retryAfterS: number): void {
  expectErrors(answer, 429, [{ code: "RATE_LIMITED", message: /^Too many / }]);
  expect(answer.headers.get("retry-after")).toBe(String(retryAfterS));
  expect(answer.headers.get("ratelimit")).toEndWith(`;r=0;t=${retryAfterS}`);
  expect(errorItems(answer)[0]?.hint).toContain("Retry-After");
}

test("a workspace's sends, single and batch and replays, share a bucket; what is left is on every answer", async () => {
  await using held = await startHeld(NOON, withRates({ sendsPerSecond: 2, sendsBurst: 5 }));
  const { pombo, clock } = held;
  const policy = '"sends";q=5;w=3';
  const send = (headers = {}) => pombo.workspace.call("POST", EMAILS, { body: pombo.email(), headers });
  const key = { "Idempotency-Key": "one" };
  const first = await send(key);
  expect([first.status, ...fieldsOf(first)]).toEqual([202, policy, '"sends";r=4;t=1']);
  const replay = await send(key);
  expect([replay.text, replay.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
  expect(fieldsOf(replay)).toEqual([policy, '"sends";r=3;t=1']);
  const batch = await pombo.workspace.call("POST", `${EMAILS}/batch`, {
    body: { emails: Array.from({ length: 10 }, () => pombo.email()) },
  });
  expect([batch.status, ...fieldsOf(batch)]).toEqual([202, policy, '"sends";r=2;t=1']);
  const invalid = await pombo.workspace.call("POST", `${EMAILS}/`, { body: {} });
  expect([invalid.status, ...fieldsOf(invalid)]).toEqual([422, policy, '"sends";r=1;t=1']);
  const broken = await pombo.workspace.call("POST", EMAILS, { rawBody: "{" });
  expect([broken.status, ...fieldsOf(broken)]).toEqual([400, policy, '"sends";r=0;t=1']);

  expectLimited(await send(), 1);
  expectLimited(await send(key), 1);
  expect(await totalOf(pombo.workspace)).toBe(11);
  clock.advance(499);
  expectLimited(await send(), 1);
  clock.advance(1);
  expect((await send()).status).toBe(202);
  expectLimited(await send(), 1);
  await held.advance(3_000);
  expect(fieldsOf(await send())).toEqual([policy, '"sends";r=4;t=1']);
});

test("other changes and reads have buckets of their own", async () => {
  await using held = await startHeld(
    NOON,
    withRates({ writesPerSecond: 1, writesBurst: 4, readsPerSecond: 1, readsBurst: 3 }),
  );
  const { pombo, clock } = held;
  clock.advance(60_000);
  const call = (method: string, path: string, body?: unknown) =>
    pombo.workspace.call(method, path, body === undefined ? {} : { body });
  const writes: [method: string, path: string, body?: unknown][] = [
    ["POST", "/api/v1/auth/keys", { name: "x" }],
    ["DELETE", `/api/v1/domains/${UNKNOWN_ID}`],
    ["PATCH", `/api/v1/domains/${UNKNOWN_ID}`],
    ["PUT", EMAILS],
  ];
  for (const [index, [method, path, body]] of writes.entries()) {
    const answer = await call(method, path, body);
    expect([method, ...fieldsOf(answer)]).toEqual([method, '"writes";q=4;w=4', `"writes";r=${3 - index};t=1`]);
  }
  for (const [method, path, body] of writes) expectLimited(await call(method, path, body), 1);
  expectLimited(await call("POST", `${EMAILS}/${UNKNOWN_ID}/cancel`), 1);

  for (const [index, path] of [EMAILS, `${EMAILS}/${UNKNOWN_ID}`, "/api/v1/nothing"].entries())
    expect(fieldsOf(await call("GET", path))).toEqual(['"reads";q=3;w=3', `"reads";r=${2 - index};t=1`]);
  expectLimited(await call("GET", "/api/v1/domains"), 1);
  // Sends have no limit here.
  const sent = await call("POST", EMAILS, pombo.email());
  expect([sent.status, ...fieldsOf(sent)]).toEqual([202, null, null]);
});

test("all keys of a workspace share its buckets, and another workspace has its own", async () => {
  await using held = await startHeld(NOON, withRates({ readsPerSecond: 1, readsBurst: 2 }));
  const { pombo, clock } = held;
  clock.advance(60_000);
  const domains = await pombo.workspace.call("GET", "/api/v1/domains");
  const { key } = (
    await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "x", domainId: domains.body.data[0].id } })
  ).body.data;
  const other = await pombo.newWorkspace();
  const read = (client: Client, options = {}) => client.call("GET", EMAILS, options);
  expect((await read(pombo.workspace, { key })).status).toBe(200);
  expectLimited(await read(pombo.workspace), 1);
  expectLimited(await read(pombo.workspace, { key }), 1);
  expect((await read(other)).status).toBe(200);
});

test("the operator key is not limited, nor what needs no key", async () => {
  await using held = await startHeld(
    NOON,
    withRates({ writesPerSecond: 1, writesBurst: 2, readsPerSecond: 1, readsBurst: 1 }),
  );
  const { pombo } = held;
  for (let time = 0; time < 10; time++) {
    const made = await pombo.operator.call("POST", "/api/v1/workspaces", { body: { name: "x" } });
    expect([made.status, ...fieldsOf(made)]).toEqual([201, null, null]);
    for (const path of ["/health", "/api/v1/openapi.json"]) {
      const answer = await pombo.workspace.call("GET", path);
      expect([answer.status, ...fieldsOf(answer)]).toEqual([200, null, null]);
    }
  }
});

test("a request over the limit is answered before its body is read", async () => {
  await using held = await startHeld(NOON, withRates({ sendsPerSecond: 1, sendsBurst: 1 }));
  const { pombo } = held;
  expect((await pombo.workspace.call("POST", EMAILS, { body: pombo.email() })).status).toBe(202);
  const headers = { "X-API-Key": pombo.workspace.key, "Content-Type": "application/json", "Content-Length": 1_000_000 };
  // The answer comes although not a byte of the body does.
  expectLimited(await exchange(pombo.app.url, head(`POST ${EMAILS}`, headers)), 1);
});

/** Requests without a valid key. */
const tryKeys = (pombo: Instance, key: string | null, headers = {}) =>
  pombo.workspace.call("GET", EMAILS, { key, headers });
const WRONG = `svc_${"A".repeat(43)}`;

test("of requests without a valid key ten a minute are answered as such, and a valid key always passes", async () => {
  await using held = await startHeld(NOON, withRates({ failedAuthPerMinute: 10 }));
  const { pombo, clock } = held;
  for (let left = 9; left >= 0; left--) {
    const answer = await tryKeys(pombo, left % 2 === 0 ? null : WRONG);
    expect([answer.status, ...fieldsOf(answer)]).toEqual([
      401,
      '"failed-keys";q=10;w=60',
      `"failed-keys";r=${left};t=6`,
    ]);
  }
  for (const key of [null, "", "x", WRONG, pombo.workspace.key.slice(0, -1)])
    expectLimited(await tryKeys(pombo, key), 6);
  expect((await pombo.workspace.call("GET", EMAILS)).status).toBe(200);
  expect((await pombo.operator.call("POST", "/api/v1/workspaces", { body: { name: "x" } })).status).toBe(201);
  // The operator's key in the wrong place is a valid key.
  expect((await pombo.operator.call("GET", EMAILS)).status).toBe(403);
  clock.advance(5_000);
  expectLimited(await tryKeys(pombo, WRONG), 1);
  clock.advance(1_000);
  expect((await tryKeys(pombo, WRONG)).status).toBe(401);
  expectLimited(await tryKeys(pombo, WRONG), 6);
});

test("behind a trusted proxy failures count for the client that it names, and IPv6 for its /64", async () => {
  await using held = await startHeld(NOON, {
    configure(config) {
      config.rateLimits = { ...NO_RATE_LIMITS, failedAuthPerMinute: 2 };
      config.http.trustedProxies = ["127.0.0.0/8"];
    },
  });
  const { pombo } = held;
  const from = async (address: string) => (await tryKeys(pombo, WRONG, { "x-forwarded-for": address })).status;
  expect([await from("192.0.2.1"), await from("198.51.100.9, 192.0.2.1"), await from("192.0.2.1")]).toEqual([
    401, 401, 429,
  ]);
  expect([await from("192.0.2.2"), await from("192.0.2.1, 192.0.2.2"), await from("192.0.2.2")]).toEqual([
    401, 401, 429,
  ]);
  expect([await from("2001:db8::1"), await from("2001:db8::ffff:2"), await from("2001:db8::3")]).toEqual([
    401, 401, 429,
  ]);
  expect(await from("2001:db8:0:1::1")).toBe(401);
  // Its own requests, and what it cannot name.
  expect([await from("unknown"), await from(""), await from("x")]).toEqual([401, 401, 429]);
});

test("X-Forwarded-For of a stranger is not read", async () => {
  await using held = await startHeld(NOON, withRates({ failedAuthPerMinute: 2 }));
  const statuses = [];
  for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    statuses.push((await tryKeys(held.pombo, WRONG, { "x-forwarded-for": address })).status);
  expect(statuses).toEqual([401, 401, 429]);
});

test("whatever host a request names, its address is known", async () => {
  await using held = await startHeld(NOON, withRates({ failedAuthPerMinute: 2 }));
  const statuses = [];
  for (const host of ["a", "api", "mail.pombo.test"])
    statuses.push((await exchange(held.pombo.app.url, head(`GET ${EMAILS}`, { Host: host }))).status);
  expect(statuses).toEqual([401, 401, 429]);
});

test("with 0 everywhere nothing is limited and no field is sent", async () => {
  await using pombo = await startInstance();
  for (let time = 0; time < 30; time++) {
    const answer = await tryKeys(pombo, WRONG);
    expect([answer.status, ...fieldsOf(answer)]).toEqual([401, null, null]);
  }
});
