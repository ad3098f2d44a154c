// GET /workspace/live: what changes in a workspace, as server-sent events.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { memberCaller, requireStillSignedIn } from "../../platform/http/auth.ts";
import { describe, errorAnswers, streamAnswer } from "../../platform/http/openapi.ts";
import { text } from "../../platform/http/request-schemas.ts";
import { isId } from "../../platform/uuid.ts";
import { type OpenShare, SHARE_HEADER } from "../domains/share.ts";
import type { DomainStore } from "../domains/store.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { LiveStreams } from "./streams.ts";

/** Rows of a stream: more than a page of a list shows. */
const MAX_IDS = 100;
const MAX_IDS_LENGTH = MAX_IDS * 37;

export interface LiveDeps {
  streams: Pick<LiveStreams, "open">;
  emails: Pick<EmailStore, "findState">;
  domains: Pick<DomainStore, "byUid">;
  /** What the link in a request opens. Throws LINK_USED and RATE_LIMITED. */
  openShare: (request: Request) => OpenShare;
}

const LiveQuery = Type.Object({
  ids: Type.Optional(
    text(
      {
        minLength: 1,
        maxLength: MAX_IDS_LENGTH,
        description: `Up to ${MAX_IDS} ids of emails and domains, with commas between.`,
      },
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
export function liveRoutes({ streams, emails, domains }: LiveDeps) {
  return new Elysia({ name: "live", prefix: "/api/v1/workspace/live" }).get(
    "",
    ({ request, query }) => {
      const { userId, workspaceId } = memberCaller(request);
      const asked = query.ids?.toLowerCase().split(",") ?? [];
      const found = asked.map((uid) => emails.findState({ workspaceId, domainId: null }, uid)?.email);
      const known = new Map(found.filter((email) => email !== undefined).map(({ id, uid }) => [id, uid]));
      const watched = asked.map((uid) => domains.byUid(workspaceId, uid)?.id).filter((id) => id !== undefined);
      const stream = streams.open({
        owner: `user ${userId}`,
        workspaceId,
        emails: known,
        domains: watched,
        mayRead: () => mayStillRead(request),
      });
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
          "(`emails`, `sms`, `domains`, `keys`, `webhooks`, `members`, `suppressions`, `workspace`), `email` the status of one that was asked for, " +
          "and `ended` that the session or the membership is over. A comment comes every 20 seconds. " +
          "Nothing is stored: what changed while nobody listened is found in the lists. Programs listen to `GET /events`.",
        responses: { 200: streamAnswer("Events, until either side ends them"), ...errorAnswers([403, 422, 503]) },
      }),
    },
  );
}

/** For whoever has a link to a domain's records. */
export function sharedLiveRoutes({ streams, openShare }: LiveDeps) {
  return new Elysia({ name: "shared-live", prefix: "/api/v1/dns-share/live" }).get(
    "",
    ({ request }) => {
      const { domain, isOpen } = openShare(request);
      const { id, workspaceId } = domain;
      const stream = streams.open({
        owner: `share ${id}`,
        workspaceId,
        emails: new Map(),
        domains: [id],
        kinds: ["domains"],
        mayRead: isOpen,
      });
      return new Response(stream, { headers: HEADERS });
    },
    {
      detail: describe({
        id: "getSharedDnsStream",
        tag: "Domains",
        summary: "Hear when the records that a link shows change",
        description:
          "Server-sent events, as `GET /workspace/live` sends them: `changed`, and `ended` when the link does. While it is open, pombo looks the records up every 10 seconds.",
        isOpen: true,
        headers: [{ name: SHARE_HEADER, description: "The link's token, which stands after its `#`." }],
        responses: { 200: streamAnswer("Events, until either side ends them"), ...errorAnswers([403, 410, 503]) },
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
