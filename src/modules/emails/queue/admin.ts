// The operator's side of the email queue: what waits by destination and why; drop, retry and trace.

import type { Clock } from "../../../platform/clock.ts";
import type { Db } from "../../../platform/db/open.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import {
  earlier,
  type DropResult,
  type MessageCandidate,
  type QueueAdmin,
  type QueueDepth,
  type ShownMessage,
  yieldToEventLoop,
} from "../../../platform/queue/queue-admin.ts";
import { showState, getStatus } from "../api/serialize.ts";
import { MAX_SHOWN_ATTEMPTS, showTimeline } from "../api/timeline.ts";
import type { ReportStore } from "../reports/store.ts";
import type { EmailStore } from "../store/store.ts";
import { countLanes, type EmailAdminStore, openEmailAdminStore } from "./admin-store.ts";
import { type EndDeps, endWaiting } from "../events.ts";
import type { QueueStore } from "./store.ts";

/** Destinations told apart while counting. */
const MAX_DESTINATIONS = 20_000;
/** Lanes of one destination (a workspace each) that are looked into for its next attempt and last reply. */
const MAX_LANES = 20;
/** Workspaces searched between two turns of the event loop. */
const WORKSPACES_PER_TURN = 200;

interface Block {
  until: number;
  reason: string;
}

export interface EmailAdminDeps extends EndDeps {
  db: Db;
  emails: EmailStore;
  queue: Pick<QueueStore, "findHead" | "removeWaiting" | "retryNow">;
  reports: Pick<ReportStore, "list">;
  worker: {
    readonly runningCount: number;
    /** Where a lane leads; null: not known. */
    getSite(laneId: number): string | null;
    nudge(laneId: number, dueAt: number): void;
  };
  /** Why and until when nothing of a workspace is sent to a site; null: it may. */
  sites: { findBlock(site: string, workspaceId: number): Block | null };
  isHeld: (workspaceId: number) => boolean;
  isPaused: () => boolean;
  clock: Clock;
}

/** How much waits for one destination, and why. */
interface Destination {
  to: string;
  site: string | null;
  waiting: number;
  running: number;
  held: number;
  oldestAt: string | null;
  nextAttemptAt: string | null;
  state: "paused" | "held" | "blocked" | "running" | "due" | "delayed";
  reason: string | null;
  blockedUntil: string | null;
}

interface EmailOverview {
  waiting: number;
  running: number;
  /** For a time that has not come; no part of the rest. */
  scheduled: number;
  destinations: Destination[];
  /** The destinations left out. */
  others: { destinations: number; waiting: number };
}

interface EmailTrace {
  uid: string;
  workspaceId: number;
  address: string;
  record: ReturnType<typeof traceRecord>;
}

export interface EmailQueueAdmin extends QueueAdmin<EmailOverview, EmailTrace> {
  depth(): QueueDepth & { running: number; delayed: number; scheduled: number };
  /** The newest emails whose id begins so. */
  findByIdPrefix(prefix: string, limit: number): MessageCandidate[];
  /** The newest emails of every workspace to an address, in the form compared. */
  findByRecipient(address: string, limit: number): Promise<MessageCandidate[]>;
}

