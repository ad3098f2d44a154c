// What `script/bench submission` says at the end, and what it asks for.

import { type CpuUse, formatCpu } from "./cpu.ts";
import { quantile } from "./load.ts";
import { megabytes } from "./memory.ts";
import type { DeliveryResult } from "./pombo.ts";
import type { SubmissionResult } from "./submission-load.ts";
import type { IdleResult, LargeResult } from "./submission-pombo.ts";
import { type Bound, whole } from "./table.ts";

/** `nobody`: a server that keeps nothing, for what the load can do. */
export type RateSide = "pombo" | "Postfix" | "nobody";

export interface RateRound {
  side: RateSide;
  isPipelined: boolean;
  messages: number;
  perSecond: number;
  latencyMs: SubmissionResult["latencyMs"];
  cpu: CpuUse;
}

export interface Figures {
  rates: RateRound[];
  deliveries: { posted: DeliveryResult; submitted: DeliveryResult }[];
  large: LargeResult[];
  idle?: IdleResult;
}

const MIB = 1024 * 1024;
/** A load that can do less than twice what is measured would be measured itself. */
const LOAD_HEADROOM = 2;
/** What is left of the API's pace where every message is read strictly on its way in. */
const DELIVERY_RATIO = 0.9;
const HELD_LIMIT_MIB = 400;
/** As of `script/bench message`: what goes out is in memory too. */
const OUTGOING_LIMIT_MIB = 512;

export function listRows({ rates, deliveries, large, idle }: Figures): string[][] {
  const rows: string[][] = [["what", "messages/s", "p50 ms", "p99 ms", "CPU ms each", "CPU s"]];
  for (const { side, isPipelined, messages, perSecond, latencyMs, cpu } of rates.toSorted(byKind)) {
    const name = `${side === "nobody" ? "a server that keeps nothing" : side}, ${describe(isPipelined)}`;
    rows.push([
      name,
      whole(perSecond),
      `${latencyMs.p50}`,
      `${latencyMs.p99}`,
      each(cpu[side], messages),
      formatCpu(cpu),
    ]);
  }
  for (const { posted, submitted } of deliveries)
    for (const [name, { messages, acceptToDeliveredMs, deliveredPerSecond, acceptedPerSecond, cpu }] of [
      ["POST", posted],
      ["SMTP", submitted],
    ] as const) {
      const { p50, p99 } = acceptToDeliveredMs;
      const cells = [whole(deliveredPerSecond), `${p50}`, `${p99}`, each(cpu["pombo"], messages), formatCpu(cpu)];
      rows.push([`${name} accepted → delivered, ${messages}`, ...cells]);
      rows.push(["  of it accepted", whole(acceptedPerSecond)]);
    }
  for (const one of large) {
    const { result, residentBytes, cpu } = one;
    const ends = Object.entries(result.ends).map(
      ([code, { count }]) => `${count} × ${code === "0" ? "cut off" : code}`,
    );
    const took = `in ${(result.elapsedMs / 1_000).toFixed(1)} s, ${megabytes(residentBytes).toFixed(0)} MB`;
    const { p50, max } = result.latencyMs;
    rows.push([`${nameLarge(one)}: ${ends.join(", ")}, ${took}`, "", whole(p50), whole(max), "", formatCpu(cpu)]);
  }
  if (idle !== undefined) {
    const [without, held] = [megabytes(idle.withoutBytes), megabytes(idle.withBytes)];
    rows.push([`${idle.clients} clients who say nothing: ${held.toFixed(0)} MB, ${without.toFixed(0)} MB without`]);
  }
  return rows;
}

export function listBounds({ rates, deliveries, large, idle }: Figures): Bound[] {
  const bounds: Bound[] = [];
  const [pombo, postfix] = [medianRate(rates, "pombo"), medianRate(rates, "Postfix")];
  if (pombo !== null) {
    const least = { must: "be at least" as const };
    bounds.push({ name: "accepted a second (goal: 2,000)", value: pombo, ...least, limit: 1_500, unit: "/s" });
    if (postfix !== null)
      bounds.push({ name: "against Postfix", value: pombo / postfix, ...least, limit: 1, unit: " ×" });
    const load = (medianRate(rates, "nobody") ?? NaN) / Math.max(pombo, postfix ?? 0);
    bounds.push({ name: "what the load can do", value: load, ...least, limit: LOAD_HEADROOM, unit: " × of it" });
  }
  if (deliveries.length > 0) {
    const ratios = deliveries.map(({ posted, submitted }) => submitted.deliveredPerSecond / posted.deliveredPerSecond);
    const value = quantile(ratios, 0.5, 2);
    bounds.push({
      name: "delivered, against the API's",
      value,
      must: "be at least",
      limit: DELIVERY_RATIO,
      unit: " ×",
    });
  }
  for (const one of large) {
    const most = { must: "be at most" as const };
    const limit = one.isHeld ? HELD_LIMIT_MIB : OUTGOING_LIMIT_MIB;
    bounds.push({ name: `memory, ${nameLarge(one)}`, value: one.residentBytes / MIB, ...most, limit, unit: " MiB" });
    const wrong = Object.entries(one.result.ends).filter(([code]) => code !== "250" && code !== "452");
    const value = wrong.reduce((sum, [, { count }]) => sum + count, 0);
    bounds.push({ name: "  neither 250 nor 452", value, ...most, limit: 0, unit: "" });
  }
  if (idle !== undefined) {
    const value = (idle.withBytes - idle.withoutBytes) / MIB;
    bounds.push({ name: "memory of idle clients", value, must: "be at most", limit: 20, unit: " MiB" });
  }
  return bounds;
}

/** On a busy machine the pace says less than this. */
function each(seconds: number | undefined, messages: number): string {
  return seconds === undefined || seconds === 0 ? "" : ((seconds * 1_000) / messages).toFixed(2);
}

/** Of the rounds with pipelining, as servers send. */
function medianRate(rates: RateRound[], side: RateSide): number | null {
  const found = rates.filter((round) => round.side === side && round.isPipelined);
  if (found.length === 0) return null;
  return quantile(
    found.map(({ perSecond }) => perSecond),
    0.5,
  );
}

function nameLarge({ clients, isSizeDeclared, isHeld }: LargeResult): string {
  return `${clients} × 20 MiB, SIZE ${isSizeDeclared ? "" : "not "}declared, ${isHeld ? "held" : "going out"}`;
}

function describe(isPipelined: boolean): string {
  return isPipelined ? "MAIL, RCPT and DATA at once" : "one command at a time";
}

function byKind(a: RateRound, b: RateRound): number {
  return Number(b.isPipelined) - Number(a.isPipelined) || a.side.localeCompare(b.side);
}
