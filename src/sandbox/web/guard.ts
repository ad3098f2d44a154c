/**
 * The door of the sandbox's routes, and their answers. The inbox needs no key, so that only the person at this machine
 * may read it, by their own browser and tools, and no web page that happens to be open there. Two doors are shut: a name
 * that merely points at 127.0.0.1 (DNS rebinding), and requests that another origin's page sends.
 */
import { Elysia } from "elysia";
import { isLoopbackHost } from "../../platform/http/browser-request.ts";

export const GUARDING_HEADERS = {
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  // With no-referrer a form of our own page would come from the origin "null".
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
};

export interface Fault {
  code: string;
  message: string;
  field?: string;
}

export function faultAnswer(status: number, ...errors: Fault[]): Response {
  return Response.json({ errors }, { status, headers: GUARDING_HEADERS });
}

/** The `limit` of a list's query, or the answer that it is none. */
export function readLimit(url: URL, usual: number, most: number): number | Response {
  const limit = url.searchParams.get("limit") ?? String(usual);
  if (/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= most) return Number(limit);
  const message = `limit must be a whole number from 1 to ${most}`;
  return faultAnswer(422, { code: "VALIDATION_ERROR", message, field: "limit" });
}

/** Routes that answer only this machine's own. */
export function guardedRoutes(name: string) {
  return new Elysia({ name, aot: false, detail: { hide: true } }).onBeforeHandle(({ request }) => {
    const refusal = findRefusal(request);
    return refusal === null ? undefined : faultAnswer(403, { code: "FORBIDDEN", message: refusal });
  });
}

/** Why a request may not see the inbox, in one sentence; null when it may. */
function findRefusal(request: Request): string | null {
  // Null: the name that it was asked by cannot be a part of a URL.
  const url = URL.parse(request.url);
  const host = request.headers.get("host") ?? url?.host ?? "";
  if (url === null || !isLoopbackHost(host) || !isLoopbackHost(url.host)) {
    return "The sandbox answers only to localhost, 127.0.0.1 and [::1].";
  }
  const origin = request.headers.get("origin");
  // "null", the origin of a sandboxed frame, is refused too: a message's html asks for nothing.
  if (origin !== null && origin !== `${url.protocol}//${host}`) {
    return "The sandbox answers only to its own pages, not to those of another site.";
  }
  return null;
}
