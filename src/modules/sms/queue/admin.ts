// The operator's side of the SMS queue: what waits by route and why; drop, retry and trace. Overview and depth count segments.

import type { Db } from "../../../platform/db/open.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import {
  earlier,
  type DropResult,
  type MessageCandidate,
  type QueueAdmin,
  type ShownMessage,
  yieldToEventLoop,
} from "../../../platform/queue/queue-admin.ts";
import { withoutBody } from "../api/serialize.ts";
import { MAX_COUNTED, openSmsAdminStore } from "./admin-store.ts";
import type { ReadyWork, SegmentRow, ProviderWords } from "./segment-read-store.ts";
import type { SegmentStore } from "./segment-store.ts";

const MAX_SHOWN = 100;
/** Work looked at between two turns of the event loop. */
const WORK_PER_TURN = 50;
const SILENT = { providerStatus: null, providerCode: null } as const;

type Store = ReturnType<typeof openSmsAdminStore>;

export interface SmsAdminDeps {
  db: Db;
  segments: Pick<SegmentStore, "listByMessage" | "end" | "endReady" | "delayReady">;
  /** Why a route cannot send now; null: it can. */
  routeIssue: (route: string) => string | null;
  nudge: (work: ReadyWork) => void;
}

interface QueuedRoute {
  route: string;
  waiting: number;
  isMinimum: boolean;
  oldestAt: string | null;
  /** In flight, or with a lost response. */
  running: number;
  nextAttemptAt: string | null;
  reason: string | null;
}

interface SmsTrace {
  uid: string;
  workspaceId: number;
  address: string;
  record: ReturnType<typeof withoutBody> & { expiresAt: string; parts: ReturnType<typeof showSegment>[] };
}

export interface SmsQueueAdmin extends QueueAdmin<QueuedRoute[], SmsTrace> {
  /** The newest messages whose id begins so. */
  findByIdPrefix(prefix: string, limit: number): MessageCandidate[];
  findByRecipient(number: string, limit: number): MessageCandidate[];
}

export function createSmsQueueAdmin({ db, segments, routeIssue, nudge }: SmsAdminDeps): SmsQueueAdmin {
  const store = openSmsAdminStore(db);
  return {
    overview: () => overview(store, routeIssue),
    depth() {
      const waiting = store.waiting();
      return { waiting, isMinimum: waiting >= MAX_COUNTED, oldestAt: toIsoTimeOrNull(store.oldestAt()) };
    },

    lastId: store.lastId,
    list: (from, filter, rows) => store.list(from, filter, rows),
    show: (ids) => showWaiting(ids, store, segments),
    find(uid) {
      const id = store.byUid(uid)?.id;
      if (id === undefined) return null;
      const states = segments.listByMessage(id).map(({ state }) => state);
      const isWaiting = states.some((state) => ["ready", "unknown", "in_flight"].includes(state));
      return isWaiting ? [{ id, isRunning: states.includes("in_flight") }] : [];
    },

    drop: (id, end) => dropMessage(id, end, segments),
    retry(id, now) {
      const [row] = segments.listByMessage(id).filter(({ state, nextAt }) => state === "ready" && nextAt > now);
      if (row === undefined) return null;
      segments.delayReady(id, now);
      const { route, priority, workspaceId } = row;
      return () => nudge({ route, priority, workspaceId, nextAt: now });
    },

    trace(uid) {
      const message = store.byUid(uid);
      if (message === null) return null;
      const { id, workspaceId, recipient } = message;
      const parts = segments.listByMessage(id).map(showSegment);
      const record = { ...withoutBody(message), expiresAt: toIsoTime(message.expiresAt), parts };
      return { uid, workspaceId, address: recipient, record };
    },
    findByIdPrefix: store.byIdPrefix,
    findByRecipient: store.byRecipient,
  };
}

