// The sandbox's phones: a text arrives there as it was written, whatever it holds, each has its end, and what is
// written back goes all the way.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { waitUntil } from "../../support/peers/process.ts";

const HOSTILE = `<img src=x onerror="document.title='owned'"> já & "então" 👍`;

const sandbox = useSandbox();

async function ask(path: string, body?: object): Promise<{ data: { body: string }[] }> {
  const { url, apiKey } = sandbox();
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return (await (await fetch(`${url}${path}`, { headers, ...sent })).json()) as { data: { body: string }[] };
}

journey("a text is shown as it was written, and the answer reaches the workspace", async ({ visit }) => {
  const visitor = await visit(sandbox().url);
  const { page } = visitor;
  await page.goto("/sandbox");
  await page.click("#world-phones");
  await page.locator("#phone-welcome").waitFor();
  await ask("/api/v1/sms", { to: "+258841234567", body: HOSTILE });
  const bubbles = page.locator("#bubbles .bubble p");
  await bubbles.first().waitFor();
  expect(await bubbles.allTextContents()).toEqual([HOSTILE]);
  expect(await page.textContent("#no-answer")).toContain("cannot be answered");

  await page.locator("#answer").pressSequentially("Obrigada!");
  await page.click("#send");
  await bubbles.nth(1).waitFor();
  // The phone shows it before the workspace has it.
  let inbound: string[] = [];
  await waitUntil("the answer is in the workspace", 15_000, async () => {
    inbound = (await ask("/api/v1/sms/inbound")).data.map(({ body }) => body);
    return inbound.length > 0;
  });
  expect(inbound).toEqual(["Obrigada!"]);
  await page.goto("/sandbox#phones");
  await bubbles.nth(1).waitFor();
});

journey("each text shows its end and why, and the phones can be read in every look", async ({ visit }) => {
  const visitor = await visit(sandbox().url);
  const { page } = visitor;
  await page.goto("/sandbox#phones");
  const ends = { "+258842222222": "delivered", "+258840000001": "undelivered", "+258840000010": "failed" };
  for (const to of Object.keys(ends)) await ask("/api/v1/sms", { to, from: "Sandbox", body: "Bom dia" });
  for (const [number, end] of Object.entries(ends)) {
    const item = page.locator("#phone-list button", { hasText: number });
    await item.locator(".marks", { hasText: new RegExp(`^${end}$`) }).waitFor();
  }
  await page.locator("#phone-list button", { hasText: "+258840000010" }).click();
  await page.locator("#bubbles .reason", { hasText: /^Not on the phone: \S/ }).waitFor();
  expect(await listFaultsOfLooks(visitor)).toEqual([]);
});
