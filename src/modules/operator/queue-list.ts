import type { Static } from "@sinclair/typebox";
import { stateOf } from "../emails/api/serialize.ts";
import { timeOf } from "../../platform/http/times.ts";
import type { SegmentStore } from "../sms/queue/segment-store.ts";
import type { QueuedMessage } from "./queue-schema.ts";
import type { ResolvedFilter } from "./queue-filter.ts";
import { after, beginning, placeText, readPlace } from "./walk-cursor.ts";
import type { Kind, OperatorQueueStore } from "./queue-store.ts";

// Single messages of a queue. Emails and calls come in the order in which they were accepted, texts in that in which
// they expire.

type Message = Static<typeof QueuedMessage>;

/** Rows looked at between two turns of the event loop. */
const SLICE_ROWS = 2_000;
const WALK = "queue list";

export interface ListDeps {
  waiting: OperatorQueueStore;
  segments: Pick<SegmentStore, "listByMessage">;
}

/** A page of the queue `kinds` begins with. */
export async function listQueue(
  { kinds, choice }: ResolvedFilter,
  page: { cursor: string | null; limit: number },
  deps: ListDeps,
): Promise<{ rows: Message[]; next: string | null }> {
  const kind = kinds[0] ?? "email";
  const last = { email: Infinity, sms: Infinity, webhook: Infinity };
  let place = page.cursor === null ? beginning([kind], last) : { ...readPlace(page.cursor, WALK), last };
  const ids: number[] = [];
  while (place !== null && ids.length < page.limit) {
    const slice = deps.waiting.slice(kind, place.at, choice, SLICE_ROWS);
    const room = page.limit - ids.length;
    if (slice.found.length > room) {
      // The slice is taken again from its last message that is on this page.
      const taken = deps.waiting.slice(kind, place.at, choice, SLICE_ROWS).found.slice(0, room);
      ids.push(...taken.map(({ id }) => id));
      place = { ...place, at: atOf(kind, place.at, taken.at(-1)?.id ?? 0, deps) };
      break;
    }
    ids.push(...slice.found.map(({ id }) => id));
    place = after(place, slice.end, [kind]);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const none = { email: 0, sms: 0, webhook: 0 };
  return { rows: show(kind, ids, deps), next: place === null ? null : placeText({ ...place, last: none }, WALK) };
}

function atOf(kind: Kind, at: { stage: number; rank: number; id: number }, id: number, { waiting }: ListDeps) {
  if (kind !== "sms") return { ...at, id };
  return { ...at, rank: waiting.textsIn([id])[0]?.message.expiresAt ?? at.rank, id };
}

function show(kind: Kind, ids: number[], deps: ListDeps): Message[] {
  switch (kind) {
    case "email":
      return deps.waiting.emailsIn(ids).map(({ email, queue, workspaceUid }) => ({
        kind,
        id: email.uid,
        workspaceId: workspaceUid,
        to: email.recipient,
        queuedAt: timeOf(email.createdAt),
        state: stateOf({ email, queue }),
        attempts: queue.attempts,
        nextAttemptAt: queue.inFlight ? null : timeOf(queue.nextAt),
        expiresAt: timeOf(queue.expiresAt),
        lastReply: queue.lastReply,
      }));
    case "sms":
      return showTexts(ids, deps);
    case "webhook":
      return deps.waiting.callsIn(ids).map(({ job, webhook, event, workspaceUid }) => ({
        kind,
        id: event.uid,
        workspaceId: workspaceUid,
        to: webhook.url,
        queuedAt: timeOf(event.createdAt),
        state: job.inFlight ? "sending" : job.attempts > 0 ? "delivery_delayed" : "queued",
        attempts: job.attempts,
        nextAttemptAt: job.inFlight ? null : timeOf(job.nextAt),
        expiresAt: null,
        lastReply: job.attempts > 0 ? webhook.lastFailureReason : null,
      }));
  }
}

function showTexts(ids: number[], { waiting, segments }: ListDeps): Message[] {
  const found = new Map(waiting.textsIn(ids).map((each) => [each.message.id, each]));
  return ids.flatMap((id) => {
    const text = found.get(id);
    if (text === undefined) return [];
    const { message, workspaceUid } = text;
    const rows = segments.listByMessage(id);
    const waits = rows.filter(({ state }) => state === "ready").map(({ nextAt }) => nextAt);
    const attempts = Math.max(0, ...rows.map((row) => row.attempts));
    return [
      {
        kind: "sms" as const,
        id: message.uid,
        workspaceId: workspaceUid,
        to: message.recipient,
        queuedAt: timeOf(message.createdAt),
        state: message.status === "queued" && attempts > 0 ? "delivery_delayed" : message.status,
        attempts,
        nextAttemptAt: waits.length === 0 ? null : timeOf(Math.min(...waits)),
        expiresAt: timeOf(message.expiresAt),
        lastReply: rows.find(({ reason }) => reason !== null)?.reason ?? message.providerStatus,
      },
    ];
  });
}
