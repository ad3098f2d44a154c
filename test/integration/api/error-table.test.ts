// The table of errors: for each status every route that it applies to, with code, headers and form. The
// routes come from the document, what is special about one from error-rows.ts.

import { expect, test } from "bun:test";
import { NO_RATE_LIMITS } from "../../../src/config/config.ts";
import type { Answer, RequestOptions } from "../../support/fakes/instance.ts";
import { type Route, ROWS, routesOf } from "./error-rows.ts";
import { type Scene, startScene } from "./error-scene.ts";
import { errorItems, UNKNOWN_ID } from "../../support/api/kit.ts";

const QUOTA_CODES = ["DAILY_QUOTA_EXCEEDED", "MONTHLY_QUOTA_EXCEEDED"];
const LIMIT_CODES = [...QUOTA_CODES, "PLAN_UPGRADE_REQUIRED", "INSUFFICIENT_SMS_CREDITS", "PLAN_LIMIT_REACHED"];
const WRONG_KEY = `svc_${"A".repeat(43)}`;
/** Beyond every limit, as the test of 413 sets them. */
const TOO_LARGE = 300_000;

const isKeyed = (route: Route) => route.caller !== "nobody";
const documents = (status: number) => (route: Route) => route.statuses.includes(status);

/** The key that the route is for. */
function keyFor(route: Route, scene: Scene): string | null {
  if (route.caller === "nobody") return null;
  return route.caller === "operator" ? scene.pombo.operator.key : scene.owner.key;
}

interface Changes extends RequestOptions {
  path?: string;
}

/** The route's own request, which would succeed, with these changes. */
async function ask(route: Route, scene: Scene, changes: Changes = {}): Promise<Answer> {
  const { path = route.path?.(scene) ?? route.documented, ...options } = changes;
  const body = "body" in options || "rawBody" in options ? undefined : route.body?.(scene);
  return scene.owner.call(route.method, path, {
    key: keyFor(route, scene),
    ...(body === undefined ? {} : { body }),
    ...options,
  });
}

interface Expected {
  code: string;
  field?: string;
  message?: string;
}

/** An error with one item, and with the headers that belong to its status and no others. */
function expectError(route: Route, answer: Answer, status: number, expected: Expected): void {
  expect([route.name, answer.status, answer.text]).toEqual([route.name, status, expect.any(String)]);
  const items = errorItems(answer);
  expect([route.name, items]).toMatchObject([route.name, [{ code: expected.code }]]);
  if (expected.field !== undefined) expect([route.name, items[0]?.field]).toEqual([route.name, expected.field]);
  if (expected.message !== undefined) expect(items[0]?.message).toContain(expected.message);
  const { headers } = answer;
  const mayWait = status === 429 || status === 503 || QUOTA_CODES.includes(expected.code);
  const seen = ["www-authenticate", "allow", "retry-after"].map((name) => headers.get(name));
  expect([route.name, ...seen]).toEqual([
    route.name,
    status === 401 ? 'ApiKey realm="pombo", header="X-API-Key", Bearer realm="pombo"' : null,
    status === 405 ? expect.any(String) : null,
    mayWait ? expect.stringMatching(/^[1-9]\d*$/) : null,
  ]);
}

async function expectOnEvery(
  scene: Scene,
  applies: (route: Route) => boolean,
  check: (route: Route) => Promise<void>,
): Promise<void> {
  const routes = (await routesOf(scene.pombo)).filter((route) => !route.isForPeople && applies(route));
  expect(routes.length).toBeGreaterThan(0);
  for (const route of routes) await check(route);
  expect(scene.pombo.bugs).toEqual([]);
}

test("every route of the document has a row, and the other way round", async () => {
  await using scene = await startScene();
  const routes = (await routesOf(scene.pombo)).filter((route) => !route.isForPeople);
  expect(routes.map(({ name }) => name).toSorted()).toEqual(Object.keys(ROWS).toSorted());
  // What the row says of its request is true: it succeeds. What takes things away goes last.
  for (const route of routes.toSorted((one, other) => turnOf(one) - turnOf(other))) {
    // A stream does not end: test/integration/people/watched-email.test.ts reads it.
    if (route.name.endsWith("/live")) continue;
    const { status, text } = await ask(route, scene);
    await scene.pombo.app.worker.idle();
    expect([route.name, status < 300, route.statuses.includes(status), text]).toEqual([route.name, true, true, text]);
  }
});

function turnOf({ name, method }: Route): number {
  if (name === "POST /api/v1/operator/key/rotate") return 5;
  if (name === "DELETE /api/v1/operator/workspaces/{id}") return 4;
  if (name === "DELETE /api/v1/domains/{id}") return 3;
  return method === "DELETE" || name.endsWith("/queue/drop") ? 2 : Number(name.endsWith("/cancel"));
}

