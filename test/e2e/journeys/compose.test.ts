// An email is written by keyboard, previewed, and sent with a file; the server goes away meanwhile, and nothing is lost.

import { expect } from "bun:test";
import { join } from "node:path";
import { PDF } from "../../support/browser/everything.ts";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { signInToSandbox } from "../../support/browser/people.ts";
import { freePort, makeFolder, waitUntil } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";

const AWAY = /The server cannot be reached/;

journey("an email is written, previewed and sent with a file; a killed server loses nothing", async (stage) => {
  const { visit, cleanup } = stage;
  const folder = makeFolder("compose", cleanup);
  const options = { port: await freePort(), data: join(folder, "data") };
  const sandbox = await startSandbox(join(folder, "first.log"), cleanup, options);
  const ana = await visit(sandbox.origin);
  ana.allow(/^failed: /, /^answer: POST \/api\/v1\/emails 422$/, /^answer: .* 503$/);
  await signInToSandbox(ana, sandbox);
  const { page } = ana;
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${sandbox.workspaceId}/emails`);
  await keys.press("Write an email", "link");
  await page.getByRole("heading", { level: 1, name: "Write an email" }).waitFor();

  await keys.fill("To", "rui@example.com, not an address");
  await keys.fill("Address before the @", "loja");
  await keys.press("Send the email");
  await page.getByText(/“not an address” is not a usable address/).waitFor();
  expect(await page.getByLabel("To", { exact: true }).getAttribute("aria-invalid")).toBe("true");

  expect(await listFaultsOfLooks(ana)).toEqual([]);

  await keys.fill("To", "rui@example.com");
  await keys.fill("Subject", "O seu recibo");
  await keys.fill("HTML", '<h1>Obrigado!</h1><p><a href="https://loja.example/recibo">O recibo</a></p>');
  await page.getByLabel("Attachments").setInputFiles({
    name: "recibo.pdf",
    mimeType: "application/pdf",
    buffer: Buffer.from(PDF, "base64"),
  });
  await keys.press("Preview");
  await page.frameLocator("dialog iframe").getByRole("heading", { name: "Obrigado!" }).waitFor();
  await page.getByText("1 link").waitFor();
  expect(await listFaultsOfLooks(ana)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  process.kill(sandbox.process.pid, "SIGKILL");
  await keys.press("Send the email");
  await page.getByText(AWAY).first().waitFor();
  const again = await startSandbox(join(folder, "second.log"), cleanup, options);
  await page.locator(".banner").waitFor({ state: "hidden" });
  expect(await page.getByLabel("Subject").inputValue()).toBe("O seu recibo");
  await keys.press("Send the email");
  await page.getByRole("heading", { level: 2, name: "O seu recibo" }).waitFor();
  await page.frameLocator("main iframe").getByRole("heading", { name: "Obrigado!" }).waitFor();
  expect(await listFaultsOfLooks(ana)).toEqual([]);

  const list = async () => (await (await fetch(`${again.url}/sandbox/messages?raw=false`)).json()) as { id: string }[];
  await waitUntil("it is in the inbox", 30_000, async () => (await list()).length > 0);
  const messages = await list();
  expect(messages).toHaveLength(1);
  const read = await (await fetch(`${again.url}/sandbox/messages/${messages[0]?.id ?? ""}?raw=false`)).json();
  expect(read).toMatchObject({ attachments: [{ filename: "recibo.pdf", contentType: "application/pdf" }] });
});
