// After a database of an earlier time: everybody is signed out, and the next operator's link lists who may do what.

import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expectErrors, TIMESTAMP } from "../../support/api/kit.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { openBrowser, PASSWORD, signUpOperator } from "../../support/people/browser.ts";

const INSPECT = "/api/v1/auth/links/inspect";
const USE = "/api/v1/auth/links/use";

const tokenOf = ({ url }: { url: string }) => url.split("#")[1] ?? "";
const putBack = (pombo: Instance) => pombo.restart(() => rmSync(join(pombo.directory, "marker")));

async function inspect(pombo: Instance, path = "dashboard-link") {
  const { data } = (await pombo.operator.call("POST", `/api/v1/operator/${path}`)).body;
  const token = tokenOf(data);
  return { token, link: (await openBrowser(pombo).call("POST", INSPECT, { body: { token } })).body.data };
}

test("a put back database signs everybody out, and lists people, roles and keys until an operator's link was used", async () => {
  await using pombo = await startInstance();
  expect((await inspect(pombo)).link).not.toHaveProperty("review");
  const browser = await signUpOperator(pombo);
  pombo.app.db.sqlite.run("INSERT INTO membership (workspace_id, user_id, role, created_at) VALUES (1, 1, 'admin', 1)");
  await putBack(pombo);
  expectErrors(await browser.call("GET", "/api/v1/auth/me"), 401, [{ code: "NOT_SIGNED_IN" }]);

  const { token, link } = await inspect(pombo);
  const { id } = pombo.workspace;
  expect(link.review).toEqual({
    since: expect.stringMatching(TIMESTAMP),
    people: [
      { email: "ana@example.com", name: "Ana", isOperator: true, workspaces: [{ id, name: "Test", role: "admin" }] },
    ],
    keys: [
      {
        name: expect.any(String),
        prefix: pombo.workspace.key.slice(4, 12),
        workspaceName: "Test",
        createdAt: expect.stringMatching(TIMESTAMP),
        lastUsedAt: expect.stringMatching(TIMESTAMP),
      },
    ],
  });
  await pombo.restart();
  expect((await inspect(pombo)).link.review.people).toHaveLength(1);
  const body = { token, email: "rui@example.com", name: "Rui", password: PASSWORD };
  expect((await openBrowser(pombo).call("POST", USE, { body })).status).toBe(200);
  expect((await inspect(pombo)).link).not.toHaveProperty("review");
});

test("it is an operator's: the link of a member who was reset shows and ends nothing", async () => {
  await using pombo = await startInstance();
  const { me } = await signUpOperator(pombo);
  await putBack(pombo);
  const reset = `users/${me.user.id}/reset`;
  expect((await inspect(pombo, reset)).link.review.people).toHaveLength(1);
  pombo.app.db.sqlite.run("UPDATE user SET is_operator = 0");
  const { token, link } = await inspect(pombo, reset);
  expect(link).toEqual({ kind: "reset", email: "ana@example.com" });
  const used = await openBrowser(pombo).call("POST", USE, { body: { token, password: PASSWORD } });
  expect(used.status).toBe(200);
  expect((await inspect(pombo)).link).toHaveProperty("review");
});
