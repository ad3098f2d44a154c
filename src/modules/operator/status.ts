// The state of the instance on one screen. An issue is what the operator can act on: what keeps it from accepting or
// sending, a pause, an SMS route without a link, a replication that stands still. A blocked site passes by itself and a
// held workspace was wanted, so neither is an issue.

import type { Static } from "@sinclair/typebox";
import type { Clock } from "../../platform/clock.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../platform/http/times.ts";
import { isReadyWith, type HealthIssue } from "../../platform/health-issue.ts";
import type { Pause } from "../../platform/queue/delivery-pause.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import type { Queues } from "./queue-actions.ts";
import type { InstanceStatus } from "./status-schema.ts";

/** How long a warning about reports is an issue: it is given again each day while it holds. */
const WARNING_MS = 24 * 60 * 60_000;
/** Blocked sites, and workspaces, that are named. */
const MAX_NAMED = 20;

type Status = Static<typeof InstanceStatus>;

interface RouteLink {
  route: string;
  isBound: boolean;
  /** Why its last session ended; null: none has. */
  lastEnd: string | null;
}

export interface Replication {
  state: string;
  reason: string | null;
  /** When everything was last replicated, Unix ms. */
  lastAt: number | null;
  /** The last restore drill; null: there was none. */
  drill: { at: number; outcome: "good" | "bad" | "skipped"; words: string; goodAt: number | null } | null;
}

export interface StatusDeps {
  queues: Queues;
  workspaces: Pick<WorkspaceStore, "blocked" | "reportWarnings">;
  pause: { readonly pause: Pause | null };
  clock: Clock;
  instance: {
    build: { version: string; commit: string };
    /** Unix ms. */
    startedAt: number;
    issues: () => HealthIssue[];
    /** Emails by their outcome. */
    rates: () => Status["lastMinutes"];
    freeDiskBytes: () => number | null;
    /** For how many days the disk lasts at the present growth. */
    diskDaysLeft: () => number | null;
    files: () => { databaseBytes: number; walBytes: number };
    /** `workspaceId`: only this workspace's mail is held up; null: everybody's. */
    blockedSites: () => { site: string; workspaceId: string | null; until: number; reason: string }[];
    links: () => RouteLink[];
    /** Null: it is not set up. */
    replication: () => Replication | null;
  };
}

export function buildStatus({ queues, workspaces, pause, clock, instance }: StatusDeps): Status {
  const { waiting, isMinimum, oldestAt, running, delayed, scheduled } = queues.email.depth();
  const blockedSites = instance.blockedSites();
  const blocked = workspaces.blocked();
  const routes = groupByRoute(instance.links());
  const replication = instance.replication();
  const issues = instance.issues();
  const routesWithIssues = issues.map(({ about }) => about);
  return {
    version: instance.build.version,
    commit: instance.build.commit,
    startedAt: toIsoTime(instance.startedAt),
    ready: isReadyWith(issues),
    issues: [
      ...issues.map(({ component, reason, since }) => ({ component, reason, since: toIsoTime(since) })),
      ...workspaces.reportWarnings(clock.now() - WARNING_MS).map(toReportIssue),
      ...routes.filter(({ route }) => !routesWithIssues.includes(route)).flatMap(toRouteIssue),
    ],
    paused: showPause(pause.pause),
    queue: {
      emails: { waiting, isMinimum, oldestAt, running, delayed, scheduled },
      sms: queues.sms.depth(),
      webhooks: queues.webhook.depth(),
    },
    lastMinutes: instance.rates(),
    disk: { freeBytes: instance.freeDiskBytes(), daysLeft: instance.diskDaysLeft(), ...instance.files() },
    blockedSites: {
      count: blockedSites.length,
      sites: blockedSites.slice(0, MAX_NAMED).map(({ until, ...rest }) => ({ ...rest, until: toIsoTime(until) })),
    },
    sms: routes,
    workspaces: {
      blocked: blocked.length,
      held: blocked.filter(({ isHeld }) => isHeld).length,
      some: blocked.slice(0, MAX_NAMED).map((row) => ({
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

/** Null: delivery is not paused. */
export function showPause(pause: Pause | null): Status["paused"] {
  if (pause === null) return null;
  const { since, reason, restorePoint } = pause;
  return { since: toIsoTime(since), reason, restorePoint: toIsoTimeOrNull(restorePoint) };
}

function groupByRoute(links: RouteLink[]): Status["sms"] {
  return [...Map.groupBy(links, ({ route }) => route)].map(([route, all]) => ({
    route,
    links: all.length,
    bound: all.filter(({ isBound }) => isBound).length,
    reason: all.find(({ isBound }) => !isBound)?.lastEnd ?? null,
  }));
}

type StatusIssue = Status["issues"][number];

function toRouteIssue({ route, links, bound, reason }: Status["sms"][number]): StatusIssue[] {
  if (bound > 0 || links === 0) return [];
  const why = reason === null ? "" : ` (${reason})`;
  const what = `No link of the SMS route ${route} is bound${why}: its messages wait until the provider lets one in`;
  return [{ component: "sms", reason: what, since: null }];
}

/** Reports by mail can be forged, so they block nobody by themselves: a person judges whether they are true. */
function toReportIssue(warning: ReturnType<WorkspaceStore["reportWarnings"]>[number]): StatusIssue {
  const { name, uid, at, reason } = warning;
  const what =
    `Workspace ${name} (${uid}) would be blocked if all reports by mail were true: ${reason}. ` +
    `Look at what it sends, and block it yourself if they are`;
  return { component: "reports", reason: what, since: toIsoTimeOrNull(at) };
}

function showReplication({ state, reason, lastAt, drill }: Replication): NonNullable<Status["replication"]> {
  const shown =
    drill === null
      ? null
      : { at: toIsoTime(drill.at), outcome: drill.outcome, words: drill.words, goodAt: toIsoTimeOrNull(drill.goodAt) };
  return { state, reason, lastAt: toIsoTimeOrNull(lastAt), drill: shown };
}
