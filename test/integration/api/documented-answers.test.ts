import { expect, test } from "bun:test";
import {
  type Instance,
  type Json,
  startInstance,
  useAbsentAuthority,
  useAlerts,
} from "../../support/fakes/instance.ts";
import { mail } from "../../support/dsn/mails.ts";
import { bounce, complaintAbout, inboundMessage } from "../../support/inbound/messages.ts";
import { documentOf, operationsOf } from "./document.ts";
import { ROUTES } from "./documented-routes.ts";
import { SUPPRESSION_EXAMPLES } from "./documented-suppressions.ts";
import { faultsAgainst } from "./json-schema.ts";
import { type Example, memberExamples, userExamples } from "./people-examples.ts";
import { omit, UNKNOWN_ID } from "../../support/api/kit.ts";

/** The same for the operator's routes; the last of them replaces the operator key. */
function operatorExamples(
  pombo: Instance,
  { mail: mailId, email, sms }: Record<"mail" | "email" | "sms", string>,
): Example[] {
  const one = "/api/v1/operator/workspaces/{id}";
  const held = "/api/v1/operator/held-suppressions";
  const at = (route: string, status: number, body?: unknown): Example => ({
    ...{
      route,
      status,
      path: (route.split(" ")[1] ?? "").replace("{id}", pombo.workspace.id).replace("{name}", "Promo"),
    },
    options: { key: pombo.operator.key, ...(body === undefined ? {} : { body }) },
  });
  const ofMail = (method: string, status: number): Example => ({
    ...at(`${method} /api/v1/operator/inbox/{id}`, status),
    path: `/api/v1/operator/inbox/${mailId}`,
  });
  return [
    at("GET /api/v1/operator/workspaces", 200),
    at(`GET ${one}`, 200),
    { route: `GET ${one}`, status: 403, path: `/api/v1/operator/workspaces/${UNKNOWN_ID}` },
    at(`PATCH ${one}`, 200, { name: "Loja" }),
    at(`PATCH ${one}`, 422, {}),
    at(`POST ${one}/block`, 200, { reason: "x", hold: true }),
    at(`POST ${one}/block`, 422, { hold: 1 }),
    at(`POST ${one}/unblock`, 200),
    at(`POST ${one}/credits`, 201, { amount: 5 }),
    at(`POST ${one}/credits`, 422, { amount: -100 }),
    at(`GET ${one}/credits`, 200),
    at(`POST ${one}/sender-ids`, 201, { name: "Promo" }),
    at(`POST ${one}/sender-ids`, 200, { name: "Promo" }),
    at(`DELETE ${one}/sender-ids/{name}`, 200),
    at(`DELETE ${one}/sender-ids/{name}`, 404),
    at(`POST ${one}/keys`, 201, { name: "x" }),
    at(`POST ${one}/suppressions/import`, 200, { suppressions: [{ address: "y@example.com" }] }),
    at(`POST ${one}/suppressions/import`, 422, { suppressions: [] }),
    at(`GET ${one}/suppressions`, 200),
    at(`GET ${held}`, 200),
    at(`POST ${held}/apply`, 422, {}),
    at(`POST ${held}/apply`, 200, { site: "mx.example.com" }),
    at(`POST ${held}/drop`, 200, { all: true }),
    at("GET /api/v1/operator/status", 200),
    at("GET /api/v1/operator/alerts", 200),
    at("GET /api/v1/operator/alerts/secrets", 200),
    at("POST /api/v1/operator/alerts/test", 202),
    at("GET /api/v1/operator/alerts/test", 200),
    at("GET /api/v1/operator/doctor/test-mail", 404),
    at("POST /api/v1/operator/doctor/test-mail", 202, { to: "maria@example.com" }),
    at("POST /api/v1/operator/doctor/test-mail", 422, { to: "maria" }),
    at("GET /api/v1/operator/doctor/test-mail", 200),
    at("POST /api/v1/operator/doctor", 200),
    at("GET /api/v1/operator/doctor", 200),
    { ...at("POST /api/v1/operator/doctor", 404), path: "/api/v1/operator/doctor?domain=nobody.example" },
    { ...at("POST /api/v1/operator/doctor", 422), path: "/api/v1/operator/doctor?only=nothing" },
    at("GET /api/v1/operator/tls", 200),
    at("POST /api/v1/operator/tls/renew", 202),
    { ...at("GET /api/v1/operator/trace", 200), path: "/api/v1/operator/trace?find=gone@example.com" },
    at("GET /api/v1/operator/trace", 200),
    ...[email, sms].map((id) => ({
      ...at("GET /api/v1/operator/trace/{id}", 200),
      path: `/api/v1/operator/trace/${id}`,
    })),
    at("GET /api/v1/operator/trace/{id}", 404),
    at("GET /api/v1/operator/queue", 200),
    at("GET /api/v1/operator/queue/messages", 200),
    ...["sms", "webhook", "email"].map((kind) => ({
      ...at("GET /api/v1/operator/queue/messages", 200),
      path: `/api/v1/operator/queue/messages?kind=${kind}`,
    })),
    at("POST /api/v1/operator/queue/pause", 200, { reason: "our address is on a list" }),
    at("POST /api/v1/operator/queue/pause", 422, { reason: "" }),
    at("POST /api/v1/operator/queue/resume", 200),
    at("POST /api/v1/operator/queue/retry", 200, { all: true }),
    at("POST /api/v1/operator/queue/retry", 422, {}),
    at("POST /api/v1/operator/queue/drop", 200, { ids: [UNKNOWN_ID], dryRun: true }),
    at("POST /api/v1/operator/queue/drop", 200, { workspaceId: pombo.workspace.id }),
    at("POST /api/v1/operator/queue/drop", 422, {}),
    at("GET /api/v1/operator/inbox", 200),
    ofMail("GET", 200),
    ofMail("DELETE", 200),
    ofMail("GET", 404),
    ofMail("DELETE", 404),
    at("GET /api/v1/operator/sms/links", 200),
    at("GET /api/v1/operator/sms/link-history", 200),
    { ...at("GET /api/v1/operator/sms/link-history", 404), path: "/api/v1/operator/sms/link-history?link=x" },
    at("GET /api/v1/operator/sms/trial", 200),
    at("POST /api/v1/operator/sms/trial", 201, { to: "+258841234567" }),
    at("POST /api/v1/operator/sms/trial", 422, { to: "+258841234567", route: "x" }),
    at("GET /api/v1/operator/sms/trial", 200),
    at("DELETE /api/v1/operator/sms/trial", 200),
    {
      ...at("DELETE /api/v1/operator/recipients/{address}", 200),
      path: "/api/v1/operator/recipients/gone%40example.com",
    },
    { ...at("DELETE /api/v1/operator/recipients/{address}", 422), path: "/api/v1/operator/recipients/x" },
    at(`DELETE ${one}`, 200),
    at(`DELETE ${one}`, 404),
    at("POST /api/v1/operator/recovery-key/kept", 200),
    at("POST /api/v1/operator/key/rotate", 200),
  ];
}

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

