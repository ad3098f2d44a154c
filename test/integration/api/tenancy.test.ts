import { expect, test } from "bun:test";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, totalOf } from "../../support/api/kit.ts";
import { addPerson } from "../../support/people/member.ts";
import { isForPeople } from "./documented-routes.ts";

/** What the owner has, and what a stranger tries. */
interface Scene {
  pombo: Instance;
  owner: Client;
  stranger: Client;
  emailId: string;
  smsId: string;
  /** Put off: it could be canceled and tried again. */
  waitingId: string;
  domainId: string;
  keyId: string;
  suppressed: string;
  hookId: string;
  memberId: string;
  invitationId: string;
}

type Case =
  /** The route takes an id: the stranger's request with the owner's gets this status. */
  | { kind: "by_id"; path: (scene: Scene) => string; body?: (scene: Scene) => unknown; status: number }
  /** The route lists: the stranger sees none of the owner's. */
  | { kind: "list" }
  /** The same, where the stranger has so much too. */
  | { kind: "own_list"; has: number }
  /** A request that names the owner's things in its body. */
  | { kind: "by_body"; body: (scene: Scene) => unknown; status: number }
  /** What happens from now on: test/integration/api/webhook-events.test.ts has a stranger listen. */
  | { kind: "events" }
  /** Nothing of a workspace is in it. */
  | { kind: "nobodys" }
  /** For the operator key alone: no workspace's key opens it, not for its own things either. */
  | { kind: "operators"; path: (scene: Scene) => string; body?: unknown };

const TEXT = { to: "+258841234567", body: "Olá" };

function ofWaiting(rest: string, body?: unknown): Case {
  const path = ({ waitingId }: Scene) => `/api/v1/emails/${waitingId}${rest}`;
  return { kind: "by_id", path, status: 404, ...(body === undefined ? {} : { body: () => body }) };
}

/** Nobody but the operator gets in. */
function operators(rest: string, body?: unknown): Case {
  const path = ({ pombo }: Scene) => `/api/v1/operator/${rest.replace("{id}", pombo.workspace.id)}`;
  return { kind: "by_id", path, status: 403, ...(body === undefined ? {} : { body: () => body }) };
}

function operatorsEach(...routes: `${string} ${string}`[]): Record<string, Case> {
  return Object.fromEntries(
    routes.map((each) => [each.replace(" ", " /api/v1/operator/"), operators(each.slice(each.indexOf(" ") + 1))]),
  );
}

function ofHook(rest: string, body?: object): Case {
  const path = ({ hookId }: Scene) => `/api/v1/webhooks/${hookId}${rest}`;
  return { kind: "by_id", path, status: 404, ...(body === undefined ? {} : { body: () => body }) };
}

function ofEmail(rest: string): Case {
  return { kind: "by_id", path: ({ emailId }) => `/api/v1/emails/${emailId}${rest}`, status: 404 };
}

function nobodysEach(...routes: string[]): Record<string, Case> {
  return Object.fromEntries(routes.map((route) => [route.replace(" ", " /api/v1/"), { kind: "nobodys" }]));
}

