// The cookie that binds a link for sign-in to the browser that asked for it: a mail that is forwarded or scanned opens nothing.

import type { Arrival } from "../../platform/http/browser-request.ts";

const NAME = "pombo-link";
const SECURE_NAME = "__Host-pombo-link";
const FORM = /(?:^|;)\s*(?:__Host-)?pombo-link=([A-Za-z0-9_-]{43})(?:;|$)/;

/** Null: this browser asked for none. */
export function readNonce(request: Request): string | null {
  return FORM.exec(request.headers.get("cookie") ?? "")?.[1] ?? null;
}

/** Strict, although the link is opened from a mail program: the request that uses it is the page's own. */
export function writeNonce({ isHttps }: Arrival, nonce: string, maxAgeS: number): string {
  const [name, secure] = isHttps ? [SECURE_NAME, "; Secure"] : [NAME, ""];
  return `${name}=${nonce}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
}