test("every route documents the errors that its kind has", async () => {
  await using scene = await startScene();
  await expectOnEvery(scene, isKeyed, async (route) => {
    const expected = [
      ...[401, 403, 429, 500],
      ...(route.hasBody ? [400, 408, 413, 415, 422, 503] : []),
      ...(route.documented.includes("{id}") ? [404, 422] : []),
      ...(route.hasQuery ? [422] : []),
      ...(route.method === "GET" || route.isRead === true ? [] : [503]),
      ...(route.conflict === undefined ? [] : [409]),
      ...(route.missing === undefined ? [] : [404]),
    ];
    expect([route.name, expected.filter((status) => !route.statuses.includes(status))]).toEqual([route.name, []]);
  });
});

test("400: what is no JSON object", async () => {
  await using scene = await startScene();
  await expectOnEvery(scene, documents(400), async (route) => {
    for (const rawBody of ["{", "[]", "null", '"x"', '{"a": 1,}', "\ufeff{}x"])
      expectError(route, await ask(route, scene, { rawBody }), 400, { code: "INVALID_JSON" });
    if (!route.hasBody) return;
    const none = await ask(route, scene, { rawBody: "", headers: { "content-type": "application/json" } });
    expectError(route, none, 400, { code: "INVALID_JSON" });
  });
});

test("401: no key, and a key that is none", async () => {
  await using scene = await startScene();
  await expectOnEvery(scene, isKeyed, async (route) => {
    for (const key of [null, "", "  "])
      expectError(route, await ask(route, scene, { key }), 401, { code: "MISSING_API_KEY" });
    for (const key of ["x", WRONG_KEY, `${scene.owner.key}x`])
      expectError(route, await ask(route, scene, { key }), 401, { code: "INVALID_API_KEY" });
  });
});

test("402: the plan's limits and quotas are reached", async () => {
  await using scene = await startScene();
  const plan = scene.pombo.config.plans["scale"];
  if (plan !== undefined)
    Object.assign(plan, { emailsPerDay: 0, domains: 0, apiKeys: 0, webhooks: 0, members: 0, sms: false });
  await expectOnEvery(scene, documents(402), async (route) => {
    const answer = await ask(route, scene);
    const code = errorItems(answer)[0]?.code ?? "";
    expect([route.name, LIMIT_CODES.includes(code)]).toEqual([route.name, true]);
    expectError(route, answer, 402, { code });
  });
});

test("403: a key that is not for this route", async () => {
  await using scene = await startScene();
  const { pombo, owner, domainKey } = scene;
  await expectOnEvery(scene, isKeyed, async (route) => {
    const others: [key: string, isOthers: boolean][] = [
      [pombo.operator.key, route.caller !== "operator"],
      [owner.key, route.caller === "operator"],
      [domainKey, route.isForDomainKeys !== true],
    ];
    for (const [key, isOthers] of others) {
      if (isOthers) expectError(route, await ask(route, scene, { key }), 403, { code: "API_KEY_RESTRICTED" });
    }
    // It is what the key is, not what the request says.
    if (route.isForDomainKeys !== true && route.hasBody)
      expectError(route, await ask(route, scene, { key: domainKey, rawBody: "{" }), 403, {
        code: "API_KEY_RESTRICTED",
      });
  });
});

test("404: what is not there, and what is another workspace's", async () => {
  await using scene = await startScene();
  const { key } = await scene.pombo.newWorkspace();
  await expectOnEvery(scene, documents(404), async (route) => {
    if (route.missing === "never") return;
    const changes = route.missing?.(scene) ?? {
      path: route.documented.replace("{n}", "0").replaceAll(/\{\w+\}/g, UNKNOWN_ID),
    };
    expectError(route, await ask(route, scene, changes), 404, { code: "NOT_FOUND" });
    if (route.path !== undefined && route.caller === undefined)
      expectError(route, await ask(route, scene, { key }), 404, { code: "NOT_FOUND" });
  });
});

test("404: no such route, under every path of the document", async () => {
  await using scene = await startScene();
  await expectOnEvery(
    scene,
    () => true,
    async (route) => {
      for (const path of [`/x${route.documented}`, `${route.path?.(scene) ?? route.documented}/x/y`])
        expectError(route, await ask(route, scene, { path, key: keyUnder(route, scene) }), 404, { code: "NOT_FOUND" });
    },
  );
});

/** Under the operator's paths every other key is refused before anything is looked for. */
function keyUnder({ documented }: Route, { owner, pombo }: Scene): string {
  return documented.startsWith("/api/v1/operator/") ? pombo.operator.key : owner.key;
}