/** Every route of the API; one that is missing here fails the first test. */
const CASES: Record<string, Case> = {
  "POST /api/v1/emails": { kind: "by_body", body: ({ pombo }) => pombo.email(), status: 422 },
  "POST /api/v1/emails/batch": { kind: "by_body", body: ({ pombo }) => ({ emails: [pombo.email()] }), status: 422 },
  "GET /api/v1/emails": { kind: "list" },
  ...nobodysEach("GET emails.csv"),
  ...Object.fromEntries(
    ["", "/events", "/live", "/raw"].map((each) => [`GET /api/v1/emails/{id}${each}`, ofEmail(each)]),
  ),
  "GET /api/v1/emails/{id}/attachments/{n}": ofEmail("/attachments/0"),
  "PATCH /api/v1/emails/{id}": ofWaiting("", { sendAt: "2026-11-22T08:00:00Z" }),
  "POST /api/v1/emails/{id}/cancel": ofWaiting("/cancel"),
  "POST /api/v1/emails/{id}/retry": ofWaiting("/retry"),
  "POST /api/v1/sms": { kind: "by_body", body: () => ({ ...TEXT, from: "Loja" }), status: 422 },
  "POST /api/v1/sms/preview": { kind: "nobodys" },
  "GET /api/v1/sms": { kind: "list" },
  "GET /api/v1/sms/{id}": { kind: "by_id", path: ({ smsId }) => `/api/v1/sms/${smsId}`, status: 404 },
  "GET /api/v1/sms/{id}/events": { kind: "by_id", path: ({ smsId }) => `/api/v1/sms/${smsId}/events`, status: 404 },
  "GET /api/v1/sms/inbound": { kind: "list" },
  "GET /api/v1/domains": { kind: "list" },
  "POST /api/v1/domains/{id}/verification-checks": {
    kind: "by_id",
    path: ({ domainId }) => `/api/v1/domains/${domainId}/verification-checks`,
    status: 404,
  },
  ...Object.fromEntries(
    ["GET dns-host", "GET zone", "POST share", "DELETE share"].map((route): [string, Case] => {
      const [method = "", rest = ""] = route.split(" ");
      const path = ({ domainId }: Scene) => `/api/v1/domains/${domainId}/${rest}`;
      return [`${method} /api/v1/domains/{id}/${rest}`, { kind: "by_id", path, status: 404 }];
    }),
  ),
  "GET /api/v1/domains/{id}": { kind: "by_id", path: ({ domainId }) => `/api/v1/domains/${domainId}`, status: 404 },
  "POST /api/v1/operator/workspaces/{id}/domains": operators("workspaces/{id}/domains", { domain: "new.test" }),
  "POST /api/v1/operator/domains/{id}/verification-checks": {
    kind: "operators",
    path: ({ domainId }) => `/api/v1/operator/domains/${domainId}/verification-checks`,
  },
  "PATCH /api/v1/operator/domains/{id}": {
    kind: "operators",
    path: ({ domainId }) => `/api/v1/operator/domains/${domainId}`,
    body: { suspended: true },
  },
  "GET /api/v1/operator/inbox/{id}": { kind: "operators", path: ({ emailId }) => `/api/v1/operator/inbox/${emailId}` },
  "DELETE /api/v1/operator/inbox/{id}": {
    kind: "operators",
    path: ({ emailId }) => `/api/v1/operator/inbox/${emailId}`,
  },
  "GET /api/v1/operator/sms/links": operators("sms/links"),
  "GET /api/v1/operator/sms/link-history": operators("sms/link-history?link=x"),
  "POST /api/v1/operator/sms/trial": operators("sms/trial", { to: "+258841234567" }),
  "DELETE /api/v1/domains/{id}": { kind: "by_id", path: ({ domainId }) => `/api/v1/domains/${domainId}`, status: 404 },
  "POST /api/v1/workspaces": { kind: "nobodys" },
  // Counts of the caller's own; usage.test.ts looks at them beside a busy neighbour.
  ...nobodysEach("GET workspace/usage", "GET workspace", "POST workspace/invitations", "POST domains"),
  "GET /api/v1/workspace/audit": { kind: "own_list", has: 2 },
  "GET /api/v1/workspace/credits": { kind: "list" },
  // Of the caller's own requests; test/integration/api/request-log.test.ts has a neighbour.
  ...nobodysEach("GET workspace/requests"),
  "GET /api/v1/workspace/members": { kind: "list" },
  "PATCH /api/v1/workspace/members/{id}": {
    kind: "by_id",
    path: ({ memberId }) => `/api/v1/workspace/members/${memberId}`,
    body: () => ({ role: "viewer" }),
    status: 404,
  },
  "DELETE /api/v1/workspace/members/{id}": {
    kind: "by_id",
    path: ({ memberId }) => `/api/v1/workspace/members/${memberId}`,
    status: 404,
  },
  "GET /api/v1/workspace/invitations": { kind: "list" },
  "DELETE /api/v1/workspace/invitations/{id}": {
    kind: "by_id",
    path: ({ invitationId }) => `/api/v1/workspace/invitations/${invitationId}`,
    status: 404,
  },
  "POST /api/v1/workspace/invitations/{id}/resend": {
    kind: "by_id",
    path: ({ invitationId }) => `/api/v1/workspace/invitations/${invitationId}/resend`,
    status: 404,
  },
  "POST /api/v1/auth/keys": { kind: "by_body", body: ({ domainId }) => ({ name: "x", domainId }), status: 404 },
  "GET /api/v1/auth/keys": { kind: "own_list", has: 1 },
  "DELETE /api/v1/auth/keys/{id}": { kind: "by_id", path: ({ keyId }) => `/api/v1/auth/keys/${keyId}`, status: 404 },
  "PATCH /api/v1/operator/workspaces/{id}": operators("workspaces/{id}", { name: "x" }),
  "DELETE /api/v1/operator/workspaces/{id}": operators("workspaces/{id}"),
  "POST /api/v1/operator/workspaces/{id}/block": operators("workspaces/{id}/block", {}),
  "POST /api/v1/operator/workspaces/{id}/credits": operators("workspaces/{id}/credits", { amount: 1 }),
  "GET /api/v1/operator/workspaces/{id}/credits": operators("workspaces/{id}/credits"),
  "POST /api/v1/operator/workspaces/{id}/sender-ids": operators("workspaces/{id}/sender-ids", { name: "x" }),
  "DELETE /api/v1/operator/workspaces/{id}/sender-ids/{name}": operators("workspaces/{id}/sender-ids/Loja"),
  "POST /api/v1/operator/workspaces/{id}/keys": operators("workspaces/{id}/keys", { name: "x" }),
  "POST /api/v1/operator/doctor/test-mail": operators("doctor/test-mail", { to: "maria@example.com" }),
  ...operatorsEach("POST key/rotate", "GET domains", "GET inbox", "GET sms/trial", "DELETE sms/trial", "GET tls"),
  ...operatorsEach("GET workspaces/{id}", "POST workspaces/{id}/unblock", "POST tls/renew", "POST alerts/test"),
  ...operatorsEach("POST dashboard-link", "GET users", "POST users/{id}/reset", "DELETE users/{id}"),
  "GET /api/v1/operator/workspaces/{id}/suppressions": operators("workspaces/{id}/suppressions"),
  "POST /api/v1/operator/workspaces/{id}/suppressions/import": operators("workspaces/{id}/suppressions/import", {
    suppressions: [{ address: "a@example.com" }],
  }),
  "POST /api/v1/operator/held-suppressions/apply": operators("held-suppressions/apply", { all: true }),
  "POST /api/v1/operator/held-suppressions/drop": operators("held-suppressions/drop", { all: true }),
  ...operatorsEach("GET workspaces", "GET doctor/test-mail", "GET held-suppressions", "POST recovery-key/kept"),
  ...operatorsEach("GET doctor", "POST doctor", "GET status", "GET alerts", "GET alerts/secrets", "GET alerts/test"),
  "GET /api/v1/operator/trace": operators("trace?find=0198"),
  "GET /api/v1/operator/trace/{id}": {
    kind: "operators",
    path: ({ emailId }) => `/api/v1/operator/trace/${emailId}`,
  },
  "GET /api/v1/operator/queue": operators("queue"),
  "GET /api/v1/operator/queue/messages": operators("queue/messages"),
  "POST /api/v1/operator/queue/pause": operators("queue/pause", {}),
  "POST /api/v1/operator/queue/resume": operators("queue/resume"),
  "POST /api/v1/operator/queue/retry": operators("queue/retry", { all: true }),
  "POST /api/v1/operator/queue/drop": operators("queue/drop", { queuedBefore: "2100-01-01T00:00:00Z" }),
  "GET /api/v1/suppressions": { kind: "list" },
  // suppression-filters.test.ts looks at the file beside a neighbour's.
  ...nobodysEach("GET suppressions.csv", "POST suppressions", "POST suppressions/import"),
  "DELETE /api/v1/suppressions/{address}": {
    kind: "by_id",
    path: ({ suppressed }) => `/api/v1/suppressions/${suppressed}`,
    status: 404,
  },
  // One's own about it; recipients.test.ts looks at them beside a neighbour that writes to the same.
  ...nobodysEach("GET recipients/{address}", "DELETE recipients/{address}"),
  "DELETE /api/v1/operator/recipients/{address}": operators("recipients/maria%40example.com"),
  "POST /api/v1/webhooks": { kind: "nobodys" },
  "GET /api/v1/webhooks": { kind: "list" },
  "GET /api/v1/webhooks/{id}": ofHook(""),
  "PATCH /api/v1/webhooks/{id}": ofHook("", { enabled: true }),
  "DELETE /api/v1/webhooks/{id}": ofHook(""),
  "GET /api/v1/webhooks/{id}/deliveries": ofHook("/deliveries"),
  "GET /api/v1/webhooks/{id}/deliveries/{deliveryId}": {
    kind: "by_id",
    path: ({ hookId, emailId }) => `/api/v1/webhooks/${hookId}/deliveries/${emailId}`,
    status: 404,
  },
  "POST /api/v1/webhooks/{id}/test": ofHook("/test"),
  "POST /api/v1/webhooks/{id}/rotate-secret": ofHook("/rotate-secret", {}),
  "POST /api/v1/webhooks/{id}/deliveries/{deliveryId}/replay": {
    kind: "by_id",
    path: ({ hookId, emailId }) => `/api/v1/webhooks/${hookId}/deliveries/${emailId}/replay`,
    status: 404,
  },
  "POST /api/v1/webhooks/{id}/recover": ofHook("/recover", { since: "2026-01-01T00:00:00Z" }),
  "GET /api/v1/events": { kind: "events" },
  "GET /api/v1/openapi.json": { kind: "nobodys" },
  "GET /docs": { kind: "nobodys" },
  "GET /health": { kind: "nobodys" },
  "GET /ready": { kind: "nobodys" },
};

