// An SMS is written by keyboard: the sign that costs two parts more is shown and replaced, and it arrives at a phone.
// Credits run out, the server is killed, and nothing that was typed is lost.

import { expect } from "bun:test";
import { join } from "node:path";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { DEAR_TEXT } from "../../support/browser/ledger.ts";
import { signInToSandbox } from "../../support/browser/people.ts";
import { freePort, makeFolder, waitUntil } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";

const AWAY = /The server cannot be reached/;
const TO = "+258841234567";

journey("an SMS is counted, made cheaper and sent; without credits, and without a server, it stays", async (stage) => {
  const { visit, cleanup } = stage;
  const folder = makeFolder("sms-compose", cleanup);
  const options = { port: await freePort(), data: join(folder, "data") };
  const sandbox = await startSandbox(join(folder, "first.log"), cleanup, options);
  const { url, operatorKey, workspaceId } = sandbox;
  const grant = async (amount: number) => {
    const answer = await fetch(`${url}/api/v1/operator/workspaces/${workspaceId}/credits`, {
      method: "POST",
      headers: { "x-api-key": operatorKey, "content-type": "application/json" },
      body: JSON.stringify({ amount }),
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { data: { balance: number } }).data.balance;
  };
  const ana = await visit(sandbox.origin);
  ana.allow(/^failed: /, /^answer: POST \/api\/v1\/sms (402|422)$/, /^answer: .* 503$/);
  await signInToSandbox(ana, sandbox);
  const { page } = ana;
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await keys.press("Write an SMS", "link");

  await keys.fill("Text", "5 € [IVA]");
  await page.getByText("“€”, “[”, “]” count as two characters each.").waitFor();
  await keys.fill("Text", "5\u00a0MT");
  await page.getByText("With U+00A0 a part holds 70 characters instead of 160.").waitFor();
  await keys.fill("Text", DEAR_TEXT);
  await page.getByText("“ã” makes it 3 parts; without it 1 part.").waitFor();
  expect(await page.locator("main mark").allTextContents()).toEqual(["ã"]);
  await keys.press("Replace accents and quotation marks: 1 part");
  await page.locator("main mark").first().waitFor({ state: "detached" });
  const folded = await page.getByLabel("Text").inputValue();
  expect(folded).toBe(DEAR_TEXT.replace("ã", "a").replace("á", "a"));
  await keys.press("Put them back");
  await page.locator("main mark").first().waitFor();
  expect(await page.getByLabel("Text").inputValue()).toBe(DEAR_TEXT);

  await keys.fill("To", "not a number");
  await keys.press("Send the SMS");
  await page.getByText(/must be a .*number/i).waitFor();
  expect(await page.getByLabel("To", { exact: true }).getAttribute("aria-invalid")).toBe("true");

  // The balance is heard of as it changes.
  const left = await grant(-1);
  await grant(-(left - 2));
  await page.getByText("There are too few credits for this text.").waitFor();
  await keys.fill("To", "+258 84 123 4567");
  await keys.press("Send the SMS");
  await page.getByText(/^It was not sent: there are too few credits/).waitFor();
  expect(await page.getByLabel("Text").inputValue()).toBe(DEAR_TEXT);
  expect(await listFaultsOfLooks(ana)).toEqual([]);
  await keys.press("To the credits", "link");
  await page.getByRole("heading", { level: 1, name: "SMS credits" }).waitFor();
  await page.getByText("Deducted by the operator").first().waitFor();
  await grant(40);
  await page.getByText("42", { exact: true }).first().waitFor();
  await keys.press("Write an SMS", "link");
  await page.locator("main mark").first().waitFor();
  await keys.press("Replace accents and quotation marks: 1 part");

  process.kill(sandbox.process.pid, "SIGKILL");
  await keys.press("Send the SMS");
  await page.getByText(AWAY).first().waitFor();
  await startSandbox(join(folder, "second.log"), cleanup, options);
  await page.locator(".banner").waitFor({ state: "hidden" });
  expect(await page.getByLabel("Text").inputValue()).toBe(folded);
  await keys.press("Send the SMS");
  await page.waitForURL(/\/sms\/[0-9a-f-]{36}$/);

  const list = async () => (await fetch(`${url}/sandbox/texts?to=${encodeURIComponent(TO)}`)).text();
  await waitUntil("it is on the phone", 30_000, async () => (await list()).includes("amanha."));
  await page.goto(`/dashboard/w/${workspaceId}/credits`);
  await page.getByRole("link", { name: "SMS of 1 part", exact: true }).waitFor();
});
