// GET /workspace/live: what changes in a workspace, as server-sent events.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { memberCaller, requireStillSignedIn } from "../../platform/http/auth.ts";
import { describe, errorAnswers, streamAnswer } from "../../platform/http/openapi.ts";
import { text } from "../../platform/http/request-schemas.ts";
import { isId } from "../../platform/uuid.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { LiveStreams } from "./streams.ts";

/** Emails of a stream: more than a page of a list shows. */
const MAX_IDS = 100;
const MAX_IDS_LENGTH = MAX_IDS * 37;

export interface LiveDeps {
  streams: Pick<LiveStreams, "open">;
  emails: Pick<EmailStore, "findState">;
}

const LiveQuery = Type.Object({
  ids: Type.Optional(
    text(
      { minLength: 1, maxLength: MAX_IDS_LENGTH, description: `Up to ${MAX_IDS} ids of emails, with commas between.` },
      (value) => (value.split(",").every(isId) ? null : "must be UUIDs with commas between"),
    ),
  ),
});

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // nginx would hold events back until its buffer is full.
  "x-accel-buffering": "no",
};

/** For people who are signed in: programs listen to GET /events. */
export function liveRoutes({ streams, emails }: LiveDeps) {
  return new Elysia({ name: "live", prefix: "/api/v1/workspace/live" }).get(
    "",
    ({ request, query }) => {
      const { userId, workspaceId } = memberCaller(request);
      const asked = query.ids?.toLowerCase().split(",") ?? [];
      const found = asked.map((uid) => emails.findState({ workspaceId, domainId: null }, uid)?.email);
      const known = new Map(found.filter((email) => email !== undefined).map(({ id, uid }) => [id, uid]));
      const stream = streams.open({ userId, workspaceId, emails: known, mayRead: () => mayStillRead(request) });
      return new Response(stream, { headers: HEADERS });
    },
    {
      query: LiveQuery,
      detail: describe({
        id: "getLiveStream",
        tag: "Workspace",
        summary: "Hear what changes, as the dashboard does",
        description:
          "Only for people who are signed in. Server-sent events, at most once a second: `changed` says how many rows changed of each kind " +
          "(`emails`, `sms`, `domains`, `keys`, `webhooks`, `members`, `suppressions`, `requests`, `workspace`), `email` the status of one that was asked for, " +
          "and `ended` that the session or the membership is over. A comment comes every 20 seconds. " +
          "Nothing is stored: what changed while nobody listened is found in the lists. Programs listen to `GET /events`.",
        responses: { 200: streamAnswer("Events, until either side ends them"), ...errorAnswers([403, 422, 503]) },
      }),
    },
  );
}

function mayStillRead(request: Request): boolean {
  try {
    requireStillSignedIn(request);
    return true;
  } catch {
    return false;
  }
}