/** Requests that together give most of the documented answers. */
function examplesFor(
  pombo: Instance,
  ids: {
    email: string;
    sms: string;
    waiting: string;
    scheduled: string;
    domain: string;
    keys: string[];
    hook: { id: string; deliveryId: string };
    mail: string;
  },
): Example[] {
  const text = { to: "+258841234567", body: "Olá" };
  const { email, sms, waiting, scheduled, domain, keys, hook } = ids;
  const ofHook = `/api/v1/webhooks/${hook.id}`;
  const ofCall = `${ofHook}/deliveries/${hook.deliveryId}`;
  const one = "/api/v1/emails/{id}";
  const body = (value: unknown) => ({ options: { body: value } });
  const key = { key: pombo.operator.key };
  return [
    { route: "POST /api/v1/emails", status: 202, ...body(pombo.email()) },
    { route: "POST /api/v1/emails", status: 422, ...body({ bcc: 1 }) },
    { route: "POST /api/v1/emails", status: 422, ...body(pombo.email({ from: "a@unknown.test" })) },
    { route: "POST /api/v1/emails", status: 400, options: { rawBody: "{" } },
    { route: "POST /api/v1/emails", status: 401, options: { key: null } },
    { route: "POST /api/v1/emails", status: 403, options: { body: pombo.email(), ...key } },
    { route: "POST /api/v1/emails", status: 415, options: { rawBody: "x", headers: { "content-type": "text/plain" } } },
    { route: "POST /api/v1/emails/batch", status: 202, ...body({ emails: [pombo.email(), pombo.email()] }) },
    { route: "POST /api/v1/emails/batch", status: 422, ...body({ emails: [omit(pombo.email(), "to")] }) },
    { route: "GET /api/v1/emails", status: 200 },
    { route: "GET /api/v1/emails", status: 422, path: "/api/v1/emails?page=0" },
    { route: "GET /api/v1/emails/{id}", status: 200, path: `/api/v1/emails/${email}` },
    { route: "GET /api/v1/emails/{id}", status: 404, path: `/api/v1/emails/${UNKNOWN_ID}` },
    { route: `GET ${one}/events`, status: 200, path: `/api/v1/emails/${email}/events` },
    { route: `GET ${one}/events`, status: 200, path: `/api/v1/emails/${waiting}/events` },
    { route: `GET ${one}/events`, status: 422, path: "/api/v1/emails/x/events" },
    { route: `GET ${one}/raw`, status: 200, path: `/api/v1/emails/${scheduled}/raw` },
    { route: `GET ${one}/raw`, status: 404, path: `/api/v1/emails/${UNKNOWN_ID}/raw` },
    { route: `GET ${one}/attachments/{n}`, status: 200, path: `/api/v1/emails/${scheduled}/attachments/0` },
    { route: `GET ${one}/attachments/{n}`, status: 404, path: `/api/v1/emails/${scheduled}/attachments/1` },
    { route: `GET ${one}/attachments/{n}`, status: 422, path: `/api/v1/emails/${scheduled}/attachments/x` },
    { route: `POST ${one}/retry`, status: 409, path: `/api/v1/emails/${email}/retry` },
    { route: `POST ${one}/retry`, status: 202, path: `/api/v1/emails/${waiting}/retry` },
    { route: `PATCH ${one}`, status: 409, path: `/api/v1/emails/${email}`, ...body({ sendAt: tomorrow() }) },
    { route: `PATCH ${one}`, status: 422, path: `/api/v1/emails/${email}`, ...body({ sendAt: "2026-11-22" }) },
    { route: `PATCH ${one}`, status: 200, path: `/api/v1/emails/${scheduled}`, ...body({ sendAt: tomorrow() }) },
    { route: `POST ${one}/cancel`, status: 404, path: `/api/v1/emails/${UNKNOWN_ID}/cancel` },
    { route: `POST ${one}/cancel`, status: 409, path: `/api/v1/emails/${email}/cancel` },
    { route: `POST ${one}/cancel`, status: 200, path: `/api/v1/emails/${waiting}/cancel` },
    { route: "POST /api/v1/sms", status: 202, ...body(text) },
    { route: "POST /api/v1/sms", status: 402, ...body({ ...text, body: "x".repeat(1_600) }) },
    { route: "POST /api/v1/sms", status: 422, ...body({ ...text, to: "+351912345678" }) },
    { route: "POST /api/v1/sms", status: 422, ...body({ ...text, from: "Nobody" }) },
    { route: "POST /api/v1/sms", status: 403, options: { body: text, ...key } },
    { route: "POST /api/v1/sms/preview", status: 200, ...body(text) },
    { route: "POST /api/v1/sms/preview", status: 200, ...body({ body: "Não partilhe".repeat(20) }) },
    { route: "POST /api/v1/sms/preview", status: 422, ...body({ body: "" }) },
    { route: "GET /api/v1/sms", status: 200 },
    { route: "GET /api/v1/sms", status: 422, path: "/api/v1/sms?limit=0" },
    { route: "GET /api/v1/sms/{id}", status: 200, path: `/api/v1/sms/${sms}` },
    { route: "GET /api/v1/sms/{id}", status: 404, path: `/api/v1/sms/${UNKNOWN_ID}` },
    { route: "GET /api/v1/sms/{id}/events", status: 200, path: `/api/v1/sms/${sms}/events` },
    { route: "GET /api/v1/sms/{id}/events", status: 404, path: `/api/v1/sms/${UNKNOWN_ID}/events` },
    { route: "GET /api/v1/sms/inbound", status: 200 },
    { route: "POST /api/v1/domains", status: 201, ...body({ domain: "new.test" }) },
    { route: "POST /api/v1/domains", status: 409, ...body({ domain: "new.test" }) },
    { route: "POST /api/v1/domains", status: 413, ...body({ domain: "x".repeat(70_000) }) },
    { route: "GET /api/v1/domains", status: 200 },
    {
      route: "POST /api/v1/domains/{id}/verification-checks",
      status: 200,
      path: `/api/v1/domains/${domain}/verification-checks`,
    },
    {
      route: "POST /api/v1/domains/{id}/verification-checks",
      status: 404,
      path: `/api/v1/domains/${UNKNOWN_ID}/verification-checks`,
    },
    { route: "GET /api/v1/domains/{id}", status: 200, path: `/api/v1/domains/${domain}` },
    { route: "GET /api/v1/operator/domains", status: 200, options: key },
    { route: "GET /api/v1/operator/domains", status: 403 },
    {
      route: "POST /api/v1/operator/workspaces/{id}/domains",
      status: 201,
      path: `/api/v1/operator/workspaces/${pombo.workspace.id}/domains`,
      options: { body: { domain: "operators.test" }, ...key },
    },
    {
      route: "POST /api/v1/operator/workspaces/{id}/domains",
      status: 404,
      path: `/api/v1/operator/workspaces/${UNKNOWN_ID}/domains`,
      options: { body: { domain: "x.test" }, ...key },
    },
    {
      route: "POST /api/v1/operator/domains/{id}/verification-checks",
      status: 200,
      path: `/api/v1/operator/domains/${domain}/verification-checks`,
      options: key,
    },
    {
      route: "PATCH /api/v1/operator/domains/{id}",
      status: 200,
      path: `/api/v1/operator/domains/${domain}`,
      options: { body: { suspended: false }, ...key },
    },
    {
      route: "PATCH /api/v1/operator/domains/{id}",
      status: 422,
      path: `/api/v1/operator/domains/${domain}`,
      options: { body: { suspended: "yes" }, ...key },
    },
    { route: "GET /api/v1/emails.csv", status: 200 },
    { route: "GET /api/v1/domains/{id}/dns-host", status: 200, path: `/api/v1/domains/${domain}/dns-host` },
    { route: "GET /api/v1/domains/{id}/zone", status: 200, path: `/api/v1/domains/${domain}/zone` },
    { route: "POST /api/v1/domains/{id}/share", status: 201, path: `/api/v1/domains/${domain}/share` },
    { route: "DELETE /api/v1/domains/{id}/share", status: 200, path: `/api/v1/domains/${domain}/share` },
    { route: "DELETE /api/v1/domains/{id}", status: 200, path: `/api/v1/domains/${domain}` },
    { route: "POST /api/v1/workspaces", status: 201, options: { body: { name: "x" }, ...key } },
    { route: "POST /api/v1/workspaces", status: 403, ...body({ name: "x" }) },
    ...memberExamples(pombo),
    { route: "GET /api/v1/workspace/usage", status: 200 },
    { route: "GET /api/v1/workspace/usage", status: 403, options: key },
    { route: "GET /api/v1/workspace/usage", status: 422, path: "/api/v1/workspace/usage?month=2026-11" },
    { route: "POST /api/v1/auth/keys", status: 201, ...body({ name: "x" }) },
    { route: "POST /api/v1/auth/keys", status: 404, ...body({ name: "x", domainId: UNKNOWN_ID }) },
    { route: "GET /api/v1/auth/keys", status: 200 },
    { route: "DELETE /api/v1/auth/keys/{id}", status: 200, path: `/api/v1/auth/keys/${keys[0]}` },
    { route: "DELETE /api/v1/auth/keys/{id}", status: 404, path: `/api/v1/auth/keys/${keys[0]}` },
    { route: "GET /api/v1/recipients/{address}", status: 200, path: "/api/v1/recipients/gone%40example.com" },
    { route: "GET /api/v1/recipients/{address}", status: 200, path: "/api/v1/recipients/%2B258841234567" },
    { route: "GET /api/v1/recipients/{address}", status: 422, path: "/api/v1/recipients/x" },
    { route: "DELETE /api/v1/recipients/{address}", status: 200, path: "/api/v1/recipients/nobody%40example.com" },
    { route: "DELETE /api/v1/recipients/{address}", status: 422, path: "/api/v1/recipients/x" },
    ...SUPPRESSION_EXAMPLES,
    { route: "POST /api/v1/webhooks", status: 201, ...body({ url: "https://hooks.example.com/", events: ["*"] }) },
    { route: "POST /api/v1/webhooks", status: 422, ...body({ url: "http://127.0.0.1/", events: [] }) },
    { route: "GET /api/v1/webhooks", status: 200 },
    { route: "GET /api/v1/webhooks/{id}", status: 200, path: ofHook },
    { route: "PATCH /api/v1/webhooks/{id}", status: 200, path: ofHook, ...body({ description: "x" }) },
    { route: "GET /api/v1/webhooks/{id}/deliveries", status: 200, path: `${ofHook}/deliveries` },
    { route: "GET /api/v1/webhooks/{id}/deliveries/{deliveryId}", status: 200, path: ofCall },
    { route: "POST /api/v1/webhooks/{id}/test", status: 202, path: `${ofHook}/test` },
    { route: "POST /api/v1/webhooks/{id}/rotate-secret", status: 200, path: `${ofHook}/rotate-secret`, ...body({}) },
    { route: "POST /api/v1/webhooks/{id}/deliveries/{deliveryId}/replay", status: 202, path: `${ofCall}/replay` },
    {
      route: "POST /api/v1/webhooks/{id}/recover",
      status: 202,
      path: `${ofHook}/recover`,
      ...body({ since: "2026-01-01T00:00:00Z" }),
    },
    { route: "DELETE /api/v1/webhooks/{id}", status: 200, path: ofHook },
    { route: "GET /api/v1/events", status: 200 },
    { route: "GET /api/v1/openapi.json", status: 200 },
    { route: "GET /docs", status: 200 },
    { route: "GET /health", status: 200 },
    { route: "GET /ready", status: 200 },
    ...userExamples(pombo),
    // Last: the workspace is gone then.
    ...operatorExamples(pombo, ids),
  ];
}

