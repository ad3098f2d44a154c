// Sessions of people: begun by a sign-in, verified at each request, and ended.

import type { Context } from "../../platform/context.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { DashboardSite } from "../../platform/http/browser-request.ts";
import { newId } from "../../platform/uuid.ts";
import type { FoundSession, SessionAges, SessionRow, SessionStore } from "./session-store.ts";
import { createToken, hashToken, isToken } from "./token.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const MEMBER_AGES: SessionAges = { idleMs: 30 * DAY_MS, absoluteMs: 90 * DAY_MS };
export const OPERATOR_AGES: SessionAges = { idleMs: 12 * HOUR_MS, absoluteMs: 7 * DAY_MS };

/** That a session was seen is written at most this often. */
const SEEN_EVERY_MS = 10 * 60_000;
/** Sessions whose last write is remembered. */
const MAX_REMEMBERED = 10_000;
/** Of one user; a further one ends the oldest. */
const MAX_SESSIONS = 50;
const MAX_USER_AGENT = 300;

export type SessionMethod = SessionRow["method"];

export interface SessionStart {
  userId: number;
  method: SessionMethod;
  network: string | null;
  userAgent: string | null;
}

/** The session of a cookie's value: null when there is none, or it is too old. */
export type VerifySession = (
  token: string,
  isAgain?: boolean,
) => { sessionId: number; userId: number; isOperator: boolean; provedAt: number } | null;

export interface SessionDeps extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  sessions: SessionStore;
  site: Pick<DashboardSite, "url">;
}

/** Begins a session, inside the caller's transaction; the token is for its cookie. */
export function insertSession(
  start: SessionStart,
  { sessions, clock, random }: Pick<SessionDeps, "sessions" | "clock" | "random">,
): { token: string; row: SessionRow } {
  const now = clock.now();
  const { token, hash } = createToken(random);
  const userAgent = start.userAgent?.slice(0, MAX_USER_AGENT) ?? null;
  const times = { createdAt: now, provedAt: now, lastSeenAt: now };
  const row = sessions.insert({ uid: newId(now, random), hash, ...start, userAgent, ...times });
  sessions.endOldest(start.userId, MAX_SESSIONS);
  return { token, row };
}

export function getAges(isOperator: boolean): SessionAges {
  return isOperator ? OPERATOR_AGES : MEMBER_AGES;
}

export function isAlive({ isOperator, lastSeenAt, createdAt }: FoundSession, now: number): boolean {
  const { idleMs, absoluteMs } = getAges(isOperator);
  return now - lastSeenAt < idleMs && now - createdAt < absoluteMs;
}

/** Finds the session of a cookie, and notes that it was seen: not by an open stream, or no open tab would ever be idle. */
export function createSessionVerifier({ sessions, commit, clock, log, site }: SessionDeps): VerifySession {
  const noted = new Map<number, number>();
  const note = (id: number, now: number) => {
    if (noted.size >= MAX_REMEMBERED) noted.clear();
    noted.set(id, now);
    commit(() => sessions.update(id, { lastSeenAt: now })).catch((error: unknown) => {
      // Not worth failing a request for; the next request tries again.
      noted.delete(id);
      if (!isStorageError(error)) log.error("sessions", error);
    });
  };
  return (token, isAgain = false) => {
    const row = isToken(token) ? sessions.byHash(hashToken(token)) : undefined;
    const now = clock.now();
    if (row === undefined || !isAlive(row, now)) return null;
    const { id, userId, method } = row;
    const isNews = !isAgain && now - Math.max(row.lastSeenAt, noted.get(id) ?? 0) >= SEEN_EVERY_MS;
    if (isNews) note(id, now);
    const isOperator = row.isOperator && !needsSecondFactor(row, site);
    // Nobody in the sandbox has a password to prove it with.
    return { sessionId: id, userId, isOperator, provedAt: method === "sandbox" ? now : row.provedAt };
  };
}

const STRONG = new Set<SessionMethod>(["passkey", "password_totp", "recovery_code", "sandbox"]);

/** A password by itself is not enough for an operator where strangers can try it too: until it is more, the session is no operator's. */
export function needsSecondFactor(
  { method }: Pick<SessionRow, "method">,
  { url }: Pick<DashboardSite, "url">,
): boolean {
  return url !== null && !STRONG.has(method);
}

/** The person proved who they are once more, inside the caller's transaction; a stronger way than before counts from now on. */
export function strengthen(
  sessionId: number,
  method: SessionMethod,
  { sessions, clock }: Pick<SessionDeps, "sessions" | "clock">,
): void {
  sessions.update(sessionId, { provedAt: clock.now(), ...(STRONG.has(method) ? { method } : {}) });
}
