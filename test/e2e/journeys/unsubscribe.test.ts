// Somebody unsubscribes on the page behind the link in an email: by mouse, by keyboard, without script, in both languages.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { waitUntil } from "../../support/peers/process.ts";

const sandbox = useSandbox();

/** Sends an email of a list; the address in its header. */
async function findLink(to: string): Promise<string> {
  const { url, apiKey, domain } = sandbox();
  const body = {
    from: `Loja <loja@${domain}>`,
    to,
    subject: "Novidades",
    text: "{{unsubscribe_url}}",
    unsubscribe: { list: "news" },
  };
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const sent = await fetch(`${url}/api/v1/emails`, { method: "POST", headers, body: JSON.stringify(body) });
  expect([sent.status, await sent.text()]).toEqual([202, expect.any(String)]);
  let link = "";
  await waitUntil("the email has arrived", 30_000, async () => {
    const answer = await fetch(`${url}/sandbox/messages?to=${encodeURIComponent(to)}`);
    const raw = JSON.stringify(await answer.json()).replaceAll(/\\r\\n[ \\t]+/g, " ");
    link = /List-Unsubscribe: <(http[^>]+)>/.exec(raw)?.[1] ?? "";
    return link !== "";
  });
  return link;
}

async function listSuppressed(): Promise<string[]> {
  const { url, apiKey } = sandbox();
  const answer = await fetch(`${url}/api/v1/suppressions`, { headers: { "x-api-key": apiKey } });
  const { data } = (await answer.json()) as { data: { address: string; list: string | null }[] };
  return data.map(({ address, list }) => `${address} ${list}`);
}

const WORDS = [
  { language: "en-GB", ask: "Unsubscribe", done: "You are unsubscribed", invalid: "This link is not valid" },
  {
    language: "pt-PT",
    ask: "Cancelar a subscrição",
    done: "A subscrição foi cancelada",
    invalid: "Esta ligação não é válida",
  },
];

journey("the link in an email asks with one button, and only that unsubscribes", async ({ visit }) => {
  for (const { language, ask, done, invalid } of WORDS) {
    const to = `${language.toLowerCase()}@example.com`;
    const link = await findLink(to);
    const visitor = await visit(sandbox().origin, { language });
    const { page } = visitor;
    await page.goto(link);
    expect(await page.textContent("h1")).toBe(ask);
    expect(await listFaultsOfLooks(visitor)).toEqual([]);
    expect(await listSuppressed()).not.toContain(`${to} news`);
    // By keyboard: the button is the only thing on the page.
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe(ask);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: done }).waitFor();
    expect(await listFaultsOfLooks(visitor)).toEqual([]);
    expect(await listSuppressed()).toContain(`${to} news`);
    await page.goto(link);
    expect([await page.textContent("h1"), await page.locator("button").count()]).toEqual([done, 0]);
    visitor.allow(/ 404$/);
    await page.goto(link.slice(0, -1));
    expect(await page.textContent("h1")).toBe(invalid);
    expect(await listFaultsOfLooks(visitor)).toEqual([]);
  }
});
