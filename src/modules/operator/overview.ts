import type { Static } from "@sinclair/typebox";
import type { Clock } from "../../platform/clock.ts";
import { timeOf, timeOrNull } from "../../platform/http/times.ts";
import type { CensusStore } from "../emails/queue/depth-store.ts";
import type { QueueStore } from "../emails/queue/store.ts";
import type { WebhookJobStore } from "../webhooks/delivery/job-store.ts";
import type { QueuedDestination, QueueOverview } from "./queue-schema.ts";
import { MAX_COUNTED, type OverviewStore } from "./overview-store.ts";

// What waits, by where it goes, and why it has not gone. The emails' rows are walked a slice at a time
// with turns of the event loop between; the rest is read at its ends.

const SLICE_ROWS = 2_000;
/** Destinations told apart while counting. */
const MAX_DESTINATIONS = 20_000;
/** Lanes of one destination (a workspace each) that are looked into for its next attempt and last answer. */
const MAX_LANES = 20;
/** Routes and webhooks that are shown. */
const MAX_SHOWN = 100;
/** Works and webhooks looked at between two turns. */
const TURN = 50;

type Overview = Static<typeof QueueOverview>;
type Shown = Static<typeof QueuedDestination>;

/** Since when all delivery is paused, and why; null: it is not. */
export type Pause = { since: number; reason: string; restorePoint: number | null } | null;

export interface OverviewDeps {
  overview: OverviewStore;
  census: Pick<CensusStore, "acceptedAt">;
  queue: Pick<QueueStore, "findHead">;
  jobs: Pick<WebhookJobStore, "queue">;
  /** Where a lane leads; null: not known. */
  siteOf: (laneId: number) => string | null;
  /** Why and until when nothing of a workspace is sent to a site; null: it may. */
  blockOf: (site: string, workspaceId: number) => { until: number; reason: string } | null;
  isHeld: (workspaceId: number) => boolean;
  paused: () => Pause;
  /** What is wrong with a route of texts; null: nothing. */
  troubleOf: (route: string) => string | null;
  clock: Clock;
}

interface Counted {
  to: string;
  site: string | null;
  depth: number;
  held: number;
  oldestId: number;
  lanes: number[];
  workspaces: Set<number>;
}

/** The `limit` destinations where most emails wait, and all routes and webhooks. */
export async function overviewOf(limit: number, deps: OverviewDeps): Promise<Overview> {
  const { counted, others } = await countEmails(deps);
  const running = new Map<number, number>();
  for (const laneId of deps.overview.runningLanes()) running.set(laneId, (running.get(laneId) ?? 0) + 1);
  const deepest = [...counted.values()].toSorted((a, b) => b.depth - a.depth);
  const rest = deepest.slice(limit);
  const destinations = deepest.slice(0, limit).map((each) => show(each, running, deps));
  const all = deepest.reduce((total, { depth }) => total + depth, others.waiting);
  const isRunning = [...running.values()].reduce((total, each) => total + each, 0);
  return {
    paused: showPause(deps.paused()),
    waiting: Math.max(0, all - isRunning),
    running: isRunning,
    destinations,
    others: {
      destinations: rest.length + others.destinations,
      waiting: rest.reduce((total, { depth }) => total + depth, others.waiting),
    },
    sms: await routesOf(deps),
    webhooks: await webhooksOf(deps),
  };
}

export function showPause(pause: Pause): Overview["paused"] {
  if (pause === null) return null;
  const { since, reason, restorePoint } = pause;
  return { since: timeOf(since), reason, restorePoint: timeOrNull(restorePoint) };
}

async function countEmails({ overview, siteOf, isHeld }: OverviewDeps) {
  const counted = new Map<string, Counted>();
  const others = { destinations: 0, waiting: 0 };
  for (let place: number | null = 0; place !== null;) {
    const slice = overview.countEmails(place, SLICE_ROWS);
    for (const { laneId, depth, oldestId } of slice.lanes) {
      const lane = overview.laneOf(laneId);
      if (lane === null) continue;
      const site = siteOf(laneId);
      const key = `${lane.destination} ${site ?? ""}`;
      const known = counted.get(key) ?? {
        to: lane.destination,
        site,
        depth: 0,
        held: 0,
        oldestId,
        lanes: [],
        workspaces: new Set(),
      };
      known.depth += depth;
      known.workspaces.add(lane.workspaceId);
      if (isHeld(lane.workspaceId)) known.held += depth;
      known.oldestId = Math.min(known.oldestId, oldestId);
      // A lane's rows are spread over the slices.
      if (known.lanes.length < MAX_LANES && !known.lanes.includes(laneId)) known.lanes.push(laneId);
      counted.set(key, known);
    }
    if (counted.size > MAX_DESTINATIONS) forgetShallow(counted, others);
    place = slice.end;
    if (place !== null) await turn();
  }
  return { counted, others };
}

/** Every recipient may have a domain of its own. */
function forgetShallow(counted: Map<string, Counted>, others: { destinations: number; waiting: number }): void {
  const shallow = [...counted].toSorted(([, a], [, b]) => b.depth - a.depth).slice(MAX_DESTINATIONS / 2);
  for (const [key, { depth }] of shallow) {
    counted.delete(key);
    others.destinations += 1;
    others.waiting += depth;
  }
}

