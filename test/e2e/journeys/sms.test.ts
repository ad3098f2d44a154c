// SMS at the dashboard, by keyboard: what a program sends appears in the open list, its parts and receipts come as they
// happen, a refused one says why, and what a person answers is there at once.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { answerSms, DEAR_TEXT } from "../../support/browser/ledger.ts";
import { ask, join, signInToSandbox } from "../../support/browser/people.ts";

const PHONE = "+258841234567";
/** The sandbox's network refuses it. */
const REFUSED = "+258840000010";

const sandbox = useSandbox();

async function send(to: string, body: string): Promise<string> {
  const { url, apiKey } = sandbox();
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const answer = await fetch(`${url}/api/v1/sms`, { method: "POST", headers, body: JSON.stringify({ to, body }) });
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { data: { id: string } }).data.id;
}

journey("SMS are found, and each tells what became of its parts", async ({ visit }) => {
  const { origin, url, workspaceId } = sandbox();
  const ana = await visit(origin);
  ana.allow(/^answer: GET \/api\/v1\/sms\?.*to=nonumber 422$/);
  await signInToSandbox(ana, sandbox());
  const { page } = ana;
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByText("No SMS was sent yet").waitFor();

  await send(PHONE, DEAR_TEXT);
  await page.getByRole("row", { name: /\+258841234567.*Delivered/ }).waitFor();
  await send(REFUSED, "A sua encomenda saiu.");
  await keys.press("1 new SMS: show it");
  await page.getByRole("row", { name: /\+258840000010.*Failed/ }).waitFor();

  await keys.press(PHONE, "link");
  await page.getByText("It is on the phone.").waitFor();
  await page.getByText("3, of up to 70 characters").waitFor();
  for (const part of [1, 2, 3]) await page.getByText(`Part ${part}: Receipt: on the phone`).waitFor();
  expect(await page.getByRole("textbox", { name: "Text" }).inputValue()).toBe(DEAR_TEXT);
  await page.goBack();

  await page.getByLabel("Status").selectOption("failed");
  await page.getByRole("row", { name: /\+258841234567/ }).waitFor({ state: "detached" });
  await keys.press(REFUSED, "link");
  await page.getByText("Refused by the network").waitFor();
  await page.getByText(/The network refused it\. It is not tried again\. \S/).waitFor();
  await keys.reach(page.locator("main").getByRole("link", { name: "SMS", exact: true }));
  await page.keyboard.press("Enter");

  await keys.fill("To", "no number");
  await page.keyboard.press("Enter");
  await page.getByText(/must be a .*number/i).waitFor();
  await keys.press("Clear the filter");
  await keys.press("Received", "link");
  await page.getByText("No SMS was received").waitFor();
  await answerSms(url, { from: PHONE, body: "Obrigada! <b>Até já</b>" });
  await page.getByRole("row", { name: "Obrigada! <b>Até já</b>" }).waitFor();
});

journey("an SMS on its way moves under the reader's eyes; a viewer sees no texts", async ({ visit }) => {
  const { origin, workspaceId } = sandbox();
  const [ana, rui] = [await visit(origin), await visit(origin)];
  await signInToSandbox(ana, sandbox());
  await join(ana, workspaceId, { visitor: rui, email: "rui+sms@example.com", role: "viewer" });
  const id = await send(PHONE, "O código é 4711.");
  await ana.page.goto(`/dashboard/w/${workspaceId}/sms/${id}`);
  await ana.page.getByText("It is on the phone.").waitFor();
  await ana.page.getByText("Receipt: on the phone").waitFor();

  await rui.page.goto(`/dashboard/w/${workspaceId}/sms/${id}`);
  await rui.page.getByText("With your role you do not see what messages say").waitFor();
  expect(await rui.page.content()).not.toContain("4711");
  await rui.page.goto(`/dashboard/w/${workspaceId}/sms`);
  await rui.page.getByText("Not shown to your role").first().waitFor();
  expect(await rui.page.getByRole("link", { name: "Write an SMS" }).count()).toBe(0);
  rui.allow(/^answer: POST \/api\/v1\/sms 403$/);
  const body = { to: PHONE, body: "x" };
  expect((await ask(rui, "POST /api/v1/sms", { body, workspaceId })).status).toBe(403);
});
