// GET /dns-share/live: whoever has a link to a domain's records hears when they change.

import { Elysia } from "elysia";
import { describe, errorAnswers, streamAnswer } from "../../platform/http/openapi.ts";
import { type OpenShare, SHARE_HEADER } from "../domains/share.ts";
import { HEADERS } from "./routes.ts";
import type { LiveStreams } from "./streams.ts";
import { createWorkspaceSource, type WorkspaceSourceDeps } from "./workspace-source.ts";

export interface SharedRoutesDeps extends WorkspaceSourceDeps {
  streams: Pick<LiveStreams, "open">;
  /** What the link in a request opens. Throws LINK_USED and RATE_LIMITED. */
  openShare: (request: Request) => OpenShare;
}

export function sharedLiveRoutes(deps: SharedRoutesDeps) {
  return new Elysia({ name: "shared-live", prefix: "/api/v1/dns-share/live" }).get(
    "",
    ({ request }) => {
      const { domain, isOpen } = deps.openShare(request);
      const { id, workspaceId } = domain;
      const messages = { emails: new Map(), sms: new Map() };
      const view = { workspaceId, messages, domains: [id], kinds: ["domains"] as const };
      const stream = deps.streams.open({ owner: `share ${id}`, mayRead: isOpen }, createWorkspaceSource(view, deps));
      return new Response(stream, { headers: HEADERS });
    },
    {
      detail: describe({
        id: "getSharedDnsStream",
        tag: "Domains",
        summary: "Hear when the records that a link shows change",
        description:
          "Server-sent events, as `GET /workspace/live` sends them: `changed`, and `ended` when the link does. " +
          "While it is open, pombo looks the records up every 10 seconds.",
        isOpen: true,
        headers: [{ name: SHARE_HEADER, description: "The link's token, which stands after its `#`." }],
        responses: { 200: streamAnswer("Events, until either side ends them"), ...errorAnswers([403, 410, 503]) },
      }),
    },
  );
}
