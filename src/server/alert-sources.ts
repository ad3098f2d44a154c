// What operators are told of: the health issues of /ready, and what does not keep the instance from working but wants a
// person: workspaces that were blocked or are near it, quotas that are used up, suppressions that are held, findings of the doctor.

import type { Trouble, TroubleSource, Way } from "../modules/alerts/index.ts";
import { createDoctorSource } from "./doctor-troubles.ts";
import type { Modules } from "./modules.ts";
import type { UsedUp } from "../modules/plans/used-up.ts";
import type { Stores } from "./stores.ts";
import type { Clock } from "../platform/clock.ts";
import type { HealthIssue } from "../platform/health-issue.ts";

const DAY_MS = 86_400_000;
const DISK_DAYS_LEFT = 7;

interface SourceDeps {
  issues: () => HealthIssue[];
  stores: Pick<Stores, "workspaces" | "held">;
  modules: Pick<Modules, "sms" | "growth" | "usedUp" | "doctor">;
  clock: Pick<Clock, "now">;
}

export function buildAlertSources({ issues, stores, modules, clock }: SourceDeps): TroubleSource[] {
  return [
    () => issues().map(toTrouble),
    () => findWorkspaces(stores, clock.now()),
    () => modules.usedUp.look().map(describeUsedUp),
    () => findHeld(stores),
    () => findFullDisk(modules.growth.daysLeft()),
    () => findUnboundRoutes(modules.sms, issues()),
    createDoctorSource(modules.doctor, issues),
  ];
}

/** With these messages do not reach their recipients, although requests are accepted. */
const STOPS_MESSAGES = new Set<HealthIssue["component"]>(["delivery", "egress", "relay", "sms"]);

/** No alert goes by what is wrong itself. */
const WAYS: Partial<Record<HealthIssue["component"], Way | Way[]>> = {
  // Nothing is sent while its outcome cannot be recorded.
  database: ["mail", "sms"],
  worker: "mail",
  dns: "mail",
  egress: "mail",
  relay: "mail",
  delivery: "mail",
  sms: "sms",
};

function toTrouble({ component, kind, about, reason, isAdvisory }: HealthIssue): Trouble {
  const isProblem = isAdvisory !== true || STOPS_MESSAGES.has(component);
  // A pause holds everything that is queued. Damaged pages of the database keep nothing from being sent.
  const via =
    kind === "paused"
      ? (["mail", "sms"] as const)
      : component === "database" && isAdvisory
        ? undefined
        : WAYS[component];
  // Without messages that wait it is a warning, below: the same trouble, that gets worse.
  const isUnbound = component === "sms" && kind === "unbound" && about !== undefined;
  return {
    id: isUnbound ? unboundId(about) : ["ready", component, kind, about].filter((part) => part !== undefined).join("."),
    level: isProblem ? "problem" : "warning",
    what: reason,
    step: null,
    ...(via === undefined ? {} : { via }),
    ...(about === undefined ? {} : { about }),
  };
}

function findWorkspaces({ workspaces }: Pick<Stores, "workspaces">, now: number): Trouble[] {
  const blocked = workspaces
    .blocked()
    // What the operator blocked is known.
    .filter(({ rateBlockedAt }) => rateBlockedAt !== null)
    .map(({ uid, name, rateBlockReason }) => ({
      id: `workspace.blocked.${uid}`,
      level: "warning" as const,
      what: `Workspace ${name} (${uid}) may not send email any more: ${rateBlockReason ?? ""}.`,
      step: `Look at what it sent and to whom; pombo workspace unblock ${uid} lifts the block.`,
    }));
  const warned = workspaces.rateWarnings(now - DAY_MS).map(({ uid, name }) => ({
    id: `workspace.warned.${uid}`,
    level: "warning" as const,
    what: `Workspace ${name} (${uid}) is half way to being blocked: too many of its emails bounce or are complained about.`,
    step: `Look at what it sends and to whom: pombo workspace show ${uid}.`,
  }));
  const reported = workspaces.reportWarnings(now - DAY_MS).map(({ uid, name, reason }) => ({
    id: `workspace.reported.${uid}`,
    level: "warning" as const,
    what: `Workspace ${name} (${uid}) would be blocked if all reports by mail were true: ${reason ?? ""}.`,
    step: `Look at what it sends, and if they are true: pombo workspace block ${uid}.`,
  }));
  return [...blocked, ...warned, ...reported];
}

function describeUsedUp({ uid, name, period, limit }: UsedUp): Trouble {
  return {
    id: `workspace.quota.${uid}`,
    level: "warning",
    what: `Workspace ${name} (${uid}) has used up the ${limit.toLocaleString("en")} emails that its plan allows a ${period}; more are refused until the next ${period} begins.`,
    step: `pombo workspace plan ${uid} gives it another plan.`,
  };
}

function findHeld({ held }: Pick<Stores, "held">): Trouble[] {
  const rows = held.list({ workspace: null, site: null }, null, 0);
  if (rows.length === 0) return [];
  return [
    {
      id: "suppressions.held",
      level: "warning",
      what: "A site bounces mail in bulk, so that the suppressions of its recipients wait for you.",
      step: "pombo suppression held lists them; --apply suppresses them, --drop forgets them.",
    },
  ];
}

function findFullDisk(daysLeft: number | null): Trouble[] {
  if (daysLeft === null || daysLeft >= DISK_DAYS_LEFT) return [];
  return [
    {
      id: "disk.days_left",
      level: "warning",
      what: "At the growth of the last week the disk will be too full to accept messages within a week.",
      step: "Make room, or lower [email] content_retention and attachment_retention.",
    },
  ];
}

function unboundId(route: string): string {
  return `sms.unbound.${route}`;
}

/** Routes without a link; /ready tells of those that messages wait for. */
function findUnboundRoutes({ links }: Pick<Modules["sms"], "links">, issues: readonly HealthIssue[]): Trouble[] {
  return [...Map.groupBy(links.views(), ({ route }) => route)].flatMap(([route, own]): Trouble[] => {
    const isBound = own.some(({ state }) => state === "bound" || state === "partly");
    if (isBound || issues.some(({ component, about }) => component === "sms" && about === route)) return [];
    const error = own.find((link) => link.error !== null)?.error ?? null;
    const why = error === null ? "" : ` (${error.reason}${error.statusName === null ? "" : `, ${error.statusName}`})`;
    return [
      {
        id: unboundId(route),
        level: "warning",
        what: `No link of the SMS route ${route} is bound${why}: messages sent by it will wait.`,
        step: `${error?.advice ?? "pombo tries again by itself."} See pombo sms links.`,
        via: "sms",
        about: route,
      },
    ];
  });
}
