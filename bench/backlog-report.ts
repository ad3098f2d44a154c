// What `script/bench backlog` says at the end: one table, the memory, the bounds.

import { formatCpu } from "./cpu.ts";
import { megabytes, type Resident } from "./memory.ts";
import type { DeliveryResult, PostResult } from "./pombo.ts";
import type { Report } from "./report.ts";
import type { Filled } from "./rows.ts";
import { alignRows, type Bound, formatBounds, machineLines, whole } from "./table.ts";

/** The least share of the rate without a backlog, by its kind. */
const RATE_FLOORS = { refused: 0.8, mute: 0.8, scheduled: 0.95 };
const DUE_LIMIT_MS = 1_000;
const START_LIMIT_S = 5;
const LOADED_LIMIT_MB = 400;
const IDLE_LIMIT_MB = 120;

/** The same measured on the instance without a backlog and on the one with it, one right after the other. */
export interface Round {
  without: DeliveryResult;
  behind: DeliveryResult;
}

export interface BacklogFigures {
  machine: Report["machine"];
  app: string;
  /** The dead domain's MX refuses connections, or says nothing; or the messages wait for a time that has not come. */
  kind: "refused" | "mute" | "scheduled";
  /** From the time of each of 500 emails, all within one second, to its 250. Null: not measured. */
  dueToDeliveredMs: { p50: number; p99: number } | null;
  rounds: Round[];
  posts: { without: PostResult; behind: PostResult };
  filled: Filled;
  /** From the command to /ready. */
  startMs: number;
  /** `idle`: of an instance without a workspace, ready and later. `plainBusy`: without the backlog. The others: with it. */
  resident: { idle: [Resident, Resident]; plainBusy: Resident; atStart: Resident; busy: Resident; after: Resident };
  /** At the backlog's messages, meanwhile. */
  attempts: number;
}

export function judgeBacklog({ kind, rounds, startMs, resident, dueToDeliveredMs: due }: BacklogFigures): Bound[] {
  const ratios = rounds.map(({ without, behind }) => behind.deliveredPerSecond / without.deliveredPerSecond);
  const idle = Math.max(...resident.idle.map(({ now }) => now));
  const most = (name: string, value: number, limit: number, unit: string): Bound => ({
    ...{ name, value, limit, unit },
    must: "be at most",
  });
  return [
    {
      ...{ name: "delivery rate with / without", value: median(ratios), unit: "" },
      ...{ must: "be at least", limit: RATE_FLOORS[kind] },
    },
    ...(due === null ? [] : [most("p99 of 500 due in one second, after their time", due.p99, DUE_LIMIT_MS, " ms")]),
    most("start to ready with the backlog", startMs / 1000, START_LIMIT_S, " s"),
    most("most memory with the backlog", megabytes(resident.after.peak), LOADED_LIMIT_MB, " MB"),
    most("memory of an idle instance", megabytes(idle), IDLE_LIMIT_MB, " MB"),
  ];
}

const WORDS = {
  refused: "for a domain whose MX refuses",
  mute: "for a domain whose MX says nothing",
  scheduled: "scheduled for tomorrow, for the domain of the others",
};

export function formatBacklog(figures: BacklogFigures): string {
  const { machine, app, kind, rounds, posts, filled, attempts } = figures;
  const waiting = `${whole(filled.rows)} waiting`;
  return [
    ...machineLines(machine, app),
    `backlog: ${whole(filled.rows)} messages ${WORDS[kind]}, ` +
      `a database of ${(filled.databaseBytes / 1e9).toFixed(1)} GB, written in ${filled.seconds.toFixed(0)} s; ` +
      `${whole(attempts)} attempts at them during the run`,
    "",
    ...alignRows([
      ["what", "messages/s", "p50 ms", "p99 ms", "CPU s"],
      ...rounds.flatMap(({ without, behind }) => [deliveryRow("alone", without), deliveryRow(waiting, behind)]),
      postRow("alone", posts.without),
      postRow(waiting, posts.behind),
    ]),
    "",
    ...alignRows(memoryRows(figures)),
    "",
    ...formatBounds(judgeBacklog(figures)),
    `CPU of a message, median: ${cpuMs(rounds.map(({ without }) => without))} ms without, ` +
      `${cpuMs(rounds.map(({ behind }) => behind))} ms with (no bound)`,
    `p99 of single POSTs: ${posts.without.requestLatencyMs.p99} ms without, ${posts.behind.requestLatencyMs.p99} ms with (no bound)`,
  ].join("\n");
}

function deliveryRow(name: string, result: DeliveryResult): string[] {
  const { p50, p99 } = result.acceptToDeliveredMs;
  const what = `accepted → delivered, ${whole(result.messages)}, ${name}`;
  return [what, whole(result.deliveredPerSecond), `${p50}`, `${p99}`, formatCpu(result.cpu)];
}

function postRow(name: string, result: PostResult): string[] {
  const { p50, p99 } = result.requestLatencyMs;
  const what = `POST to the dead domain, ${result.seconds.toFixed(0)} s, ${name}`;
  return [what, whole(result.emailsPerSecond), `${p50}`, `${p99}`, formatCpu(result.cpu)];
}

function memoryRows({ resident, filled }: BacklogFigures): string[][] {
  const [ready, later] = resident.idle;
  const row = (name: string, { now, peak }: Resident): string[] => [
    name,
    whole(megabytes(now)),
    whole(megabytes(peak)),
  ];
  return [
    ["memory (RSS)", "MB", "peak MB"],
    row("fresh instance, ready", ready),
    row("the same, 10 s later", later),
    row("without a backlog, after the load", resident.plainBusy),
    row(`${whole(filled.rows)} waiting, ready`, resident.atStart),
    row("the same, after the load", resident.busy),
    row("the same, 10 s later", resident.after),
  ];
}

/** pombo's own, which other processes' load changes less than the rate. */
function cpuMs(deliveries: DeliveryResult[]): string {
  return median(deliveries.map(({ cpu, messages }) => ((cpu["pombo"] ?? 0) * 1000) / messages)).toFixed(2);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
