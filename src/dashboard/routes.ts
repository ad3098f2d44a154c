// The routes under /dashboard: one shell for all pages, and the files that it loads.

import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import type { Previews } from "../modules/emails/preview/index.ts";
import { AppError, ERROR_STATUS } from "../platform/errors.ts";
import { type DashboardSite, requireOwnArrival } from "../platform/http/browser-request.ts";
import type { Asset, Assets } from "./asset.ts";
import { openAssets } from "./assets.ts";
import { buildRefusal, buildShell, type ShellOptions } from "./pages.ts";
import { buildHeaders, PREVIEW_HEADERS } from "./policy.ts";

const HTML = "text/html; charset=utf-8";
const FOREVER = "public, max-age=31536000, immutable";

/** Mounted where [dashboard] enabled says so. */
export function dashboardRoutes(site: DashboardSite, previews: Pick<Previews, "use">, options: ShellOptions) {
  const findAssets = openAssets();
  const sendPage = async (request: Request) => {
    const { version } = await findAssets();
    const base = `/dashboard/assets/${version}/`;
    try {
      const { isHttps } = requireOwnArrival(request, site);
      return sendShell(request, buildShell(base, options), isHttps);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const headers = { ...buildHeaders(false), "content-type": HTML, "cache-control": "no-store" };
      return new Response(buildRefusal(base, describeRefusal(error, site)), {
        status: ERROR_STATUS[error.code],
        headers,
      });
    }
  };
  return new Elysia({ name: "dashboard", prefix: "/dashboard", detail: { hide: true } })
    .get("/assets/:version/:name", async ({ request, params }) => sendFile(request, await findAssets(), params))
    .get("/preview/:ticket", async ({ request, params }) =>
      sendPreview(await previews.use(params.ticket, request, site)),
    )
    .get("", ({ request }) => sendPage(request))
    .get("/*", ({ request }) => sendPage(request));
}

/** Html of a message, of which the browser runs and loads nothing; null: the ticket was used, is too old, or is another person's. */
function sendPreview(html: string | null): Response {
  const gone =
    "<!doctype html><title>Preview</title><p>This preview was shown already, or is too old. Open it again from its page.";
  return new Response(html ?? gone, {
    status: html === null ? 404 : 200,
    headers: { ...PREVIEW_HEADERS, "content-type": HTML },
  });
}

function sendShell(request: Request, page: string, isHttps: boolean): Response {
  const etag = `"${createHash("sha256").update(page).digest("base64url")}"`;
  // It is asked for each time: an update of the executable changes the addresses in it.
  const headers = { ...buildHeaders(isHttps), "cache-control": "no-cache", etag };
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  return new Response(page, { headers: { ...headers, "content-type": HTML } });
}

/** They hold nothing of anybody's, so that everybody gets them, also the page that says how to get https. */
function sendFile(request: Request, assets: Assets, params: { version: string; name: string }): Response {
  const file = assets.files.find(({ name }) => name === params.name);
  if (file === undefined || params.version !== assets.version)
    return new Response(null, { status: 404, headers: buildHeaders(false) });
  const { encoding, bytes } = chooseEncoding(request.headers.get("accept-encoding") ?? "", file);
  const headers = new Headers({
    ...buildHeaders(false),
    "cache-control": FOREVER,
    "content-type": file.type,
    vary: "accept-encoding",
  });
  if (encoding !== null) headers.set("content-encoding", encoding);
  return new Response(bytes as Uint8Array<ArrayBuffer>, { headers });
}

function chooseEncoding(accepted: string, { br, gzip, raw }: Asset): { encoding: string | null; bytes: Uint8Array } {
  const accepts = (name: string) =>
    new RegExp(`(?:^|,)\\s*${name}\\s*(?:,|$|;\\s*q=(?:1|0\\.\\d*[1-9]))`, "i").test(accepted);
  if (accepts("br")) return { encoding: "br", bytes: br };
  return accepts("gzip") ? { encoding: "gzip", bytes: gzip } : { encoding: null, bytes: raw };
}

const TUNNEL = "ssh -L 8080:localhost:8080 you@your-server";

function describeRefusal({ code, message, hint }: AppError, { url }: DashboardSite) {
  if (url !== null) return { title: message, url: `${url}/dashboard`, paragraphs: hint === undefined ? [] : [hint] };
  const paragraphs = [
    code === "HTTPS_REQUIRED"
      ? "Over plain http everybody on the way could read your password, so nobody can sign in here."
      : "pombo does not know the name in your address bar.",
    "For good: put a reverse proxy with a certificate in front of pombo, and name its address in the configuration as [dashboard] url. docs/dashboard.md says how.",
    "At once, from your own computer: run this line, leave it open, and go to http://localhost:8080/dashboard there.",
  ];
  return { title: message, paragraphs, command: TUNNEL };
}
