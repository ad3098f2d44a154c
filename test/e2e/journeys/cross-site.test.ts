// A stranger's page in the browser of somebody who is signed in: it can change nothing and read nothing.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { ask, createWorkspace, mustAsk, PASSWORD, signUpOperator } from "../../support/browser/people.ts";
import { startStranger } from "../../support/browser/stranger.ts";

const sandbox = useSandbox();

/** A form and fetches that need no permission of the other side, and one that asks for it. */
const ATTEMPTS = (url: string, workspaceId: string) => `(async () => {
  const body = JSON.stringify({ email: "mallory@example.com", role: "owner" });
  const seen = [];
  for (const [path, method] of [
    ["/api/v1/workspace/invitations", "POST"],
    ["/api/v1/auth/session", "POST"],
    ["/api/v1/workspaces", "POST"],
  ]) await fetch("${url}" + path, { method, body, mode: "no-cors", credentials: "include" }).then(() => seen.push("opaque"), () => seen.push("failed"));
  await fetch("${url}/api/v1/workspace/invitations", { method: "POST", body, credentials: "include",
    headers: { "content-type": "application/json", "pombo-workspace": "${workspaceId}" } }).then(() => seen.push("read"), () => seen.push("failed"));
  await fetch("${url}/api/v1/auth/me", { credentials: "include" }).then(() => seen.push("read"), () => seen.push("failed"));
  const frame = document.createElement("iframe");
  frame.name = "target";
  document.body.append(frame);
  const form = document.createElement("form");
  Object.assign(form, { action: "${url}/api/v1/auth/session", method: "POST", enctype: "text/plain", target: "target" });
  document.body.append(form);
  form.submit();
  return seen;
})()`;

/** The cookie goes along from another port of the same host, but not from another host. */
for (const [kind, refused] of [
  ["neighbour", 403],
  ["foreigner", 401],
] as const) {
  journey(`a page of a ${kind} changes nothing and reads nothing`, async ({ visit, cleanup }) => {
    const { origin: url, operatorKey } = sandbox();
    const ana = await visit(url);
    await signUpOperator(ana, { url, operatorKey }, `ana+${kind}@example.com`);
    const workspaceId = await createWorkspace(ana, `Loja ${kind}`);
    const stranger = startStranger();
    cleanup.add(() => stranger[Symbol.asyncDispose]());
    // All that she does from here is the stranger's.
    ana.allow(/^(stranger|console|failed|answer): /);
    await ana.page.goto(stranger[kind]);
    const before = ana.answers.length;
    const seen = await ana.page.evaluate<string[]>(ATTEMPTS(url, workspaceId));
    expect(seen).toEqual(["opaque", "opaque", "opaque", "failed", "failed"]);
    await ana.untilAnswered(/^POST /, 4);
    expect(ana.answers.slice(before).filter((answer) => answer.startsWith("POST "))).toEqual([
      `POST /api/v1/workspace/invitations ${refused}`,
      "POST /api/v1/auth/session 403",
      `POST /api/v1/workspaces ${refused}`,
      "POST /api/v1/auth/session 403",
    ]);
    expect(await mustAsk(ana, "GET /api/v1/workspace/invitations", { workspaceId })).toEqual([]);
    expect((await ask(ana, "GET /api/v1/auth/me")).status).toBe(200);
  });
}

journey("a session that was there before a person signs in is not theirs afterwards", async ({ visit }) => {
  const { origin: url, operatorKey } = sandbox();
  const ana = await visit(url);
  await signUpOperator(ana, { url, operatorKey }, "ana+fixation@example.com");
  const read = async () => (await ana.context.cookies()).find(({ name }) => name === "pombo-session")?.value ?? "";
  const first = await read();
  const mallory = await visit(url);
  const planted = { name: "pombo-session", value: first, url, httpOnly: true, sameSite: "Strict" } as const;

  await mustAsk(ana, "DELETE /api/v1/auth/session");
  for (const value of [first, "x".repeat(43)]) {
    await ana.context.addCookies([{ ...planted, value }]);
    const body = { email: "ana+fixation@example.com", password: PASSWORD };
    await mustAsk(ana, "POST /api/v1/auth/session", { body });
    expect(await read()).not.toBe(value);
    await mallory.context.addCookies([{ ...planted, value }]);
    expect((await ask(mallory, "GET /api/v1/auth/me")).status).toBe(401);
  }
  expect((await ask(ana, "GET /api/v1/auth/me")).status).toBe(200);
});
