// A workspace's people and keys: created once, used, deleted with proof; invited, joined, and what a role forbids.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import {
  ask,
  createWorkspace,
  join,
  mustAsk,
  PASSWORD,
  signInToSandbox,
  signUpOperator,
} from "../../support/browser/people.ts";

const sandbox = useSandbox();
const place = () => ({ url: sandbox().origin, operatorKey: sandbox().operatorKey });

journey("a key is shown once, works, and is refused once it is deleted", async ({ visit }) => {
  const { origin, workspaceId, domain } = sandbox();
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const { page } = ana;
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}/keys`);
  await keys.press("Create a key");
  await page.getByRole("dialog", { name: "Create a key" }).waitFor();
  await keys.fill("Name", "Loja online");
  await keys.press("Create a key");
  await page.getByRole("dialog", { name: "Your new key" }).waitFor();
  const shown = page.getByRole("dialog", { name: "Your new key" });
  const key = /svc_[\w-]{43}/.exec(await shown.innerText())?.[0] ?? "";
  await keys.press("I have stored it");
  await shown.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(key);
  expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage, location.href])")).not.toContain(key);

  const send = () =>
    fetch(`${origin}/api/v1/emails`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ from: `a@${domain}`, to: "rui@example.com", subject: "Olá", text: "Olá" }),
    });
  expect((await send()).status).toBe(202);
  await keys.press(/^Delete the key .*Loja online.*\?$/);
  await page.getByRole("dialog").waitFor();
  await keys.press("Delete");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await send()).status).toBe(401);
});

journey("an invitation is accepted in another browser, and the role says what may be done", async ({ visit }) => {
  const { url } = place();
  const ana = await visit(url);
  await signUpOperator(ana, place(), "ana+invites@example.com");
  const workspaceId = await createWorkspace(ana, "Loja da Maria");
  const keys = new Keyboard(ana.page);
  await ana.page.goto(`/dashboard/w/${workspaceId}/members`);
  await keys.press("Invite");
  await ana.page.getByRole("dialog", { name: "Invite" }).waitFor();
  await keys.fill("Email address", "rui@example.com");
  await keys.choose(/^Member/, 1);
  await keys.press("Invite");
  const shown = ana.page.getByRole("dialog", { name: /^Invitation for/ });
  const link = /https?:\/\/\S+#[\w-]+/.exec(await shown.innerText());
  await keys.press("Close");
  const { pathname, hash } = new URL(link?.[0] ?? "");

  const rui = await visit(url);
  const hands = new Keyboard(rui.page);
  await rui.page.goto(pathname + hash);
  await rui.page.getByRole("heading", { level: 1, name: "Join Loja da Maria" }).waitFor();
  await hands.fill("Your name", "Rui Tembe");
  await hands.press("Use a password instead");
  await hands.fill("New password", PASSWORD);
  await hands.press("Continue");
  await rui.page.getByRole("heading", { level: 1, name: "Loja da Maria" }).waitFor();
  // The host sees who it was, without doing anything.
  await ana.page.getByText("Rui Tembe").first().waitFor();

  await rui.page.goto(`/dashboard/w/${workspaceId}/keys`);
  await rui.page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
  expect(await rui.page.getByRole("button", { name: "Create a key" }).count()).toBe(0);
  const forbidden = [
    ["POST /api/v1/auth/keys", { name: "mine" }],
    ["POST /api/v1/emails", { from: "a@example.com", to: "b@example.com", subject: "x", text: "x" }],
    ["POST /api/v1/workspace/invitations", { email: "me@example.com", role: "owner" }],
    ["PATCH /api/v1/workspace", { name: "Mine" }],
  ] as const;
  for (const [request, body] of forbidden) {
    const { status, errors } = await ask(rui, request, { body, workspaceId });
    expect([request, status, errors[0]?.code]).toEqual([request, 403, "ROLE_REQUIRED"]);
  }
});

journey("a viewer sees what an email says once an owner lets viewers, by keyboard", async ({ visit }) => {
  const { origin, workspaceId, domain } = sandbox();
  const [ana, rui] = [await visit(origin), await visit(origin)];
  await signInToSandbox(ana, sandbox());
  await join(ana, workspaceId, { visitor: rui, email: "rui+views@example.com", role: "viewer" });
  const body = { from: `a@${domain}`, to: "rui@example.com", subject: "Olá", text: "O código é 4711." };
  const { id } = await mustAsk(ana, "POST /api/v1/emails", { body, workspaceId });
  const email = `/dashboard/w/${workspaceId}/emails/${id}`;
  await rui.page.goto(email);
  await rui.page.getByText("With your role you do not see what messages say").waitFor();
  expect(await rui.page.content()).not.toContain("4711");

  const keys = new Keyboard(ana.page);
  await ana.page.goto(`/dashboard/w/${workspaceId}/settings`);
  const views = ana.page.locator("section, form", { has: ana.page.getByLabel("Viewers too") }).last();
  await keys.reach(views.getByLabel("Viewers too"));
  await ana.page.keyboard.press("Space");
  await keys.reach(views.getByRole("button", { name: "Save" }));
  await ana.page.keyboard.press("Enter");
  await ana.page.getByText("Saved").first().waitFor();
  await rui.page.goto(email);
  await rui.page.getByRole("textbox", { name: "Text" }).waitFor();
  expect(await rui.page.getByRole("textbox", { name: "Text" }).inputValue()).toBe("O código é 4711.");
  await rui.page.goto(`/dashboard/w/${workspaceId}/settings`);
  await rui.page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  expect(await rui.page.getByLabel("Viewers too").count()).toBe(0);
});

journey(
  "a role that is lowered while the page is open takes its buttons, and the next act is refused",
  async ({ visit }) => {
    const { url } = place();
    const [ana, rui] = [await visit(url), await visit(url)];
    await signUpOperator(ana, place(), "ana+lowers@example.com");
    const workspaceId = await createWorkspace(ana, "Loja da Ana");
    await join(ana, workspaceId, { visitor: rui, email: "rui+lowered@example.com", role: "admin" });
    rui.allow(/^answer: GET \/api\/v1\/workspace\/live 40[34]$/);
    await rui.page.goto(`/dashboard/w/${workspaceId}/keys`);
    await rui.page.getByRole("button", { name: "Create a key" }).waitFor();
    await rui.until("it listens", "navigator.locks.query().then(({ held }) => held.length === 1)");

    const id = (await mustAsk(rui, "GET /api/v1/auth/me")).user.id as string;
    await mustAsk(ana, `PATCH /api/v1/workspace/members/${id}`, { workspaceId, body: { role: "viewer" } });
    expect((await ask(rui, "POST /api/v1/auth/keys", { workspaceId, body: { name: "x" } })).status).toBe(403);
    await rui.page.getByRole("button", { name: "Create a key" }).waitFor({ state: "detached", timeout: 3000 });

    await mustAsk(ana, `DELETE /api/v1/workspace/members/${id}`, { workspaceId });
    await rui.page.getByText("You are not a member of this workspace").waitFor({ timeout: 3000 });
    expect((await ask(rui, "GET /api/v1/emails", { workspaceId })).status).toBeGreaterThanOrEqual(403);
  },
);

journey("a workspace that is deleted under an open page says so, and leads to the start", async ({ visit }) => {
  const { url } = place();
  const [ana, rui] = [await visit(url), await visit(url)];
  await signUpOperator(ana, place(), "ana+deletes@example.com");
  const workspaceId = await createWorkspace(ana, "Loja que fecha");
  await join(ana, workspaceId, { visitor: rui, email: "rui+deleted@example.com", role: "admin" });
  rui.allow(/^answer: GET \/api\/v1\/\S+ 40[34]$/, /^answer: POST \/api\/v1\/auth\/keys 40[34]$/);
  const { page } = rui;
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}/keys`);
  await keys.press("Create a key");
  await keys.fill("Name", "Loja online");
  await rui.until("it listens", "navigator.locks.query().then(({ held }) => held.length === 1)");

  await mustAsk(ana, `DELETE /api/v1/operator/workspaces/${workspaceId}`);
  await page.getByText("You are not a member of this workspace").waitFor({ timeout: 3000 });
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await ask(rui, "GET /api/v1/workspace", { workspaceId })).status).toBeGreaterThanOrEqual(403);
  await keys.press("To the start", "link");
  await page.getByText("You are in no workspace").first().waitFor();
});
