// What one pombo weighs: `script/bench start`. The size of the executable, the time from its start until it is ready
// (GET /ready answers 200), the median of ten starts on a database with a verified domain, and the memory of one that
// has nothing to do. Floors: 150 ms, 120 MB.

import { statSync } from "node:fs";
import { findPombo, startPombo } from "../test/support/peers/pombo.ts";
import { makeFolder, mustRun, runProgram } from "../test/support/peers/process.ts";
import { megabytes, readResident } from "./memory.ts";
import { type Bound, formatBounds, isHeld } from "./table.ts";
import { quantile } from "./load.ts";

const STARTS = 10;
const READY_LIMIT_MS = 150;
const IDLE_LIMIT_MB = 120;
/** Time for what a start leaves to the collector of garbage. */
const IDLE_MS = 15_000;
const ASK_EVERY_MS = 2;
const HOSTNAME = "pombo.bench.test";

await runProgram(async (cleanup) => {
  const folder = makeFolder("bench-start", cleanup);
  const first = await startPombo({ folder, hostname: HOSTNAME, settings: {}, cleanup });
  await first.process.stop();
  const { command, what } = findPombo();
  const times: number[] = [];
  const memories: number[] = [];
  for (let round = 0; round < STARTS; round += 1) {
    const startedAt = performance.now();
    const child = Bun.spawn([...command, "serve", "--config", first.configFile], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
      // As a service manager starts it. A shell may name certificates there, which would be read at each start.
      env: { PATH: process.env["PATH"] ?? "" },
    });
    cleanup.add(() => child.kill("SIGKILL"));
    while (!(await isReady(first.port))) {
      if (child.exitCode !== null) throw new Error(`pombo ended with ${child.exitCode}`);
      await Bun.sleep(ASK_EVERY_MS);
    }
    times.push(performance.now() - startedAt);
    if (round === STARTS - 1) await Bun.sleep(IDLE_MS);
    memories.push(megabytes(readResident(child.pid).now));
    child.kill("SIGTERM");
    await child.exited;
  }
  const version = await mustRun([...command, "version"]);
  const bounds: Bound[] = [
    {
      name: `ready, median of ${STARTS} starts`,
      value: quantile(times, 0.5),
      must: "be at most",
      limit: READY_LIMIT_MS,
      unit: " ms",
    },
    {
      name: `memory after ${IDLE_MS / 1000} idle seconds (RSS)`,
      value: memories.at(-1) ?? NaN,
      must: "be at most",
      limit: IDLE_LIMIT_MB,
      unit: " MB",
    },
  ];
  console.log([`app: ${what}: ${version.trim()}`, ...sizeOf(command), ...formatBounds(bounds)].join("\n"));
  console.log(`starts: ${times.map((time) => time.toFixed(0)).join(" ")} ms`);
  return bounds.every(isHeld) ? 0 : 1;
});

function sizeOf(command: string[]): string[] {
  const [binary = ""] = command;
  return command.length === 1 ? [`size: ${megabytes(statSync(binary).size).toFixed(0)} MB`] : [];
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
  return answer?.status === 200;
}
