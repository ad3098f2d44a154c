// The last step of every sign-in: a session, its cookie, and the answer about the person.

import { clientNetwork } from "../../../platform/http/client-address.ts";
import { readSessionCookie, requireOwnArrival, writeSessionCookie } from "../../../platform/http/browser-request.ts";
import type { AccountDeps } from "../deps.ts";
import { describeMe } from "../me.ts";
import { getAges, insertSession, type SessionMethod } from "../sessions.ts";
import type { UserRow } from "../store.ts";
import { hashToken } from "../token.ts";

/** A request, and the answer to it. */
export interface Exchange {
  request: Request;
  set: { headers: Record<string, string | number> };
}

/** A person was found inside the caller's transaction, who signs in by this. */
export interface SignedIn {
  user: UserRow;
  method: SessionMethod;
}

/** Runs `find` and begins the session in one transaction. The session that the browser had ends: its token is not used on. */
export async function beginSession({ request, set }: Exchange, find: () => SignedIn, deps: AccountDeps) {
  const arrival = requireOwnArrival(request, deps.site);
  const network = clientNetwork(request, deps.site.trustedProxies);
  const userAgent = request.headers.get("user-agent");
  const before = readSessionCookie(request, arrival);
  const entry = { request, workspaceId: null };
  const { token, row, isOperator } = await deps.commit(() => {
    const { user, method } = find();
    const old = before === null ? undefined : deps.sessions.byHash(hashToken(before));
    if (old !== undefined) deps.sessions.end(old.id);
    const begun = insertSession({ userId: user.id, method, network, userAgent }, deps);
    deps.recordAudit({ ...entry, userId: user.id, action: "session.started", target: null, detail: { method } });
    return { ...begun, isOperator: user.isOperator };
  });
  set.headers["set-cookie"] = writeSessionCookie(arrival, token, getAges(isOperator).absoluteMs / 1_000);
  return { data: describeMe(row.id, deps) };
}
