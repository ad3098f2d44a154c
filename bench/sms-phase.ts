// One phase of `script/bench sms`: so many texts through one side, until the last receipt has taken effect.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cpuSeconds, mustRun, waitUntil } from "../test/support/peers/process.ts";
import { startCpuMeter } from "./cpu.ts";
import { quantile } from "./load.ts";
import { readResident } from "./memory.ts";
import type { SmsLoadOrder, SmsLoadResult, SmsLoadTimes } from "./sms-load.ts";
import type { LinkName, Side } from "./sms-side.ts";

export const CONNECTIONS = 32;
const WAIT_MS = 60_000;

export interface PhaseOrder {
  link: LinkName;
  count: number;
  /** What the SMSC waits before it answers a submit: a long way. */
  rttMs: number;
  /** 0: as fast as texts are accepted. */
  perSecond: number;
}

export interface Quantiles {
  p50: number;
  p99: number;
}

export interface PhaseResult extends PhaseOrder {
  /** From the first POST until the last receipt took effect, or the last answer where none was asked for. */
  messagesPerSecond: number;
  acceptedPerSecond: number;
  /** From a text's POST, in ms. */
  toAnswer: Quantiles;
  /** Null: without receipts. */
  toReceipt: Quantiles | null;
  /** CPU ms a message: the side's, and that of its SMSC and load. */
  cpuMs: number;
  peersMs: number;
  /** Bytes, all its processes together, at the end. */
  resident: number;
}

/** Numbers that no phase has used. */
export class Numbers {
  #next = 0;

  take(count: number): number {
    const first = this.#next;
    this.#next += count;
    return first;
  }
}

export function loadOrder(side: Side, order: PhaseOrder, rest: { first: number; folder: string }): SmsLoadOrder {
  return {
    port: side.httpPort,
    request: side.requestOf(order.link),
    connections: CONNECTIONS,
    firstNumber: rest.first,
    count: order.count,
    perSecond: order.perSecond,
    timesFile: join(rest.folder, `${side.name}-${rest.first}.json`),
  };
}

export async function runLoad(order: SmsLoadOrder): Promise<{ load: SmsLoadResult; times: SmsLoadTimes }> {
  const output = await mustRun([process.execPath, join(import.meta.dir, "sms-load.ts"), JSON.stringify(order)]);
  const times = JSON.parse(readFileSync(order.timesFile, "utf8")) as SmsLoadTimes;
  return { load: JSON.parse(output) as SmsLoadResult, times };
}

export async function measurePhase(
  side: Side,
  order: PhaseOrder,
  rest: { folder: string; numbers: Numbers },
): Promise<PhaseResult> {
  const { count, link } = order;
  const first = rest.numbers.take(count);
  const { smsc } = side;
  await smsc.setAnswerMs(order.rttMs);
  const [answeredBefore, appliedBefore] = [(await smsc.state()).answered, (await side.applied()).count];
  const readCpu = startCpuMeter({ side: () => cpuOf(side), smsc: () => smsc.cpuSeconds() });
  const { load, times } = await runLoad(loadOrder(side, order, { first, folder: rest.folder }));
  if (load.accepted !== count) throw new Error(`${side.name}: accepted ${load.accepted} of ${count}: ${load.words}`);
  const isReported = link !== "silent";
  await waitUntil(`${side.name}: all ${count} to their end`, WAIT_MS, async () => {
    const done = isReported
      ? (await side.applied()).count - appliedBefore
      : (await smsc.state()).answered - answeredBefore;
    return done >= count;
  });
  const cpu = readCpu({ load: load.cpuSeconds });
  const resident = side.pids().reduce((sum, pid) => sum + readResident(pid).now, 0);
  const { answeredAt } = await smsc.state();
  const endedAt = isReported ? (await side.applied()).lastAt : answeredAt;
  const since = (all: number[]) => times.postedAt.map((postedAt, index) => (all[first + index] ?? 0) - postedAt);
  const { answered } = await smsc.log();
  const toReceipt = isReported ? quantiles(since((await side.appliedTimes()).times)) : null;
  const used = cpu["side"] ?? 0;
  return {
    ...order,
    messagesPerSecond: (count * 1_000) / (endedAt - load.startedAt),
    acceptedPerSecond: (count * 1_000) / (load.endedAt - load.startedAt),
    toAnswer: quantiles(since(answered.times)),
    toReceipt,
    cpuMs: (used * 1_000) / count,
    peersMs: (((cpu["smsc"] ?? 0) + (cpu["load"] ?? 0)) * 1_000) / count,
    resident,
  };
}

function cpuOf(side: Side): number {
  return side.pids().reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

function quantiles(values: number[]): Quantiles {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99) };
}
