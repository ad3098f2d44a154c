// What the benchmark says at the end: one table, the ratios against the peer, and the floors.

import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { formatCpu } from "./cpu.ts";
import { quantile } from "./load.ts";
import type { PeerResult } from "./peers/postfix-opendkim.ts";
import type { DeliveryResult, PostResult } from "./pombo.ts";

interface Target {
  /** What a quiet, fast machine should reach. */
  goal: number;
  /** What the slowest hours of the machines that measured it reach: less is a fault of the code. */
  floor: number;
}

/** Delivered per second, pombo over Postfix with OpenDKIM. One core's pace counts more for pombo than for Postfix. */
const RATIO: Target = { goal: 9, floor: 5 };
/** Single emails accepted per second, each behind its own fsynced commit (commits are shared). */
const POSTS: Target = { goal: 5000, floor: 3500 };
/** The same in batches of 100. */
const BATCHES: Target = { goal: 15_000, floor: 8000 };
/** The peer of the floor; see peers/postfix-opendkim.ts for the other one. */
const FLOOR_SOCKET = "inet";
const FSYNC_PROBES = 200;

export interface Report {
  machine: {
    cores: number;
    cpu: string;
    kernel: string;
    memoryGiB: number;
    loadAverage: number;
    fsyncsPerSecond: number;
    /** RSA-2048 signatures per second on one core, before the run: the same machine is not always equally fast. */
    signaturesPerSecond: number;
  };
  app: string;
  peers: PeerResult[];
  delivery: DeliveryResult | null;
  htmlOnly: DeliveryResult | null;
  /** One for each round. */
  posts: PostResult[];
  batches: PostResult[];
}

export interface Floor extends Target {
  name: string;
  value: number;
  isHeld: boolean;
}

export function describeMachine(folder: string): Report["machine"] {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? "unknown",
    kernel: execFileSync("uname", ["-sr"], { encoding: "utf8" }).trim(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadAverage: loadavg()[0] ?? 0,
    fsyncsPerSecond: probeFsync(join(folder, "fsync-probe")),
    signaturesPerSecond: probeSigning(),
  };
}

/** Only what was measured: a run of one side alone has no ratio and so no ratio floor. */
export function judge(report: Report): Floor[] {
  const floors: Floor[] = [];
  const peer = report.peers.find((one) => one.socket === FLOOR_SOCKET);
  if (peer && report.delivery) {
    const value = report.delivery.deliveredPerSecond / peer.perSecond;
    floors.push({ name: "ratio pombo / Postfix+OpenDKIM", value, ...RATIO, isHeld: value >= RATIO.floor });
  }
  const series = [
    { name: "single POSTs accepted/s, median", rounds: report.posts, target: POSTS },
    { name: "emails accepted/s in batches, median", rounds: report.batches, target: BATCHES },
  ];
  for (const { name, rounds, target } of series) {
    if (rounds.length === 0) continue;
    const value = quantile(
      rounds.map((round) => round.emailsPerSecond),
      0.5,
    );
    floors.push({ name, value, ...target, isHeld: value >= target.floor });
  }
  return floors;
}

export function formatReport(report: Report): string {
  const { machine } = report;
  const rows: string[][] = [["what", "messages/s", "p50 ms", "p99 ms", "CPU s"]];
  for (const peer of report.peers) {
    rows.push([
      `Postfix+OpenDKIM, milter over ${peer.socket}, ${peer.messages}`,
      rate(peer.perSecond),
      "",
      "",
      formatCpu(peer.cpu),
    ]);
  }
  if (report.delivery) rows.push(...deliveryRows("html+text", report.delivery));
  if (report.htmlOnly) rows.push(...deliveryRows("html only", report.htmlOnly));
  for (const post of [...report.posts, ...report.batches]) rows.push(postRow(post));
  const lines = [
    `machine: ${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, ${machine.kernel}, ` +
      `${Math.round(machine.fsyncsPerSecond)} fsyncs/s, ` +
      `${Math.round(machine.signaturesPerSecond)} RSA-2048 signatures/s a core in this runtime, load before ${machine.loadAverage.toFixed(2)}`,
    `app: ${report.app}`,
    "",
    ...align(rows),
    "",
    ...ratioLines(report),
  ];
  return lines.join("\n");
}

function deliveryRows(parts: string, result: DeliveryResult): string[][] {
  const { p50, p99 } = result.acceptToDeliveredMs;
  return [
    [
      `pombo accepted → delivered, ${parts}, ${result.messages}`,
      rate(result.deliveredPerSecond),
      `${p50}`,
      `${p99}`,
      formatCpu(result.cpu),
    ],
    ["  of it accepted", rate(result.acceptedPerSecond), "", "", ""],
  ];
}

function postRow(result: PostResult): string[] {
  const name = result.batch === 1 ? "pombo POST, one email each" : `pombo POST, batches of ${result.batch}`;
  const { p50, p99 } = result.requestLatencyMs;
  return [
    `${name}, ${result.seconds.toFixed(1)} s`,
    rate(result.emailsPerSecond),
    `${p50}`,
    `${p99}`,
    formatCpu(result.cpu),
  ];
}

function ratioLines(report: Report): string[] {
  const lines: string[] = judge(report).map(({ name, value, goal, floor, isHeld }) => {
    const word = value >= goal ? "reached" : "not reached";
    return `${name}: ${value.toFixed(value < 100 ? 2 : 0)} (goal ${goal}, ${word}; floor ${floor})${isHeld ? "" : "  MISSED"}`;
  });
  const other = report.peers.find((one) => one.socket !== FLOOR_SOCKET);
  if (other && report.delivery) {
    const ratio = report.delivery.deliveredPerSecond / other.perSecond;
    lines.push(`the same, milter over ${other.socket}: ${ratio.toFixed(2)} (no floor)`);
  }
  return lines;
}

function align(rows: string[][]): string[] {
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  "),
  );
}

function rate(perSecond: number): string {
  return Math.round(perSecond).toLocaleString("en");
}

/** How many 4 KB appends this disk makes durable per second: both sides live on it. */
function probeFsync(file: string): number {
  const handle = openSync(file, "w");
  const page = Buffer.alloc(4096, 1);
  const startedAt = performance.now();
  for (let probe = 0; probe < FSYNC_PROBES; probe++) {
    writeSync(handle, page);
    fsyncSync(handle);
  }
  const elapsedS = (performance.now() - startedAt) / 1000;
  closeSync(handle);
  return FSYNC_PROBES / elapsedS;
}

/** What the core does in a quarter of a second. */
function probeSigning(): number {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const startedAt = performance.now();
  let signed = 0;
  for (; performance.now() - startedAt < 250; signed++) sign("sha256", Buffer.from(`probe ${signed}`), privateKey);
  return signed / ((performance.now() - startedAt) / 1000);
}

/** Nothing but the numbers, for comparing runs. */
export function toJson(report: Report): string {
  return JSON.stringify({ ...report, floors: judge(report) }, null, 2);
}
