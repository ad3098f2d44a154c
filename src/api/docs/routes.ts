// The page at /docs: Swagger UI on the instance's own openapi.json, all of it from this executable.

import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import viewerLicense from "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt" with { type: "file" };
import viewerScript from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import viewerStyle from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import pageStyle from "./page.css" with { type: "text" };
import startScript from "./start.js" with { type: "text" };
import { notFound } from "../../platform/http/errors.ts";
import { describe, htmlAnswer } from "../../platform/http/openapi.ts";

// The page asks no other host for fonts, a validator badge or telemetry, and its policy would forbid it. No key is in
// the page or its scripts.

function buildPage(keysPath: string | null): string {
  return PAGE.replace("{{keys}}", keysPath === null ? "" : ` data-keys="${Bun.escapeHTML(keysPath)}"`);
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pombo API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<div id="docs"{{keys}}></div>
<noscript>This page needs JavaScript. The description itself is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script type="module" src="/docs/start.js"></script>
</body>
</html>
`;

/** `style-src` without 'unsafe-inline': the viewer sets styles by script, which needs no leave. Its icons are data. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** A file of the page, read and hashed when it is first asked for. */
interface Asset {
  type: string;
  content: () => Promise<string>;
  tag?: string;
}

const inExecutable = (path: string) => () => Bun.file(path).text();

const ASSETS: Record<string, Asset> = {
  "page.css": { type: STYLE, content: async () => pageStyle },
  "start.js": { type: SCRIPT, content: async () => startScript },
  "swagger-ui-bundle.js": { type: SCRIPT, content: inExecutable(viewerScript) },
  "swagger-ui-bundle.js.LICENSE.txt": { type: "text/plain; charset=utf-8", content: inExecutable(viewerLicense) },
  "swagger-ui.css": { type: STYLE, content: inExecutable(viewerStyle) },
};

/** `keysPath`: where the page gets keys to try requests with; null: readers type theirs. */
export function docsRoutes(keysPath: string | null) {
  const page: Asset = { type: HTML, content: async () => buildPage(keysPath) };
  return new Elysia({ name: "docs", prefix: "/docs" })
    .get("", ({ request }) => sendAsset(request, page), {
      detail: describe({
        id: "getDocsPage",
        tag: "Instance",
        summary: "This description as a page",
        description: "Requests can be tried on it.",
        isOpen: true,
        responses: { 200: htmlAnswer("The page") },
      }),
    })
    .get(
      "/:file",
      ({ request, params }) => {
        const asset = Object.hasOwn(ASSETS, params.file) ? ASSETS[params.file] : undefined;
        if (asset === undefined) throw notFound("There is nothing at this path", "The page is /docs.");
        return sendAsset(request, asset);
      },
      { detail: { hide: true } },
    );
}

async function sendAsset(request: Request, asset: Asset): Promise<Response> {
  asset.tag ??= `"${createHash("sha256")
    .update(await asset.content())
    .digest("base64url")}"`;
  const headers = {
    // It may be kept, and is validated each time: an update of the executable changes it.
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    etag: asset.tag,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
  if (matchesTag(request.headers.get("if-none-match"), asset.tag)) return new Response(null, { status: 304, headers });
  return new Response(await asset.content(), { headers: { ...headers, "content-type": asset.type } });
}

/** RFC 9110 §13.1.2: a list of tags, weak or not, or `*`. */
function matchesTag(condition: string | null, tag: string): boolean {
  return condition?.split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === tag) === true;
}