async function overview(store: Store, routeIssue: SmsAdminDeps["routeIssue"]): Promise<QueuedRoute[]> {
  const routes = new Map<
    string,
    { waiting: number; isMinimum: boolean; oldestAt: number | null; nextAt: number | null; reason: string | null }
  >();
  const open = (name: string) => {
    const known = routes.get(name) ?? { waiting: 0, isMinimum: false, oldestAt: null, nextAt: null, reason: null };
    routes.set(name, known);
    return known;
  };
  let counted = 0;
  let work = store.workAfter({ route: "", priority: "", workspaceId: 0 });
  for (; work !== null; work = store.workAfter(work)) {
    const route = open(work.route);
    const { waiting, oldestAt } = store.countWork(work);
    const first = store.firstOfWork(work);
    route.waiting += waiting;
    route.isMinimum ||= waiting >= MAX_COUNTED;
    route.oldestAt = earlier(route.oldestAt, oldestAt);
    route.nextAt = earlier(route.nextAt, first?.nextAt);
    route.reason ??= first?.reason ?? first?.providerStatus ?? null;
    if (++counted % WORK_PER_TURN === 0) await yieldToEventLoop();
  }
  const running = store.openSegments();
  for (const { route } of running) open(route);
  return [...routes].slice(0, MAX_SHOWN).map(([route, { waiting, isMinimum, oldestAt, nextAt, reason }]) => ({
    route,
    waiting,
    isMinimum,
    oldestAt: toIsoTimeOrNull(oldestAt),
    running: running.find((each) => each.route === route)?.count ?? 0,
    nextAttemptAt: toIsoTimeOrNull(nextAt),
    reason: routeIssue(route) ?? reason,
  }));
}

function showWaiting(ids: number[], store: Store, segments: SmsAdminDeps["segments"]): ShownMessage[] {
  const found = new Map(store.waitingMessages(ids).map((each) => [each.message.id, each]));
  return ids.flatMap((id) => {
    const each = found.get(id);
    if (each === undefined) return [];
    const { message, workspaceUid } = each;
    const rows = segments.listByMessage(id);
    const times = rows.filter(({ state }) => state === "ready").map(({ nextAt }) => nextAt);
    const attempts = Math.max(0, ...rows.map((row) => row.attempts));
    return [
      {
        id: message.uid,
        workspaceId: workspaceUid,
        to: message.recipient,
        queuedAt: toIsoTime(message.createdAt),
        state: message.status === "queued" && attempts > 0 ? "delivery_delayed" : message.status,
        attempts,
        nextAttemptAt: times.length === 0 ? null : toIsoTime(Math.min(...times)),
        expiresAt: toIsoTime(message.expiresAt),
        lastReply: rows.find(({ reason }) => reason !== null)?.reason ?? message.providerStatus,
      },
    ];
  });
}

/**
 * The credits of segments that never reached the SMSC go back (settle-message.ts). Nobody knows whether one with a lost
 * response did: a late receipt corrects it.
 */
export function dropMessage(
  id: number,
  { reason, now }: { reason: string; now: number },
  segments: SmsAdminDeps["segments"],
): DropResult {
  const rows = segments.listByMessage(id);
  if (rows.some(({ state }) => state === "in_flight")) return "running";
  const uncertain = rows.filter(({ state }) => state === "unknown");
  const lost: ProviderWords = { ...SILENT, category: "outcome_unknown", reason };
  for (const row of uncertain) segments.end(row, { state: "failed", now }, lost);
  const unsent: ProviderWords = { ...SILENT, category: "internal_error", reason };
  const ended = segments.endReady(id, { state: "failed", now }, unsent);
  return ended + uncertain.length > 0 ? "dropped" : "gone";
}

function showSegment(row: SegmentRow) {
  const { state, route, link, attempts, resends, reroutes, smscId, receiptState } = row;
  const { providerStatus, providerCode, category, reason, credit } = row;
  return {
    part: row.seq,
    state,
    route,
    link,
    attempts,
    resends,
    reroutes,
    submittedAt: toIsoTimeOrNull(row.submittedAt),
    acceptedAt: toIsoTimeOrNull(row.acceptedAt),
    smscId,
    receiptState,
    receiptAt: toIsoTimeOrNull(row.receiptAt),
    providerStatus,
    providerCode,
    category,
    reason,
    nextAttemptAt: state === "ready" ? toIsoTime(row.nextAt) : null,
    credit,
  };
}
