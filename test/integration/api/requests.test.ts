import { expect, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, exchange, expectErrors, head, totalOf, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";

// Requests that are legal and unusual, and requests that no client of ours would make.

const EMAILS = "/api/v1/emails";

function keyOf(pombo: Instance) {
  return { "X-API-Key": pombo.workspace.key };
}

test("a HEAD is answered as the GET of its path, without the body, and needs the same key", async () => {
  await using pombo = await startInstance();
  const sent = await pombo.workspace.call("POST", EMAILS, { body: pombo.email() });
  const paths = [
    ...[EMAILS, `${EMAILS}?limit=1&include=status`, `${EMAILS}/`, `${EMAILS}?page=0`, `${EMAILS}?nonsense=1`],
    ...[`${EMAILS}/${sent.body.data.id}`, `${EMAILS}/${UNKNOWN_ID}`, `${EMAILS}/x`, `${EMAILS}/batch`],
    ...["/api/v1/domains", "/api/v1/openapi.json", "/health", "/ready", "/nothing", "/api/v1/auth/keys"],
  ];
  // Until nothing changes any more that an answer could tell.
  await pombo.app.worker.idle();
  for (const path of paths) {
    for (const key of [pombo.workspace.key, null]) {
      const [get, only] = [
        await pombo.workspace.call("GET", path, { key }),
        await pombo.workspace.call("HEAD", path, { key }),
      ];
      expect([path, only.status, only.text]).toEqual([path, get.status, ""]);
      for (const name of ["content-type", "content-length", "allow", "www-authenticate"])
        expect([path, name, only.headers.get(name)]).toEqual([path, name, get.headers.get(name)]);
      expect(only.headers.get("x-request-id")).toMatch(UUID_V7);
    }
  }
  expect(await totalOf(pombo.workspace)).toBe(1);
});

test("a HEAD of what only takes a POST does nothing and is 405", async () => {
  await using pombo = await startInstance();
  for (const path of ["/api/v1/emails/batch", "/api/v1/workspaces", `/api/v1/emails/${UNKNOWN_ID}/cancel`]) {
    const caller = path.endsWith("workspaces") ? pombo.operator : pombo.workspace;
    const answer = await caller.call("HEAD", path);
    expect([path, answer.status, answer.headers.get("allow")]).toEqual([path, 405, "POST"]);
  }
});

test("what a path written out does not know is 405 and is not taken for an id", async () => {
  await using pombo = await startInstance();
  for (const path of ["/api/v1/emails/batch", "/api/v1/emails/batch/", "/api/v1/emails/batch?x=1"]) {
    const answer = await pombo.workspace.call("GET", path);
    expectErrors(answer, 405, [{ code: "METHOD_NOT_ALLOWED", message: "GET is not a method of this path" }]);
    expect(answer.headers.get("allow")).toBe("POST");
  }
  // The key comes first, as everywhere.
  expectErrors(await pombo.workspace.call("GET", "/api/v1/emails/batch", { key: null }), 401, [
    { code: "MISSING_API_KEY" },
  ]);
});

test("paths and queries that mean nothing are told so and never are a fault of ours", async () => {
  await using pombo = await startInstance();
  const x = (length: number) => "x".repeat(length);
  const cases: [path: string, status: number][] = [
    ...["%zz", "%", "%00", "%ff", "%2f", "%E0%A4%A", "%252e", "é", ";x=1", x(5_000), "{id}", "null", "-1"].map(
      (id): [string, number] => [`${EMAILS}/${id}`, 422],
    ),
    ...["page=%zz", "page=%00", "page=", "page", "page=1.5", "page=+1", "page=1e3", "page=0x1", "page[]=1", "=1"].map(
      (query): [string, number] => [`${EMAILS}?${query}`, 422],
    ),
    ...["page=1&page=2", "limit=1&limit=1", "include=status&include=status", "__proto__=1", "constructor=1"].map(
      (query): [string, number] => [`${EMAILS}?${query}`, 422],
    ),
    ...["cursor=a&cursor=b", "cursor=%F0%9F%98%80", "cursor=%00", `cursor=${x(600)}`, "cursor=%ff"].map(
      (query): [string, number] => [`/api/v1/domains?${query}`, 422],
    ),
    ...["", "&&"].map((query): [string, number] => [`${EMAILS}?${query}`, 200]),
    ["/api/v1/../v1/emails", 200],
    ["//api/v1/emails", 404],
    [`${EMAILS}/%2e%2e`, 404],
    ["/%61pi/v1/emails", 404],
    ["/api%2fv1/emails", 404],
    [`/api/v1/${x(5_000)}`, 404],
    [`${EMAILS}/${x(100_000)}`, 422],
    [`${EMAILS}?page=${"1".repeat(20_000)}`, 422],
    // Bun's own answers, without a body: no request of these came to be.
    [`${EMAILS}/${x(300_000)}`, 431],
    [`${EMAILS}/\0`, 505],
    ["*", 400],
  ];
  for (const [path, status] of cases) {
    const answer = await exchange(pombo.app.url, head(`GET ${path}`, keyOf(pombo)));
    expect([path.slice(0, 60), answer.status]).toEqual([path.slice(0, 60), status]);
    if (status === 404 || status === 422) errorItems(answer);
  }
  expect(pombo.bugs).toEqual([]);
});

test("every spelling of a JSON type is one, and what only looks like it is not", async () => {
  await using pombo = await startInstance();
  const body = JSON.stringify(pombo.email());
  const post = (type: string) =>
    exchange(
      pombo.app.url,
      head(`POST ${EMAILS}`, { ...keyOf(pombo), "Content-Type": type, "Content-Length": Buffer.byteLength(body) }) +
        body,
    );
  const accepted = [
    ...['application/json; charset="utf-8"', "application/json ; charset=utf-8", "application/json;"],
    ...["APPLICATION/JSON", 'application/json;a="b;c"', "application/vnd.api+json", "application/problem+json"],
    ...["application/ld+json;profile=x", "application/x.y!z#$&^_+json"],
  ];
  const refused = ["application/json, text/plain", "application/+json", "application/json-seq", "text/json", "*/json"];
  for (const type of accepted) expect([type, (await post(type)).status]).toEqual([type, 202]);
  for (const type of refused) expectErrors(await post(type), 415, [{ code: "UNSUPPORTED_MEDIA_TYPE" }]);
});

test("a method that HTTP knows and no path does is 405 with those that it knows", async () => {
  await using pombo = await startInstance();
  for (const method of ["OPTIONS", "TRACE", "PUT", "PATCH", "PROPFIND"]) {
    const answer = await exchange(pombo.app.url, head(`${method} ${EMAILS}`, keyOf(pombo)));
    expectErrors(answer, 405, [{ code: "METHOD_NOT_ALLOWED" }]);
    expect(answer.headers.get("allow")?.split(", ").toSorted()).toEqual(["GET", "HEAD", "POST"]);
  }
});
