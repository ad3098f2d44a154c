import { expect, test } from "bun:test";
import { UUID_V7 } from "../../support/api/kit.ts";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import { addPerson } from "../../support/people/member.ts";

const AUDIT = "/api/v1/workspace/audit";

test("what changes keys, webhooks, domains and the workspace leaves one row each, without secrets", async () => {
  await using pombo = await startInstance();
  const { workspace, operator } = pombo;
  const admin = addPerson(pombo, { role: "admin" });
  const at = `/api/v1/operator/workspaces/${workspace.id}`;
  const before = (await workspace.call("GET", `${AUDIT}?limit=100`)).body.data.length;

  const key = (await admin.act("POST", "/api/v1/auth/keys", { body: { name: "shop" } })).body.data;
  await admin.act("DELETE", `/api/v1/auth/keys/${key.id}`);
  const url = "https://hooks.example.com/secret-path?token=secret-token";
  const hook = (await admin.act("POST", "/api/v1/webhooks", { body: { url, events: ["*"] } })).body.data;
  await admin.act("PATCH", `/api/v1/webhooks/${hook.id}`, { body: { enabled: false } });
  const rotated = await admin.act("POST", `/api/v1/webhooks/${hook.id}/rotate-secret`, { body: {} });
  await admin.act("DELETE", `/api/v1/webhooks/${hook.id}`);
  const domain = (await admin.act("POST", "/api/v1/domains", { body: { domain: "new.test" } })).body.data;
  await operator.call("PATCH", `/api/v1/operator/domains/${domain.id}`, { body: { suspended: true } });
  await operator.call("PATCH", `/api/v1/operator/domains/${domain.id}`, { body: { suspended: false } });
  await admin.act("DELETE", `/api/v1/domains/${domain.id}`);
  await operator.call("PATCH", at, { body: { plan: "growth", name: "Test" } });
  await operator.call("POST", `${at}/block`, { body: { reason: "unpaid" } });
  await operator.call("POST", `${at}/unblock`);
  await operator.call("POST", `${at}/credits`, { body: { amount: 5 } });
  await operator.call("POST", `${at}/sender-ids`, { body: { name: "Loja" } });
  await operator.call("DELETE", `${at}/sender-ids/Loja`);
  await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "second" } });

  const answer = await workspace.call("GET", `${AUDIT}?limit=100`);
  const rows = answer.body.data.toReversed().slice(before);
  const shop = `shop (svc_${key.key.slice(4, 12)}…)`;
  expect(rows.map(({ actor, action, target }: Json) => [actor.kind, action, target])).toEqual([
    ["user", "api_key.created", shop],
    ["user", "api_key.deleted", shop],
    ["user", "webhook.created", "hooks.example.com"],
    ["user", "webhook.changed", "hooks.example.com"],
    ["user", "webhook.secret_rotated", "hooks.example.com"],
    ["user", "webhook.deleted", "hooks.example.com"],
    ["user", "domain.created", "new.test"],
    ["operator", "domain.suspended", "new.test"],
    ["operator", "domain.lifted", "new.test"],
    ["user", "domain.deleted", "new.test"],
    ["operator", "workspace.changed", null],
    ["operator", "workspace.blocked", null],
    ["operator", "workspace.unblocked", null],
    ["operator", "credits.granted", null],
    ["operator", "sender_id.added", "Loja"],
    ["operator", "sender_id.deleted", "Loja"],
    ["api_key", "api_key.created", expect.stringMatching(/^second \(svc_.{8}…\)$/)],
  ]);
  const [created, changed] = [rows[0], rows[10]];
  expect(created.id).toMatch(UUID_V7);
  expect(created.actor).toEqual({ kind: "user", name: admin.email, userId: admin.id });
  expect(rows.at(-1).actor).toEqual({ kind: "api_key", name: expect.stringMatching(/^default \(svc_/), userId: null });
  expect(changed.detail).toEqual({ plan: { before: "scale", after: "growth" } });
  for (const secret of [key.key, hook.secret, rotated.body.data.secret, "secret-path", "secret-token"])
    expect(answer.text).not.toContain(secret);
});

test("what fails leaves no row: neither a refused change nor one at the plan's limit", async () => {
  await using pombo = await startInstance();
  const small = await pombo.newWorkspace("launch");
  const owner = addPerson(pombo, { role: "owner", workspace: small.id });
  const count = async () => (await small.call("GET", `${AUDIT}?limit=100`)).body.data.length;
  await small.call("POST", "/api/v1/domains", { body: { domain: "one.test" } });
  const before = await count();
  for (const refused of [
    await small.call("POST", "/api/v1/domains", { body: { domain: "two.test" } }),
    await small.call("POST", "/api/v1/domains", { body: { domain: "one.test" } }),
    await owner.act("DELETE", `/api/v1/workspace/members/${owner.id}`),
  ])
    expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(await count()).toBe(before);
});

test("a person who is gone stays in the rows by their address", async () => {
  await using pombo = await startInstance();
  const admin = addPerson(pombo, { role: "admin" });
  await admin.act("POST", "/api/v1/auth/keys", { body: { name: "shop" } });
  const { sqlite } = pombo.app.db;
  for (const table of ["session", "membership"]) sqlite.run(`DELETE FROM ${table} WHERE user_id = ${admin.userId}`);
  sqlite.run(`DELETE FROM user WHERE id = ${admin.userId}`);
  const [row] = (await pombo.workspace.call("GET", AUDIT)).body.data;
  expect(row.actor).toEqual({ kind: "user", name: admin.email, userId: null });
});
