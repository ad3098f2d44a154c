// One message of the sandbox's inbox with everything that it carries: inline image, attachments, copies, header, list.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { EVERYTHING, PDF, sendEverything } from "../../support/browser/everything.ts";
import { listFaultsOfLooks } from "../../support/browser/inspect.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import type { Visitor } from "../../support/browser/visitor.ts";
import { waitUntil } from "../../support/peers/process.ts";

const DAY_MS = 24 * 60 * 60_000;

const sandbox = useSandbox();

const itemOf = ({ page }: Visitor, to: string) =>
  page.locator("#messages button").filter({ has: page.locator(".to").getByText(to, { exact: true }) });

async function openMessage(visitor: Visitor, to: string): Promise<void> {
  const item = itemOf(visitor, to);
  await item.locator(".marks").getByText("delivered", { exact: true }).waitFor({ timeout: 30_000 });
  await item.click();
  await visitor.page.locator("#recipient").getByText(to, { exact: true }).waitFor();
  await visitor.page.locator("#frame").waitFor();
}

/** The widths of the images in the message; 0: not loaded; -1: nothing has come of it yet. */
async function waitForImages({ page }: Visitor, wanted: number[]): Promise<void> {
  const images = page.frameLocator("#frame").locator("img");
  await waitUntil(`images of ${wanted.join()} px`, 10_000, async () => {
    const widths = await images
      .evaluateAll((all) =>
        (all as unknown as { complete: boolean; naturalWidth: number }[]).map(({ complete, naturalWidth }) =>
          complete ? naturalWidth : -1,
        ),
      )
      // The frame is there before its document, which takes the place of an empty one.
      .catch(() => null);
    return widths?.join() === wanted.join();
  });
}

async function readPairs({ page }: Visitor, list: string): Promise<Record<string, string>> {
  const terms = await page.locator(`${list} dt`).allTextContents();
  const values = await page.locator(`${list} dd`).allTextContents();
  return Object.fromEntries(terms.map((term, nth) => [term, values[nth] ?? ""]));
}

journey(
  "an inline image is shown, attachments are listed and saved, and nothing comes from elsewhere",
  async ({ visit }) => {
    const visitor = await visit(sandbox().origin);
    const { page } = visitor;
    await page.goto("/sandbox");
    await sendEverything(sandbox(), { to: "ana@example.com", cc: undefined, bcc: undefined });
    await openMessage(visitor, "ana@example.com");
    await waitForImages(visitor, [8]);
    expect(await listFaultsOfLooks(visitor)).toEqual([]);

    await page.focus("#tab-html");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("2 attachments");
    expect(await page.locator("#attachments li").allInnerTexts()).toEqual([
      expect.stringMatching(/^logo\.png\s+Download\s+image\/png, \d+ bytes, shown in the html as cid:logo$/),
      expect.stringMatching(/^recibo nº 4711\.pdf\s+Download\s+application\/pdf, \d+ bytes$/),
    ]);
    const coming = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download recibo nº 4711.pdf" }).click();
    const saved = await coming;
    expect(saved.suggestedFilename()).toBe("recibo nº 4711.pdf");
    expect(readFileSync(await saved.path()).toString("base64")).toBe(PDF);
    expect(await listFaultsOfLooks(visitor)).toEqual([]);
    await page.locator("#tab-headers").click();
    expect(await readPairs(visitor, "#headers")).toMatchObject({ "X-Order": "4711", Subject: expect.any(String) });
    expect(await listFaultsOfLooks(visitor)).toEqual([]);
    await page.locator("#tab-details").click();
    expect(await readPairs(visitor, "#record")).toMatchObject({
      Tag: "receipt",
      "Unsubscribes from": "the list novidades",
      order: "4711",
      shop: "Matola",
    });
    expect(await listFaultsOfLooks(visitor)).toEqual([]);
  },
);

