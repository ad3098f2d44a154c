// The port without TLS beside those with it: authorities look here for what they have given, and everybody else is sent
// on. A request with a key has crossed the network in clear: it is refused, and who reads the log replaces the key.

import { AppError } from "../errors.ts";
import type { Log } from "../log.ts";
import { readKey } from "./auth.ts";
import { errorResponse } from "./errors.ts";
import { getPath } from "./path.ts";

/** RFC 8555 §8.3. */
const CHALLENGE_PATH = "/.well-known/acme-challenge/";
const TOKEN = /^[\w-]{1,256}$/;
const HOST = /^[\w.-]+$/;
/** `svc_` and what the list of keys shows. */
const PREFIX_LENGTH = 12;
const PLAIN = { "content-type": "text/plain; charset=utf-8" };

export interface Port80Deps {
  /** What an authority asks for under this token; null: nothing. */
  findToken: (token: string) => string | null;
  /** That may be sent on to. */
  names: readonly string[];
  /** Where https is; 443 needs not be named. */
  httpsPort: number | null;
  log: Log;
}

export function answerWithoutTls(request: Request, { findToken, names, httpsPort, log }: Port80Deps): Response {
  const path = getPath(request);
  const isRead = request.method === "GET" || request.method === "HEAD";
  const key = readKey(request);
  if (key !== "") {
    log.event("tls.key_in_clear", { prefix: key.slice(0, PREFIX_LENGTH) }, "warn");
    return refuse("This request has carried a key in clear, over http", "Send it to https, and replace the key.");
  }
  if (path.startsWith(CHALLENGE_PATH)) {
    const token = path.slice(CHALLENGE_PATH.length);
    const found = isRead && TOKEN.test(token) ? findToken(token) : null;
    return found === null
      ? new Response("No authority is waited for under this token.\n", { status: 404, headers: PLAIN })
      : new Response(found, { headers: { "content-type": "application/octet-stream" } });
  }
  if (httpsPort === null) return new Response("Nothing is served here.\n", { status: 404, headers: PLAIN });
  if (!isRead) return refuse("This port only leads to https", "Send it there.");
  const host = (request.headers.get("host") ?? "").toLowerCase().replace(/:\d{1,5}$/, "");
  // Only to names of our own: a foreign Host would make this a way to send people anywhere.
  const name = HOST.test(host) && names.includes(host) ? host : names[0];
  const { pathname, search } = URL.parse(request.url) ?? { pathname: "/", search: "" };
  const location = `https://${name}${httpsPort === 443 ? "" : `:${httpsPort}`}${pathname}${search}`;
  return new Response(null, { status: 308, headers: { location } });
}

function refuse(message: string, hint: string): Response {
  return errorResponse(new AppError("HTTPS_REQUIRED", message, { hint }));
}
