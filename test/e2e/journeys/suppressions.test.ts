// Suppressions at the dashboard, by keyboard: added, looked up, lifted, imported and exported; a viewer only reads.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { createWorkspace, join, mustAsk, signInToSandbox } from "../../support/browser/people.ts";

const sandbox = useSandbox();

journey("an address is added, looked up and lifted; a list is imported and exported", async ({ visit }) => {
  const { origin } = sandbox();
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const workspaceId = await createWorkspace(ana, "Loja das supressões");
  const { page } = ana;
  // The import tells of a faulty line.
  ana.allow(/^answer: POST \/api\/v1\/suppressions\/import 422$/);
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}/keys`);
  await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.getByRole("heading", { name: "Nobody is suppressed" }).waitFor();

  await keys.press("Add an address");
  await keys.fill("Address", "Maria@Example.com");
  await keys.fill("List (optional)", "news");
  await keys.press("Add an address");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("row", { name: /maria@example\.com.*news/ }).waitFor();

  await keys.press("Import");
  await keys.fill(
    "Or paste the addresses",
    "address,reason\nrui@example.com,complaint\nnobody,\nmaria@example.com,\n+258841234567,opt_out",
  );
  expect(await listFaultsOfLooks(ana)).toEqual([]);
  await keys.press("Import");
  const report = page.getByRole("dialog", { name: "Imported" });
  await report.waitFor();
  expect(await report.innerText()).toMatch(/New: 3[^]*Lines with a fault, left out: 1[^]*Line 3:/);
  await keys.press("Close", "button");
  await report.waitFor({ state: "detached" });
  await page.getByRole("row", { name: /rui@example\.com/ }).waitFor();

  await keys.fill("Address begins with", "rui");
  await page.keyboard.press("Enter");
  await page
    .getByRole("row", { name: /maria@example\.com/ })
    .first()
    .waitFor({ state: "detached" });
  await keys.press(/^Lift the suppression of .*rui@example\.com/);
  const dialog = page.getByRole("dialog");
  await dialog.getByText("reported your mail as spam").waitFor();
  await keys.press("Lift");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "No suppressed address fits this filter." }).waitFor();
  await keys.press("Clear the filter");
  await page.getByRole("row", { name: /258841234567/ }).waitFor();

  const coming = page.waitForEvent("download");
  await keys.press("Export as CSV");
  const text = readFileSync(await (await coming).path(), "utf8");
  expect(text.split("\r\n").map((line) => line.split(",")[0])).toEqual([
    "address",
    "+258841234567",
    "maria@example.com",
    "maria@example.com",
    "",
  ]);

  // Without anything done on the page.
  await ana.until("it listens", "navigator.locks.query().then(({ held }) => held.length === 1)");
  await mustAsk(ana, "POST /api/v1/suppressions", { workspaceId, body: { address: "late@example.com" } });
  await page.getByRole("row", { name: /late@example\.com/ }).waitFor();

  const rui = await visit(origin);
  await join(ana, workspaceId, { visitor: rui, email: "rui+suppressions@example.com", role: "viewer" });
  await rui.page.goto(`/dashboard/w/${workspaceId}/suppressions`);
  await rui.page.getByRole("row", { name: /late@example\.com/ }).waitFor();
  expect(await rui.page.getByRole("button", { name: /^(Add an address|Import|Lift.*)$/ }).count()).toBe(0);
});
