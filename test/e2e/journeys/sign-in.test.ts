// Signing in, by keyboard and from the sandbox's page, and what happens to a page when the session ends elsewhere.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { ask, mustAsk, PASSWORD, signUpOperator } from "../../support/browser/people.ts";

const sandbox = useSandbox();

journey("somebody who is not signed in comes to the page that they asked for", async ({ visit }) => {
  const { origin, operatorKey } = sandbox();
  const email = "ana@example.com";
  await signUpOperator(await visit(origin), { url: origin, operatorKey }, email);
  const ana = await visit(origin);
  ana.allow(/^answer: POST \/api\/v1\/auth\/session 401$/);
  const keys = new Keyboard(ana.page);
  await ana.page.goto("/dashboard/account");
  await keys.fill("Email address", email);
  await keys.fill("Password", "not the password");
  await keys.press("Sign in");
  await ana.page.getByText("The address, the password or the code is wrong").waitFor();
  // Nothing that was typed is lost.
  expect(await ana.page.getByLabel("Email address").inputValue()).toBe(email);
  await keys.fill("Password", PASSWORD);
  await keys.press("Sign in");
  await ana.page.waitForURL("**/dashboard/account");
  const cookies = await ana.context.cookies();
  expect(cookies).toMatchObject([{ name: "pombo-session", httpOnly: true, sameSite: "Strict", path: "/" }]);
  expect(await ana.page.evaluate("document.cookie")).toBe("");
});

journey("a link in the address of the sign-in page leads to none but our own pages", async ({ visit }) => {
  const { origin, operatorKey } = sandbox();
  for (const next of ["//stranger.test/", "https://stranger.test/", "/dashboard/../docs", "javascript:alert(1)"]) {
    const ana = await visit(origin);
    await signUpOperator(ana, { url: origin, operatorKey }, `next+${crypto.randomUUID()}@example.com`);
    await ana.page.goto(`/dashboard/signin?next=${encodeURIComponent(next)}`);
    await ana.page.waitForURL((url) => url.pathname !== "/dashboard/signin");
    await ana.page.locator("main#content h1").waitFor();
    expect(new URL(ana.page.url()).pathname).toStartWith("/dashboard");
    await ana.context.close();
  }
});

journey("a session that is ended elsewhere leaves the page within two seconds", async ({ visit }) => {
  const { origin, operatorKey, workspaceId } = sandbox();
  const email = "ended@example.com";
  const desk = await visit(origin);
  await signUpOperator(desk, { url: origin, operatorKey }, email);
  const phone = await visit(origin);
  await mustAsk(phone, "POST /api/v1/auth/session", { body: { email, password: PASSWORD } });
  await phone.page.goto(`/dashboard/w/${workspaceId}`);
  await phone.page.locator("main#content h1").waitFor();
  await phone.until("it listens", "navigator.locks.query().then(({ held }) => held.length === 1)");

  const before = performance.now();
  await mustAsk(desk, "DELETE /api/v1/auth/sessions");
  await phone.page.waitForURL("**/dashboard/signin**");
  expect(performance.now() - before).toBeLessThan(2_000);
  expect((await ask(phone, "GET /api/v1/auth/me")).status).toBe(401);
  expect((await ask(desk, "GET /api/v1/auth/me")).status).toBe(200);
});

journey("the sandbox's page leads to the dashboard, signed in", async ({ visit }) => {
  const { page } = await visit(sandbox().origin);
  await page.goto("/sandbox");
  await page.getByRole("button", { name: "Dashboard" }).click();
  await page.waitForURL("**/dashboard/w/**");
  await page.locator("main#content h1").waitFor();
});
