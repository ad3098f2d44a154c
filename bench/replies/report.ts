// What `script/bench replies` says at the end: a table by domain, the waits between attempts beside
// the schedule, the sites that were left alone, and whether pombo and the sink agree.

import type { Report } from "../report.ts";
import { alignRows, machineLines, whole } from "../table.ts";
import type { Disagreements, Hold, Outcome, Waits } from "./outcome.ts";
import type { Destination } from "./street.ts";

const SHOWN_HOLDS = 12;
const SHOWN_REASON = 90;
/** Of the delivered ones, for the rate. */
const MOST = 0.9;

export interface RepliesRun {
  /** Without the replies that make a sender hold its mail back. */
  isCalm: boolean;
  street: Destination[];
  /** Seconds from the first POST until the end of the run. */
  lookedAtS: number;
  acceptedInS: number;
  schedule: string[];
  outcomes: Outcome[];
  waits: Waits[];
  holds: Hold[];
  held: Set<string>;
  disagreements: Disagreements;
  /** At the sink. */
  sinkAttempts: number;
}

export function isConsistent({ disagreements }: RepliesRun): boolean {
  return Object.values(disagreements).every((recipients: string[]) => recipients.length === 0);
}

export function formatReplies(machine: Report["machine"], app: string, runs: RepliesRun[]): string {
  return [...machineLines(machine, app), ...runs.flatMap((run) => ["", ...formatRun(run)])].join("\n");
}

function formatRun(run: RepliesRun): string[] {
  const { isCalm, outcomes, lookedAtS, acceptedInS, schedule, sinkAttempts } = run;
  const times = outcomes.flatMap(({ status, finalMs }) => (status === "delivered" ? [finalMs ?? 0] : []));
  // The rest waited for a retry, which is no question of speed.
  const most = Number(seconds(times, MOST));
  return [
    `=== ${isCalm ? "the same replies without those that ask a sender to wait for long" : "the replies as they are"}`,
    `${whole(outcomes.length)} emails accepted in ${acceptedInS.toFixed(1)} s; after ${lookedAtS.toFixed(0)} s ` +
      `${whole(times.length)} were delivered in ${whole(sinkAttempts)} attempts, ` +
      `${MOST * 100} % of them within ${most.toFixed(1)} s: ${whole((times.length * MOST) / most)} a second`,
    "",
    ...alignRows([HEAD, ...groupRows(run), row("all", outcomes, run)]),
    "",
    ...alignRows(waitRows(run.waits, schedule)),
    "",
    ...holdLines(run.holds),
    ...agreementLines(run),
  ];
}

const HEAD = [
  "domain",
  ...["emails", "delivered", "bounced", "failed", "waiting", "held", "deferrals"],
  ...["1 attempt", "2", "3", "4+", "p50 s", "p95 s"],
];

function groupRows(run: RepliesRun): string[][] {
  const groupOf = new Map(run.street.map(({ domain, group }) => [domain, group]));
  const groups = Map.groupBy(run.outcomes, ({ domain }) => groupOf.get(domain) ?? domain);
  const inOrder = [...groups].toSorted(([, a], [, b]) => b.length - a.length);
  return inOrder.map(([group, outcomes]) => row(group, outcomes, run));
}

function row(name: string, outcomes: Outcome[], { held }: RepliesRun): string[] {
  const count = (claim: (outcome: Outcome) => boolean): string => whole(outcomes.filter(claim).length);
  const ended = outcomes.filter(({ status }) => status !== "queued");
  const after = (attempts: (number: number) => boolean): string =>
    whole(ended.filter((outcome) => attempts(outcome.attempts)).length);
  const times = ended.map(({ finalMs }) => finalMs ?? 0);
  return [
    name,
    whole(outcomes.length),
    count(({ status }) => status === "delivered"),
    count(({ status }) => status === "bounced"),
    count(({ status }) => status === "failed" || status === "suppressed"),
    count(({ status, domain }) => status === "queued" && !held.has(domain)),
    count(({ status, domain }) => status === "queued" && held.has(domain)),
    whole(outcomes.reduce((sum, { deferrals }) => sum + deferrals, 0)),
    ...[after((n) => n === 1), after((n) => n === 2), after((n) => n === 3), after((n) => n >= 4)],
    seconds(times, 0.5),
    seconds(times, 0.95),
  ];
}

function waitRows(waits: Waits[], schedule: string[]): string[][] {
  return [
    ["wait before", "times", "schedule", "p50 s", "p95 s", "max s"],
    ...waits.map(({ attempt, waitsMs }) => [
      `attempt ${attempt}`,
      whole(waitsMs.length),
      schedule[Math.min(attempt - 1, schedule.length) - 1] ?? "",
      ...[0.5, 0.95, 1].map((share) => seconds(waitsMs, share)),
    ]),
  ];
}

function holdLines(holds: Hold[]): string[] {
  if (holds.length === 0) return ["no site was left alone"];
  const bySite = [...Map.groupBy(holds, ({ site }) => site)];
  const lines = bySite.slice(0, SHOWN_HOLDS).map(([site, all]) => {
    const [longest] = all;
    const host = site.split(",")[0] ?? site;
    return [
      host,
      `${all.length}`,
      seconds([longest?.forMs ?? 0], 1),
      `  ${(longest?.reason ?? "").slice(0, SHOWN_REASON)}`,
    ];
  });
  const rest = bySite.length - lines.length;
  const table = alignRows([["sites left alone, by their first host", "times", "longest s", "  for saying"], ...lines]);
  return [...table, ...(rest > 0 ? [`and ${rest} more sites`] : []), ""];
}

function agreementLines(run: RepliesRun): string[] {
  const words = {
    lost: "lost",
    twice: "delivered twice",
    unrecorded: "recorded otherwise than the sink has them",
    unjustified: "bounced without a 5xx",
  };
  const faults = Object.entries(words).flatMap(([kind, meaning]) => {
    const recipients = run.disagreements[kind as keyof Disagreements];
    return recipients.length === 0 ? [] : [`${whole(recipients.length)} ${meaning}, such as ${recipients[0]}  MISSED`];
  });
  if (faults.length > 0) return faults;
  return ["pombo and the sink agree: nothing lost, each delivered exactly once"];
}

function seconds(timesMs: number[], share: number): string {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return value === undefined ? "" : (value / 1000).toFixed(1);
}
