// People as the operator sees them: links for operators, lost accounts, removal.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectErrors, TIMESTAMP, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";
import { runHere } from "../../support/cli/kit.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { openBrowser, PASSWORD, signUpOperator } from "../../support/people/browser.ts";

const LINK = "/api/v1/operator/dashboard-link";
const USERS = "/api/v1/operator/users";
const ME = "/api/v1/auth/me";
const USE = "/api/v1/auth/links/use";
const ANA = "ana@example.com";

const tokenOf = (url: string) => url.split("#")[1] ?? "";
const audited = ({ app }: Instance) =>
  app.db.sqlite.query<object, []>("SELECT actor, action, target, workspace_id FROM audit ORDER BY id").all();

/** Makes the first person of a workspace its member. */
function addMember({ app }: Instance, role: string): void {
  app.db.sqlite.run(
    "INSERT INTO membership (workspace_id, user_id, role, created_at) SELECT 1, MAX(id), ?, 1 FROM user",
    [role],
  );
}

test("the operator's link makes an operator, who is listed with what they sign in by", async () => {
  await using pombo = await startInstance();
  const { status, body } = await pombo.operator.call("POST", LINK);
  const { port } = new URL(pombo.app.url);
  expect([status, body.data]).toEqual([
    201,
    {
      // The port that it listens on, though the configuration has 0.
      url: expect.stringMatching(new RegExp(`^http://localhost:${port}/dashboard/setup#[\\w-]{43}$`)),
      expiresAt: expect.stringMatching(TIMESTAMP),
      tunnel: `ssh -L ${port}:127.0.0.1:${port} mail.pombo.test`,
    },
  ]);
  const browser = openBrowser(pombo);
  const person = { token: tokenOf(body.data.url), email: ANA, name: "Ana", password: PASSWORD };
  expect((await browser.call("POST", USE, { body: person })).body.data.user.isOperator).toBe(true);
  addMember(pombo, "owner");
  const listed = await pombo.operator.call("GET", USERS);
  expect(listed.body).toEqual({
    data: [
      {
        ...{ id: expect.stringMatching(UUID_V7), email: ANA, name: "Ana", isOperator: true, emailVerified: false },
        factors: { password: true, totp: false, passkeys: 0 },
        workspaces: [{ id: pombo.workspace.id, name: "Test", role: "owner" }],
        ...{ createdAt: expect.stringMatching(TIMESTAMP), lastSeenAt: expect.stringMatching(TIMESTAMP) },
      },
    ],
    meta: { has_more: false, next_cursor: null },
  });
  expect(audited(pombo)).toContainEqual({
    actor: "operator",
    action: "dashboard_link.created",
    target: null,
    workspace_id: null,
  });
});

