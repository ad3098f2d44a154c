import { expect, test } from "bun:test";
import { docsRoutes } from "../../../src/api/docs/routes.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { expectErrors, UUID_V7 } from "../../support/api/kit.ts";

test("the page and all that it is made of come without a key, with a policy that lets nothing else in", async () => {
  await using pombo = await startInstance();
  const get = (path: string) => pombo.workspace.call("GET", path, { key: null });
  const page = await get("/docs");
  const parts = [...page.text.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(parts).toHaveLength(4);
  // Nothing from elsewhere, and no script or style in the page itself.
  expect(page.text).not.toMatch(/https?:|<style|style="|<script>| on\w+="/);
  // Only the sandbox's page gets keys.
  expect(page.text).toContain('<div id="docs"></div>');
  expect((await get("/sandbox/keys")).status).toBe(404);
  const types: string[] = [];
  for (const path of ["/docs", "/docs/", ...parts, "/docs/swagger-ui-bundle.js.LICENSE.txt"]) {
    const { status, headers, text } = await get(path);
    expect([path, status]).toEqual([path, 200]);
    for (const { key } of [pombo.workspace, pombo.operator]) expect(text).not.toContain(key);
    expect(headers.get("x-request-id")).toMatch(UUID_V7);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const policy = Object.fromEntries((headers.get("content-security-policy") ?? "").split("; ").map(split));
    expect(policy).toEqual({
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": "'self'",
      "img-src": "'self' data:",
      "connect-src": "'self'",
      "base-uri": "'none'",
      "form-action": "'none'",
      "frame-ancestors": "'none'",
    });
    types.push(headers.get("content-type")?.split(";")[0] ?? "");
  }
  expect(types).toEqual([
    ...["text/html", "text/html", "text/css", "text/css"],
    ...["text/javascript", "text/javascript", "text/plain"],
  ]);
  expect((await get("/docs/start.js")).text).toContain('url: "/api/v1/openapi.json"');
});

test("the sandbox's page says where its keys are, and nothing there holds one", async () => {
  const app = docsRoutes("/sandbox/keys");
  const read = async (path: string) => (await app.handle(new Request(`http://localhost${path}`))).text();
  const page = await read("/docs");
  expect(page).toContain('<div id="docs" data-keys="/sandbox/keys"></div>');
  const start = await read("/docs/start.js");
  expect(start).toContain("fetch(place.dataset.keys)");
  for (const text of [page, start]) expect(text).not.toContain("svc_");
});

function split(directive: string): [name: string, sources: string] {
  const at = directive.indexOf(" ");
  return [directive.slice(0, at), directive.slice(at + 1)];
}

test("what a browser has already is not sent again", async () => {
  await using pombo = await startInstance();
  for (const path of ["/docs", "/docs/start.js", "/docs/swagger-ui-bundle.js"]) {
    const first = await pombo.workspace.call("GET", path);
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]{20,}"$/);
    expect(first.headers.get("cache-control")).toBe("no-cache");
    const ask = (condition: string) => pombo.workspace.call("GET", path, { headers: { "if-none-match": condition } });
    for (const condition of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
      const again = await ask(condition);
      expect([condition, again.status, again.text, again.headers.get("etag")]).toEqual([condition, 304, "", tag]);
    }
    for (const condition of ['"x"', tag.slice(1, -1), ""])
      expect([condition, (await ask(condition)).text]).toEqual([condition, first.text]);
  }
});

test("what is no part of the page is 404, and nothing is written there", async () => {
  await using pombo = await startInstance();
  for (const path of ["/docs/x", "/docs/__proto__", "/docs/toString", "/docs/%2e%2e%2fpombo.toml", "/docs/x/y"])
    expectErrors(await pombo.workspace.call("GET", path, { key: null }), 404, [{ code: "NOT_FOUND" }]);
  const refused = await pombo.workspace.call("POST", "/docs", { body: {} });
  expectErrors(refused, 405, [{ code: "METHOD_NOT_ALLOWED" }]);
  expect(refused.headers.get("allow")).toBe("GET, HEAD");
});
