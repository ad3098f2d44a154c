// The cookie that binds a link for sign-in to the browser that asked for it: a mail that is forwarded or scanned opens nothing.

import { type Arrival, readCookie } from "../../platform/http/browser-request.ts";

const NAME = "pombo-link";
const SECURE_NAME = "__Host-pombo-link";

/** Null: this browser asked for none. Over https another site of the same domain can set only the other name. */
export function readNonce(request: Request, { isHttps }: Arrival): string | null {
  return readCookie(request, isHttps ? SECURE_NAME : NAME);
}

/** Strict, although the link is opened from a mail program: the request that uses it is the page's own. */
export function writeNonce({ isHttps }: Arrival, nonce: string, maxAgeS: number): string {
  const [name, secure] = isHttps ? [SECURE_NAME, "; Secure"] : [NAME, ""];
  return `${name}=${nonce}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
}
