// Authentication: who sends a request, by API key, by the operator key, or without one.

import { AppError } from "../errors.ts";
import { getPath } from "./path.ts";

export type Caller =
  /** A workspace's key; `domainId` null: the whole workspace, set: what that domain's key may. */
  | { kind: "key"; keyId: number; workspaceId: number; domainId: number | null }
  | { kind: "operator" }
  /** No key, where none is needed. */
  | { kind: "anonymous" };

/** Looks a key up: null when there is no such key. */
export type VerifyKey = (key: string) => Caller | null;

/** `svc_` and the base64url of 32 bytes. */
const KEY_FORM = /^svc_[A-Za-z0-9_-]{43}$/;

const BEARER = /^bearer +(\S+)$/i;

export interface AuthRules {
  isOpen(method: string, path: string): boolean;
  /** Paths that the operator key is for. */
  isForOperator(path: string): boolean;
}

const ANONYMOUS: Caller = { kind: "anonymous" };

const callers = new WeakMap<Request, Caller>();

/** Everything under it is only for the operator. */
export const OPERATOR_PATHS = "/api/v1/operator/";

const OPEN_PATHS = new Set(["/api/v1/openapi.json"]);

/**
 * Finds the caller before the body is read; throws 401, or 403 for the operator key outside its paths and for another
 * key on them. Null on paths that need no caller.
 */
export function authenticate(request: Request, verifyKey: VerifyKey, rules: AuthRules): Caller | null {
  const path = getPath(request);
  if (!path.startsWith("/api/") || OPEN_PATHS.has(path)) return null;
  const key = readKey(request);
  if (key === "") {
    if (!rules.isOpen(request.method, path)) throw missingKey();
    callers.set(request, ANONYMOUS);
    return ANONYMOUS;
  }
  const caller = KEY_FORM.test(key) ? verifyKey(key) : null;
  if (caller === null) throw invalidKey();
  callers.set(request, caller);
  if (caller.kind === "operator" && !rules.isForOperator(path)) throw operatorElsewhere();
  if (caller.kind !== "operator" && path.startsWith(OPERATOR_PATHS)) throw notTheOperator();
  return caller;
}

/** Throws 401 when the key of an admitted request was deleted or replaced while its body came, which may take a minute. */
export function requireStillValid(request: Request, verifyKey: VerifyKey): void {
  const kind = callers.get(request)?.kind;
  if (kind !== "key" && kind !== "operator") return;
  if (verifyKey(readKey(request))?.kind !== kind) throw invalidKey();
}

/** The key in X-API-Key, or else in Authorization: Bearer (RFC 6750, section 2.1); "" where neither has one. */
function readKey(request: Request): string {
  const key = request.headers.get("x-api-key")?.trim() ?? "";
  return key === "" ? (BEARER.exec(request.headers.get("authorization") ?? "")?.[1] ?? "") : key;
}

export function missingKey(): AppError {
  return new AppError("MISSING_API_KEY", "The header X-API-Key is missing", {
    hint: "Send your API key in the header X-API-Key, or as Authorization: Bearer. An empty value counts as none.",
  });
}

function invalidKey(): AppError {
  return new AppError("INVALID_API_KEY", "The API key is not valid", {
    hint: "Check that it was copied completely and without spaces. A deleted key is not valid.",
  });
}

/** Marks a request as the operator's, whatever key it carries: it came over the socket in the data directory or from a command. */
export function markAsOperator(request: Request): void {
  callers.set(request, { kind: "operator" });
}

export function operatorElsewhere(): AppError {
  const message = `The operator key works on POST /api/v1/workspaces and under ${OPERATOR_PATHS} only`;
  return new AppError("API_KEY_RESTRICTED", message, { hint: "Use a key of the workspace." });
}

export function notTheOperator(): AppError {
  return new AppError("API_KEY_RESTRICTED", "Only the operator key works here", {
    hint: "Ask the operator; pombo init showed it.",
  });
}

/** The caller of a request that authenticate() has seen. */
export function getCaller(request: Request): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new Error(`no caller is known for ${request.method} ${request.url}`);
  return caller;
}

/** The owner of a request for the budget of bodies: `operator`, the workspace, or `anonymous` where no key is needed. */
export function getOwner(request: Request): string {
  const caller = callers.get(request) ?? ANONYMOUS;
  return caller.kind === "key" ? `workspace ${caller.workspaceId}` : caller.kind;
}

export type WorkspaceCaller = Omit<Extract<Caller, { kind: "key" }>, "kind">;

/** The workspace that calls, by any of its keys; 403 for the operator key. */
export function workspaceCaller(request: Request): WorkspaceCaller {
  const caller = getCaller(request);
  if (caller.kind === "key") return caller;
  throw operatorElsewhere();
}

/** The workspace that calls by a key for the whole of it; 403 for a key restricted to a domain. */
export function wholeWorkspaceCaller(request: Request): WorkspaceCaller {
  const caller = workspaceCaller(request);
  if (caller.domainId === null) return caller;
  throw domainKeyElsewhere();
}

export function domainKeyElsewhere(): AppError {
  const message = "This key is restricted to one domain: it sends that domain's emails and reads them";
  return new AppError("API_KEY_RESTRICTED", message, { hint: "Use a key without domainId." });
}

/** Throws 403 unless the operator calls. */
export function operatorCaller(request: Request): void {
  if (getCaller(request).kind !== "operator") throw notTheOperator();
}
