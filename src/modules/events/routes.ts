// GET /events: the events of a workspace, with long polling.

import { Type } from "@sinclair/typebox";
import { NotReplicatedError } from "../../platform/db/storage-error.ts";
import { Elysia } from "elysia";
import { requireStillValid, type VerifyKey, wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { answers, describe, namedObject } from "../../platform/http/openapi.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { badCursor, CursorMeta } from "../../platform/http/pagination.ts";
import { integerText, text } from "../../platform/http/request-schemas.ts";
import type { EventCursors } from "./cursor.ts";
import type { Listeners } from "./listeners.ts";
import { EventBody } from "./schema.ts";
import type { EventRow, EventStore } from "./store.ts";
import { identifier } from "../../platform/http/answer-schemas.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 100;
/** Shorter than what proxies and Bun let a connection be silent for. */
const MAX_WAIT_S = 25;
const MAX_CURSOR = 100;

export interface EventDeps {
  events: EventStore;
  listeners: Listeners;
  cursors: EventCursors;
  verifyKey: VerifyKey;
  commit: Commit;
}

const EventQuery = Type.Object({
  cursor: Type.Optional(
    text({
      minLength: 1,
      maxLength: MAX_CURSOR,
      description: "`meta.next_cursor` of the answer before; without one: only events from now on.",
    }),
  ),
  limit: Type.Optional(
    integerText({
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: "The maximal number of events.",
    }),
  ),
  wait: Type.Optional(
    integerText({
      minimum: 0,
      maximum: MAX_WAIT_S,
      default: 0,
      description: "Seconds to wait for an event if there is none.",
    }),
  ),
});

const Event = namedObject("Event", {
  id: identifier("As in the header webhook-id of its calls."),
  ...EventBody.properties,
});

/** A workspace's events as they happen, for clients that a webhook cannot reach. */
export function eventRoutes(deps: EventDeps) {
  return new Elysia({ name: "events", prefix: "/api/v1/events" }).get(
    "",
    async ({ request, query }) => {
      const { workspaceId } = wholeWorkspaceCaller(request);
      const { events, listeners, cursors, verifyKey } = deps;
      // A cursor must never stand on an event that a power cut can take back: what a transaction reads is synced with it.
      const read = (after: number, limit: number) => {
        const readNow = () => events.after(workspaceId, after, limit);
        return deps.commit(readNow).catch((error: unknown) => {
          if (error instanceof NotReplicatedError) throw error;
          return readNow();
        });
      };
      listeners.note(workspaceId);
      const last = events.getLastId(workspaceId);
      // A restored database counts from further back: nobody must wait until it has caught up.
      const after = query.cursor === undefined ? last : Math.min(last, positionIn(query.cursor, workspaceId, cursors));
      const limit = Number(query.limit ?? DEFAULT_LIMIT);
      let found = await read(after, limit + 1);
      if (found.length === 0 && Number(query.wait ?? 0) > 0) {
        // An event that came while the page was read woke no listener.
        if (events.getLastId(workspaceId) <= after)
          await listeners.wait(workspaceId, Number(query.wait) * 1_000, request.signal);
        // The key may have been deleted meanwhile.
        requireStillValid(request, verifyKey);
        found = await read(after, limit + 1);
      }
      const page = found.slice(0, limit);
      const next = page.at(-1)?.id ?? after;
      const meta = { has_more: found.length > limit, next_cursor: cursors.write(workspaceId, next) };
      return { data: page.map(showEvent), meta };
    },
    {
      query: EventQuery,
      detail: describe({
        id: "listEvents",
        tag: "Events",
        summary: "Listen to events",
        description:
          "Oldest first, from the cursor on. With `wait` the answer comes as soon as there is an event, as for `pombo webhook listen`. " +
          "Events of emails and SMS are stored while a webhook is subscribed to them (not one that its owner disabled), or if " +
          "somebody has listened within the last minute.",
        responses: answers(200, Type.Array(Event), [401, 403, 422], CursorMeta),
      }),
    },
  );
}

function showEvent(row: EventRow): typeof Event.static {
  return { id: row.uid, ...(JSON.parse(row.body) as typeof EventBody.static) };
}

function positionIn(cursor: string, workspaceId: number, cursors: EventCursors): number {
  const position = cursors.read(workspaceId, cursor);
  if (position !== null) return position;
  throw badCursor();
}
