// Webhooks at the dashboard, by keyboard: one is made, a call fails and says why, is made again once its receiver works,
// and arrives; a viewer only reads.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { createWorkspace, join, signInToSandbox } from "../../support/browser/people.ts";
import { startReceiver, verify } from "../../support/fakes/receiver.ts";

const sandbox = useSandbox();

journey("a webhook is made, its call fails, is read, made again and arrives", async ({ visit }) => {
  const { origin } = sandbox();
  await using receiver = startReceiver();
  // Without this it would be called again by itself after five seconds.
  receiver.answer = () =>
    new Response("the <b>queue</b> is full", { status: 503, headers: { "retry-after": "86400" } });
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const workspaceId = await createWorkspace(ana, "Loja dos webhooks");
  const { page } = ana;
  const keys = new Keyboard(page);
  const dialog = page.getByRole("dialog");

  await page.goto(`/dashboard/w/${workspaceId}/keys`);
  await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.getByRole("heading", { name: "There is no webhook yet." }).waitFor();

  // An address that must not be called is refused at its field.
  ana.allow(/^answer: POST \/api\/v1\/webhooks 422$/);
  await keys.press("Create a webhook");
  await keys.fill("Address", "http://10.0.0.1/hook");
  await keys.press("Create a webhook");
  await dialog.getByText("10.0.0.1").waitFor();
  await keys.fill("Address", receiver.url);
  await keys.fill("Description (optional)", "Shop");
  await keys.reach(dialog.getByLabel("All events"));
  await page.keyboard.press("Space");
  await keys.reach(dialog.getByLabel("email.delivered", { exact: true }));
  await page.keyboard.press("Space");
  await keys.reach(dialog.getByLabel("webhook.*", { exact: true }));
  await page.keyboard.press("Space");
  expect(await listFaultsOfLooks(ana)).toEqual([]);
  await keys.press("Create a webhook");
  const secret = (await dialog.locator("pre").innerText()).trim();
  expect(secret).toStartWith("whsec_");
  await keys.press("I have stored it");
  await dialog.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(secret);

  await keys.press("Shop", "link");
  await page.getByText("webhook.*, email.delivered").waitFor();
  await keys.press("Send a test call");
  // Live: nothing is loaded again.
  await page.getByRole("row", { name: /webhook\.test Failed 503/ }).waitFor();
  await page.getByText("Failing").waitFor();
  verify(receiver.calls[0] ?? expect.unreachable(), secret);

  await keys.press("webhook.test", "link");
  await page.getByText("The receiver answered 503.").waitFor();
  expect(await page.getByLabel("Beginning of the answer").inputValue()).toBe("the <b>queue</b> is full");
  expect(await page.getByLabel("What was sent").inputValue()).toContain('"type": "webhook.test"');
  expect(await listFaultsOfLooks(ana)).toEqual([]);

  receiver.answer = () => new Response("thanks");
  await keys.press("Call again");
  await page.getByRole("row", { name: /webhook\.test Delivered 200/ }).waitFor();
  expect(receiver.calls.map(({ headers }) => headers["webhook-id"])).toEqual([
    receiver.calls[0]?.headers["webhook-id"],
    receiver.calls[0]?.headers["webhook-id"],
  ]);

  await keys.press("Webhook", "link");
  await page.getByText("Enabled", { exact: true }).waitFor();
  await keys.reach(page.getByLabel("Status"));
  await page.keyboard.press("ArrowDown");
  await page.getByRole("row", { name: /Failed 503/ }).waitFor({ state: "detached" });
  await page.getByRole("row", { name: /Delivered 200/ }).waitFor();
  expect(new URL(page.url()).search).toBe("?status=delivered");

  await keys.press("Change the secret");
  await keys.press("Change the secret");
  await dialog.locator("pre").waitFor();
  expect((await dialog.locator("pre").innerText()).trim()).not.toBe(secret);
  await keys.press("I have stored it");
  await keys.press("Disable");
  await keys.press("Disable");
  await page.getByText("Somebody disabled it here or by the API.").waitFor();
  expect(await page.getByRole("button", { name: "Send a test call" }).count()).toBe(0);
  await keys.press("Enable");
  await page.getByText("Enabled", { exact: true }).waitFor();

  const rui = await visit(origin);
  await join(ana, workspaceId, { visitor: rui, email: "rui+webhooks@example.com", role: "viewer" });
  await rui.page.goto(new URL(page.url()).pathname);
  await rui.page.getByRole("link", { name: "webhook.test" }).first().waitFor();
  expect(await rui.page.getByRole("button", { name: /^(Send|Edit|Disable|Change|Delete)/ }).count()).toBe(0);
  await rui.page.getByRole("link", { name: "webhook.test" }).first().click();
  await rui.page.getByText("With your role you do not see what was sent and answered.").waitFor();
  expect(await rui.page.getByRole("button", { name: "Call again" }).count()).toBe(0);

  await keys.press("Delete");
  await keys.press("Delete");
  await page.getByRole("heading", { name: "There is no webhook yet." }).waitFor();
});
