// The dashboard's page of an email that went to several with files: its copies, what it carries, and another time for it.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { PDF, sendEverything } from "../../support/browser/everything.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { ask, join, mustAsk, signInToSandbox } from "../../support/browser/people.ts";

const HOUR_MS = 60 * 60_000;

const sandbox = useSandbox();

journey("the page shows the copies of a send, what it carries, and saves its files", async ({ visit }) => {
  const { origin, workspaceId } = sandbox();
  const ana = await visit(origin);
  const { page } = ana;
  await signInToSandbox(ana, sandbox());
  const { id, recipients } = await sendEverything(sandbox());
  await page.goto(`/dashboard/w/${workspaceId}/emails/${id}`);
  const copies = page.getByRole("table", { name: "Recipients of this send" });
  await copies.getByText("Delivered").nth(3).waitFor({ timeout: 30_000 });
  expect(await copies.locator("tbody tr").allInnerTexts()).toEqual([
    expect.stringMatching(/^ana@example\.com\s+To\s+Delivered$/),
    expect.stringMatching(/^rui@example\.com\s+To\s+Delivered$/),
    expect.stringMatching(/^contas@example\.com\s+Cc\s+Delivered$/),
    expect.stringMatching(/^arquivo@example\.com\s+Bcc\s+Delivered$/),
  ]);
  const facts = await page.locator(".facts").innerText();
  for (const words of ["Ana Silva <ana@example.com>", "Ajuda <ajuda@sandbox.test>", "receipt", "4711", "novidades"])
    expect(facts).toContain(words);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download recibo nº 4711.pdf" }).click();
  const saved = await coming;
  expect(saved.suggestedFilename()).toBe("recibo nº 4711.pdf");
  expect(readFileSync(await saved.path()).toString("base64")).toBe(PDF);
  await page.getByText("Header fields").click();
  expect(await page.getByRole("textbox", { name: "Header fields" }).inputValue()).toBe("X-Order: 4711");

  await copies.getByRole("link", { name: "arquivo@example.com" }).click();
  await ana.until("its own page", `location.pathname.endsWith("${recipients[3]?.id}")`);
  await page.locator(".facts dt").getByText("Bcc", { exact: true }).waitFor();
  await page.getByRole("link", { name: "receipt" }).click();
  await page
    .locator(".mark")
    .getByText(/^Tag: .*receipt/)
    .waitFor();
  await page.locator("tbody tr").nth(3).waitFor();
  expect(await page.locator("tbody tr").count()).toBe(4);
});

journey("a scheduled send gets another time, and all its copies are canceled, by keyboard", async ({ visit }) => {
  const { origin, workspaceId } = sandbox();
  const ana = await visit(origin);
  const { page } = ana;
  await signInToSandbox(ana, sandbox());
  const asked = { workspaceId };
  const sendAt = new Date(Date.now() + HOUR_MS).toISOString();
  const { id, recipients } = await sendEverything(sandbox(), { to: ["a@example.com", "b@example.com"], sendAt });
  const read = (each: string) => mustAsk(ana, `GET /api/v1/emails/${each}`, asked);
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}/emails/${id}`);
  await page.getByText("Not sent before:").waitFor();
  await keys.press("Change the time");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  ana.allow(/^answer: PATCH \/api\/v1\/emails\/\S+ 422$/);
  await page.getByLabel("Scheduled for").fill("");
  await keys.press("Change the time");
  await dialog.locator(".field-error").waitFor();
  // Two hours ahead on the clock of Maputo, as the browser has it.
  const wanted = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + 2 * HOUR_MS;
  await page.getByLabel("Scheduled for").fill(new Date(wanted + 2 * HOUR_MS).toISOString().slice(0, 16));
  await keys.press("Change the time");
  await dialog.waitFor({ state: "detached" });
  expect((await read(id)).sendAt).toBe(new Date(wanted).toISOString());
  expect((await read(recipients[1]?.id ?? "")).sendAt).toBe(sendAt);

  await keys.press("Cancel the email");
  await dialog.waitFor();
  await page.getByLabel("The other recipients of this send too").check();
  await keys.press("Cancel the email");
  await dialog.waitFor({ state: "detached" });
  for (const each of recipients) expect((await read(each.id)).status).toBe("canceled");
  await page.getByRole("table").getByText("Canceled").nth(3).waitFor();
  expect(await page.getByRole("button", { name: "Change the time" }).count()).toBe(0);
});

journey(
  "somebody who may not see what messages say sees the names of files, and cannot save them",
  async ({ visit }) => {
    const { origin, workspaceId } = sandbox();
    const [ana, vera] = [await visit(origin), await visit(origin)];
    await signInToSandbox(ana, sandbox());
    await join(ana, workspaceId, { visitor: vera, email: "vera@example.com", role: "viewer" });
    const { id } = await sendEverything(sandbox(), { to: "c@example.com" });
    await vera.page.goto(`/dashboard/w/${workspaceId}/emails/${id}`);
    await vera.page.getByText("recibo nº 4711.pdf").waitFor();
    await vera.page.getByText("With your role you do not see what messages say.").first().waitFor();
    expect(await vera.page.getByRole("button", { name: /Download|Cancel|curl/ }).count()).toBe(0);
    const refused = await ask(vera, `GET /api/v1/emails/${id}/attachments/1`, { workspaceId });
    expect([refused.status, refused.errors[0]?.code]).toEqual([403, "ROLE_REQUIRED"]);
  },
);
