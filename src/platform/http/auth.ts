// Authentication: who sends a request, by API key, by the operator key, by a browser's session, or without any.

import type { ROLES } from "../db/schema/people.ts";
import { AppError } from "../errors.ts";
import { getPath } from "./path.ts";

export type Role = (typeof ROLES)[number];

/** Of people who are signed in. `hasFreshProof`: who they are was proved within the last minutes. */
interface SignedIn {
  userId: number;
  sessionId: number;
  hasFreshProof: boolean;
}

export type Caller =
  /** A workspace's key; `domainId` null: the whole workspace, set: what that domain's key may. */
  | { kind: "key"; keyId: number; workspaceId: number; domainId: number | null }
  | { kind: "operator" }
  /** A person in one workspace; role "operator": an operator who is not a member of it. */
  | ({ kind: "member"; workspaceId: number; role: Role | "operator" } & SignedIn)
  /** A person on the paths that are about no workspace: their account, and the operator's paths. */
  | ({ kind: "person"; isOperator: boolean } & SignedIn)
  /** No key and no session, where none is needed. */
  | { kind: "anonymous" };

export interface PersonSession {
  sessionId: number;
  userId: number;
  isOperator: boolean;
  /** When its person last proved who they are. */
  provedAt: number;
}

/** The session of a cookie's value; null: none, ended, or too old. Notes that it was seen, unless the same request asks again. */
export type VerifySession = (token: string, isAgain?: boolean) => PersonSession | null;

/** Looks a key up: null when there is no such key. */
export type VerifyKey = (key: string) => Caller | null;

/** `svc_` and the base64url of 32 bytes. */
const KEY_FORM = /^svc_[A-Za-z0-9_-]{43}$/;

export function isKeyForm(key: string): boolean {
  return KEY_FORM.test(key);
}

const BEARER = /^bearer +(\S+)$/i;

export interface AuthRules {
  isOpen(method: string, path: string): boolean;
  /** Paths that the operator key is for. */
  isForOperator(path: string): boolean;
  /**
   * The caller of a request without a key, by its session: anonymous where nobody needs to be signed in; null: it has no
   * session and its path needs a key. Throws where the session may not do this. `isAgain`: the request was admitted before.
   */
  findPerson(request: Request, path: string, isAgain?: boolean): Caller | null;
}

const ANONYMOUS: Caller = { kind: "anonymous" };

const callers = new WeakMap<Request, Caller>();

/** How the person of a request is found again. */
const admitAgain = new WeakMap<Request, () => Caller | null>();

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
    const found = rules.findPerson(request, path) ?? (rules.isOpen(request.method, path) ? ANONYMOUS : null);
    if (found === null) throw missingKey();
    callers.set(request, found);
    if (found.kind === "member" || found.kind === "person")
      admitAgain.set(request, () => rules.findPerson(request, path, true));
    return found;
  }
  const caller = isKeyForm(key) ? verifyKey(key) : null;
  if (caller === null) throw invalidKey();
  callers.set(request, caller);
  if (caller.kind === "operator" && !rules.isForOperator(path)) throw operatorElsewhere();
  if (caller.kind !== "operator" && path.startsWith(OPERATOR_PATHS)) throw notTheOperator();
  return caller;
}

/** Throws 401 when the key or session of an admitted request ended while its body came, which may take a minute. */
export function requireStillValid(request: Request, verifyKey: VerifyKey): void {
  const kind = callers.get(request)?.kind;
  if (kind === "member" || kind === "person") requireStillSignedIn(request);
  if (kind !== "key" && kind !== "operator") return;
  if (verifyKey(readKey(request))?.kind !== kind) throw invalidKey();
}

/** Throws when a person's request would be refused now: the session or the membership ended, or its role is another one. */
export function requireStillSignedIn(request: Request): void {
  const before = getCaller(request);
  const now = admitAgain.get(request)?.() ?? null;
  if (now?.kind !== before.kind || (now.kind === "member" && before.kind === "member" && now.role !== before.role))
    throw new AppError("ROLE_REQUIRED", "Your role in this workspace has just changed", { hint: "Send it again." });
}

