import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { dropEmail } from "../emails/queue/drop.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { Log } from "../../platform/log.ts";
import type { QueueStore } from "../emails/queue/store.ts";
import { dropText, hastenText } from "../sms/queue/operator-actions.ts";
import type { SegmentStore } from "../sms/queue/segment-store.ts";
import { type DropDeps, dropCall } from "../webhooks/delivery/drop.ts";
import type { ResolvedFilter } from "./queue-filter.ts";
import { after, beginning, type Place, placeText, readPlace } from "./walk-cursor.ts";
import { type RowFilter, type Kind, KINDS, type OperatorQueueStore } from "./queue-store.ts";
import type { ReadyWork } from "../sms/queue/segment-read-store.ts";

// What the operator does to messages that wait: drop them, or have them tried now. The queues are walked a slice
// at a time with turns of the event loop between, rows are changed in small transactions, and one call does a part:
// its answer says where the next one goes on. A crash leaves each message changed or as it was, and the same command
// does the rest.

/** Rows looked at between two turns of the event loop: a millisecond or two. */
const SLICE_ROWS = 2_000;
/** Messages changed in one transaction. */
const SHARE = 200;
/** What one call does at most: messages, rows looked at, and time (a command shows how far it is). */
const MAX_CHANGED = 5_000;
const MAX_SLICES = 500;
const MAX_MS = 2_000;

export interface QueueActionDeps extends DropDeps {
  waiting: OperatorQueueStore;
  emails: EmailStore;
  queue: QueueStore;
  segments: Pick<SegmentStore, "listByMessage" | "end" | "endReady" | "delayReady">;
  commit: Commit;
  clock: Clock;
  log: Log;
  /** Told after the commit: there is work to do now. */
  nudge: {
    email(laneId: number, dueAt: number): void;
    sms(work: ReadyWork): void;
    webhook(webhookId: number, dueAt: number): void;
  };
}

export type Counts = Record<Kind, number>;

export interface Changed {
  /** Dropped, or made due; of a count what would be. */
  changed: Counts;
  /** Meant as well, but under way at that moment, and left alone. */
  running: Counts;
  /** For the next call; null: all is done. */
  next: string | null;
}

/** What is done to a message, inside a transaction. */
export type QueueAction =
  /** Only counted. */
  { kind: "count" } | { kind: "drop"; reason: string } | { kind: "retry" };

interface Outcome {
  fate: "done" | "running" | "gone";
  /** Told after the commit. */
  nudge?: () => void;
}

