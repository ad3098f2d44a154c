// Links that come by mail: an invitation, a sign-in, the proof of an address; and the link of `pombo user reset`.

import { afterAll, beforeAll, expect } from "bun:test";
import { journey } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { type Mailing, startMailing } from "../../support/browser/mailing.ts";
import { ask, createWorkspace, join, mustAsk, PASSWORD, signUpOperator } from "../../support/browser/people.ts";
import type { Visitor } from "../../support/browser/visitor.ts";
import { findPombo } from "../../support/peers/pombo.ts";
import { Cleanup, mustRun } from "../../support/peers/process.ts";

const NEW_PASSWORD = "outros quatro pombos no muro";
const USED = { level: 1, name: "This link does not work any more" } as const;
const GONE = /^answer: POST \/api\/v1\/auth\/links\/(inspect|use) 410$/;

const cleanup = new Cleanup();
let mailing: Mailing;
beforeAll(async () => {
  mailing = await startMailing(cleanup);
}, 60_000);
afterAll(() => cleanup.close());

type Visit = (origin: string) => Promise<Visitor>;

/** An operator with a workspace. */
async function furnish(visit: Visit, name: string): Promise<{ ana: Visitor; workspaceId: string }> {
  const ana = await visit(mailing.url);
  await signUpOperator(ana, mailing, `ana+${name}@example.com`);
  return { ana, workspaceId: await createWorkspace(ana, `Loja ${name}`) };
}

/** Somebody who has an account and is a member. */
async function joinAs(visit: Visit, name: string): Promise<{ visitor: Visitor; ana: Visitor; workspaceId: string }> {
  const { ana, workspaceId } = await furnish(visit, name);
  const visitor = await visit(mailing.url);
  await join(ana, workspaceId, { visitor, email: `${name}@example.com`, role: "member" });
  return { visitor, ana, workspaceId };
}

async function signIn({ page }: Visitor, email: string, password = PASSWORD): Promise<void> {
  const keys = new Keyboard(page);
  await keys.fill("Email address", email);
  await keys.fill("Password", password);
  await keys.press("Sign in");
}

journey("an invitation arrives by mail, and its link lets the invited person in", async ({ visit }) => {
  const { ana, workspaceId } = await furnish(visit, "convites");
  const keys = new Keyboard(ana.page);
  await ana.page.goto(`/dashboard/w/${workspaceId}/members`);
  await keys.press("Invite");
  await keys.fill("Email address", "rui@example.com");
  await keys.press("Invite");
  const shown = ana.page.getByRole("dialog", { name: /^Invitation for/ });
  await shown.getByText("It was mailed.").waitFor();
  const link = await mailing.readLink("rui@example.com", "invite");
  expect(await shown.innerText()).toContain(link);
  await keys.press("Close");

  const rui = await visit(mailing.url);
  const hands = new Keyboard(rui.page);
  await rui.page.goto(link);
  await rui.page.getByRole("heading", { level: 1, name: "Join Loja convites" }).waitFor();
  expect(await rui.page.getByLabel("Email address").inputValue()).toBe("rui@example.com");
  await hands.fill("Your name", "Rui Tembe");
  await hands.press("Use a password instead");
  await hands.fill("New password", PASSWORD);
  await hands.press("Continue");
  await rui.page.getByRole("heading", { level: 1, name: "Loja convites" }).waitFor();
  await ana.page.getByText("Rui Tembe").first().waitFor();
});

journey("who has an account signs in on the way, and the invitation is still there", async ({ visit }) => {
  const { visitor: rui, ana } = await joinAs(visit, "conta");
  const workspaceId = await createWorkspace(ana, "Outra loja");
  const invited = { workspaceId, body: { email: "rui@another.example", role: "viewer" } };
  const { url } = await mustAsk(ana, "POST /api/v1/workspace/invitations", invited);
  await mustAsk(rui, "DELETE /api/v1/auth/session");
  await rui.page.goto(url);
  await new Keyboard(rui.page).press("Sign in", "link");
  await rui.page.waitForURL("**/dashboard/signin?**");
  // No server and no proxy ever sees the token.
  await rui.page.reload();
  expect(rui.requests.join("\n")).not.toContain(new URL(url).hash.slice(1));
  await signIn(rui, "conta@example.com");
  await rui.page.getByRole("heading", { level: 1, name: "Join Outra loja" }).waitFor();
  await new Keyboard(rui.page).press("Join");
  await rui.page.getByText("You are a member of Outra loja now.").waitFor();
});