/** The key in X-API-Key, or else in Authorization: Bearer (RFC 6750, section 2.1); "" where neither has one. */
export function readKey(request: Request): string {
  const key = request.headers.get("x-api-key")?.trim() ?? "";
  return key === "" ? (BEARER.exec(request.headers.get("authorization") ?? "")?.[1] ?? "") : key;
}

export function missingKey(): AppError {
  return new AppError("MISSING_API_KEY", "The header X-API-Key is missing", {
    hint: "Send your API key in the header X-API-Key, or as Authorization: Bearer. An empty value counts as none.",
  });
}

export function notSignedIn(): AppError {
  return new AppError("NOT_SIGNED_IN", "You are not signed in, or your session has ended", { hint: "Sign in again." });
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

/** The API key that a request was admitted with; null: it had none, or that of the operator. */
export function findKeyCaller(request: Request): Extract<Caller, { kind: "key" }> | null {
  const caller = callers.get(request);
  return caller?.kind === "key" ? caller : null;
}

/** The owner of a request for the budget of bodies: `operator`, the workspace, or `anonymous` where no key is needed. */
export function getOwner(request: Request): string {
  const caller = callers.get(request) ?? ANONYMOUS;
  if (caller.kind === "key" || caller.kind === "member") return `workspace ${caller.workspaceId}`;
  return caller.kind === "person" ? `user ${caller.userId}` : caller.kind;
}

export interface WorkspaceCaller {
  workspaceId: number;
  /** The domain that a key is restricted to; null: the whole workspace. */
  domainId: number | null;
  /** The key or the person that calls. */
  keyId?: number;
  userId?: number;
}

/** The workspace that calls, by any of its keys or members; 403 for the operator key. */
export function workspaceCaller(request: Request): WorkspaceCaller {
  const caller = getCaller(request);
  if (caller.kind === "key") return caller;
  if (caller.kind === "member") return { workspaceId: caller.workspaceId, domainId: null, userId: caller.userId };
  throw operatorElsewhere();
}

/** The workspace that calls by a key for the whole of it or by a member; 403 for a key restricted to a domain. */
export function wholeWorkspaceCaller(request: Request): WorkspaceCaller {
  const caller = workspaceCaller(request);
  if (caller.domainId === null) return caller;
  throw domainKeyElsewhere();
}

export function domainKeyElsewhere(): AppError {
  const message = "This key is restricted to one domain: it sends that domain's emails and reads them";
  return new AppError("API_KEY_RESTRICTED", message, { hint: "Use a key without domainId." });
}

/** Throws 403 unless the operator calls: by key, over the socket, or as a person who is one (findPerson has asked for the header). */
export function operatorCaller(request: Request): void {
  const caller = getCaller(request);
  if (caller.kind !== "operator" && !(caller.kind === "person" && caller.isOperator)) throw notTheOperator();
}

/** The person who is signed in; 403 for every key. */
export function personCaller(request: Request): Extract<Caller, { kind: "person" }> {
  const caller = getCaller(request);
  if (caller.kind === "person") return caller;
  throw forPeople();
}

/** The person who acts in a workspace; 403 for every key. */
export function memberCaller(request: Request): Extract<Caller, { kind: "member" }> {
  const caller = getCaller(request);
  if (caller.kind === "member") return caller;
  throw forPeople();
}

function forPeople(): AppError {
  return new AppError("API_KEY_RESTRICTED", "This is for people who are signed in, not for API keys", {
    hint: "Sign in to the dashboard.",
  });
}

/** Throws 403 when a person who asks for something dangerous has not proved lately who they are. Keys are not asked. */
export function requireFreshProof(request: Request): void {
  const caller = getCaller(request);
  if ((caller.kind !== "member" && caller.kind !== "person") || caller.hasFreshProof) return;
  throw new AppError("PROOF_REQUIRED", "Prove again that it is you: the last time was more than 10 minutes ago", {
    hint: "POST /api/v1/auth/proof with a password or a passkey, then send this again.",
  });
}
