// From the printed link to a delivered first email, by keyboard; then the list, whose place the way back keeps.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { waitUntil } from "../../support/peers/process.ts";
import type { StorageState } from "../../support/browser/visitor.ts";

const sandbox = useSandbox();
/** The printed link works once. */
let signedIn: StorageState | undefined;

journey(
  "a stranger opens the printed link, uses the keyboard only, and sees the first email delivered within a minute",
  async ({ visit }) => {
    const { dashboardUrl, origin, url, workspaceId } = sandbox();
    const { page, requests, context } = await visit(origin);
    const keys = new Keyboard(page);
    const startedAt = performance.now();
    await page.goto(dashboardUrl);
    await keys.press("Put a new key in");
    const command = page.locator("pre", { hasText: "X-API-Key: svc_" });
    await command.waitFor();
    const key = /svc_[\w-]{43}/.exec(await command.innerText())?.[0] ?? "";
    await keys.press("Send it now");
    await page.getByRole("heading", { name: "Delivered", exact: true }).waitFor();
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    // The key of the command works, and is on no page that is loaded again.
    const sent = await fetch(`${url}/api/v1/emails?limit=1`, { headers: { "x-api-key": key } });
    expect(sent.status).toBe(200);
    await page.reload();
    await page.getByRole("heading", { name: "Sandbox" }).waitFor();
    expect(await page.content()).not.toContain(key);
    expect(requests.filter((request) => request.includes(key) || request.includes(" http"))).toEqual([]);

    await keys.press("My first email with pombo", "link");
    await page.getByText("took it", { exact: false }).first().waitFor();
    expect(new URL(page.url()).pathname).toStartWith(`/dashboard/w/${workspaceId}/emails/`);
    signedIn = await context.storageState();
  },
);

journey("the list of emails is live, and the way back leads to the same place of it", async ({ visit }) => {
  const { origin, url, apiKey, workspaceId, domain } = sandbox();
  const send = (to: string, subject: string) =>
    fetch(`${url}/api/v1/emails`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      body: JSON.stringify({ from: `loja@${domain}`, to, subject, text: "Olá" }),
    });
  for (let nth = 0; nth < 120; nth += 1) await send("maria@example.com", `Encomenda ${nth}`);
  const { page } = await visit(origin, { ...(signedIn === undefined ? {} : { storageState: signedIn }) });
  await page.goto(`/dashboard/w/${workspaceId}/emails`);
  await send("slow@example.com", "Devagar");
  const row = page.getByRole("row", { name: /Devagar/ });
  await row.waitFor();
  await row.getByText("Delivered").waitFor();

  await page.getByRole("button", { name: "Older" }).click();
  const link = page.getByRole("link", { name: "Encomenda 30", exact: true });
  await link.scrollIntoViewIfNeeded();
  const before = await page.evaluate("scrollY");
  expect(before).toBeGreaterThan(100);
  await link.click();
  await page.getByRole("heading", { name: "What happened" }).waitFor();
  await page.goBack();
  await link.waitFor();
  expect(new URL(page.url()).search).toBe("?page=2");
  await waitUntil("the list is where it was left", 5_000, async () => (await page.evaluate("scrollY")) === before);
});
