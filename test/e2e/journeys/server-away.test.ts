// The server goes away under an open page and comes back: a restart, and a proxy that cuts streams.

import { expect } from "bun:test";
import { join } from "node:path";
import { startCuttingProxy } from "../../support/browser/cutting-proxy.ts";
import { journey } from "../../support/browser/journey.ts";
import { signInToSandbox } from "../../support/browser/people.ts";
import { freePort, makeFolder } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";

const AWAY = /The server cannot be reached/;
const LIVE = /^GET \/api\/v1\/workspace\/live/;

journey("the server is restarted under an open page: a banner, and what is typed stays", async ({ visit, cleanup }) => {
  const folder = makeFolder("away", cleanup);
  const options = { port: await freePort(), data: join(folder, "data") };
  const sandbox = await startSandbox(join(folder, "first.log"), cleanup, options);
  const ana = await visit(sandbox.origin);
  ana.allow(/^failed: /, /^answer: .* 503$/);
  await signInToSandbox(ana, sandbox);
  const { page } = ana;
  await page.goto(`/dashboard/w/${sandbox.workspaceId}`);
  await page.locator("main#content h1").waitFor();
  await page.keyboard.press("ControlOrMeta+K");
  await page.getByRole("dialog").getByRole("combobox").pressSequentially("a long thought");

  await sandbox.process.stop();
  await page.getByText(AWAY).waitFor();
  await startSandbox(join(folder, "second.log"), cleanup, options);
  await page.getByText(AWAY).waitFor({ state: "hidden" });
  expect(await page.getByRole("dialog").getByRole("combobox").inputValue()).toBe("a long thought");
  expect(await page.evaluate("performance.getEntriesByType('navigation').length")).toBe(1);
  await ana.untilCount(LIVE, 2);
});

journey("a proxy that cuts the stream costs nothing but another stream", async ({ visit, cleanup }) => {
  const folder = makeFolder("cut", cleanup);
  const sandbox = await startSandbox(join(folder, "sandbox.log"), cleanup);
  const proxy = await startCuttingProxy(sandbox.url);
  cleanup.add(() => proxy[Symbol.asyncDispose]());
  const ana = await visit(proxy.url);
  ana.allow(/^failed: GET \/api\/v1\/workspace\/live/);
  await signInToSandbox(ana, sandbox);
  await ana.page.goto(`/dashboard/w/${sandbox.workspaceId}`);
  await ana.page.locator("main#content h1").waitFor();
  for (let streams = 1; streams <= 3; streams += 1) {
    await ana.untilAnswered(LIVE, streams);
    proxy.cutStreams();
  }
});

journey("a server that is still starting is asked again, and the page comes", async ({ visit, cleanup }) => {
  const sandbox = await startSandbox(join(makeFolder("starting", cleanup), "sandbox.log"), cleanup);
  const ana = await visit(sandbox.origin);
  ana.allow(/^answer: GET \/api\/v1\/auth\/me 503$/);
  await signInToSandbox(ana, sandbox);
  const errors = [{ code: "UNAVAILABLE", message: "pombo is starting: nobody can sign in yet" }];
  await ana.context.route(
    "**/api/v1/auth/me",
    (route) => route.fulfill({ status: 503, headers: { "retry-after": "1" }, json: { errors } }),
    { times: 2 },
  );
  await ana.page.goto(`/dashboard/w/${sandbox.workspaceId}`);
  await ana.page.locator("main .flow").waitFor();
  expect(ana.count(/^GET \/api\/v1\/auth\/me$/)).toBe(3);
});
