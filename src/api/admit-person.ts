// Admission of people: a browser's session, the workspace that it names, and whether the role allows the request.

import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import {
  type AuthRules,
  type Caller,
  notSignedIn,
  OPERATOR_PATHS,
  type PersonSession,
  type Role,
  type VerifySession,
} from "../platform/http/auth.ts";
import {
  type DashboardSite,
  hasSessionCookie,
  readSessionCookie,
  requireOwnArrival,
  requireSameOrigin,
} from "../platform/http/browser-request.ts";
import { clientNetwork } from "../platform/http/client-address.ts";
import { notFound, validationError } from "../platform/http/errors.ts";
import { isId } from "../platform/uuid.ts";
import { findRight, GRANTS, type Right } from "./roles.ts";

export interface PeopleDeps {
  /** False: there is no dashboard, and no session counts. */
  isEnabled: boolean;
  /** Whether this start is recorded: before that the database may be one of an earlier time, in which all sessions and links end. */
  isBegun: () => boolean;
  site: DashboardSite;
  verifySession: VerifySession;
  /** A workspace by its public id, with the person's role in it; role null: not a member. Undefined: there is no such workspace. */
  findMembership: (userId: number, workspaceUid: string) => { workspaceId: number; role: Role | null } | undefined;
  /** An operator uses a workspace without being its member. */
  operatorEntered: (request: Request, session: PersonSession, workspaceId: number) => void;
  clock: Pick<Clock, "now">;
}

/** How long a proof of who someone is suffices for what is dangerous. */
const PROOF_MS = 10 * 60_000;

const NOT_BEGUN_S = 2;

const ANONYMOUS: Caller = { kind: "anonymous" };

/** Finds the caller of a request without an API key by its session, as AuthRules says. */
export function createPersonFinder(deps: PeopleDeps): AuthRules["findPerson"] {
  return (request, path, isAgain) => {
    const right = path.startsWith(OPERATOR_PATHS) ? "operator" : findRight(request.method, path);
    const isForPeople = right === "open" || right === "person";
    if (!isForPeople && !hasSessionCookie(request)) return null;
    if (!deps.isEnabled) {
      if (isForPeople)
        throw notFound("The dashboard is turned off here", "The operator can change [dashboard] enabled.");
      return null;
    }
    if (!deps.isBegun()) throw notBegun();
    const arrival = requireOwnArrival(request, deps.site);
    const token = readSessionCookie(request, arrival);
    const session = token === null ? null : deps.verifySession(token, isAgain);
    if (session === null && right !== "open") throw notSignedIn();
    requireSameOrigin(request, arrival);
    return session === null ? ANONYMOUS : toCaller(request, right, session, deps);
  };
}

function toCaller(request: Request, right: Right | null, session: PersonSession, deps: PeopleDeps): Caller {
  if (right === null) throw notFound("There is nothing at this path for the dashboard");
  const { userId, sessionId, isOperator, provedAt } = session;
  const person = { userId, sessionId, hasFreshProof: deps.clock.now() - provedAt < PROOF_MS };
  if (right === "open" || right === "person") return { kind: "person", isOperator, ...person };
  if (right === "operator") {
    requireOperator(request, isOperator);
    return { kind: "person", isOperator, ...person };
  }
  const { workspaceId, role } = findWorkspace(request, session, deps);
  requireRole(role, right);
  // For the audit: it is written when the client may be gone.
  clientNetwork(request, deps.site.trustedProxies);
  if (role === "operator") deps.operatorEntered(request, session, workspaceId);
  return { kind: "member", workspaceId, role, ...person };
}

function requireOperator(request: Request, isOperator: boolean): void {
  if (!isOperator) throw roleRequired("Only an operator of this server may do this; you are not one");
  if (request.headers.get("pombo-operator") === "1") return;
  throw roleRequired("An operator says that they act as one", "Send the header Pombo-Operator: 1.");
}

/** Throws 404 for the workspaces of others as for those that do not exist. */
function findWorkspace(request: Request, { userId, isOperator }: PersonSession, { findMembership }: PeopleDeps) {
  const uid = request.headers.get("pombo-workspace")?.trim().toLowerCase() ?? "";
  if (!isId(uid)) {
    const hint = "GET /api/v1/auth/me lists your workspaces.";
    throw validationError([
      { path: ["Pombo-Workspace"], message: "must be a header with the id of a workspace", hint },
    ]);
  }
  const found = findMembership(userId, uid);
  const role: Role | "operator" | null = found?.role ?? (isOperator ? "operator" : null);
  if (found !== undefined && role !== null) return { workspaceId: found.workspaceId, role };
  throw notFound("There is no workspace with this id that you are a member of", "GET /api/v1/auth/me lists yours.");
}

function requireRole(role: Role | "operator", right: keyof typeof GRANTS): void {
  const granted: readonly string[] = GRANTS[right];
  if (granted.includes(role)) return;
  if (granted.length === 0) throw roleRequired("Only API keys may do this", "Send it with a key in X-API-Key.");
  const needed = granted.filter((each) => each !== "operator");
  throw roleRequired(
    `This needs the role ${needed.join(" or ")} in this workspace; yours is ${role}`,
    role === "operator" ? "A member of the workspace can do it." : "Ask an owner or admin of the workspace.",
  );
}

function notBegun(): AppError {
  return new AppError("UNAVAILABLE", "pombo is starting: nobody can sign in yet", {
    hint: "It waits for room on the disk, or begins in a moment. Try again.",
    retryAfterS: NOT_BEGUN_S,
  });
}

function roleRequired(message: string, hint?: string): AppError {
  return new AppError("ROLE_REQUIRED", message, hint === undefined ? {} : { hint });
}
