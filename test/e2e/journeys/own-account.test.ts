// How people get in: a setup link, passkeys, passwords with codes, recovery codes. By keyboard.

import { expect } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { addAuthenticator } from "../../support/browser/passkeys.ts";
import { ask, makeSetupLink, mustAsk, PASSWORD, signUpOperator } from "../../support/browser/people.ts";

const sandbox = useSandbox();
const place = () => ({ url: sandbox().origin, operatorKey: sandbox().operatorKey });
/** A wrong code, or none. */
const REFUSED = /^answer: POST \/api\/v1\/auth\/session 401$/;
/** What a passkey is made of, or asked for. */
const OPTIONS = /^POST \/api\/v1\/auth\/passkeys\/options 200$/;

journey(
  "a setup link makes an account with a passkey and a workspace; the passkey signs in again",
  async ({ visit }) => {
    const ana = await visit(place().url);
    const passkeys = await addAuthenticator(ana);
    const keys = new Keyboard(ana.page);
    await ana.page.goto(await makeSetupLink(place()));
    await keys.fill("Your name", "Ana Macuácua");
    await keys.fill("Email address", "ana@example.com");
    await keys.press("Continue with a passkey");
    await ana.page.getByRole("heading", { level: 1, name: "Name your workspace" }).waitFor();
    expect(await passkeys.count()).toBe(1);
    // The token is in no address that the browser keeps.
    expect(ana.page.url()).not.toContain("#");
    await keys.fill("Name of the workspace", "Loja da Maria");
    await keys.press("Create the workspace");
    await ana.page.getByRole("dialog", { name: "Your first API key" }).waitFor();
    await keys.press("I have stored it");
    await ana.page.getByRole("heading", { level: 1, name: "Loja da Maria" }).waitFor();

    // The sign-in page offers passkeys by itself, and would have them at once.
    await passkeys.setPresent(false);
    await keys.press("Sign out");
    await ana.page.waitForURL("**/dashboard/signin**");
    await ana.untilAnswered(OPTIONS, 2);
    // Nobody touches it before the button is pressed. It never answers what it was asked while nobody did.
    await ana.page.route(
      "**/api/v1/auth/passkeys/options",
      async (route) => {
        await passkeys.setPresent(true);
        await route.continue();
      },
      { times: 1 },
    );
    await keys.press("Sign in with a passkey");
    await ana.page.getByRole("heading", { level: 1, name: "Loja da Maria" }).waitFor();
    expect((await mustAsk(ana, "GET /api/v1/auth/me")).session.method).toBe("passkey");
  },
);

journey("a link that was used, or that never was, says so and leads to the sign-in page", async ({ visit }) => {
  const used = await makeSetupLink(place());
  const [first, second] = [await visit(place().url), await visit(place().url)];
  second.allow(/^answer: POST \/api\/v1\/auth\/links\/inspect 410$/);
  await mustAsk(first, "POST /api/v1/auth/links/use", {
    body: { token: new URL(used).hash.slice(1), email: "used@example.com", name: "Used", password: PASSWORD },
  });
  for (const page of [`setup${new URL(used).hash}`, "setup#x", "invite#x", "recover#", "setup"]) {
    await second.page.goto("about:blank");
    await second.page.goto(`/dashboard/${page}`);
    await second.page.getByRole("heading", { level: 1, name: "This link does not work any more" }).waitFor();
  }
  await new Keyboard(second.page).press("Sign in", "link");
  await second.page.waitForURL("**/dashboard/signin**");
});

journey("a password with a code of an app, and a recovery code when the phone is lost", async ({ visit }) => {
  const email = "totp@example.com";
  const ana = await visit(place().url);
  await signUpOperator(ana, place(), email);
  const keys = new Keyboard(ana.page);
  await ana.page.goto("/dashboard/account");
  await keys.press("Set up an app");
  const dialog = ana.page.getByRole("dialog");
  await keys.reach(dialog.locator("summary"));
  await ana.page.keyboard.press("Enter");
  const secret = Secret.fromBase32((await dialog.locator("details code").innerText()).trim());
  const app = new TOTP({ secret });
  await keys.fill("Code from the app", app.generate());
  await keys.press("Continue");
  await ana.page.getByRole("dialog", { name: "Recovery codes" }).waitFor();
  const codes = (await ana.page.getByRole("dialog").locator("code").innerText()).trim().split(/\s+/);
  expect(codes).toHaveLength(10);
  await keys.press("I have stored it");
  await ana.page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await ana.page.content()).not.toContain(codes[0]);

  const signIn = async (code: string) => {
    const phone = await visit(place().url);
    phone.allow(REFUSED);
    const hands = new Keyboard(phone.page);
    await phone.page.goto("/dashboard/signin");
    await hands.fill("Email address", email);
    await hands.fill("Password", PASSWORD);
    await hands.press("Sign in");
    await hands.fill("Code", code);
    await hands.press("Sign in");
    return phone;
  };
  const lost = await signIn(codes[0] ?? "");
  await lost.page.locator("main#content h1").waitFor();
  await lost.page.waitForURL((url) => url.pathname !== "/dashboard/signin");
  expect((await mustAsk(lost, "GET /api/v1/auth/me")).session.method).toBe("recovery_code");
  const again = await signIn(codes[0] ?? "");
  await again.page.getByText("each of these works once").waitFor();
  expect((await ask(again, "GET /api/v1/auth/me")).status).toBe(401);
});
