import { expect, test } from "bun:test";
import { type Client, type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { documentOf, operationsOf } from "./document.ts";
import { UNKNOWN_ID } from "../../support/api/kit.ts";

// Examples of errors are the server's own words: each is provoked and compared.

/** Every operation with its example of this status. */
async function exampleRoutes(pombo: Instance, status: string) {
  const operations = operationsOf(await documentOf(pombo));
  return Object.entries(operations).flatMap(([route, { responses, requestBody }]) => {
    const [method = "", path = ""] = route.split(" ");
    const example: Json = responses[status]?.content["application/json"].example;
    if (responses[status] === undefined) return [];
    const body: Json = requestBody?.content["application/json"].example;
    return [{ route, method, path: path.replaceAll(/\{\w+\}/g, UNKNOWN_ID), body, example }];
  });
}

async function call(client: Client, { method, path, body }: { method: string; path: string; body: Json }) {
  return client.call(method, path, body === undefined ? {} : { body });
}

const INVITATIONS = "/api/v1/workspace/invitations";

test("413 says what is too large at each path", async () => {
  await using pombo = await startInstance({
    configure(config) {
      // Of another size each, and quick to send.
      Object.assign(config.http, { maxBatchBodyBytes: 3_072, maxBodyBytes: 2_048, maxBodyDefaultBytes: 1_024 });
    },
  });
  const routes = (await exampleRoutes(pombo, "413")).filter(({ body }) => body !== undefined);
  expect(routes.length).toBeGreaterThan(15);
  for (const { route, method, path, example } of routes) {
    const client = path.includes("/operator/") || path.endsWith("/workspaces") ? pombo.operator : pombo.workspace;
    const answer = await client.call(method, path, { body: { x: "x".repeat(4_000) } });
    expect([route, answer.status, answer.body]).toEqual([route, 413, example]);
  }
});

test("403 says what a key of the wrong kind hears at each path, and sends that sending is blocked", async () => {
  await using pombo = await startInstance();
  const { workspace, operator } = pombo;
  const domains = await workspace.call("GET", "/api/v1/domains");
  const { key } = (
    await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "x", domainId: domains.body.data[0].id } })
  ).body.data;
  const restricted: Client = {
    key,
    call: (method, path, options = {}) => workspace.call(method, path, { ...options, key }),
  };
  const routes = await exampleRoutes(pombo, "403");
  expect(routes.length).toBeGreaterThan(60);
  for (const route of routes) {
    const code = route.example.errors[0].code;
    if (code === "SENDING_BLOCKED") continue;
    const isForOperator = route.path.includes("/operator/") || route.path.endsWith("/workspaces");
    const isRead = /^GET .*\/emails(?:$|\/|\.csv)/.test(route.route);
    const answer = await call(isForOperator ? workspace : isRead ? operator : restricted, route);
    expect([route.route, answer.status, answer.body]).toEqual([route.route, 403, route.example]);
  }
  const blockedAt = Date.UTC(2026, 10, 21);
  pombo.app.db.sqlite.run(`UPDATE workspace SET rate_blocked_at = ${blockedAt}, rate_block_reason = NULL`);
  await pombo.restart();
  const sends = routes.filter(({ example }) => example.errors[0].code === "SENDING_BLOCKED");
  expect(sends.map(({ route }) => route)).toEqual(["POST /api/v1/emails", "POST /api/v1/emails/batch"]);
  for (const send of sends) {
    const emails = send.path.endsWith("/batch") ? { emails: [pombo.email()] } : pombo.email();
    const answer = await call(workspace, { ...send, body: emails });
    expect([send.route, answer.status, answer.body]).toEqual([send.route, 403, send.example]);
  }
});

test("402 says what is used up at each path", async () => {
  await using pombo = await startInstance({
    configure: ({ plans }) =>
      void Object.assign(plans["scale"] ?? {}, { emailsPerDay: 100, domains: 1, apiKeys: 1, webhooks: 1, members: 1 }),
  });
  const { workspace } = pombo;
  const emails = Array.from({ length: 100 }, () => pombo.email());
  const filled = await workspace.call("POST", "/api/v1/emails/batch", { body: { emails } });
  const hook = { url: "https://hooks.example.com/", events: ["*"] };
  const hooked = await workspace.call("POST", "/api/v1/webhooks", { body: hook });
  expect([filled.status, hooked.status]).toEqual([202, 201]);
  await pombo.enableSms(workspace, 1);
  const invite = async (email: string) =>
    (await workspace.call("POST", INVITATIONS, { body: { email, role: "member" } })).body.data.id;
  const expired = await invite("ana@example.com");
  pombo.app.db.sqlite.run("UPDATE invitation SET expires_at = 1");
  await invite("rui@example.com");
  const bodies: Record<string, Json> = {
    [`POST ${INVITATIONS}`]: { email: "eva@example.com", role: "member" },
    "POST /api/v1/emails": pombo.email(),
    "POST /api/v1/emails/batch": { emails: [pombo.email()] },
    "POST /api/v1/sms": { to: "+258841234567", body: "x".repeat(161) },
  };
  const routes = await exampleRoutes(pombo, "402");
  expect(routes.map(({ route }) => route).toSorted()).toEqual(
    [
      ...["auth/keys", "domains", "emails", "emails/batch", "operator/workspaces/{id}/domains", "sms", "webhooks"],
      ...["workspace/invitations", "workspace/invitations/{id}/resend"],
    ].map((path) => `POST /api/v1/${path}`),
  );
  const { id } = (await pombo.operator.call("GET", "/api/v1/operator/workspaces")).body.data[0];
  for (const given of routes) {
    const caller = given.route.includes("/operator/") ? pombo.operator : workspace;
    const known = given.route.includes("/invitations/") ? expired : id;
    const route = { ...given, path: given.path.replace(UNKNOWN_ID, known) };
    const answer = await call(caller, { ...route, body: bodies[route.route] ?? route.body });
    expect([route.route, answer.status, answer.body]).toEqual([route.route, 402, route.example]);
  }
});
