// What the dashboard says of SMTP: the settings of a program, where they are explained, and the message that one handed in.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { PDF } from "../../support/browser/everything.ts";
import { handIn } from "../../support/browser/hand-in.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { signInToSandbox } from "../../support/browser/people.ts";

const sandbox = useSandbox();

journey(
  "the page of keys says how a program sends by SMTP, and leads to the docs' part about it",
  async ({ visit }) => {
    const { origin, workspaceId, submission } = sandbox();
    const ana = await visit(origin);
    const { page } = ana;
    await signInToSandbox(ana, sandbox());
    await page.goto(`/dashboard/w/${workspaceId}/keys`);
    const card = page.locator(".card", { has: page.getByRole("heading", { name: "SMTP" }) });
    const [host = "", port = ""] = submission.split(":");
    await card.waitFor();
    const facts = await card.locator(".facts > div").allInnerTexts();
    expect(facts.slice(0, 3)).toEqual([
      expect.stringMatching(new RegExp(`^Host\\s+${host}$`)),
      expect.stringMatching(new RegExp(`^Port\\s+${port} without TLS$`)),
      expect.stringMatching(/^User\s+pombo or anything else$/),
    ]);
    await new Keyboard(page).press("More about SMTP", "link");
    await page.waitForURL(/\/docs/);
    await ana.until(
      "the part is on the screen",
      `[...document.querySelectorAll("h3")].some((each) => {
        const { top } = each.getBoundingClientRect();
        return each.textContent.trim() === "SMTP" && top > -1 && top < innerHeight / 2;
      })`,
    );
  },
);

journey("the page of an email says that it came by SMTP, and saves the message as it is sent", async ({ visit }) => {
  const { origin, workspaceId } = sandbox();
  const ana = await visit(origin);
  const { page } = ana;
  await signInToSandbox(ana, sandbox());
  const id = await handIn(sandbox());
  await page.goto(`/dashboard/w/${workspaceId}/emails/${id}`);
  await page.getByRole("heading", { name: "A encomenda nº 48213 foi paga" }).waitFor();
  expect(await page.locator(".facts").innerText()).toMatch(/Came in\s+By SMTP/);
  const coming = page.waitForEvent("download");
  await new Keyboard(page).press("Download the message");
  const saved = await coming;
  expect(saved.suggestedFilename()).toBe(`${id}.eml`);
  const message = readFileSync(await saved.path(), "utf8");
  expect(message).toContain("\r\nTo: Telma Cossa <telma@example.com>\r\n");
  expect(message.replaceAll("\r\n", "")).toContain(PDF);
  expect(message).not.toContain("X-Pombo-Tag");
});
