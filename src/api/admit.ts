// Admission of requests: header size, key, rate limit, and the paths that the key is for.

import { AppError } from "../platform/errors.ts";
import {
  authenticate,
  type AuthRules,
  type Caller,
  getCaller,
  domainKeyElsewhere,
  type VerifyKey,
} from "../platform/http/auth.ts";
import { getPath } from "../platform/http/path.ts";
import type { LimitedRequest, RateLimiter } from "./rate-limit.ts";

/** Names and values; no request of this API needs nearly as many. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Throws HEADERS_TOO_LARGE. */
function requireSmallHeaders({ headers }: Request): void {
  let bytes = 0;
  // At once: a walk over the headers costs several times as much.
  const all = headers.toJSON();
  for (const name in all) bytes += name.length + (all[name]?.length ?? 0);
  if (bytes <= MAX_HEADER_BYTES) return;
  throw new AppError("HEADERS_TOO_LARGE", `The headers are larger than ${MAX_HEADER_BYTES / 1024} KiB`, {
    hint: "Send fewer or shorter headers; a browser's cookies are not needed.",
  });
}

export interface AdmitDeps {
  verifyKey: VerifyKey;
  rules: AuthRules;
  limiter: RateLimiter;
  /** A wrong key came for a path that the operator key is for. */
  operatorKeyFailed: () => void;
}

/**
 * Admits a request before its body is read, or throws: who calls (401), how often (429), and whether the key may do this
 * (403). `headers` are those of the answer.
 */
export function admit(request: Request, headers: LimitedRequest["headers"], deps: AdmitDeps): void {
  const asked = { request, path: getPath(request), headers };
  // An answer is only for its caller, and may hold a key.
  if (asked.path.startsWith("/api/")) headers["cache-control"] = "no-store";
  requireSmallHeaders(request);
  const caller = findCaller(asked, deps);
  if (caller === null) return;
  deps.limiter.count(caller, asked);
  const isOfDomain = caller.kind === "key" && caller.domainId !== null;
  if (isOfDomain && !isForDomainKeys(request.method, asked.path)) throw domainKeyElsewhere();
}

/** Null: this path needs no caller. */
function findCaller(asked: LimitedRequest, { verifyKey, rules, limiter, operatorKeyFailed }: AdmitDeps): Caller | null {
  try {
    return authenticate(asked.request, verifyKey, rules);
  } catch (error) {
    if (error instanceof AppError && error.code === "INVALID_API_KEY" && rules.isForOperator(asked.path))
      operatorKeyFailed();
    if (error instanceof AppError && (error.code === "MISSING_API_KEY" || error.code === "INVALID_API_KEY"))
      limiter.countFailure(asked);
    // A valid key on a path that is not for it is counted as any of its requests.
    else if (error instanceof AppError && error.code === "API_KEY_RESTRICTED")
      limiter.count(getCaller(asked.request), asked);
    throw error;
  }
}

/** The routes for a key of one domain: sending, and reading what was sent. A new route is not for it until it is listed here. */
const DOMAIN_KEY_PATHS: Record<string, RegExp> = {
  POST: /^\/api\/v1\/emails(?:\/batch)?\/?$/,
  GET: /^\/api\/v1\/emails(?:\.csv|\/[^/]+(?:\/events|\/live|\/raw|\/attachments\/[^/]+)?)?\/?$/,
};

function isForDomainKeys(method: string, path: string): boolean {
  return DOMAIN_KEY_PATHS[method]?.test(path) ?? false;
}
