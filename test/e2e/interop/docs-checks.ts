// The page at /docs in a real browser: it shows every operation, a request can be tried on it as it stands, in the
// sandbox without a key that is typed, it can be read in the dark too, and it asks nobody but the instance itself.

import { join } from "node:path";
import { openBrowser } from "../../support/peers/browser.ts";
import { listFaintWords } from "../../support/peers/contrast.ts";
import { waitUntil, type Cleanup } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";
import type { Checks } from "./checks.ts";

const ANSWER_TIMEOUT_MS = 10_000;
const EMAILS = "#operations-Emails-sendEmail";
/** For the operator only. */
const WORKSPACES = ".opblock[id$=-listWorkspaces]";

export async function checkDocs({ folder, checks, cleanup }: { folder: string; checks: Checks; cleanup: Cleanup }) {
  const { url } = await startSandbox(join(folder, "sandbox.log"), cleanup);
  const page = await openBrowser(folder, cleanup);
  const document = (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as {
    paths: Record<string, object>;
    webhooks: Record<string, object>;
  };
  const operations = [...Object.values(document.paths), ...Object.values(document.webhooks)];
  const count = operations.flatMap((methods) => Object.keys(methods)).length;

  await page.goTo(`${url}/docs`);
  await page.until("the operations are shown", `document.querySelectorAll(".opblock").length === ${count}`);
  checks.claim(`docs: the page shows all ${count} operations and calls of webhooks`, true);

  await page.until(
    "the sandbox's keys are there",
    `document.querySelector(".authorize.locked, ${EMAILS} .authorization__btn.locked") !== null`,
  );
  await page.click(`${EMAILS} .opblock-summary-control`);
  // The button is there some 300 ms before the body that it sends: pressed in between, it sends nothing.
  const body = `document.querySelector("${EMAILS} .opblock-section-request-body textarea")?.value ?? ""`;
  await page.until("the example's body is shown", `(${body}).includes('"subject"')`);
  const execute = async (operation: string): Promise<string> => {
    await page.click(`${operation} .execute`);
    const status = `document.querySelector("${operation} .live-responses-table tbody .response-col_status")`;
    await page.until("the answer is shown", `${status} !== null`);
    return page.evaluate(`${status}.innerText.trim()`);
  };
  checks.equal("docs: its example is sent as it stands, with the sandbox's key", await execute(EMAILS), "202");
  await page.click(`${WORKSPACES} .opblock-summary-control`);
  checks.equal(
    "docs: and an operator's request with the operator key",
    (await execute(WORKSPACES)).split("\n")[0],
    "200",
  );

  for (const scheme of ["dark", "light"] as const) {
    await page.emulate({ width: 1280, height: 800, scheme });
    const isDark = `document.documentElement.classList.contains("dark-mode")`;
    await page.until(`the page is ${scheme} where the system is`, `${isDark} === ${scheme === "dark"}`);
    checks.equal(`docs: it can be read in the ${scheme}`, await listFaintWords(page), []);
  }
  const strangers = page.requests.filter((request) => new URL(request.url).origin !== url);
  checks.equal("docs: every request goes to the instance", strangers, []);
  // The browser may still be asking for an icon.
  const isAnswered = () => page.requests.every(({ status: got }) => got !== null);
  await waitUntil("every request of the page is answered", ANSWER_TIMEOUT_MS, isAnswered);
  const failed = page.requests.filter(({ status: got }) => typeof got !== "number" || got >= 300);
  checks.equal("docs: none of them fails", failed, []);
  checks.claim("docs: the page, its parts and a request were seen", page.requests.length >= 6, () => page.requests);
  checks.equal("docs: the browser complains of nothing", page.complaints, []);
}