function show(counted: Counted, runningByLane: Map<number, number>, deps: OverviewDeps): Shown {
  const { to, site, depth, oldestId, lanes } = counted;
  const running = lanes.reduce((total, laneId) => total + (runningByLane.get(laneId) ?? 0), 0);
  const waiting = Math.max(0, depth - running);
  const held = Math.min(counted.held, waiting);
  const nextAt = lanes.reduce<number | null>(
    (first, laneId) => earlier(first, deps.queue.findHead(laneId)?.dueAt),
    null,
  );
  const said = lanes
    .map((laneId) => deps.overview.lastReplyOf(laneId))
    .reduce((last, each) => (each !== null && (last === null || each.at > last.at) ? each : last), null);
  const block = site === null ? null : commonBlock(site, counted.workspaces, deps);
  const isBlocked = block !== null && block.until > deps.clock.now();
  const oldestAt = deps.census.acceptedAt(oldestId);
  return {
    to,
    site,
    waiting,
    running,
    held,
    oldestAt: timeOrNull(oldestAt),
    nextAttemptAt: timeOrNull(nextAt),
    state: stateOf({ waiting, running, held, nextAt, isBlocked }, deps),
    reason: isBlocked ? block.reason : (said?.reply ?? null),
    blockedUntil: isBlocked ? timeOf(block.until) : null,
  };
}

/** The block that ends first, where all that waits for the site is blocked. */
function commonBlock(site: string, workspaces: Set<number>, { blockOf }: OverviewDeps): ReturnType<typeof blockOf> {
  const blocks = [...workspaces].map((workspaceId) => blockOf(site, workspaceId));
  return blocks.reduce(
    (first, block) => (first === null || block === null ? null : block.until < first.until ? block : first),
    blocks[0] ?? null,
  );
}

function stateOf(
  row: { waiting: number; running: number; held: number; nextAt: number | null; isBlocked: boolean },
  { paused, clock }: OverviewDeps,
): Shown["state"] {
  if (row.waiting === 0) return "running";
  if (paused() !== null) return "paused";
  if (row.held === row.waiting) return "held";
  if (row.isBlocked) return "blocked";
  if (row.nextAt !== null && row.nextAt > clock.now()) return "delayed";
  return row.running > 0 ? "running" : "due";
}

interface Route {
  waiting: number;
  isMinimum: boolean;
  oldestAt: number | null;
  nextAt: number | null;
  reason: string | null;
}

async function routesOf({ overview, troubleOf }: OverviewDeps): Promise<Overview["sms"]> {
  const routes = new Map<string, Route>();
  const of = (name: string): Route => {
    const known = routes.get(name) ?? { waiting: 0, isMinimum: false, oldestAt: null, nextAt: null, reason: null };
    routes.set(name, known);
    return known;
  };
  let looked = 0;
  let work = overview.workAfter({ route: "", priority: "", workspaceId: 0 });
  for (; work !== null; work = overview.workAfter(work)) {
    const route = of(work.route);
    const { waiting, oldestAt } = overview.countWork(work);
    const first = overview.firstOfWork(work);
    route.waiting += waiting;
    route.isMinimum ||= waiting >= MAX_COUNTED;
    route.oldestAt = earlier(route.oldestAt, oldestAt);
    route.nextAt = earlier(route.nextAt, first?.nextAt);
    route.reason ??= first?.reason ?? first?.providerStatus ?? null;
    if (++looked % TURN === 0) await turn();
  }
  const open = overview.openSegments();
  for (const { route } of open) of(route);
  return [...routes].slice(0, MAX_SHOWN).map(([route, { oldestAt, nextAt, reason, waiting, isMinimum }]) => ({
    route,
    waiting,
    isMinimum,
    oldestAt: timeOrNull(oldestAt),
    running: open.find((each) => each.route === route)?.count ?? 0,
    nextAttemptAt: timeOrNull(nextAt),
    reason: troubleOf(route) ?? reason,
  }));
}

async function webhooksOf({ overview, jobs }: OverviewDeps): Promise<Overview["webhooks"]> {
  const shown: Overview["webhooks"] = [];
  let looked = 0;
  for (let id = overview.webhookAfter(0); id !== null; id = overview.webhookAfter(id)) {
    if (++looked % TURN === 0) await turn();
    const found = overview.webhookOf(id);
    if (found === null) continue;
    const { webhook, workspaceUid } = found;
    const waiting = overview.countCalls(id);
    shown.push({
      id: webhook.uid,
      workspaceId: workspaceUid,
      url: webhook.url,
      waiting,
      isMinimum: waiting >= MAX_COUNTED,
      nextAttemptAt: timeOrNull(jobs.queue.findHead(id)?.dueAt ?? null),
      reason: webhook.failingSince === null ? null : webhook.lastFailureReason,
    });
  }
  return shown.toSorted((a, b) => b.waiting - a.waiting).slice(0, MAX_SHOWN);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function earlier(a: number | null, b: number | null | undefined): number | null {
  if (b === undefined || b === null) return a;
  return a === null ? b : Math.min(a, b);
}
