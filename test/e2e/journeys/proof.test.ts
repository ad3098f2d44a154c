// What is dangerous asks again who it is when that was proved more than ten minutes ago. By keyboard.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { addAuthenticator } from "../../support/browser/passkeys.ts";
import { createWorkspace, mustAsk, PASSWORD, signInLongAgo, signUpOperator } from "../../support/browser/people.ts";

const sandbox = useSandbox();
const place = () => ({ url: sandbox().origin, operatorKey: sandbox().operatorKey });
const ASKED = /^answer: POST \/api\/v1\/auth\/keys 403$/;
const PROOF = "Confirm that it is you";

journey("a key is made once the password is given again, and nothing typed is lost", async ({ visit }) => {
  const ana = await visit(place().url);
  ana.allow(ASKED, /^answer: POST \/api\/v1\/auth\/proof 401$/);
  const { page } = ana;
  await signUpOperator(ana, place(), "ana+password@example.com");
  const workspaceId = await createWorkspace(ana, "Loja da Ana");
  await signInLongAgo(ana, sandbox(), "ana+password@example.com");
  const keys = new Keyboard(page);
  const proof = page.getByRole("dialog", { name: PROOF });
  await page.goto(`/dashboard/w/${workspaceId}/keys`);
  await keys.press("Create a key");
  await keys.fill("Name", "Loja online");
  await keys.press("Create a key");
  await proof.waitFor();

  // Who gives up has made nothing, and may go on.
  await page.keyboard.press("Escape");
  await proof.waitFor({ state: "detached" });
  await page.getByText("Confirm first that it is you.").waitFor();
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Loja online");
  expect(await mustAsk(ana, "GET /api/v1/auth/keys", { workspaceId })).toHaveLength(1);

  await keys.press("Create a key");
  await proof.waitFor();
  await keys.fill("Password", "not the password");
  await keys.press("Confirm");
  await proof.getByText("The address, the password or the code is wrong").waitFor();
  await keys.fill("Password", PASSWORD);
  await keys.press("Confirm");
  await page.getByRole("dialog", { name: "Your new key" }).waitFor();
  await keys.press("I have stored it");

  // The proof is fresh now.
  await keys.press(/^Delete the key .*Loja online.*\?$/);
  await keys.press("Delete");
  await page.getByText(/The key .*Loja online.* is deleted/).waitFor();
  expect(await proof.count()).toBe(0);
});

journey("a passkey is proof enough, and a person who has both may choose", async ({ visit }) => {
  const ana = await visit(place().url);
  ana.allow(ASKED);
  const { page } = ana;
  await addAuthenticator(ana);
  await signUpOperator(ana, place(), "ana+passkey@example.com");
  const workspaceId = await createWorkspace(ana, "Loja da Ana");
  const keys = new Keyboard(page);
  await page.goto("/dashboard/account");
  await keys.press("Add a passkey");
  await keys.fill("Name", "Telemóvel");
  await keys.press("Continue");
  await page.getByText("The passkey is added.").waitFor();
  await signInLongAgo(ana, sandbox(), "ana+passkey@example.com");

  await page.goto(`/dashboard/w/${workspaceId}/keys`);
  await keys.press("Create a key");
  await keys.fill("Name", "Loja online");
  await keys.press("Create a key");
  await page.getByRole("dialog", { name: PROOF }).waitFor();
  await keys.press("Use a password instead");
  await keys.press("Use a passkey instead");
  await keys.press("Confirm with a passkey");
  await page.getByRole("dialog", { name: "Your new key" }).waitFor();
  const { session } = await mustAsk(ana, "GET /api/v1/auth/me");
  expect(Date.now() - Date.parse(session.provedAt)).toBeLessThan(60_000);
  expect(session.method).toBe("passkey");
});
