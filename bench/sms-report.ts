// What `script/bench sms` says at the end.

import { megabytes } from "./memory.ts";
import { quantile } from "./load.ts";
import type { KillResult } from "./sms-kill.ts";
import type { PhaseResult, Quantiles } from "./sms-phase.ts";
import { WINDOWS } from "./sms-side.ts";
import { alignRows, type Bound, whole } from "./table.ts";

const FLOOR_PER_SECOND = 2_000;
const GOAL_RATIO = 1;

export interface SidePhase {
  side: string;
  /** The rounds that count for the floor and the ratio. */
  isMain: boolean;
  result: PhaseResult;
}

const HEAD = ["texts", "a second", "→ answer p50", "p99 ms", "→ receipt p50", "p99 ms", "CPU ms", "peers", "RSS MB"];

export function formatPhases(phases: SidePhase[]): string {
  return alignRows([HEAD, ...phases.map(({ side, result }) => rowOf(side, result))]).join("\n");
}

function rowOf(side: string, result: PhaseResult): string[] {
  const { link, count, rttMs, perSecond } = result;
  const how = [
    `window ${WINDOWS[link]}`,
    ...(rttMs > 0 ? [`${rttMs} ms away`] : []),
    ...(perSecond > 0 ? [`${perSecond}/s posted`] : []),
    ...(link === "silent" ? ["no receipts"] : []),
  ];
  const pair = (values: Quantiles | null) =>
    values === null ? ["", ""] : [values.p50.toFixed(0), values.p99.toFixed(0)];
  return [
    `${side}, ${how.join(", ")}, ${whole(count)}`,
    whole(result.messagesPerSecond),
    ...pair(result.toAnswer),
    ...pair(result.toReceipt),
    result.cpuMs.toFixed(2),
    result.peersMs.toFixed(2),
    whole(megabytes(result.resident)),
  ];
}

/** The floor, and the ratio with Kannel where it was measured: a goal, not a floor. */
export function judge(phases: SidePhase[]): { bounds: Bound[]; goal: string | null } {
  const median = (side: string) =>
    quantile(
      phases.flatMap((each) => (each.isMain && each.side === side ? [each.result.messagesPerSecond] : [])),
      0.5,
    );
  const [ours, theirs] = [median("pombo"), median("Kannel")];
  const name = "texts/s accepted → answered → receipt committed, window 50, every commit synced, median";
  if (ours === 0) return { bounds: [], goal: null };
  const bounds: Bound[] = [{ name, value: ours, must: "be at least", limit: FLOOR_PER_SECOND, unit: "" }];
  if (theirs === 0) return { bounds, goal: null };
  const ratio = ours / theirs;
  const word = ratio >= GOAL_RATIO ? "reached" : "not reached";
  return {
    bounds,
    goal: `pombo / Kannel (never synced), median: ${ratio.toFixed(2)} (goal ${GOAL_RATIO}, ${word}; no floor)`,
  };
}

export function formatKills(kills: KillResult[]): string {
  const rows = kills.map(({ name, accepted, lost, doubled, marked, receiptsLost }) => [
    name,
    whole(accepted),
    whole(lost),
    whole(doubled),
    marked === null ? "none" : whole(marked),
    whole(receiptsLost),
  ]);
  const head = ["kill -9 in the middle", "accepted", "lost", "came twice", "marked so", "receipts lost"];
  return alignRows([head, ...rows]).join("\n");
}
