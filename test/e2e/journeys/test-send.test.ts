// A test send: each line of its dialogue stands there before the attempt is over, and why it ended so.

import { expect } from "bun:test";
import { journey, type Stage } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import type { Visitor } from "../../support/browser/visitor.ts";
import { holdStep } from "../../support/fakes/held-step.ts";
import { type Instance, type InstanceOptions, startInstance } from "../../support/fakes/instance.ts";
import { freePort } from "../../support/peers/process.ts";
import { addPerson } from "../../support/people/member.ts";

/** An instance with a mail server that does as it is told, and a member at its list of emails. */
async function open({ visit, cleanup }: Stage, options: InstanceOptions): Promise<{ pombo: Instance; ana: Visitor }> {
  const pombo = await startInstance(options);
  cleanup.add(() => pombo[Symbol.asyncDispose]());
  const { cookies } = addPerson(pombo, { role: "member" });
  const ana = await visit(pombo.app.url);
  await ana.context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: pombo.app.url })));
  await ana.page.goto(`/dashboard/w/${pombo.workspace.id}/emails`);
  await ana.page.locator("main h1").waitFor();
  return { pombo, ana };
}

async function sendTest({ page }: Visitor): Promise<void> {
  const keys = new Keyboard(page);
  await keys.press("Send a test");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("To").fill("maria@example.com");
  await keys.press("Send the test");
}

journey("each line stands there as it is said, and is kept with the delivered email", async (stage) => {
  const rcpt = holdStep("250 2.1.5 fine");
  const dot = holdStep("250 2.0.0 queued as 4711");
  const { pombo, ana } = await open(stage, { mx: { rcpt: rcpt.step, dot: dot.step } });
  const { page } = ana;
  await sendTest(ana);
  const lines = page.getByRole("dialog").locator(".dialogue");
  await rcpt.reached;
  await lines.getByText("RCPT TO:<maria@example.com>").waitFor();
  await page.getByText(/Talking with/).waitFor();
  expect(await lines.innerText()).not.toContain("2.1.5 fine");
  rcpt.go();
  await lines.getByText("250 2.1.5 fine").waitFor();
  await dot.reached;
  await page.getByText(/Waiting for the answer of/).waitFor();
  expect(await lines.innerText()).not.toContain("4711");
  dot.go();
  await lines.getByText("250 2.0.0 queued as 4711").waitFor();
  await page.getByRole("dialog").getByText("mail server took it").waitFor();

  await new Keyboard(page).press("Show the email", "link");
  await page.locator("summary", { hasText: "SMTP dialogue" }).press("Enter");
  await page.locator(".timeline .dialogue").getByText("250 2.0.0 queued as 4711").waitFor();
  // An open dashboard does not listen as programs do.
  expect(pombo.app.db.sqlite.query("SELECT COUNT(*) AS count FROM event WHERE type LIKE 'email.%'").get()).toEqual({
    count: 0,
  });
});

journey("a refusal shows the server's words, and why", async (stage) => {
  const { ana } = await open(stage, { mx: { rcpt: "550 5.1.1 No such user here" } });
  await sendTest(ana);
  const dialog = ana.page.getByRole("dialog");
  await dialog.getByText("refused it for good").waitFor();
  await dialog.locator("blockquote", { hasText: "550 5.1.1 No such user here" }).waitFor();
  await dialog.locator(".dialogue .server", { hasText: "550 5.1.1 No such user here" }).waitFor();
  await new Keyboard(ana.page).press("Send another");
  await dialog.getByLabel("To").waitFor();
});

journey(
  "a deferred email shows what was said, and a restart in the middle of the next attempt loses nothing",
  async (stage) => {
    const port = await freePort();
    const { pombo, ana } = await open(stage, {
      mx: { rcpt: "450 4.2.0 Greylisted" },
      configure: (config) => (config.http.listen.port = port),
    });
    ana.allow(/^failed: /, /^answer: .* 503$/);
    const { page } = ana;
    await sendTest(ana);
    await page.getByRole("dialog").getByText("Not delivered yet").waitFor();
    await new Keyboard(page).press("Show the email", "link");
    const kept = page.locator(".timeline details");
    await kept.locator("summary").click();
    await kept.getByText("450 4.2.0 Greylisted").waitFor();

    const dot = holdStep("250 never said");
    pombo.mx.script = { dot: dot.step };
    await page.getByRole("button", { name: "Try now" }).click();
    await page.locator(".live .dialogue").getByText("DATA", { exact: true }).waitFor();
    await dot.reached;
    const cut = page.getByText("The connection to pombo was cut");
    const isTold = cut.waitFor();
    await pombo.restart();
    await isTold;
    await cut.waitFor({ state: "hidden" });
    // What was heard is still there, and the answer that never came is in the timeline.
    await page.getByText("the answer was lost").waitFor();
    expect(await page.locator("main").innerText()).toContain("450 4.2.0 Greylisted");
    pombo.mx.script = { dot: "250 2.0.0 queued as 4712" };
    await page.getByRole("button", { name: "Try now" }).click();
    await page.locator(".dialogue").getByText("250 2.0.0 queued as 4712").first().waitFor();
    expect(await page.locator(".timeline details").count()).toBeGreaterThanOrEqual(2);
  },
);
