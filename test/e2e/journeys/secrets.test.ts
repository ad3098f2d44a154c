// What is secret is in no address, no history and no storage of the browser, and out of the page once its dialog is closed.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { createWorkspace, makeSetupLink, PASSWORD } from "../../support/browser/people.ts";

const sandbox = useSandbox();
/** All that a page can keep, and what the document holds. */
const KEPT = `(async () => JSON.stringify([
  { ...localStorage }, { ...sessionStorage }, document.cookie, history.state, window.name,
  (await indexedDB.databases()).length, (await caches.keys()).length, (await navigator.serviceWorker.getRegistrations()).length,
  document.documentElement.outerHTML,
]))()`;

journey("links, keys, recovery codes and passwords leave nothing behind in the browser", async ({ visit }) => {
  const { origin: url, operatorKey } = sandbox();
  const ana = await visit(url);
  const { page } = ana;
  const secrets: string[] = [PASSWORD];
  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true }).last();
  const dialog = page.locator("dialog[open]");
  /** What the dialog shows once, which then is closed. */
  const note = async (form: RegExp, close: string) => {
    const found = form.exec(await dialog.locator("pre").first().innerText())?.[0];
    expect(found).toBeDefined();
    secrets.push(found ?? "");
    await button(close).click();
    await dialog.waitFor({ state: "detached" });
  };

  const link = await makeSetupLink({ url, operatorKey });
  secrets.push(new URL(link).hash.slice(1));
  await page.goto(link);
  await page.getByLabel("Your name").fill("Ana Macuácua");
  await page.getByLabel("Email address").fill("ana+secrets@example.com");
  await button("Use a password instead").click();
  await page.getByLabel("New password").fill(PASSWORD);
  await button("Continue").click();
  await page.getByRole("heading", { level: 1, name: "Name your workspace" }).waitFor();
  const workspace = `/dashboard/w/${await createWorkspace(ana, "Loja da Ana")}`;

  await page.goto(`${workspace}/keys`);
  await button("Create a key").click();
  await dialog.getByLabel("Name").fill("Loja online");
  await button("Create a key").click();
  await page.getByRole("dialog", { name: "Your new key" }).waitFor();
  await note(/svc_[\w-]{43}/, "I have stored it");

  await page.goto(`${workspace}/members`);
  await button("Invite").click();
  await dialog.getByLabel("Email address").fill("rui@example.com");
  await button("Invite").click();
  await page.getByRole("dialog", { name: /^Invitation for/ }).waitFor();
  await note(/[\w-]{43}(?=\s*$)/, "Close");

  const kept = await page.evaluate<string>(KEPT);
  const session = await ana.context.newCDPSession(page);
  const { entries } = await session.send("Page.getNavigationHistory");
  expect(entries.length).toBeGreaterThan(2);
  const addresses = [...entries.map((entry) => `${entry.url} ${entry.title}`), ...ana.requests];
  expect(secrets).toHaveLength(4);
  for (const secret of secrets) {
    expect(kept).not.toContain(secret);
    expect(addresses.filter((address) => address.includes(secret))).toEqual([]);
  }
  // Theme and language at most.
  const { origins, cookies } = await ana.context.storageState();
  expect(origins.flatMap(({ localStorage }) => localStorage.map(({ name }) => name))).toEqual([]);
  expect(cookies.map(({ name, httpOnly }) => [name, httpOnly])).toEqual([["pombo-session", true]]);
});