/** NEWEST in a path is the id of the newest invitation. */
async function fillNewest(path: string, pombo: Instance): Promise<string> {
  if (!path.includes("NEWEST")) return path;
  const { body } = await pombo.workspace.call("GET", "/api/v1/workspace/invitations");
  return path.replace("NEWEST", body.data[0].id);
}

/** A webhook with a delivery, which failed: there is no such name. */
async function makeHook({ workspace, app }: Instance): Promise<{ id: string; deliveryId: string }> {
  const url = "https://nobody.example.com/";
  const made = await workspace.call("POST", "/api/v1/webhooks", { body: { url, events: ["*"] } });
  const { id } = made.body.data;
  await workspace.call("POST", `/api/v1/webhooks/${id}/test`);
  await app.webhooks.worker.idle();
  const { body } = await workspace.call("GET", `/api/v1/webhooks/${id}/deliveries`);
  return { id, deliveryId: body.data[0].id };
}

test("answers of real requests are as documented, of every route", async () => {
  await using pombo = await startInstance({
    configure(config) {
      useAbsentAuthority(config);
      useAlerts(config);
    },
    mx: {
      rcpt: (command) =>
        command.includes("gone") ? "550 5.1.1 No" : command.includes("later") ? "450 Later" : "250 Ok",
    },
  });
  const operations = operationsOf(await documentOf(pombo));
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "gone@example.com", html: "<p>x" }),
  });
  await pombo.mx.until(() =>
    pombo.mx.connections.some(({ commands }) => commands.some((line) => line.startsWith("RCPT"))),
  );
  await pombo.app.worker.idle();
  const domains = await pombo.workspace.call("GET", "/api/v1/domains");
  const later = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "later@example.com" }),
  });
  await pombo.app.worker.idle();
  const scheduled = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ sendAt: tomorrow(), attachments: [{ filename: "a.txt", content: "YQ==" }] }),
  });
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "x" } });
  await pombo.app.receive(inboundMessage(mail({ text: "Hello" })));
  // Reports have entries of their own on the timeline.
  await pombo.app.receive(bounce(sent.body.data.id));
  await pombo.app.receive(complaintAbout(pombo, sent.body.data.id));
  await pombo.enableSms(pombo.workspace, 5);
  const text = await pombo.workspace.call("POST", "/api/v1/sms", { body: { to: "+258841234567", body: "Olá" } });
  const ids = {
    email: sent.body.data.id,
    sms: text.body.data.id,
    waiting: later.body.data.id,
    scheduled: scheduled.body.data.id,
    domain: domains.body.data[0].id,
    keys: [made.body.data.id],
    hook: await makeHook(pombo),
    mail: (await pombo.operator.call("GET", "/api/v1/operator/inbox")).body.data[0].id,
  };
  pombo.app.db.sqlite.run(
    `INSERT INTO sms_inbound (uid, workspace_id, route, sender, recipient, body, is_whole, received_at)
     VALUES ('${UNKNOWN_ID}', 1, 'test', '+258841234567', '84000', 'x', 1, 0)`,
  );
  const examples = examplesFor(pombo, ids);
  for (const { route, status, path, options } of examples) {
    // A retry has the attempt run at once.
    await pombo.app.worker.idle();
    const [method = "", documented = ""] = route.split(" ");
    const answer = await pombo.workspace.call(method, await fillNewest(path ?? documented, pombo), options);
    expect([route, answer.status]).toEqual([route, status]);
    const { "application/json": json, ...others } = operations[route]?.["responses"][status]?.content ?? {};
    const schema = (json ?? Object.values<Json>(others)[0])?.schema;
    const body = json === undefined ? answer.text : answer.body;
    expect([route, status, schema === undefined ? "undocumented" : faultsAgainst(schema, body)]).toEqual([
      route,
      status,
      [],
    ]);
  }
  const isTried = (route: string) => examples.some((example) => example.route === route && example.status < 300);
  // A stream does not end: test/integration/people/watched-email.test.ts reads it.
  expect(Object.keys(ROUTES).filter((route) => !route.endsWith("/live") && !isTried(route))).toEqual([]);
});
