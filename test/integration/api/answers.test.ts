import { expect, test } from "bun:test";
import { openInbox } from "../../../src/sandbox/mx/inbox.ts";
import { sandboxRoutes } from "../../../src/sandbox/web/routes.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { exchange, expectErrors, head, UUID_V7 } from "../../support/api/kit.ts";

// What every answer of the API has in common, and what requests that are odd as HTTP hear.

const EMAILS = "/api/v1/emails";

test("no answer of the API is kept by what stands in between", async () => {
  await using pombo = await startInstance();
  const { call } = pombo.workspace;
  const answers = [
    await call("GET", EMAILS),
    await call("POST", EMAILS, { body: pombo.email() }),
    await call("POST", "/api/v1/auth/keys", { body: { name: "one" } }),
    await call("GET", EMAILS, { key: null }),
    await call("GET", "/api/v1/nothing"),
    await call("POST", EMAILS, { rawBody: "{" }),
    await call("PUT", EMAILS),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 202, 201, 401, 404, 400, 405]);
  for (const { headers } of answers) expect(headers.get("cache-control")).toBe("no-store");
});

test("a body that is compressed is 415, by any coding but identity", async () => {
  await using pombo = await startInstance();
  const send = (encoding: string, rawBody: string | Uint8Array) =>
    pombo.workspace.call("POST", EMAILS, { rawBody, headers: { "content-encoding": encoding } });
  const body = JSON.stringify(pombo.email());
  for (const encoding of ["gzip", "br", "GZIP", "identity, gzip", "aws-chunked"]) {
    const answer = await send(encoding, Bun.gzipSync(body));
    expectErrors(answer, 415, [{ code: "UNSUPPORTED_MEDIA_TYPE", message: "must not be compressed" }]);
  }
  expect((await send("identity", body)).status).toBe(202);
});

test("headers that are too large are 431 in the API's form", async () => {
  await using pombo = await startInstance();
  const { key } = pombo.workspace;
  const send = (bytes: number) =>
    exchange(pombo.app.url, head(`GET ${EMAILS}`, { "X-API-Key": key, Cookie: "c".repeat(bytes) }));
  expect((await send(15_000)).status).toBe(200);
  for (const bytes of [17_000, 100_000, 200_000])
    expectErrors(await send(bytes), 431, [{ code: "HEADERS_TOO_LARGE", message: "larger than 16 KiB" }]);
});

// The runtime's parser ends these before there is a request: neither `fetch` nor `error` of Bun.serve is called, and
// no option of it gives them a body. When a later runtime asks us, this test says so.
test.each([
  ["no HTTP at all", "nonsense\r\n\r\n", 400],
  ["no host", `GET ${EMAILS} HTTP/1.1\r\n\r\n`, 400],
  ["a header without a colon", `GET ${EMAILS} HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n`, 400],
  ["a length that is no number", `POST ${EMAILS} HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n`, 400],
  ["a version that nobody speaks", `GET ${EMAILS} HTTP/2.5\r\nHost: x\r\n\r\n`, 505],
  ["300 headers", `GET ${EMAILS} HTTP/1.1\r\nHost: x\r\n${"X-A: b\r\n".repeat(300)}\r\n`, 431],
])(
  "what is malformed as HTTP is refused bare by the runtime, and the connection ends: %s",
  async (_, bytes, status) => {
    await using pombo = await startInstance();
    const answer = await exchange(pombo.app.url, bytes);
    expect([answer.status, answer.text, answer.headers.get("connection")]).toEqual([status, "", "close"]);
  },
);

test("a malformed host is no bug, at the API and at the sandbox", async () => {
  await using pombo = await startInstance({ beside: sandboxRoutes(openInbox(":memory:")) });
  const { key } = pombo.workspace;
  for (const Host of ["a b<>", "[::1", "x:y:z", "%", "a/b", "", "x".repeat(500), "é", "[::1]:99999999"]) {
    for (const path of ["/sandbox", "/sandbox/messages", EMAILS, "/nothing"]) {
      const { status } = await exchange(pombo.app.url, head(`GET ${path}`, { Host, "X-API-Key": key }));
      expect([Host, path, status < 500]).toEqual([Host, path, true]);
    }
  }
  expect(pombo.bugs).toEqual([]);
});

test("the ids of a batch sort in the order of the request, as the list shows it", async () => {
  await using pombo = await startInstance();
  const emails = Array.from({ length: 60 }, (_, n) => pombo.email({ subject: `number ${n}` }));
  const accepted = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  const ids: string[] = accepted.body.data.map(({ id }: { id: string }) => id);
  for (const id of ids) expect(id).toMatch(UUID_V7);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(60);
  const { data } = (await pombo.workspace.call("GET", `${EMAILS}?limit=100`)).body;
  expect(data.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
  expect(data[0].subject).toBe("number 59");
  expect(new Set(data.map(({ createdAt }: { createdAt: string }) => createdAt)).size).toBe(1);
});

test.each([
  ["a control character", "a\u0007b"],
  ["an escape", "\u001b[2J"],
  ["a C1 control", "a\u009bb"],
  ["a line break", "a\nb"],
  ["a line separator", "a\u2028b"],
  ["an override of direction", "a\u202egnp.exe"],
  ["an isolate", "a\u2066b"],
])("no name or description holds %s", async (_, text) => {
  await using pombo = await startInstance();
  const keys = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: text } });
  expectErrors(keys, 422, [{ field: "name" }]);
  const hook = { url: "https://example.com/hook", events: ["*"], description: text };
  expectErrors(await pombo.workspace.call("POST", "/api/v1/webhooks", { body: hook }), 422, [{ field: "description" }]);
  const made = await pombo.operator.call("POST", "/api/v1/workspaces", { body: { name: text } });
  expectErrors(made, 422, [{ field: "name" }]);
  const id = pombo.workspace.id;
  const block = await pombo.operator.call("POST", `/api/v1/operator/workspaces/${id}/block`, {
    body: { reason: text },
  });
  expectErrors(block, 422, [{ field: "reason" }]);
});