test("links begin with [dashboard] url; a dashboard that is turned off has none", async () => {
  const configure = (url: string | null, enabled: boolean) => ({
    configure: (config: Instance["config"]) => void Object.assign(config.dashboard, { url, enabled }),
  });
  await using away = await startInstance(configure("https://mail.example.net", true));
  const { data } = (await away.operator.call("POST", LINK)).body;
  expect([data.url, data.tunnel]).toEqual([expect.stringMatching(/^https:\/\/mail\.example\.net\/dashboard\//), null]);
  await using off = await startInstance(configure(null, false));
  expectErrors(await off.operator.call("POST", LINK), 404, [
    { code: "NOT_FOUND", message: /\[dashboard\] enabled = false$/ },
  ]);
});

test("a reset removes all that proves who the person is, and its link sets something new; roles stay", async () => {
  await using pombo = await startInstance();
  const browser = await signUpOperator(pombo);
  addMember(pombo, "admin");
  const { sqlite } = pombo.app.db;
  sqlite.run("UPDATE user SET totp_secret = x'00', totp_confirmed_at = 1, totp_last_step = 1");
  sqlite.run("INSERT INTO recovery_code (user_id, hash) VALUES (1, 'x')");
  sqlite.run(
    "INSERT INTO passkey (uid, user_id, credential_id, public_key, counter, transports, name, created_at) VALUES ('u', 1, 'c', x'00', 0, '[]', 'Phone', 1)",
  );
  const { id } = browser.me.user;
  const before = await pombo.operator.call("POST", `${USERS}/${id}/reset`);
  const { status, body } = await pombo.operator.call("POST", `${USERS}/${id.toUpperCase()}/reset`);
  expect([status, body.data.url]).toEqual([201, expect.stringContaining("/dashboard/recover#")]);
  expectErrors(await browser.call("GET", ME), 401, [{ code: "NOT_SIGNED_IN" }]);
  const signIn = { body: { email: ANA, password: PASSWORD } };
  expectErrors(await browser.call("POST", "/api/v1/auth/session", signIn), 401, [{ code: "INVALID_CREDENTIALS" }]);
  const [user] = (await pombo.operator.call("GET", USERS)).body.data;
  expect(user).toMatchObject({ factors: { password: false, totp: false, passkeys: 0 }, lastSeenAt: null });
  expect(user.workspaces).toMatchObject([{ role: "admin" }]);
  expect(sqlite.query("SELECT * FROM recovery_code").all()).toEqual([]);

  // Only the last link works.
  const password = "outra frase bem comprida";
  const use = (url: string) => browser.call("POST", USE, { body: { token: tokenOf(url), password } });
  expectErrors(await use(before.body.data.url), 410, [{ code: "LINK_USED" }]);
  const used = await use(body.data.url);
  expect(used.body.data.user).toMatchObject({ email: ANA, isOperator: true });
  expect(audited(pombo)).toContainEqual({ actor: "operator", action: "user.reset", target: ANA, workspace_id: null });
});

test("a removed person is out at once; workspaces without owner are named", async () => {
  await using pombo = await startInstance();
  const browser = await signUpOperator(pombo);
  addMember(pombo, "owner");
  const other = await pombo.newWorkspace();
  const { id } = browser.me.user;
  const removed = await pombo.operator.call("DELETE", `${USERS}/${id}`);
  expect([removed.status, removed.body.data]).toEqual([
    200,
    { id, email: ANA, ownerless: [{ id: pombo.workspace.id, name: "Test" }], operators: 0 },
  ]);
  expect(removed.text).not.toContain(other.id);
  expectErrors(await browser.call("GET", ME), 401, [{ code: "NOT_SIGNED_IN" }]);
  for (const [method, path] of [
    ["DELETE", `${USERS}/${id}`],
    ["POST", `${USERS}/${UNKNOWN_ID}/reset`],
  ] as const)
    expectErrors(await pombo.operator.call(method, path), 404, [{ code: "NOT_FOUND" }]);
  expect((await pombo.operator.call("GET", USERS)).body.data).toEqual([]);
});

test("a member is nobody here, and an operator on the dashboard proves anew who they are", async () => {
  await using pombo = await startInstance();
  const browser = await signUpOperator(pombo);
  expectErrors(await browser.call("POST", LINK), 403, [{ code: "ROLE_REQUIRED" }]);
  const headers = { "pombo-operator": "1" };
  expect((await browser.call("POST", LINK, { headers })).status).toBe(201);
  pombo.app.db.sqlite.run("UPDATE session SET proved_at = 1");
  await pombo.restart();
  const rest = [LINK, `${USERS}/${browser.me.user.id}/reset`];
  for (const path of rest)
    expectErrors(await browser.call("POST", path, { headers }), 403, [{ code: "PROOF_REQUIRED" }]);
  expectErrors(await browser.call("DELETE", `${USERS}/${browser.me.user.id}`, { headers }), 403, [
    { code: "PROOF_REQUIRED" },
  ]);
  expectErrors(await pombo.workspace.call("GET", USERS), 403, [{ code: "API_KEY_RESTRICTED" }]);
  pombo.app.db.sqlite.run("UPDATE user SET is_operator = 0");
  await pombo.restart();
  expectErrors(await browser.call("GET", USERS, { headers }), 403, [{ code: "ROLE_REQUIRED" }]);
});

test("the commands do the same, over the socket and while no instance runs", async () => {
  await using pombo = await startInstance();
  const config = join(pombo.directory, "pombo.toml");
  writeFileSync(config, `hostname = "mail.pombo.test"\ndata_dir = "${pombo.directory}"\n`);
  const run = (...args: string[]) => runHere([...args, "--config", config]);
  const said = await run("user", "list");
  expect([said.code, said.err]).toEqual([0, expect.stringContaining("Nobody has an account yet")]);
  await signUpOperator(pombo);
  addMember(pombo, "owner");
  const running = await run("user", "list");
  expect(running.out).toContain("operator, owner of Test");
  await pombo.app.stop(0);
  const reset = await run("user", "reset", "ANA@example.com");
  expect(reset.out).toMatch(/ana@example\.com is signed out everywhere.*\/dashboard\/recover#[\w-]{43}\n/s);
  const asked = await run("user", "remove", ANA);
  expect([asked.code, asked.err]).toEqual([2, expect.stringContaining("pombo user remove ana@example.com --yes")]);
  const removed = await run("user", "remove", ANA, "--yes");
  expect(removed.out).toContain("Test has no owner now");
  expect(removed.out).toContain("There is no operator now: pombo dashboard link makes another.");
  const link = JSON.parse((await run("dashboard", "link", "--json")).out);
  await pombo.restart();
  const inspected = await openBrowser(pombo).call("POST", "/api/v1/auth/links/inspect", {
    body: { token: tokenOf(link.url) },
  });
  expect(inspected.body.data.kind).toBe("setup");
});