export function createEmailQueueAdmin(deps: EmailAdminDeps): EmailQueueAdmin {
  const { emails, queue, worker } = deps;
  const store = openEmailAdminStore(deps.db);
  return {
    overview: (limit) => overview(limit, { ...deps, store }),
    depth() {
      const { waiting, delayed, scheduled } = store.waiting();
      const running = worker.runningCount;
      const oldestAt = toIsoTimeOrNull(store.oldestAt(deps.clock.now()));
      return { waiting: Math.max(0, waiting - running), isMinimum: false, oldestAt, running, delayed, scheduled };
    },

    lastId: store.lastId,
    list: (from, filter, rows) => store.list(deps.clock.now())(from, filter, rows),
    show: (ids) => store.waitingEmails(ids).map(showWaiting),
    find(uid) {
      const found = store.find(uid);
      if (found === null) return null;
      return found.queue === null ? [] : [found.queue];
    },

    drop: (id, end) => dropEmail(id, end, deps),
    retry(id, now) {
      const row = queue.retryNow(id, now);
      return row === null ? null : () => worker.nudge(row.laneId, row.dueAt);
    },

    trace(uid) {
      const id = store.find(uid)?.id;
      const state = id === undefined ? undefined : emails.findStateById(id);
      if (state === undefined) return null;
      const { workspaceId, recipientAddress } = state.email;
      return { uid, workspaceId, address: recipientAddress, record: traceRecord(state, deps) };
    },
    findByIdPrefix: store.byIdPrefix,
    async findByRecipient(address, limit) {
      let found: MessageCandidate[] = [];
      for (const [index, id] of store.workspaceIds().entries()) {
        const all = [...found, ...store.byRecipient(id, address, limit)];
        found = all.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, limit);
        if (index % WORKSPACES_PER_TURN === WORKSPACES_PER_TURN - 1) await yieldToEventLoop();
      }
      return found;
    },
  };
}

type OverviewDeps = EmailAdminDeps & { store: EmailAdminStore };

interface Counted {
  to: string;
  site: string | null;
  depth: number;
  held: number;
  oldestId: number | null;
  oldestSendAt: number | null;
  lanes: number[];
  workspaces: Set<number>;
}

async function overview(limit: number, deps: OverviewDeps): Promise<EmailOverview> {
  const { counted, others, scheduled } = await countByDestination(deps);
  const running = new Map<number, number>();
  for (const laneId of deps.store.runningLanes()) running.set(laneId, (running.get(laneId) ?? 0) + 1);
  const deepest = [...counted.values()].toSorted((a, b) => b.depth - a.depth);
  const rest = deepest.slice(limit);
  const destinations = deepest.slice(0, limit).map((each) => showDestination(each, running, deps));
  const all = deepest.reduce((total, { depth }) => total + depth, others.waiting);
  const allRunning = [...running.values()].reduce((total, each) => total + each, 0);
  return {
    waiting: Math.max(0, all - allRunning),
    running: allRunning,
    scheduled,
    destinations,
    others: {
      destinations: rest.length + others.destinations,
      waiting: rest.reduce((total, { depth }) => total + depth, others.waiting),
    },
  };
}

async function countByDestination({ store, worker, isHeld, clock }: OverviewDeps) {
  const counted = new Map<string, Counted>();
  const others = { destinations: 0, waiting: 0 };
  let allScheduled = 0;
  for await (const slice of countLanes(store, { now: clock.now() })) {
    for (const { laneId, depth, scheduled, oldestId, oldestSendAt } of slice) {
      allScheduled += scheduled;
      if (depth === 0) continue;
      const lane = store.lane(laneId);
      if (lane === null) continue;
      const site = worker.getSite(laneId);
      const key = `${lane.destination} ${site ?? ""}`;
      const known = counted.get(key) ?? {
        to: lane.destination,
        site,
        depth: 0,
        held: 0,
        oldestId,
        oldestSendAt,
        lanes: [],
        workspaces: new Set(),
      };
      known.depth += depth;
      known.workspaces.add(lane.workspaceId);
      if (isHeld(lane.workspaceId)) known.held += depth;
      known.oldestId = earlier(known.oldestId, oldestId);
      known.oldestSendAt = earlier(known.oldestSendAt, oldestSendAt);
      // A lane's rows are spread over the slices.
      if (known.lanes.length < MAX_LANES && !known.lanes.includes(laneId)) known.lanes.push(laneId);
      counted.set(key, known);
    }
    if (counted.size > MAX_DESTINATIONS) forgetShallow(counted, others);
  }
  return { counted, others, scheduled: allScheduled };
}

/** Every recipient may have a domain of its own. */
function forgetShallow(counted: Map<string, Counted>, others: EmailOverview["others"]): void {
  const shallow = [...counted].toSorted(([, a], [, b]) => b.depth - a.depth).slice(MAX_DESTINATIONS / 2);
  for (const [key, { depth }] of shallow) {
    counted.delete(key);
    others.destinations += 1;
    others.waiting += depth;
  }
}

