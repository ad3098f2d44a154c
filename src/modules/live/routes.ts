// GET /workspace/live and /emails/{id}/live: what changes in a workspace, and what happens to an email, as server-sent events.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  getCaller,
  memberCaller,
  requireStillValid,
  type VerifyKey,
  workspaceCaller,
} from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { describe, errorAnswers, streamAnswer } from "../../platform/http/openapi.ts";
import { text, uuid } from "../../platform/http/request-schemas.ts";
import { isId } from "../../platform/uuid.ts";
import type { DomainStore } from "../domains/store.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { MessageStore } from "../sms/queue/message-store.ts";
import { createEmailSource, type EmailSourceDeps } from "./email-source.ts";
import type { LiveStreams, Reader } from "./streams.ts";
import { createWorkspaceSource, type WorkspaceSourceDeps } from "./workspace-source.ts";

/** Rows of a stream: more than a page of a list shows. */
const MAX_IDS = 100;
const MAX_IDS_LENGTH = MAX_IDS * 37;

export interface LiveRoutesDeps extends WorkspaceSourceDeps, EmailSourceDeps {
  streams: Pick<LiveStreams, "open">;
  emails: Pick<EmailStore, "findState">;
  sms: { messages: Pick<MessageStore, "byUid"> };
  domains: Pick<DomainStore, "byUid">;
  verifyKey: VerifyKey;
}

const LiveQuery = Type.Object({
  ids: Type.Optional(
    text(
      {
        minLength: 1,
        maxLength: MAX_IDS_LENGTH,
        description: `Up to ${MAX_IDS} ids of emails, SMS and domains, with commas between.`,
      },
      (value) => (value.split(",").every(isId) ? null : "must be UUIDs with commas between"),
    ),
  ),
});

export const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // nginx would hold events back until its buffer is full.
  "x-accel-buffering": "no",
};

export function liveRoutes(deps: LiveRoutesDeps) {
  const { streams, emails, domains, verifyKey } = deps;
  return new Elysia({ name: "live", prefix: "/api/v1" })
    .get(
      "/workspace/live",
      ({ request, query }) => {
        const { workspaceId } = memberCaller(request);
        const asked = query.ids?.toLowerCase().split(",") ?? [];
        const watched = asked.map((uid) => domains.byUid(workspaceId, uid)?.id).filter((id) => id !== undefined);
        const source = createWorkspaceSource(
          { workspaceId, messages: findMessages(asked, workspaceId, deps), domains: watched },
          deps,
        );
        return new Response(streams.open(readAs(request, verifyKey), source), { headers: HEADERS });
      },
      {
        query: LiveQuery,
        detail: describe({
          id: "getLiveStream",
          tag: "Workspace",
          summary: "Hear what changes, as the dashboard does",
          description:
            "Only for people who are signed in. Server-sent events, at most once a second: `changed` says how many rows changed of each kind " +
            "(`emails`, `sms`, `domains`, `keys`, `webhooks`, `members`, `suppressions`, `requests`, `workspace`), `email` and `sms` the status of one that was asked for, " +
            "and `ended` that the session or the membership is over. A comment comes every 20 seconds. " +
            "The records of a domain that was asked for are looked up every 10 seconds until all are found. " +
            "Nothing is stored: what changed while nobody listened is found in the lists. Programs listen to `GET /events`.",
          responses: { 200: streamAnswer("Events, until either side ends them"), ...errorAnswers([403, 422, 503]) },
        }),
      },
    )
    .get(
      "/emails/:id/live",
      ({ request, params }) => {
        const found = emails.findState(workspaceCaller(request), params.id.toLowerCase());
        if (found === undefined) throw notFound("This workspace has no email with this id");
        const source = createEmailSource(found.email, deps);
        return new Response(streams.open(readAs(request, verifyKey), source), { headers: HEADERS });
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getEmailLiveStream",
          tag: "Emails",
          summary: "Watch an email's attempts as they happen",
          description:
            "Server-sent events: `email` has its `status`, `nextAttemptAt`, `lastReply` and `failedReason`, at first and when they change; " +
            "`attempt` says that one begins (`attempt`, `startedAt`), `dialogue` what is said in it (`attempt`, and `lines` as in the timeline), " +
            "`result` how it ended (`attempt`, `ms`, and the `reason` if the email was not taken), and `ended` that the key, the session or the membership is over. " +
            "Of an attempt that runs already, what was said so far comes first. A comment comes every 20 seconds. " +
            "Nothing is stored for it, and a slow reader is cut off. A person or a key may have four such streams, those of the dashboard included.",
          responses: {
            200: streamAnswer("Events, until either side ends them"),
            ...errorAnswers([401, 403, 404, 422, 503]),
          },
        }),
      },
    );
}

/** Those of the workspace with one of these ids. */
function findMessages(uids: string[], workspaceId: number, { emails, sms }: Pick<LiveRoutesDeps, "emails" | "sms">) {
  const found = { emails: new Map<number, string>(), sms: new Map<number, string>() };
  for (const uid of uids) {
    const email = emails.findState({ workspaceId, domainId: null }, uid)?.email;
    if (email !== undefined) found.emails.set(email.id, uid);
    const message = email === undefined ? sms.messages.byUid(workspaceId, uid) : undefined;
    if (message !== undefined) found.sms.set(message.id, uid);
  }
  return found;
}

function readAs(request: Request, verifyKey: VerifyKey): Reader {
  const caller = getCaller(request);
  const owner =
    caller.kind === "key" ? `key ${caller.keyId}` : "userId" in caller ? `user ${caller.userId}` : caller.kind;
  return { owner, mayRead: () => isStillValid(request, verifyKey) };
}

function isStillValid(request: Request, verifyKey: VerifyKey): boolean {
  try {
    requireStillValid(request, verifyKey);
    return true;
  } catch {
    return false;
  }
}