journey("a mailed link signs in the browser that asked for it, once, and no other", async ({ visit }) => {
  const { visitor: maria } = await joinAs(visit, "magia");
  await mustAsk(maria, "DELETE /api/v1/auth/session");
  const keys = new Keyboard(maria.page);
  maria.allow(GONE);
  await maria.page.goto("/dashboard/signin");
  await keys.press("Mail me a link");
  await keys.fill("Email address", "magia@example.com");
  await keys.press("Mail me a link");
  await maria.page.getByText("a link is on its way").waitFor();
  const link = await mailing.readLink("magia@example.com", "link");

  const scanner = await visit(mailing.url);
  scanner.allow(GONE);
  await scanner.page.goto(link);
  await scanner.page.getByText("belongs to another browser").waitFor();
  expect((await ask(scanner, "GET /api/v1/auth/me")).status).toBe(401);
  await new Keyboard(scanner.page).press("Sign in", "link");
  await scanner.page.waitForURL("**/dashboard/signin");

  await maria.page.goto(link);
  await maria.page.getByRole("heading", { level: 1, name: "Loja magia" }).waitFor();
  expect((await mustAsk(maria, "GET /api/v1/auth/me")).session.method).toBe("link");
  expect(maria.page.url()).not.toContain("#");
  await maria.page.goto("about:blank");
  await maria.page.goto(link);
  await maria.page.getByRole("heading", USED).waitFor();
});

journey("an address is confirmed by the link that is mailed to it, also from another browser", async ({ visit }) => {
  const { visitor: rui, workspaceId } = await joinAs(visit, "prova");
  await rui.page.goto(`/dashboard/w/${workspaceId}/members`);
  await rui.page.getByText("address not confirmed").first().waitFor();
  await rui.page.goto("/dashboard/account");
  await new Keyboard(rui.page).press("Mail me the link");
  await rui.page.getByText("The link is on its way.").waitFor();
  const link = await mailing.readLink("prova@example.com", "link");

  const phone = await visit(mailing.url);
  await phone.page.goto(link);
  await phone.page.getByRole("heading", { level: 1, name: "Confirm your address" }).waitFor();
  await new Keyboard(phone.page).press("Sign in", "link");
  await signIn(phone, "prova@example.com");
  await phone.page.getByRole("heading", { level: 1, name: "Confirm your address" }).waitFor();
  await new Keyboard(phone.page).press("Confirm the address");
  await phone.page.getByText("The address is confirmed.").waitFor();
  expect((await mustAsk(rui, "GET /api/v1/auth/me")).user.emailVerified).toBe(true);
  await phone.page.goto("/dashboard/account");
  await phone.page.getByRole("heading", { name: "Profile" }).waitFor();
  expect(await phone.page.getByRole("button", { name: "Mail me the link" }).count()).toBe(0);
});

journey("who has lost everything gets a new password by the link of `pombo user reset`", async ({ visit }) => {
  const { visitor: rui } = await joinAs(visit, "perdeu");
  rui.allow(/^answer: GET \/api\/v1\/\S+ 40[14]$/, /^answer: POST \/api\/v1\/auth\/session 401$/);
  await rui.page.goto("/dashboard/account");
  await rui.page.getByRole("heading", { level: 1 }).waitFor();
  const { command } = findPombo();
  const reset = [...command, "user", "reset", "perdeu@example.com", "--config", mailing.app.configFile];
  const link = /http\S+\/dashboard\/recover#[\w-]{43}/.exec(await mustRun(reset))?.[0] ?? "";

  const { pathname, hash } = new URL(link);
  const anew = await visit(mailing.url);
  anew.allow(GONE);
  const keys = new Keyboard(anew.page);
  await anew.page.goto(pathname + hash);
  await anew.page.getByRole("heading", { level: 1, name: "Back to your account" }).waitFor();
  await keys.press("Use a password instead");
  await keys.fill("New password", NEW_PASSWORD);
  await keys.press("Continue");
  await anew.page.getByRole("heading", { level: 1, name: "Loja perdeu" }).waitFor();
  await anew.page.goto("about:blank");
  await anew.page.goto(pathname + hash);
  await anew.page.getByRole("heading", USED).waitFor();

  // Wherever they were signed in, they are so no more, and the old password is nobody's.
  await rui.page.reload();
  await rui.page.waitForURL("**/dashboard/signin?**");
  await signIn(rui, "perdeu@example.com");
  await rui.page.getByText("The address, the password or the code is wrong").waitFor();
  await new Keyboard(rui.page).fill("Password", NEW_PASSWORD);
  await new Keyboard(rui.page).press("Sign in");
  await rui.page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
});
