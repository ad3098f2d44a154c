import type { Static } from "@sinclair/typebox";
import type { Clock } from "../../platform/clock.ts";
import { timeOf, timeOrNull } from "../../platform/http/times.ts";
import { isReadyWith, type HealthIssue } from "../../platform/health-issue.ts";
import { type Pause, showPause } from "./overview.ts";
import { MAX_COUNTED, type OverviewStore } from "./overview-store.ts";
import type { InstanceStatus } from "./status-schema.ts";

// How the instance is, on one screen. Whatever takes the operator's hand is a trouble: what keeps it from
// accepting or sending, a pause, a route of texts without a link, a replication that stands still. That a site is
// blocked or a workspace held is no trouble: the one passes, the other was wanted.

/** How long a warning of reports is told: it is given again each day while it holds. */
const REPORTS_TOLD_MS = 24 * 60 * 60_000;
/** Blocked sites, and workspaces, that are named. */
const MAX_NAMED = 20;

type Status = Static<typeof InstanceStatus>;

/** One link of a route of texts. */
export interface LinkOfRoute {
  route: string;
  isBound: boolean;
  /** Why its last session ended; null: none has. */
  lastEnd: string | null;
}

export interface Replication {
  /** In a word or two. */
  state: string;
  reason: string | null;
  /** When all was replicated last, Unix ms. */
  lastAt: number | null;
  /** The last restore drill; null: there was none. */
  drill: { at: number; outcome: "good" | "bad" | "skipped"; words: string; goodAt: number | null } | null;
}

/** Emails by what became of them. */
export type Rates = Omit<Status["lastMinutes"], "minutes">;

export interface StatusDeps {
  overview: OverviewStore;
  build: { version: string; commit: string };
  /** Unix ms. */
  startedAt: number;
  issues: () => HealthIssue[];
  /** Looks for damaged pages; what it finds is a trouble. */
  checkPages: () => Promise<void>;
  paused: () => Pause;
  runningEmails: () => number;
  /** Of the last `minutes`. */
  rates: () => Rates & { minutes: number };
  freeDiskBytes: () => number | null;
  files: () => { databaseBytes: number; walBytes: number };
  /** `workspaceId`: whose mail alone is held up; null: everybody's. */
  blockedSites: () => { site: string; workspaceId: string | null; until: number; reason: string }[];
  links: () => LinkOfRoute[];
  /** Null: it is not set up. */
  replication: () => Replication | null;
  clock: Pick<Clock, "now">;
}

export function statusOf(deps: StatusDeps): Status {
  const { overview, build } = deps;
  const { waiting, delayed } = overview.waitingEmails();
  const running = deps.runningEmails();
  const blocked = deps.blockedSites();
  const stopped = overview.stopped();
  const pause = deps.paused();
  const routes = routesOf(deps.links());
  const replication = deps.replication();
  const issues = deps.issues();
  const told = issues.map(({ about }) => about);
  return {
    version: build.version,
    commit: build.commit,
    startedAt: timeOf(deps.startedAt),
    ready: isReadyWith(issues),
    issues: [
      ...issues.map(({ component, reason, since }) => ({ component, reason, since: timeOf(since) })),
      ...overview.reportWarnings(deps.clock.now() - REPORTS_TOLD_MS).map(reportIssue),
      ...routes.filter(({ route }) => !told.includes(route)).flatMap(routeIssue),
    ],
    paused: showPause(pause),
    queue: {
      emails: {
        waiting: Math.max(0, waiting - running),
        isMinimum: false,
        oldestAt: timeOrNull(overview.oldestEmailAt()),
        running,
        delayed,
      },
      sms: counted(overview.waitingSegments(), overview.oldestTextAt()),
      webhooks: counted(overview.waitingCalls(), overview.oldestCallAt()),
    },
    lastMinutes: deps.rates(),
    disk: { freeBytes: deps.freeDiskBytes(), ...deps.files() },
    blockedSites: {
      count: blocked.length,
      sites: blocked.slice(0, MAX_NAMED).map(({ until, ...rest }) => ({ ...rest, until: timeOf(until) })),
    },
    sms: routes,
    workspaces: {
      blocked: stopped.length,
      held: stopped.filter(({ isHeld }) => isHeld).length,
      some: stopped.slice(0, MAX_NAMED).map((row) => ({
        id: row.uid,
        name: row.name,
        held: row.isHeld,
        by: row.blockedAt === null ? ("rate" as const) : ("operator" as const),
        reason: row.blockedAt === null ? row.rateBlockReason : row.blockReason,
      })),
    },
    replication: replication === null ? null : showReplication(replication),
  };
}

function counted(waiting: number, oldestAt: number | null): Status["queue"]["sms"] {
  return { waiting, isMinimum: waiting >= MAX_COUNTED, oldestAt: timeOrNull(oldestAt) };
}

function routesOf(links: LinkOfRoute[]): Status["sms"] {
  return [...Map.groupBy(links, ({ route }) => route)].map(([route, all]) => ({
    route,
    links: all.length,
    bound: all.filter(({ isBound }) => isBound).length,
    reason: all.find(({ isBound }) => !isBound)?.lastEnd ?? null,
  }));
}

type StatusIssue = Status["issues"][number];

function routeIssue({ route, links, bound, reason }: Status["sms"][number]): StatusIssue[] {
  if (bound > 0 || links === 0) return [];
  const why = reason === null ? "" : ` (${reason})`;
  const what = `No link of the SMS route ${route} is bound${why}: its messages wait until the provider lets one in`;
  return [{ component: "sms", reason: what, since: null }];
}

/** Strangers' reports block nobody by themselves: whether they are true is for a person to see. */
function reportIssue(warning: ReturnType<OverviewStore["reportWarnings"]>[number]): StatusIssue {
  const { name, uid, at, reason } = warning;
  const what =
    `Workspace ${name} (${uid}) would be blocked if all reports by mail were true: ${reason}. ` +
    `Look at what it sends, and block it yourself if they are`;
  return { component: "reports", reason: what, since: timeOrNull(at) };
}

function showReplication({ state, reason, lastAt, drill }: Replication): NonNullable<Status["replication"]> {
  const shown =
    drill === null
      ? null
      : { at: timeOf(drill.at), outcome: drill.outcome, words: drill.words, goodAt: timeOrNull(drill.goodAt) };
  return { state, reason, lastAt: timeOrNull(lastAt), drill: shown };
}
