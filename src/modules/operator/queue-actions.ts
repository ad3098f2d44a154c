// Lists messages that wait, drops them, or makes them due now. The queues are walked in slices, rows are changed in small
// transactions, and one request does a part: its answer says where the next one goes on. After a crash each message
// is changed or as it was, and the same command does the rest.

import type { Static } from "@sinclair/typebox";
import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { type WaitingRow, yieldToEventLoop } from "../../platform/queue/queue-admin.ts";
import type { EmailQueueAdmin } from "../emails/queue/admin.ts";
import type { SmsQueueAdmin } from "../sms/queue/admin.ts";
import type { WebhookQueueAdmin } from "../webhooks/delivery/admin.ts";
import type { QueuedMessage } from "./queue-schema.ts";
import { type Kind, KINDS, type ResolvedFilter } from "./queue-filter.ts";
import { beginWalk, continueWalk, formatCursor, parseCursor } from "./walk-cursor.ts";

/** Rows looked at between two turns of the event loop: a millisecond or two. */
const SLICE_ROWS = 2_000;
/** Messages changed in one transaction. */
const BATCH = 200;
/** The most one request does: messages, slices, and time (a command shows its progress). */
const MAX_CHANGED = 5_000;
const MAX_SLICES = 500;
const MAX_MS = 2_000;

export interface Queues {
  email: EmailQueueAdmin;
  sms: SmsQueueAdmin;
  webhook: WebhookQueueAdmin;
}

export interface QueueActionDeps {
  queues: Queues;
  commit: Commit;
  clock: Clock;
}

type Counts = Record<Kind, number>;

export interface Changed {
  /** Dropped, or made due; in a dry run what would be dropped. */
  changed: Counts;
  /** Matching messages that were being delivered, and were left alone. */
  running: Counts;
  /** For the next request; null: all is done. */
  next: string | null;
}

export type QueueAction = { kind: "count" } | { kind: "drop"; reason: string } | { kind: "retry" };

/** Changes the messages that match, from where `cursor` says. */
export async function changeMatching(
  action: QueueAction,
  { kinds, rows: filter }: ResolvedFilter,
  cursor: string | null,
  deps: QueueActionDeps,
): Promise<Changed> {
  const { queues, clock } = deps;
  const name = `queue ${action.kind}`;
  const startedAt = clock.now();
  const done = { changed: none(), running: none() };
  const last = () => ({ email: queues.email.lastId(), sms: queues.sms.lastId(), webhook: queues.webhook.lastId() });
  let walk = cursor === null ? beginWalk(kinds, last()) : parseCursor(cursor, name);
  for (let slices = 0; walk !== null; slices += 1) {
    if (sum(done.changed) >= MAX_CHANGED || slices >= MAX_SLICES || clock.now() - startedAt > MAX_MS) break;
    const { kind } = walk;
    const { found, end } = queues[kind].list(walk.position, filter, SLICE_ROWS);
    const lastId = walk.last[kind];
    const rows = found.filter(({ id }) => id <= lastId);
    await changeRows({ action, kind, rows, done }, deps);
    walk = continueWalk(walk, end, kinds);
    await yieldToEventLoop();
  }
  return { ...done, next: walk === null ? null : formatCursor(walk, name) };
}

/** Changes messages by their ids: of an email, an SMS, or an event whose calls wait. */
export async function changeByIds(
  action: QueueAction,
  ids: readonly string[],
  deps: QueueActionDeps,
): Promise<Changed & { unknown: string[]; ended: string[] }> {
  const done = { changed: none(), running: none() };
  const unknown: string[] = [];
  const ended: string[] = [];
  for (const id of ids) {
    const found = find(id.toLowerCase(), deps.queues);
    if (found === null) {
      unknown.push(id);
      continue;
    }
    const before = sum(done.changed) + sum(done.running);
    await changeRows({ action, ...found, done }, deps);
    if (sum(done.changed) + sum(done.running) === before) ended.push(id);
  }
  return { ...done, next: null, unknown, ended };
}

function find(uid: string, queues: Queues): { kind: Kind; rows: WaitingRow[] } | null {
  for (const kind of KINDS) {
    const rows = queues[kind].find(uid);
    if (rows !== null) return { kind, rows };
  }
  return null;
}

interface Rows {
  action: QueueAction;
  kind: Kind;
  rows: readonly WaitingRow[];
  done: Pick<Changed, "changed" | "running">;
}

async function changeRows({ action, kind, rows, done }: Rows, { queues, commit, clock }: QueueActionDeps) {
  const queue = queues[kind];
  if (action.kind === "count") {
    const running = rows.filter(({ isRunning }) => isRunning).length;
    done.running[kind] += running;
    done.changed[kind] += rows.length - running;
    return;
  }
  for (let from = 0; from < rows.length; from += BATCH) {
    const batch = rows.slice(from, from + BATCH);
    if (action.kind === "drop") {
      const results = await commit(() => {
        const end = { reason: action.reason, now: clock.now() };
        return batch.map(({ id }) => queue.drop(id, end));
      });
      done.changed[kind] += results.filter((result) => result === "dropped").length;
      done.running[kind] += results.filter((result) => result === "running").length;
    } else {
      const nudges = await commit(() => {
        const now = clock.now();
        return batch.map(({ id }) => queue.retry(id, now)).filter((nudge) => nudge !== null);
      });
      done.changed[kind] += nudges.length;
      for (const nudge of nudges) nudge();
    }
  }
}

function none(): Counts {
  return { email: 0, sms: 0, webhook: 0 };
}

export function sum(counts: Counts): number {
  return KINDS.reduce((total, kind) => total + counts[kind], 0);
}

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
  return {
    rows: queue.show(ids).map((row) => ({ kind, ...row })),
    next: walk === null ? null : formatCursor({ ...walk, last: none() }, WALK),
  };
}