function showDestination(counted: Counted, runningByLane: Map<number, number>, deps: OverviewDeps): Destination {
  const { to, site, depth, lanes } = counted;
  const { store, queue, clock } = deps;
  const running = lanes.reduce((total, laneId) => total + (runningByLane.get(laneId) ?? 0), 0);
  const waiting = Math.max(0, depth - running);
  const held = Math.min(counted.held, waiting);
  const nextAt = lanes.reduce<number | null>((first, laneId) => earlier(first, queue.findHead(laneId)?.dueAt), null);
  const last = lanes
    .map((laneId) => store.lastReply(laneId))
    .reduce((newest, each) => (each !== null && (newest === null || each.at > newest.at) ? each : newest), null);
  const block = site === null ? null : commonBlock(site, counted.workspaces, deps);
  const isBlocked = block !== null && block.until > clock.now();
  return {
    to,
    site,
    waiting,
    running,
    held,
    oldestAt: toIsoTimeOrNull(store.findOldestAt(counted)),
    nextAttemptAt: toIsoTimeOrNull(nextAt),
    state: destinationState({ waiting, running, held, nextAt, isBlocked }, deps),
    reason: isBlocked ? block.reason : (last?.reply ?? null),
    blockedUntil: isBlocked ? toIsoTime(block.until) : null,
  };
}

/** The block that ends first, where all that waits for the site is blocked. */
function commonBlock(site: string, workspaces: Set<number>, { sites }: OverviewDeps): Block | null {
  const blocks = [...workspaces].map((workspaceId) => sites.findBlock(site, workspaceId));
  return blocks.reduce(
    (first, block) => (first === null || block === null ? null : block.until < first.until ? block : first),
    blocks[0] ?? null,
  );
}

function destinationState(
  row: { waiting: number; running: number; held: number; nextAt: number | null; isBlocked: boolean },
  { isPaused, clock }: OverviewDeps,
): Destination["state"] {
  if (row.waiting === 0) return "running";
  if (isPaused()) return "paused";
  if (row.held === row.waiting) return "held";
  if (row.isBlocked) return "blocked";
  if (row.nextAt !== null && row.nextAt > clock.now()) return "delayed";
  return row.running > 0 ? "running" : "due";
}

function showWaiting({
  email,
  queue,
  workspaceUid,
}: ReturnType<EmailAdminStore["waitingEmails"]>[number]): ShownMessage {
  return {
    id: email.uid,
    workspaceId: workspaceUid,
    to: email.recipient,
    queuedAt: toIsoTime(email.createdAt),
    state: getStatus({ email, queue }),
    attempts: queue.attempts,
    nextAttemptAt: queue.inFlight ? null : toIsoTime(queue.nextAt),
    expiresAt: toIsoTime(queue.expiresAt),
    lastReply: queue.lastReply,
  };
}

/** An attempt that is running goes on. */
function dropEmail(id: number, { reason, now }: { reason: string; now: number }, deps: EmailAdminDeps): DropResult {
  const found = deps.emails.findStateById(id);
  if ((found?.queue ?? null) === null || found?.email.status !== "queued") return "gone";
  const attempts = endWaiting(id, { status: "failed", endedAt: now, failedReason: reason }, deps);
  return attempts === null ? "running" : "dropped";
}

function traceRecord(state: NonNullable<ReturnType<EmailStore["findStateById"]>>, { emails, reports }: EmailAdminDeps) {
  const { email, queue } = state;
  const attempts = emails.listAttempts(email.id, MAX_SHOWN_ATTEMPTS);
  const dialogues = new Map(attempts.map(({ number, dialogue }) => [number, dialogue]));
  const timeline = showTimeline(state, attempts, reports.list(email.id)).map((entry) =>
    entry.attempt === undefined ? entry : { ...entry, dialogue: dialogues.get(entry.attempt) ?? null },
  );
  return {
    ...showState(state),
    returnPath: email.returnPath,
    expiresAt: toIsoTimeOrNull(queue?.expiresAt ?? null),
    timeline,
  };
}
