// A disk that is slow to sync, for one process that runs: strace lets each of its syncs wait.

import { pathOf, type Tool } from "./packages.ts";
import { type Cleanup, type Running, startProcess, waitUntil } from "./process.ts";

export const STRACE: Tool = { program: "strace", package: "strace" };
const START_MS = 5_000;

/** A sentence where this machine lets nobody trace another process: `reason`. */
export async function slowDown(options: {
  pid: number;
  delayMs: number;
  logFile: string;
  cleanup: Cleanup;
}): Promise<Running | { reason: string }> {
  const { pid, delayMs, logFile, cleanup } = options;
  const calls = "fsync,fdatasync";
  const command = [pathOf("strace"), "-f", "-p", String(pid), "-e", `trace=${calls}`, "-e", "signal=none"];
  const delay = ["-e", `inject=${calls}:delay_enter=${delayMs * 1_000}`];
  const tracer = startProcess({ command: [...command, ...delay], logFile });
  cleanup.add(() => tracer.stop());
  await waitUntil("strace", START_MS, () => tracer.output().includes(" attached") || !tracer.isAlive());
  return tracer.isAlive() ? tracer : { reason: tracer.output().trim() };
}
