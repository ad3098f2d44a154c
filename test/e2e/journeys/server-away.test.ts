// The server goes away under an open page and comes back: a restart, and a proxy that cuts streams.

import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import { sendEverything } from "../../support/browser/everything.ts";
import { startCuttingProxy } from "../../support/browser/cutting-proxy.ts";
import { journey } from "../../support/browser/journey.ts";
import { mustAsk, signInToSandbox } from "../../support/browser/people.ts";
import { freePort, makeFolder, waitUntil } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";

const AWAY = /The server cannot be reached. What you typed is kept/;
const LIVE = /^GET \/api\/v1\/workspace\/live/;
/** Of its return. */
const RIGHT_AGAIN_MS = 2_000;

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

journey(
  "kill -9 under an open form: nothing typed is lost, and the lists of both tabs are right within two seconds",
  async ({ visit, cleanup }) => {
    const folder = makeFolder("killed", cleanup);
    const options = { port: await freePort(), data: join(folder, "data") };
    const sandbox = await startSandbox(join(folder, "first.log"), cleanup, options);
    const { workspaceId } = sandbox;
    const ana = await visit(sandbox.origin);
    ana.allow(/^failed: /, /^answer: .* 503$/);
    await signInToSandbox(ana, sandbox);
    await mustAsk(ana, "POST /api/v1/auth/keys", { workspaceId, body: { name: "before" } });
    const { page } = ana;
    const other = await ana.context.newPage();
    for (const each of [page, other]) {
      await each.goto(`/dashboard/w/${workspaceId}/keys`);
      await each.getByText("before", { exact: true }).waitFor();
    }
    await page.getByRole("button", { name: "Create a key" }).click();
    const form = page.getByRole("dialog", { name: "Create a key" });
    await form.getByLabel("Name").fill("a long thought");
    await ana.untilAnswered(LIVE, 1);

    process.kill(sandbox.process.pid, "SIGKILL");
    for (const each of [page, other]) await each.getByText(AWAY).first().waitFor();
    await form.getByRole("button", { name: "Create a key" }).click();
    await form.getByText("Nothing you typed is lost").waitFor();
    await waitUntil("the process is gone", 5_000, () => !sandbox.process.isAlive());
    using database = new Database(join(options.data, "pombo.db"));
    database.run("UPDATE api_key SET name = 'after' WHERE name = 'before'");
    database.close();

    await startSandbox(join(folder, "second.log"), cleanup, options);
    const isRight = (each: typeof page) =>
      each.getByText("after", { exact: true }).waitFor({ state: "attached", timeout: RIGHT_AGAIN_MS });
    await Promise.all([page, other].map(isRight));
    for (const each of [page, other]) await each.getByText(AWAY).waitFor({ state: "hidden" });
    expect(await form.getByLabel("Name").inputValue()).toBe("a long thought");
    await form.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("dialog", { name: "Your new key" }).waitFor();
    // The other tab hears of it: the stream is there again too.
    await other.getByText("a long thought", { exact: true }).waitFor();
  },
);

journey(
  "a proxy that cuts the stream costs another stream, and what happened meanwhile is shown",
  async ({ visit, cleanup }) => {
    const folder = makeFolder("cut", cleanup);
    const sandbox = await startSandbox(join(folder, "sandbox.log"), cleanup);
    const proxy = await startCuttingProxy(sandbox.url);
    cleanup.add(() => proxy[Symbol.asyncDispose]());
    const ana = await visit(proxy.url);
    ana.allow(/^failed: GET \/api\/v1\/workspace\/live/);
    await signInToSandbox(ana, sandbox);
    await ana.page.goto(`/dashboard/w/${sandbox.workspaceId}/emails`);
    await ana.page.locator("main#content h1").waitFor();
    for (let cut = 1; cut <= 3; cut += 1) {
      const before = ana.answers.length;
      await waitUntil("it listens", 15_000, () => proxy.streams() === 1);
      proxy.cutStreams();
      const subject = `Encomenda ${cut}`;
      await sendEverything(sandbox, { subject, to: "rui@example.com" });
      // What is new beneath rows that somebody reads is told first.
      if (cut > 1) await ana.page.getByRole("button", { name: "show them" }).click();
      await ana.page.getByText(subject).first().waitFor();
      await waitUntil("another stream", 15_000, () => ana.answers.slice(before).some((answer) => LIVE.test(answer)));
    }
  },
);

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
