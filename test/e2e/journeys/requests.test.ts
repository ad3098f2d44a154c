// The log of requests and the settings at the dashboard: what a program asks appears live, a failed request says why, and settings are for those who may change them.

import { expect } from "bun:test";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { createWorkspace, join, mustAsk, signInToSandbox } from "../../support/browser/people.ts";

const sandbox = useSandbox();

journey("a program's requests appear as they come, and a failed one says why", async ({ visit }) => {
  const { origin } = sandbox();
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const workspaceId = await createWorkspace(ana, "Loja dos pedidos");
  const made = (await mustAsk(ana, "POST /api/v1/auth/keys", { workspaceId, body: { name: "shop" } })) as {
    id: string;
    key: string;
  };
  const ask = (method: string, path: string, body?: unknown) =>
    fetch(`${sandbox().url}/api/v1${path}`, {
      method,
      headers: { "x-api-key": made.key, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const { page } = ana;
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}/keys`);
  await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("heading", { name: "No program has asked yet" }).waitFor();
  await ana.until("it listens", "navigator.locks.query().then(({ held }) => held.length === 1)");

  await ask("GET", "/domains");
  await page.getByRole("row", { name: /GET \/domains.*200.*shop/ }).waitFor();
  // What comes now moves no row: it waits behind the button.
  await ask("POST", "/emails", { from: "a@b.test", to: "rui@example.com", subject: 7, text: "x" });
  await page.getByRole("button", { name: "Show 1 new" }).waitFor();
  expect(await page.getByRole("row", { name: /VALIDATION_ERROR/ }).count()).toBe(0);
  await keys.press("Show 1 new");
  await page.getByRole("row", { name: /POST \/emails.*422.*VALIDATION_ERROR/ }).waitFor();

  await page.getByLabel("Answer").selectOption("failed");
  await page.getByRole("row", { name: /domains/ }).waitFor({ state: "detached" });
  expect(new URL(page.url()).search).toBe("?status=failed");
  await page.getByLabel("API key").selectOption(made.id);
  await ana.until("the filter is in the address", `location.search === "?status=failed&keyId=${made.id}"`);
  await keys.press(/^POST \/emails/);
  const dialog = page.getByRole("dialog", { name: "Request" });
  await dialog.waitFor();
  expect(await dialog.innerText()).toMatch(/VALIDATION_ERROR[^]*must be a string[^]*subject[^]*shop svc_/);
  expect(await listFaultsOfLooks(ana)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("row", { name: /VALIDATION_ERROR/ }).waitFor();
  await keys.press("Clear the filter");
  await page.getByRole("row", { name: /domains/ }).waitFor();
});

journey("an owner renames the workspace and lets viewers read; a viewer sees how it is", async ({ visit }) => {
  const { origin } = sandbox();
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const workspaceId = await createWorkspace(ana, "Loja antiga");
  const { page } = ana;
  const keys = new Keyboard(page);
  await page.goto(`/dashboard/w/${workspaceId}/settings`);
  const name = page.getByRole("textbox", { name: "Name" });
  await name.waitFor();
  await name.fill("");
  await page.getByRole("form", { name: "Workspace" }).getByRole("button", { name: "Save" }).press("Enter");
  ana.allow(/^answer: PATCH \/api\/v1\/workspace 422$/);
  await page.getByText("name must not be empty").waitFor();
  await keys.fill("Name", "Loja nova");
  await page.keyboard.press("Enter");
  // The name at the side is the new one too.
  await page.getByText("Loja nova").first().waitFor();
  await page.getByLabel("Viewers too").check();
  await page.getByRole("form", { name: "Who sees what messages say" }).getByRole("button").press("Enter");
  await ana.until(
    "it is stored",
    `fetch("/api/v1/workspace", { headers: { "pombo-workspace": "${workspaceId}" } }).then(async (answer) => (await answer.json()).data.viewersSeeContent)`,
  );

  const rui = await visit(origin);
  await join(ana, workspaceId, { visitor: rui, email: "rui+settings@example.com", role: "viewer" });
  await rui.page.goto(`/dashboard/w/${workspaceId}/settings`);
  const main = rui.page.getByRole("main");
  await main.getByText("Loja nova").waitFor();
  expect(await main.innerText()).toMatch(/Viewers too\s+yes/);
  expect(await main.getByRole("textbox").count()).toBe(0);
  expect(await main.getByRole("button", { name: "Save" }).count()).toBe(0);
});
