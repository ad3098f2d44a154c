import { createHash } from "node:crypto";
import { expect, test } from "bun:test";
import { chooseLanguage } from "../../../../src/modules/unsubscribe/language.ts";
import { buildPage, type PageKind } from "../../../../src/modules/unsubscribe/page.ts";

test.each([
  [null, "en"],
  ["", "en"],
  ["pt", "pt"],
  ["pt-BR,pt;q=0.9,en;q=0.8", "pt"],
  ["PT-pt", "pt"],
  ["en-GB,en;q=0.9,pt;q=0.8", "en"],
  ["en;q=0.5, pt;q=0.6", "pt"],
  ["en, pt", "en"],
  ["pt, en", "pt"],
  ["pt;q=0, en", "en"],
  ["pt;q=0", "en"],
  ["fr, de;q=0.9", "en"],
  ["fr, pt;q=0.1", "pt"],
  ["pt;q=x", "pt"],
  ["*", "en"],
  ["ptx, x-pt", "en"],
  [`${"a,".repeat(60)}pt`, "en"],
  [";;,,;q=1,=", "en"],
])("Accept-Language %j chooses %s", (header, language) => {
  expect(chooseLanguage(header)).toBe(language as "en" | "pt");
});

const KINDS: [PageKind, number][] = [
  ["question", 200],
  ["done", 200],
  ["unknown", 404],
  ["too_many", 429],
];

test.each(KINDS)(
  "the page %s has one heading in its language, no script, and a policy that allows only its own style",
  async (kind, status) => {
    for (const language of ["en", "pt"] as const) {
      const page = buildPage({ kind, language, about: { list: "news", domain: "loja.test" } });
      const text = await page.text();
      expect([page.status, page.headers.get("content-type")]).toEqual([status, "text/html; charset=utf-8"]);
      expect(text).toContain(`<html lang="${language}">`);
      expect(text.match(/<h1>/g)).toHaveLength(1);
      expect(text).not.toMatch(/<script|<link|<img|javascript:|https?:\/\/| on\w+=| style=/i);
      expect(text.match(/<button /g)?.length ?? 0).toBe(kind === "question" ? 1 : 0);
      const style = /<style>(.*)<\/style>/s.exec(text)?.[1] ?? "";
      const hash = createHash("sha256").update(style).digest("base64");
      expect(page.headers.get("content-security-policy")).toBe(
        `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      );
      expect(page.headers.get("cache-control")).toBe("no-store");
      expect(page.headers.get("referrer-policy")).toBe("no-referrer");
      expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    }
  },
);

test("names are shown as text, and an international domain in its letters", async () => {
  const about = { list: `<b>"&'`, domain: "xn--caf-dma.test" };
  const text = await buildPage({ kind: "question", language: "en", about }).text();
  expect(text).toContain("“&lt;b&gt;&quot;&amp;&#x27;” from café.test");
  expect(text).not.toContain("<b>");
});