/** Changes messages of a choice, from where `cursor` says. */
export async function changeChosen(
  verb: QueueAction,
  { kinds, choice }: ResolvedFilter,
  cursor: string | null,
  deps: QueueActionDeps,
): Promise<Changed> {
  const walk = `queue ${verb.kind}`;
  const startedAt = deps.clock.now();
  const done = { changed: none(), running: none() };
  let place = cursor === null ? beginning(kinds, deps.waiting.lastIds()) : readPlace(cursor, walk);
  for (let slices = 0; place !== null; slices += 1) {
    const isEnough = sum(done.changed) >= MAX_CHANGED || slices >= MAX_SLICES || deps.clock.now() - startedAt > MAX_MS;
    if (isEnough) break;
    place = after(place, await changeSlice({ verb, place, choice, done }, deps), kinds);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { ...done, next: place === null ? null : placeText(place, walk) };
}

/** Messages by their ids: of an email, a text, or an event whose calls wait. */
export async function changeNamed(
  verb: QueueAction,
  ids: readonly string[],
  deps: QueueActionDeps,
): Promise<Changed & { unknown: string[]; ended: string[] }> {
  const done = { changed: none(), running: none() };
  const unknown: string[] = [];
  const ended: string[] = [];
  for (const id of ids) {
    const found = find(id.toLowerCase(), deps.waiting);
    if (found === null) {
      unknown.push(id);
      continue;
    }
    const before = sum(done.changed) + sum(done.running);
    await changeRows({ verb, kind: found.kind, rows: waitingOf(found, deps), done }, deps);
    if (sum(done.changed) + sum(done.running) === before) ended.push(id);
  }
  return { ...done, next: null, unknown, ended };
}

function find(uid: string, waiting: OperatorQueueStore): { kind: Kind; rows: number[] } | null {
  const email = waiting.emailOf(uid);
  if (email !== null) return { kind: "email", rows: [email] };
  const text = waiting.textOf(uid);
  if (text !== null) return { kind: "sms", rows: [text] };
  const calls = waiting.callsOf(uid);
  return calls === null ? null : { kind: "webhook", rows: calls };
}

/** Of rows by their ids those that are in the queue. */
function waitingOf({ kind, rows }: { kind: Kind; rows: number[] }, { waiting, segments }: QueueActionDeps) {
  if (kind === "email") return waiting.emailsIn(rows).map(({ queue }) => ({ id: queue.id, isRunning: queue.inFlight }));
  if (kind === "webhook") return waiting.callsIn(rows).map(({ job }) => ({ id: job.id, isRunning: job.inFlight }));
  return rows.flatMap((id) => {
    const states = segments.listByMessage(id).map(({ state }) => state);
    const isWaiting = states.some((state) => ["ready", "unknown", "in_flight"].includes(state));
    return isWaiting ? [{ id, isRunning: states.includes("in_flight") }] : [];
  });
}

interface Part {
  verb: QueueAction;
  done: Pick<Changed, "changed" | "running">;
}

async function changeSlice(
  { place, choice, ...part }: Part & { place: Place; choice: RowFilter },
  deps: QueueActionDeps,
) {
  const { kind, at, last } = place;
  const { found, end } = deps.waiting.slice(kind, at, choice, SLICE_ROWS);
  const rows = found.filter(({ id }) => id <= last[kind]);
  await changeRows({ ...part, kind, rows }, deps);
  return end;
}

async function changeRows(
  { verb, kind, rows, done }: Part & { kind: Kind; rows: readonly { id: number; isRunning: boolean }[] },
  deps: QueueActionDeps,
): Promise<void> {
  if (verb.kind === "count") {
    const running = rows.filter(({ isRunning }) => isRunning).length;
    done.running[kind] += running;
    done.changed[kind] += rows.length - running;
    return;
  }
  for (let from = 0; from < rows.length; from += SHARE) {
    const share = rows.slice(from, from + SHARE);
    const outcomes = await deps.commit(() => {
      const now = deps.clock.now();
      return share.map(({ id }) => changeOne(verb, { kind, id, now }, deps));
    });
    for (const { fate, nudge } of outcomes) {
      if (fate === "done") done.changed[kind] += 1;
      if (fate === "running") done.running[kind] += 1;
      nudge?.();
    }
  }
}

function changeOne(
  verb: Exclude<QueueAction, { kind: "count" }>,
  row: { kind: Kind; id: number; now: number },
  deps: QueueActionDeps,
): Outcome {
  if (verb.kind === "retry") return hasten(row, deps);
  const { kind, id, now } = row;
  const end = { reason: verb.reason, now };
  const fate =
    kind === "email"
      ? dropEmail(id, end, deps)
      : kind === "sms"
        ? dropText(id, end, deps.segments)
        : dropCall(id, end, deps);
  return { fate: fate === "dropped" ? "done" : fate };
}

/** What waits for a time waits no more; what is due already, or under way, stays as it is. */
function hasten({ kind, id, now }: { kind: Kind; id: number; now: number }, deps: QueueActionDeps): Outcome {
  const { nudge } = deps;
  if (kind === "email") {
    const row = deps.queue.retryNow(id, now);
    if (row !== null) return { fate: "done", nudge: () => nudge.email(row.laneId, row.dueAt) };
  } else if (kind === "sms") {
    const work = hastenText(id, now, deps.segments);
    if (work !== null) return { fate: "done", nudge: () => nudge.sms(work) };
  } else {
    const webhookId = deps.jobs.retryNow(id, now);
    if (webhookId !== null) return { fate: "done", nudge: () => nudge.webhook(webhookId, now) };
  }
  return { fate: "gone" };
}

function none(): Counts {
  return { email: 0, sms: 0, webhook: 0 };
}

export function sum(counts: Counts): number {
  return KINDS.reduce((total, kind) => total + counts[kind], 0);
}
