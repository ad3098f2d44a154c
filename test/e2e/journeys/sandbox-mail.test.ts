// The sandbox's inbox: it shows each email with its status as that changes, leaves a person's place as it is
// meanwhile, and can be used by keyboard.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import type { Visitor } from "../../support/browser/visitor.ts";

const HOSTILE = `<h1>Olá</h1><script>parent.owned = 1; top.owned = 1</script><img src=x onerror="parent.owned = 1">`;
/** More than the list has room for. */
const MANY = 12;

const sandbox = useSandbox();

async function send(to: string, html = "<p>Olá</p>"): Promise<void> {
  const { url, apiKey } = sandbox();
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const body = JSON.stringify({ from: "Loja <loja@sandbox.test>", to, subject: `To ${to}`, html });
  expect((await fetch(`${url}/api/v1/emails`, { method: "POST", headers, body })).status).toBe(202);
}

const itemOf = ({ page }: Visitor, to: string) =>
  page.locator("#messages button").filter({ has: page.locator(".to").getByText(to, { exact: true }) });
const waitForStatus = (visitor: Visitor, to: string, status: string) =>
  itemOf(visitor, to).locator(".marks").getByText(status, { exact: true }).waitFor({ timeout: 30_000 });

journey("an email's status changes under the reader's eyes, and says why", async ({ visit }) => {
  const visitor = await visit(sandbox().url);
  const { page } = visitor;
  await page.goto("/sandbox");
  await page.locator("#welcome").waitFor();
  expect(await listFaultsOfLooks(visitor)).toEqual([]);

  await send("defer@example.com");
  await waitForStatus(visitor, "defer@example.com", "delivery delayed");
  await itemOf(visitor, "defer@example.com").click();
  await page.locator("#reason", { hasText: /451 4\.7\.1.*next/ }).waitFor();
  await send("bounce@example.com");
  await waitForStatus(visitor, "bounce@example.com", "bounced");
  await waitForStatus(visitor, "defer@example.com", "delivered");
  await page.locator("#frame").waitFor();
  await page.locator("#reason").waitFor({ state: "hidden" });
  // The chosen email stays chosen when it arrives.
  expect(await page.textContent("#recipient")).toBe("defer@example.com");
  await itemOf(visitor, "bounce@example.com").click();
  await page.locator("#reason", { hasText: /^550 5\.1\.1 / }).waitFor();
  expect(await listFaultsOfLooks(visitor)).toEqual([]);
});

journey("the list stays where it is, with focus and filter, while mail comes in", async ({ visit }) => {
  const visitor = await visit(sandbox().url);
  const { page } = visitor;
  await page.goto("/sandbox");
  for (let nth = 1; nth <= MANY; nth += 1) await send(`many+${nth}@example.com`);
  for (let nth = 1; nth <= MANY; nth += 1) await waitForStatus(visitor, `many+${nth}@example.com`, "delivered");
  const first = itemOf(visitor, "many+1@example.com");
  await first.evaluate((each) => each.scrollIntoView({ block: "center" }));
  await first.evaluate((each) => each.focus({ preventScroll: true }));
  const findTop = async () => (await first.boundingBox())?.y ?? 0;
  const before = await findTop();
  await send("one-more@example.com");
  await waitForStatus(visitor, "one-more@example.com", "delivered");
  expect(Math.abs((await findTop()) - before)).toBeLessThan(2);
  expect(await first.evaluate((each) => each.matches(":focus"))).toBe(true);

  await page.locator("#filter").pressSequentially("many+1");
  await send("many+100@example.com");
  await waitForStatus(visitor, "many+100@example.com", "delivered");
  expect(await page.inputValue("#filter")).toBe("many+1");
  expect(await page.evaluate("document.activeElement.id")).toBe("filter");
  expect(await itemOf(visitor, "one-more@example.com").count()).toBe(0);
});

journey("the inbox is used by keyboard", async ({ visit }) => {
  const visitor = await visit(sandbox().url);
  const { page } = visitor;
  await send("keys+1@example.com");
  await send("keys+2@example.com");
  await page.goto("/sandbox");
  await waitForStatus(visitor, "keys+2@example.com", "delivered");
  await page.locator("h1").evaluate((each) => each.setAttribute("tabindex", "-1"));
  await page.focus("h1");
  const reached: unknown[] = [];
  for (let nth = 0; nth < 6; nth += 1) {
    await page.keyboard.press("Tab");
    reached.push(
      await page.evaluate(
        `document.activeElement.id || (document.activeElement.closest("#messages") ? "message" : document.activeElement.textContent)`,
      ),
    );
  }
  expect(reached).toEqual(["world-mail", "world-phones", "Dashboard", "empty", "filter", "message"]);
  const recipient = page.locator("#recipient");
  const newest = await page.evaluate<string>(`document.activeElement.querySelector(".to").textContent`);
  await page.keyboard.press("Enter");
  await recipient.getByText(newest, { exact: true }).waitFor();
  await page.keyboard.press("j");
  await visitor.until("j opens the next", `document.getElementById("recipient").textContent !== "${newest}"`);
  await page.keyboard.press("k");
  await recipient.getByText(newest, { exact: true }).waitFor();
  await page.locator("#frame").waitFor();
  const findWidth = () => page.evaluate<number>(`document.getElementById("frame").clientWidth`);
  const full = await findWidth();
  await page.keyboard.press("w");
  expect(await findWidth()).toBe(375);
  await page.keyboard.press("w");
  expect(await findWidth()).toBe(full);
  await page.focus("#tab-html");
  await page.keyboard.press("ArrowRight");
  expect(await page.evaluate("document.activeElement.id")).toBe("tab-text");
});

journey("a message's html runs nothing, and is of another origin", async ({ visit }) => {
  const visitor = await visit(sandbox().url);
  // The browser says what it stops in the frame.
  visitor.allow(/^console: Blocked script execution in /, /^console: Loading the image .*violates/, /^failed: .* csp$/);
  const { page } = visitor;
  await page.goto("/sandbox");
  await send("hostile@example.com", HOSTILE);
  await waitForStatus(visitor, "hostile@example.com", "delivered");
  await itemOf(visitor, "hostile@example.com").click();
  await page.frameLocator("#frame").locator("h1").waitFor();
  const frame = `document.getElementById("frame")`;
  expect(
    await page.evaluate(`[${frame}.getAttribute("sandbox"), ${frame}.contentDocument, globalThis.owned ?? null]`),
  ).toEqual(["", null, null]);
});
