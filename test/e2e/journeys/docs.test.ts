// The page at /docs: it shows every operation, a request can be tried on it as it stands, in the sandbox without a
// key that is typed.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";

const EMAILS = "#operations-Emails-sendEmail";
/** For the operator only. */
const WORKSPACES = "#operations-Operator-listWorkspaces";
/** The viewer's own, which no style can mend. */
const VIEWER_FAULTS = /: (nested-interactive|heading-order|region): /;

const sandbox = useSandbox();

journey("the docs show every operation, try them with the sandbox's keys, and ask nobody else", async ({ visit }) => {
  const { url } = sandbox();
  const visitor = await visit(url);
  const { page } = visitor;
  const document = (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { tags: string[] }>>;
    webhooks: Record<string, Record<string, { tags: string[] }>>;
  };
  const isShown = (count: number) => `document.querySelectorAll(".opblock").length === ${count}`;
  const webhooks = Object.values(document.webhooks).length;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const parts = new Set(operations.flatMap(({ tags }) => tags));

  await page.goto("/docs");
  await visitor.until("the calls of webhooks are shown, and all else is folded", isShown(webhooks));
  for (const part of parts) {
    const fold = `.opblock-tag[data-tag="${part}"]`;
    await page.click(fold);
    const count = operations.filter(({ tags }) => tags.includes(part)).length;
    await visitor.until(`each operation of ${part} is shown`, isShown(webhooks + count));
    await page.click(fold);
    await visitor.until(`${part} is folded again`, isShown(webhooks));
  }
  // A link leads to what is folded.
  const open = async (part: string, operation: string) => {
    await page.goto(`/docs#/${part}/${operation}`);
    await page.reload();
    // The viewer draws the whole document first: seconds on a busy machine.
    await page.locator(`#operations-${part}-${operation} .execute`).waitFor({ timeout: 45_000 });
    // The keys come after the page.
    await page
      .locator(`.authorize.locked, #operations-${part}-${operation} .authorization__btn.locked`)
      .first()
      .waitFor();
  };
  await open("Emails", "sendEmail");
  // The button is there some 300 ms before the body that it sends: pressed in between, it sends nothing.
  const body = `document.querySelector("${EMAILS} .opblock-section-request-body textarea")?.value ?? ""`;
  await visitor.until("the example's body is shown", `(${body}).includes('"subject"')`);
  const execute = async (operation: string): Promise<string> => {
    await page.click(`${operation} .execute`);
    const status = page.locator(`${operation} .live-responses-table tbody .response-col_status`).first();
    return ((await status.innerText()).split("\n")[0] ?? "").trim();
  };
  expect(await execute(EMAILS)).toBe("202");
  await open("Operator", "listWorkspaces");
  expect(await execute(WORKSPACES)).toBe("200");
  expect(visitor.requests.length).toBeGreaterThanOrEqual(6);
});

journey("the docs can be read in the light and in the dark, on small screens and large", async ({ visit }) => {
  const visitor = await visit(sandbox().url);
  await visitor.page.goto("/docs");
  await visitor.page.locator(".opblock").first().waitFor();
  const faults = await listFaultsOfLooks(visitor);
  expect(faults.filter((fault) => !VIEWER_FAULTS.test(fault))).toEqual([]);
});
