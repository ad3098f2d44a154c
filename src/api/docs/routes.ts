import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import viewerLicense from "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt" with { type: "file" };
import viewerScript from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import viewerStyle from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import { notFound } from "../../platform/http/errors.ts";
import { describe, htmlAnswer } from "../../platform/http/openapi.ts";
import { PAGE, POLICY, START_SCRIPT } from "./page.ts";

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** A file of the page. Read and named by its hash when it is first asked for. */
interface Asset {
  type: string;
  content: () => Promise<string>;
  tag?: string;
}

const inExecutable = (path: string) => () => Bun.file(path).text();

const PAGE_ASSET: Asset = { type: HTML, content: async () => PAGE };
const ASSETS: Record<string, Asset> = {
  "start.js": { type: SCRIPT, content: async () => START_SCRIPT },
  "swagger-ui-bundle.js": { type: SCRIPT, content: inExecutable(viewerScript) },
  "swagger-ui-bundle.js.LICENSE.txt": { type: "text/plain; charset=utf-8", content: inExecutable(viewerLicense) },
  "swagger-ui.css": { type: "text/css; charset=utf-8", content: inExecutable(viewerStyle) },
};

/** The API's pages, for everybody: they show what /api/v1/openapi.json says. */
export function docsRoutes() {
  return new Elysia({ name: "docs", prefix: "/docs" })
    .get("", ({ request }) => sendAsset(request, PAGE_ASSET), {
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
    // It may be kept, and is asked for each time: after an update of the executable it is another.
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

/** RFC 9110 §13.1.2: a list of tags, or `*`; whether they are weak is of no account. */
function matchesTag(condition: string | null, tag: string): boolean {
  return condition?.split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === tag) === true;
}
