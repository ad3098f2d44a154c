import type { Static } from "@sinclair/typebox";
import { yieldToEventLoop } from "../../platform/queue/queue-admin.ts";
import { type Queues, SLICE_ROWS } from "./queue-actions.ts";
import type { QueuedMessage } from "./queue-schema.ts";
import type { ResolvedFilter } from "./queue-filter.ts";
import { beginWalk, continueWalk, formatCursor, parseCursor } from "./walk-cursor.ts";

const WALK = "queue list";

/** A page of the first queue of `kinds`: emails and calls in the order they were accepted, SMS as they expire. */
export async function listQueue(
  { kinds, rows: filter }: ResolvedFilter,
  page: { cursor: string | null; limit: number },
  queues: Queues,
): Promise<{ rows: Static<typeof QueuedMessage>[]; next: string | null }> {
  const kind = kinds[0] ?? "email";
  const queue = queues[kind];
  const last = { email: Infinity, sms: Infinity, webhook: Infinity };
  let walk = page.cursor === null ? beginWalk([kind], last) : { ...parseCursor(page.cursor, WALK), last };
  const ids: number[] = [];
  while (walk !== null && ids.length < page.limit) {
    const { found, end } = queue.list(walk.position, filter, SLICE_ROWS);
    const taken = found.slice(0, page.limit - ids.length);
    ids.push(...taken.map(({ id }) => id));
    const lastTaken = taken.at(-1);
    if (found.length > taken.length && lastTaken !== undefined) {
      walk = { ...walk, position: lastTaken.position };
      break;
    }
    walk = continueWalk(walk, end, [kind]);
    await yieldToEventLoop();
  }
  const none = { email: 0, sms: 0, webhook: 0 };
  return {
    rows: queue.show(ids).map((row) => ({ kind, ...row })),
    next: walk === null ? null : formatCursor({ ...walk, last: none }, WALK),
  };
}