async function routesOf(pombo: Instance): Promise<string[]> {
  const { body } = await pombo.workspace.call("GET", "/api/v1/openapi.json");
  return Object.entries<object>(body.paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    .filter((route) => !isForPeople(route));
}

async function startScene(): Promise<Scene & AsyncDisposable> {
  const pombo = await startInstance({
    mx: { rcpt: (command) => (command.includes("later") ? "450 4.2.0 Later" : "250 Ok") },
  });
  const owner = pombo.workspace;
  const sent = await owner.call("POST", "/api/v1/emails", { body: pombo.email() });
  await pombo.enableSms(pombo.workspace);
  const text = await owner.call("POST", "/api/v1/sms", { body: TEXT });
  pombo.app.db.sqlite.run(
    `INSERT INTO sms_inbound (uid, workspace_id, route, sender, recipient, body, is_whole, received_at)
     VALUES ('0198a5a0-0000-7000-8000-00000000000a', 1, 'test', '+258841234567', '84000', 'x', 1, 0)`,
  );
  const waiting = await owner.call("POST", "/api/v1/emails", { body: pombo.email({ to: "later@example.com" }) });
  const domains = await owner.call("GET", "/api/v1/domains");
  const key = await owner.call("POST", "/api/v1/auth/keys", { body: { name: "second" } });
  const suppressed = "nobody@example.com";
  await owner.call("POST", "/api/v1/suppressions", { body: { address: suppressed } });
  const hook = await owner.call("POST", "/api/v1/webhooks", {
    body: { url: "https://hooks.example.com/", events: ["webhook.disabled"] },
  });
  const invitation = await owner.call("POST", "/api/v1/workspace/invitations", {
    body: { email: "rui@example.com", role: "viewer" },
  });
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  return {
    ...{
      pombo,
      owner,
      suppressed,
      stranger: await pombo.newWorkspace(),
      emailId: sent.body.data.id,
      smsId: text.body.data.id,
      waitingId: waiting.body.data.id,
      domainId: domains.body.data[0].id,
      keyId: key.body.data.id,
      hookId: hook.body.data.id,
      memberId: addPerson(pombo, { role: "member" }).id,
      invitationId: invitation.body.data.id,
    },
    [Symbol.asyncDispose]: () => pombo[Symbol.asyncDispose](),
  };
}

/** Everything in the database that a workspace has, but when its keys were last used. */
function contentsOf({ pombo }: Scene): string {
  const tables = [
    "instance",
    "workspace",
    "sms_credit",
    "sender_id",
    "domain",
    "dkim_key",
    "email",
    "email_body",
    "email_queue",
    "attempt",
    "email_report",
    "inbound_mail",
    "suppression",
    "suppression_held",
    "email_total",
    "usage",
    "idempotency",
    "webhook",
    "webhook_job",
    "webhook_delivery",
    "event",
    "sms_message",
    "sms_segment",
    "sms_inbound",
    "membership",
    "invitation",
    "audit",
  ];
  const { sqlite } = pombo.app.db;
  const keys = sqlite.query("SELECT uid, workspace_id, domain_id, name, hash FROM api_key").all();
  return JSON.stringify([keys, ...tables.map((table) => sqlite.query(`SELECT * FROM ${table}`).all())]);
}

test("every route is tried with another workspace's things", async () => {
  await using pombo = await startInstance();
  expect((await routesOf(pombo)).toSorted()).toEqual(Object.keys(CASES).toSorted());
  // The document leaves nothing out that the binary serves.
  const known = new Set(Object.keys(CASES).map((route) => route.split(" ")[1]));
  for (const path of ["/docs/x", "/api/v1", "/api/v1/operator", "/metrics", "/sandbox"]) {
    expect([path, known.has(path), (await pombo.workspace.call("GET", path)).status]).toEqual([path, false, 404]);
  }
});

test("another workspace's ids are as unknown as any, and nothing is changed by trying", async () => {
  await using scene = await startScene();
  const before = contentsOf(scene);
  for (const [route, one] of Object.entries(CASES)) {
    const [method = "", documented = ""] = route.split(" ");
    if (one.kind !== "by_id" && one.kind !== "by_body") continue;
    const path = one.kind === "by_id" ? one.path(scene) : documented;
    const body = one.body?.(scene);
    const answer = await scene.stranger.call(method, path, body === undefined ? {} : { body });
    expect([route, answer.status]).toEqual([route, one.status]);
    // The words are those for an id that does not exist, and nothing of the owner's is in them.
    for (const item of errorItems(answer))
      expect([route, item.message.includes(scene.domainId)]).toEqual([route, false]);
    const unknown = await scene.stranger.call(
      method,
      path.replace(/[0-9a-f-]{36}/, crypto.randomUUID()),
      body === undefined ? {} : { body },
    );
    expect([route, unknown.text]).toEqual([route, answer.text]);
  }
  expect(contentsOf(scene)).toBe(before);
});

test("what is the operator's is 403 for every workspace, and nothing is changed by trying", async () => {
  await using scene = await startScene();
  const before = contentsOf(scene);
  for (const [route, one] of Object.entries(CASES)) {
    if (one.kind !== "operators") continue;
    const options = one.body === undefined ? {} : { body: one.body };
    for (const client of [scene.owner, scene.stranger]) {
      const answer = await client.call(route.split(" ")[0] ?? "", one.path(scene), options);
      expect([route, answer.status]).toEqual([route, 403]);
      expect(errorItems(answer)[0]?.code).toBe("API_KEY_RESTRICTED");
    }
  }
  expect(contentsOf(scene)).toBe(before);
});

test("a list shows nothing of another workspace, nor counts it", async () => {
  await using scene = await startScene();
  for (const [route, one] of Object.entries(CASES)) {
    if (one.kind !== "list" && one.kind !== "own_list") continue;
    const path = route.split(" ")[1] ?? "";
    const own = await scene.owner.call("GET", path);
    expect([route, own.body.data.length > 0]).toEqual([route, true]);
    const { body } = await scene.stranger.call("GET", path);
    if (one.kind === "own_list") {
      const ids = own.body.data.map(({ id }: { id: string }) => id);
      expect([route, body.data.length, ids.filter((id: string) => JSON.stringify(body).includes(id))]).toEqual([
        route,
        one.has,
        [],
      ]);
      continue;
    }
    expect([route, body.data]).toEqual([route, []]);
    expect(body.meta.total ?? 0).toBe(0);
    expect(body.meta.has_more ?? false).toBe(false);
  }
});

test("a cursor of another workspace leads to nothing of it", async () => {
  await using scene = await startScene();
  await scene.owner.call("POST", "/api/v1/domains", { body: { domain: "second.test" } });
  const { meta } = (await scene.owner.call("GET", "/api/v1/domains?limit=1")).body;
  const { body } = await scene.stranger.call("GET", `/api/v1/domains?cursor=${meta.next_cursor}`);
  expect(body).toEqual({ data: [], meta: { has_more: false, next_cursor: null } });
});

test("a workspace may not send from another's verified domain, and a pending twin of it does not help", async () => {
  await using scene = await startScene();
  await scene.stranger.call("POST", "/api/v1/domains", { body: { domain: "loja.test" } });
  for (const from of ["a@loja.test", "Loja <a@LOJA.test>"]) {
    const answer = await scene.stranger.call("POST", "/api/v1/emails", { body: scene.pombo.email({ from }) });
    expect([answer.status, errorItems(answer)[0]?.message]).toEqual([422, "Domain not verified"]);
  }
  expect(await totalOf(scene.stranger)).toBe(0);
  expect(scene.pombo.mx.messages).toHaveLength(1);
});