test("405: every other method of every path, with those that it knows", async () => {
  await using scene = await startScene();
  const routes = await routesOf(scene.pombo);
  const matches = (route: Route, path: string) =>
    new RegExp(`^${route.documented.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);
  await expectOnEvery(
    scene,
    () => true,
    async (route) => {
      const path = route.path?.(scene) ?? route.documented;
      // A path that is written out is no id of another.
      const written = routes.filter(({ documented }) => documented === path);
      const found = written.length > 0 ? written : routes.filter((other) => matches(other, path));
      const named = found.map(({ method }) => method);
      // What can be read can be asked for without its body.
      const known = named.includes("GET") ? [...named, "HEAD"] : named;
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        if (known.includes(method)) continue;
        const answer = await scene.owner.call(method, path, { key: keyFor(route, scene) });
        expectError(route, answer, 405, { code: "METHOD_NOT_ALLOWED", message: method });
        expect([route.name, answer.headers.get("allow")?.split(", ").toSorted()]).toEqual([
          route.name,
          [...new Set(known)].toSorted(),
        ]);
      }
    },
  );
});

test("409: the state of things does not allow it", async () => {
  await using scene = await startScene();
  await expectOnEvery(scene, documents(409), async (route) => {
    const { code, ...changes } = route.conflict?.(scene) ?? { code: "a conflict in error-rows.ts" };
    expectError(route, await ask(route, scene, changes), 409, { code });
  });
});

test("413: a body over the limit, announced or not", async () => {
  await using scene = await startScene({
    configure: (config) => void Object.assign(config.http, { maxBodyBytes: 100_000, maxBatchBodyBytes: 200_000 }),
  });
  const large = JSON.stringify({ x: "x".repeat(TOO_LARGE) });
  await expectOnEvery(scene, documents(413), async (route) => {
    for (const rawBody of [large, new Blob([large]).stream()])
      expectError(route, await ask(route, scene, { rawBody }), 413, { code: "PAYLOAD_TOO_LARGE" });
  });
});

test("415: a body that is not JSON by its type", async () => {
  await using scene = await startScene();
  await expectOnEvery(scene, documents(415), async (route) => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json"]) {
      const answer = await ask(route, scene, { rawBody: "{}", headers: { "content-type": type } });
      expectError(route, answer, 415, { code: "UNSUPPORTED_MEDIA_TYPE", message: type });
    }
  });
});

test("422: unknown members, unknown parameters, ids that are none", async () => {
  await using scene = await startScene();
  await expectOnEvery(scene, documents(422), async (route) => {
    let checks = 0;
    const refuses = async (changes: Changes, field: string) => {
      checks += 1;
      expectError(route, await ask(route, scene, changes), 422, { code: "VALIDATION_ERROR", field });
    };
    if (route.hasBody) await refuses({ body: { ...(route.body?.(scene) as object), unknown: 1 } }, "unknown");
    // One without parameters refuses them too.
    if (route.hasQuery || (route.method === "GET" && !route.documented.includes("{")))
      await refuses({ path: `${route.path?.(scene) ?? route.documented}?unknown=1` }, "unknown");
    if (route.documented.includes("{id}"))
      await refuses(
        { path: route.documented.replace("{id}", "x").replace("{deliveryId}", UNKNOWN_ID).replace("{n}", "0") },
        "id",
      );
    if (route.documented.endsWith("/recipients/{address}"))
      await refuses({ path: route.documented.replace("{address}", "x") }, "address");
    expect([route.name, checks]).not.toEqual([route.name, 0]);
  });
});

test("429: too many requests, and too many without a valid key", async () => {
  await using scene = await startScene();
  const { pombo, owner } = scene;
  const one = {
    sendsPerSecond: 1,
    sendsBurst: 1,
    writesPerSecond: 1,
    writesBurst: 1,
    readsPerSecond: 1,
    readsBurst: 1,
  };
  pombo.config.rateLimits = { ...NO_RATE_LIMITS, ...one, failedAuthPerMinute: 1 };
  await pombo.restart();
  await expectOnEvery(scene, isKeyed, async (route) => {
    // Before the body is looked at.
    const broken = route.method === "GET" ? {} : { rawBody: "{" };
    for (const key of [WRONG_KEY, null, ...(route.caller === "operator" ? [] : [owner.key])]) {
      let answer = await ask(route, scene, { key, ...broken });
      // Whoever is the first has still got one.
      for (let time = 0; time < 3 && answer.status !== 429; time++)
        answer = await ask(route, scene, { key, ...broken });
      expectError(route, answer, 429, { code: "RATE_LIMITED", message: "Too many" });
      expect(answer.headers.get("ratelimit")).toEndWith(`;r=0;t=${answer.headers.get("retry-after")}`);
      expect(answer.headers.get("ratelimit-policy")).toMatch(/^"[a-z-]+";q=1;w=(1|60)$/);
    }
  });
});

test("503: nothing can be stored, and nothing is", async () => {
  await using scene = await startScene();
  const { sqlite } = scene.pombo.app.db;
  const tables = [
    "workspace",
    "domain",
    "api_key",
    "email",
    "email_queue",
    "idempotency",
    "suppression",
    "sms_message",
    "sms_credit",
  ];
  const contents = () => JSON.stringify(tables.map((table) => sqlite.query(`SELECT * FROM ${table}`).all()));
  const before = contents();
  sqlite.run("PRAGMA query_only = ON");
  const isWrite = (route: Route) => isKeyed(route) && route.isRead !== true && route.statuses.includes(503);
  await expectOnEvery(scene, isWrite, async (route) => {
    expectError(route, await ask(route, scene), 503, { code: "UNAVAILABLE" });
  });
  expect(contents()).toBe(before);
  sqlite.run("PRAGMA query_only = OFF");
});
