import { AppError } from "../errors.ts";
import { pathOf } from "./path.ts";

/** Who is calling. */
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

export interface AuthRules {
  /** Requests that may come without a key. */
  isOpen(method: string, path: string): boolean;
  /** Paths that the operator key is for. */
  isForOperator(path: string): boolean;
}

const ANONYMOUS: Caller = { kind: "anonymous" };

const callers = new WeakMap<Request, Caller>();

/** Under it everything is the operator's alone. */
export const OPERATOR_PATHS = "/api/v1/operator/";

/** Paths of the API that need no key. */
const OPEN_PATHS = new Set(["/api/v1/openapi.json"]);

/**
 * Decides who calls, before the body is read or anything is looked up; throws 401, or 403 for the operator
 * key where it has no business, and for another one where only that key has. Null where nobody is asked.
 */
export function authenticate(request: Request, verifyKey: VerifyKey, rules: AuthRules): Caller | null {
  const path = pathOf(request);
  if (!isUnderApi(path) || OPEN_PATHS.has(path)) return null;
  const key = request.headers.get("x-api-key")?.trim() ?? "";
  if (key === "") {
    if (rules.isOpen(request.method, path)) {
      callers.set(request, ANONYMOUS);
      return ANONYMOUS;
    }
    throw missingKey();
  }
  const caller = KEY_FORM.test(key) ? verifyKey(key) : null;
  if (caller === null) {
    throw invalidKey();
  }
  // Before the body is read: that key has no business here, whatever the request says.
  callers.set(request, caller);
  if (caller.kind === "operator" && !rules.isForOperator(path)) throw operatorElsewhere();
  if (caller.kind !== "operator" && path.startsWith(OPERATOR_PATHS)) throw notTheOperator();
  return caller;
}

/** Throws 401 when the key of an admitted request was deleted or replaced while its body came, which takes a minute if its sender likes. */
export function requireStillValid(request: Request, verifyKey: VerifyKey): void {
  const kind = callers.get(request)?.kind;
  if (kind !== "key" && kind !== "operator") return;
  if (verifyKey(request.headers.get("x-api-key")?.trim() ?? "")?.kind !== kind) throw invalidKey();
}

export function missingKey(): AppError {
  return new AppError("MISSING_API_KEY", "The header X-API-Key is missing", {
    hint: "Send your API key in the header X-API-Key. Authorization is not read, and an empty value counts as none.",
  });
}

function invalidKey(): AppError {
  return new AppError("INVALID_API_KEY", "The API key is not valid", {
    hint: "Check for a cut or a space when it was copied; a deleted key is not valid any more.",
  });
}

/**
 * Counts a request as the operator's, whatever key it carries: it came by a way that is the operator's alone
 * (the socket in the data directory, a command that holds its lock).
 */
export function asOperator(request: Request): void {
  callers.set(request, { kind: "operator" });
}

export function operatorElsewhere(): AppError {
  const message = `The operator key works on POST /api/v1/workspaces and under ${OPERATOR_PATHS} only`;
  return new AppError("API_KEY_RESTRICTED", message, { hint: "Use a key of the workspace." });
}

export function notTheOperator(): AppError {
  return new AppError("API_KEY_RESTRICTED", "Only the operator key works here", {
    hint: "It is the one that pombo init showed; ask the operator.",
  });
}

function isUnderApi(path: string): boolean {
  return path.startsWith("/api/");
}

/** Who sent this request; only for paths that authenticate() has seen. */
export function callerOf(request: Request): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new Error(`no caller is known for ${request.method} ${request.url}`);
  return caller;
}

/** Whose request it is, as one word: `operator`, the workspace, or `anonymous` where no key is needed, as in the sandbox. */
export function ownerOf(request: Request): string {
  const caller = callers.get(request) ?? ANONYMOUS;
  return caller.kind === "key" ? `workspace ${caller.workspaceId}` : caller.kind;
}

export interface WorkspaceCaller {
  keyId: number;
  workspaceId: number;
  domainId: number | null;
}

/** The workspace that calls, by any of its keys; 403 for the operator key. */
export function workspaceCaller(request: Request): WorkspaceCaller {
  const caller = callerOf(request);
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
  return new AppError(
    "API_KEY_RESTRICTED",
    "This key is restricted to one domain: it sends that domain's emails and reads them",
    {
      hint: "Use a key without domainId.",
    },
  );
}

/** Throws 403 unless the operator calls. */
export function operatorCaller(request: Request): void {
  if (callerOf(request).kind !== "operator") throw notTheOperator();
}