journey(
  "each copy says to whom the message went, and a blind copy that no header field names it",
  async ({ visit }) => {
    const visitor = await visit(sandbox().origin);
    const { page } = visitor;
    await page.goto("/sandbox");
    const visible = {
      To: "Ana Silva <ana+2@example.com>, rui@example.com",
      Cc: "Contas <contas@example.com>",
      "Reply to": "Ajuda <ajuda@sandbox.test>, loja@sandbox.test",
    };
    const { recipients } = await sendEverything(sandbox(), {
      to: ["Ana Silva <ana+2@example.com>", "rui@example.com"],
    });
    expect(recipients.map(({ kind }) => kind)).toEqual(["to", "to", "cc", "bcc"]);
    for (const address of ["ana+2@example.com", "contas@example.com"]) {
      await openMessage(visitor, address);
      expect(await readPairs(visitor, "#addressees")).toEqual(visible);
    }
    await openMessage(visitor, EVERYTHING.bcc);
    expect(await readPairs(visitor, "#addressees")).toEqual({
      ...visible,
      Bcc: "arquivo@example.com (this copy; no header field names it)",
    });
    expect(await listFaultsOfLooks(visitor)).toEqual([]);
    await page.locator("#tab-source").click();
    await page.locator("#source", { hasText: "Subject:" }).waitFor();
    expect(await page.textContent("#source")).not.toContain("arquivo@");
  },
);

journey("the link to unsubscribe works in the sandbox as mail programs show it", async ({ visit }) => {
  const visitor = await visit(sandbox().origin);
  const { page } = visitor;
  await page.goto("/sandbox");
  const to = "sai@example.com";
  const single = { to, cc: undefined, bcc: undefined };
  await sendEverything(sandbox(), single);
  await openMessage(visitor, to);
  const opening = visitor.context.waitForEvent("page");
  await page.getByRole("link", { name: "Unsubscribe" }).click();
  const opened = await opening;
  await opened.getByRole("button", { name: "Unsubscribe" }).click();
  await opened.getByRole("heading", { name: "You are unsubscribed" }).waitFor();
  expect(await opened.locator("main").innerText()).toContain("“novidades” from sandbox.test");
  await expect(sendEverything(sandbox(), single)).rejects.toThrow("RECIPIENT_SUPPRESSED");
  await sendEverything(sandbox(), { ...single, unsubscribe: undefined });
});

journey("an email that waits for its time says until when", async ({ visit }) => {
  const visitor = await visit(sandbox().origin);
  const { page } = visitor;
  await page.goto("/sandbox");
  const sendAt = new Date(Date.now() + DAY_MS).toISOString();
  await sendEverything(sandbox(), { to: "amanha@example.com", cc: undefined, bcc: undefined, sendAt });
  const item = itemOf(visitor, "amanha@example.com");
  await item.locator(".marks").getByText("scheduled", { exact: true }).waitFor();
  await item.click();
  await page.locator("#reason", { hasText: /^not before \d/ }).waitFor();
  expect(Object.keys(await readPairs(visitor, "#record"))).toContain("Scheduled for");
  expect(await listFaultsOfLooks(visitor)).toEqual([]);
});

// The last one: others open on the newest message.
journey(
  "an image from elsewhere is not loaded beside the inline one, and the page says so",
  async ({ visit, cleanup }) => {
    let hits = 0;
    const elsewhere = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(String(++hits)) });
    cleanup.add(() => elsewhere.stop(true));
    const visitor = await visit(sandbox().origin);
    // The browser says what it stops.
    visitor.allow(/^stranger: GET .*\/track\.gif$/, /^console: Loading the image .*violates/, /^failed: .* csp$/);
    const { page } = visitor;
    await page.goto("/sandbox");
    const html = `<img src="cid:logo" alt="Loja"><img src="${elsewhere.url.href}track.gif" alt="">`;
    await sendEverything(sandbox(), { to: "longe@example.com", cc: undefined, bcc: undefined, html });
    await openMessage(visitor, "longe@example.com");
    await page.locator("#images", { hasText: "1 remote image is not loaded here." }).waitFor();
    await waitForImages(visitor, [8, 0]);
    expect(hits).toBe(0);
  },
);
