// What one pombo weighs: `script/bench start`. The size of the executable, the time from its start until it is ready
// (GET /ready answers 200), the median of ten starts on a database with a verified domain, and the memory of one that
// has nothing to do. Each beside one whose dashboard is off, in turns. Floors: 150 ms, 120 MB; of the dashboard 5 MB, and
// no processor time that is told from noise.

import { statSync } from "node:fs";
import { findPombo, type PomboApp, startPombo, type TomlTable } from "../test/support/peers/pombo.ts";
import { type Cleanup, cpuSeconds, makeFolder, mustRun, runProgram } from "../test/support/peers/process.ts";
import { megabytes, readResident } from "./memory.ts";
import { alignRows, type Bound, formatBounds, isHeld } from "./table.ts";
import { quantile } from "./load.ts";

const STARTS = 10;
const IDLE_ROUNDS = 3;
const READY_LIMIT_MS = 150;
const IDLE_LIMIT_MB = 120;
const DASHBOARD_LIMIT_MB = 5;
/** Of processor time, which is counted in ticks of 10 ms; what else runs on the machine takes none of it. */
const NOISE_MS = 10;
/** Time for what a start leaves to the collector of garbage. */
const IDLE_MS = 15_000;
const ASK_EVERY_MS = 2;
const HOSTNAME = "pombo.bench.test";
const SIDES = { on: {}, off: { dashboard: { enabled: false } } } satisfies Record<string, TomlTable>;

type Side = keyof typeof SIDES;
type Figures = Record<Side, number[]>;

await runProgram(async (cleanup) => {
  const apps = { on: await install("on", cleanup), off: await install("off", cleanup) };
  const times: Figures = { on: [], off: [] };
  const processor: Figures = { on: [], off: [] };
  const memories: Figures = { on: [], off: [] };
  for (let round = 0; round < STARTS; round += 1) {
    // In turns, since the machine's pace changes.
    const order: Side[] = round % 2 === 0 ? ["on", "off"] : ["off", "on"];
    for (const side of order) {
      const { child, readyMs } = await start(apps[side], cleanup);
      times[side].push(readyMs);
      processor[side].push(1000 * cpuSeconds(child.pid));
      await end(child);
    }
  }
  for (let round = 0; round < IDLE_ROUNDS; round += 1) {
    const [on, off] = [await start(apps.on, cleanup), await start(apps.off, cleanup)];
    await Bun.sleep(IDLE_MS);
    for (const [side, { child }] of [["on", on] as const, ["off", off] as const]) {
      memories[side].push(megabytes(readResident(child.pid).now));
      await end(child);
    }
  }
  const { command, what } = findPombo();
  const version = await mustRun([...command, "version"]);
  const bounds = judge({ times, processor, memories });
  const list = (figures: number[]) => figures.map((figure) => figure.toFixed(0)).join(" ");
  const table = alignRows([
    ["dashboard", "on", "off"],
    [`ms until ready`, list(times.on), list(times.off)],
    ["of processor time", list(processor.on), list(processor.off)],
    [`MB after ${IDLE_MS / 1000} idle seconds (RSS)`, list(memories.on), list(memories.off)],
  ]);
  console.log(
    [`app: ${what}: ${version.trim()}`, ...sizeOf(command), ...table, "", ...formatBounds(bounds)].join("\n"),
  );
  return bounds.every(isHeld) ? 0 : 1;
});

/** An installation of its own, which runs no more. */
async function install(side: Side, cleanup: Cleanup): Promise<PomboApp> {
  const folder = makeFolder(`bench-start-${side}`, cleanup);
  const app = await startPombo({ folder, hostname: HOSTNAME, settings: SIDES[side], cleanup });
  await app.process.stop();
  return app;
}

async function start({ port, configFile }: PomboApp, cleanup: Cleanup) {
  const startedAt = performance.now();
  const child = Bun.spawn([...findPombo().command, "serve", "--config", configFile], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
    // As a service manager starts it. A shell may name certificates there, which would be read at each start.
    env: { PATH: process.env["PATH"] ?? "" },
  });
  cleanup.add(() => child.kill("SIGKILL"));
  while (!(await isReady(port))) {
    if (child.exitCode !== null) throw new Error(`pombo ended with ${child.exitCode}`);
    await Bun.sleep(ASK_EVERY_MS);
  }
  return { child, readyMs: performance.now() - startedAt };
}

async function end(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGTERM");
  await child.exited;
}

function judge({ times, processor, memories }: Record<"times" | "processor" | "memories", Figures>): Bound[] {
  const mean = (figures: number[]) => figures.reduce((sum, each) => sum + each, 0) / figures.length;
  const middle = (figures: number[]) => quantile(figures, 0.5);
  const most = (name: string, value: number, limit: number, unit: string): Bound => ({
    ...{ name, value, limit, unit },
    must: "be at most",
  });
  return [
    most(`ready, median of ${STARTS} starts`, middle(times.on), READY_LIMIT_MS, " ms"),
    most("processor time of a start for the dashboard", mean(processor.on) - mean(processor.off), NOISE_MS, " ms"),
    most("idle memory", middle(memories.on), IDLE_LIMIT_MB, " MB"),
    most("idle memory for the dashboard", middle(memories.on) - middle(memories.off), DASHBOARD_LIMIT_MB, " MB"),
  ];
}

function sizeOf(command: string[]): string[] {
  const [binary = ""] = command;
  return command.length === 1 ? [`size: ${megabytes(statSync(binary).size).toFixed(0)} MB`] : [];
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
  return answer?.status === 200;
}
