import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { personCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, Deleted, describe } from "../../../platform/http/openapi.ts";
import { uuid } from "../../../platform/http/request-schemas.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import type { AccountDeps } from "../deps.ts";
import { record } from "../factors/change-factors.ts";
import { EndedSessions, Session } from "../schema.ts";
import type { SessionRow } from "../session-store.ts";
import { isAlive } from "../sessions.ts";

const TAG = "Sign-in";

export function sessionRoutes(deps: AccountDeps) {
  return new Elysia({ name: "sessions", prefix: "/api/v1/auth" })
    .get(
      "/sessions",
      ({ request }) => {
        const { userId, sessionId } = personCaller(request);
        const isOperator = deps.users.byId(userId)?.isOperator ?? false;
        const alive = deps.sessions.list(userId).filter((row) => isAlive({ ...row, isOperator }, deps.clock.now()));
        return { data: alive.map((row) => showSession(row, sessionId)) };
      },
      {
        detail: describe({
          id: "listSessions",
          tag: TAG,
          summary: "List one's sessions",
          description: "Where the person is signed in, the last used first.",
          keys: ["sessionCookie"],
          responses: answers(200, Type.Array(Session), [401, 403]),
        }),
      },
    )
    .delete(
      "/sessions/:id",
      async ({ request, params }) => {
        const { userId, sessionId } = personCaller(request);
        const id = params.id.toLowerCase();
        await deps.commit(() => {
          const row = deps.sessions.byUid(userId, id);
          if (row === undefined) throw notFound("You have no session with this id");
          deps.sessions.end(row.id);
          record({ request, userId, sessionId }, "session.ended", deps);
        });
        return { data: { id, deleted: true } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "deleteOneSession",
          tag: TAG,
          summary: "End a session",
          description: "Its next request is refused.",
          keys: ["sessionCookie"],
          responses: answers(200, Deleted, [401, 403, 404, 422, 503]),
        }),
      },
    )
    .delete(
      "/sessions",
      async ({ request }) => {
        const { userId, sessionId } = personCaller(request);
        const ended = await deps.commit(() => {
          const count = deps.sessions.endOfUser(userId, sessionId);
          record({ request, userId, sessionId }, "session.others_ended", deps, { count });
          return count;
        });
        return { data: { ended } };
      },
      {
        detail: describe({
          id: "deleteOtherSessions",
          tag: TAG,
          summary: "End all other sessions",
          description: "Only this one goes on.",
          keys: ["sessionCookie"],
          responses: answers(200, EndedSessions, [401, 403, 503]),
        }),
      },
    );
}

function showSession({ uid, method, network, userAgent, createdAt, lastSeenAt, id }: SessionRow, current: number) {
  const times = { createdAt: toIsoTime(createdAt), lastSeenAt: toIsoTime(lastSeenAt) };
  return { id: uid, method, network, userAgent, ...times, isCurrent: id === current };
}
