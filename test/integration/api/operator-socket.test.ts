// The operator's routes over the socket in the data directory, without a key; and nothing else over it.
import { existsSync, lstatSync } from "node:fs";
import { expect, test } from "bun:test";
import { getSocketFile } from "../../../src/platform/http/unix-socket.ts";
import { takeLock } from "../../../src/platform/instance-lock.ts";
import { type Answer, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, exchange, head, UUID_V7 } from "../../support/api/kit.ts";

const WORKSPACES = "/api/v1/workspaces";

function ask(
  pombo: Instance,
  line: string,
  options: { headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const { headers = {}, body } = options;
  const sent =
    body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  return exchange(getSocketFile(pombo.directory), head(line, { ...sent, ...headers }), body ?? "");
}

test("a workspace is made over the socket without a key, and its key works over HTTP", async () => {
  await using pombo = await startInstance();
  const socket = lstatSync(getSocketFile(pombo.directory));
  expect([socket.isSocket(), socket.mode & 0o777]).toEqual([true, 0o600]);
  const made = await ask(pombo, `POST ${WORKSPACES}`, { body: '{"name": "Loja", "plan": "starter"}' });
  expect(made.status).toBe(201);
  expect(made.headers.get("x-request-id")).toMatch(UUID_V7);
  const { key } = made.body.data.apiKey;
  expect((await pombo.workspace.call("GET", "/api/v1/emails", { key })).status).toBe(200);
  expect(pombo.bugs).toEqual([]);
});

test("whatever key, host or proxy's header comes along, a request over the socket is the operator's", async () => {
  await using pombo = await startInstance();
  const body = '{"name": "Loja", "plan": "scale"}';
  for (const headers of [
    { "X-API-Key": pombo.workspace.key },
    { "X-API-Key": "nonsense" },
    { Host: "api" },
    { Host: "evil.example:99" },
    { "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "evil.example", "X-Original-URL": "/api/v1/emails" },
  ])
    expect([headers, (await ask(pombo, `POST ${WORKSPACES}`, { headers, body })).status]).toEqual([headers, 201]);
});

test("no other route is there, under no spelling of its path", async () => {
  await using pombo = await startInstance();
  const key = { "X-API-Key": pombo.workspace.key };
  for (const path of [
    "/",
    "/health",
    "/ready",
    "/metrics",
    "/api/v1/openapi.json",
    "/api/v1/emails",
    "/api/v1/domains",
    "/api/v1/workspaces/../emails",
    "/api/v1/workspaces/%2e%2e/emails",
    "/api/v1/operator/../emails",
    "/api/v1/operator/%2e%2e/emails",
    "/api/v1/operator/..%2femails",
    "/api/v1/operator//../emails",
    "//api/v1/emails",
    "http://evil.example/api/v1/emails",
    "http://evil.example/api/v1/operator/../emails",
  ]) {
    for (const method of ["GET", "POST", "DELETE"]) {
      const answer = await ask(pombo, `${method} ${path}`, {
        headers: key,
        ...(method === "POST" ? { body: "{}" } : {}),
      });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
      expect(errorItems(answer)).toMatchObject([{ code: "NOT_FOUND" }]);
    }
  }
  expect(pombo.bugs).toEqual([]);
});

test("what is wrong with a request is told as over HTTP: its method, its JSON, its fields", async () => {
  await using pombo = await startInstance();
  const method = await ask(pombo, `PUT ${WORKSPACES}`, { body: "{}" });
  expect([method.status, method.headers.get("allow")]).toEqual([405, "POST"]);
  expect((await ask(pombo, `POST ${WORKSPACES}`, { body: "{" })).status).toBe(400);
  const fields = await ask(pombo, `POST ${WORKSPACES}`, { body: '{"name": "", "plan": "none", "x": 1}' });
  expect(errorItems(fields).map(({ field }) => field)).toEqual(["x", "name"]);
  // More than [http] max_body_default, which is for the network: a command sends lists.
  const long = await ask(pombo, `POST ${WORKSPACES}`, { body: JSON.stringify({ name: "x".repeat(200_000) }) });
  expect([long.status, errorItems(long)[0]?.field]).toEqual([422, "name"]);
  const tooLong = await ask(pombo, `POST ${WORKSPACES}`, { body: JSON.stringify({ name: "x".repeat(1_100_000) }) });
  expect(tooLong.status).toBe(413);
});

test("a start waits for a command that works on the directory", async () => {
  await using pombo = await startInstance();
  await pombo.app.stop(0);
  const lock = takeLock(pombo.directory, "command");
  const starting = pombo.restart();
  await new Promise<void>((next) => setImmediate(next));
  if (lock.kind === "locked") lock.release();
  await starting;
  expect((await ask(pombo, `POST ${WORKSPACES}`, { body: '{"name": "Loja"}' })).status).toBe(201);
});

test("the socket goes with a stop and comes again with a start", async () => {
  await using pombo = await startInstance();
  const path = getSocketFile(pombo.directory);
  await pombo.app.stop(0);
  expect(existsSync(path)).toBe(false);
  await pombo.restart();
  expect((await ask(pombo, `POST ${WORKSPACES}`, { body: '{"name": "Loja"}' })).status).toBe(201);
});
