// Stops and starts the instance of an update. One of a systemd unit is stopped and started by systemd, which would
// otherwise restart the old executable meanwhile. One started by hand gets SIGTERM, and is started again by its own
// user with the same arguments, directory, outputs, and the needed part of its environment.

import { spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import type { Clock } from "../../../platform/clock.ts";
import { type Lock, takeLock } from "../../../platform/instance-lock.ts";
import { CommandError } from "../../framework/definition.ts";
import { isAnswering } from "../health.ts";
import type { HostActions, Running } from "./service.ts";

export interface Started {
  /** Why it has ended for good, or null. */
  failure(): Promise<string | null>;
  stop(): Promise<void>;
}

const POLL_MS = 100;
/** Longer than an instance takes to stop (58 s, see server.ts). */
const STOP_MS = 90_000;

/** Null: nothing runs. Throws CommandError where it cannot be stopped and started from here. */
export async function findRunning(dataDir: string, host: HostActions, clock: Clock): Promise<Running | null> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const lock = takeLock(dataDir, "command");
    if (lock.kind === "locked") {
      lock.release();
      return null;
    }
    // A command ends soon; an instance that has just started writes its process id soon.
    if (lock.pid !== null && !lock.byCommand) return host.inspect(lock.pid);
    if (waitedMs >= 10_000)
      throw new CommandError(
        `An unknown process holds the lock of ${dataDir}: stop pombo yourself, then run the command again. Nothing was changed.`,
      );
    await pause(clock);
  }
}

/** Resolves with the directory's lock. Throws CommandError when the instance does not end. */
export async function stopRunning(
  running: Running,
  dataDir: string,
  by: { host: HostActions; clock: Clock },
): Promise<Extract<Lock, { kind: "locked" }>> {
  const { unit, pid } = running;
  if (unit !== null) await by.host.stop();
  else signal(pid, "SIGTERM");
  const lock = await waitForLock(dataDir, STOP_MS, by.clock);
  if (lock !== null) return lock;
  throw new CommandError(
    `pombo (process ${pid}) has not ended after ${STOP_MS / 1000} s: look at its log, stop it, and start it again. Nothing was changed.`,
  );
}

/** Null: another process held it all that time. */
export async function waitForLock(
  dataDir: string,
  patienceMs: number,
  clock: Clock,
): Promise<Extract<Lock, { kind: "locked" }> | null> {
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const lock = takeLock(dataDir, "command");
    if (lock.kind === "locked") return lock;
    if (waitedMs >= patienceMs) return null;
    await pause(clock);
  }
}

/** Open descriptors: standard output and standard error. */
export type Outputs = readonly [number, number];

/** Opens the outputs of a running instance as its own user, for the next one. */
export function openOutputs(pid: number, say: (text: string) => void): Outputs {
  const { O_WRONLY, O_APPEND, O_NOCTTY, O_NONBLOCK } = constants;
  const open = (file: string) => {
    // A test first: opening a pipe without a reader would block. pombo itself may block on a slow reader.
    closeSync(openSync(file, O_WRONLY | O_NOCTTY | O_NONBLOCK));
    return openSync(file, O_WRONLY | O_APPEND | O_NOCTTY);
  };
  const outputs = [1, 2].map((number) => {
    try {
      return open(`/proc/${pid}/fd/${number}`);
    } catch (error) {
      // It belongs to another user, or has no reader.
      const { code } = error as NodeJS.ErrnoException;
      say(
        `The ${number === 1 ? "output" : "error output"} of pombo cannot be opened again (${code}): the next pombo's is discarded.`,
      );
      return open("/dev/null");
    }
  });
  return [outputs[0] ?? 1, outputs[1] ?? 2];
}

export async function startUnit(unit: string, host: HostActions): Promise<Started> {
  await host.start();
  return {
    failure: async () => ((await host.hasFailed()) ? `the unit ${unit} has failed: journalctl -u ${unit}` : null),
    stop: () => host.stop(),
  };
}

export function startByHand(binary: string, running: Running, outputs: Outputs, clock: Clock): Started {
  const child = spawn(binary, running.args, {
    cwd: running.cwd,
    env: running.env,
    // A session of its own: it outlives the update's terminal.
    detached: true,
    stdio: ["ignore", ...outputs],
  });
  let gone: string | null = null;
  const ended = new Promise<void>((resolve) => {
    child.on("exit", (code, by) => {
      gone = `it ended with ${by ?? code}`;
      resolve();
    });
    child.on("error", (error) => {
      gone = `it cannot be started: ${error.message}`;
      resolve();
    });
  });
  child.unref();
  return {
    failure: () => Promise.resolve(gone),
    async stop() {
      if (gone !== null) return;
      child.kill("SIGTERM");
      const cancel = clock.after(STOP_MS, () => child.kill("SIGKILL"));
      await ended;
      cancel();
    },
  };
}

const MAX_OUTPUT = 2_000;

interface ChildOptions {
  env: Record<string, string>;
  /** The output whose end is returned. */
  read: "stdout" | "stderr";
  limitMs: number;
  clock: Clock;
}

/** `failure` null: it ended with 0. Rejects when it cannot be started. */
export function runChild(binary: string, args: string[], { env, read, limitMs, clock }: ChildOptions) {
  // A session of its own: the owner's processes must not reach root's terminal through it.
  const [stdout, stderr] = (["stdout", "stderr"] as const).map((name) => (name === read ? "pipe" : "ignore"));
  const child = spawn(binary, args, { env, detached: true, stdio: ["ignore", stdout, stderr] });
  let output = "";
  child[read]?.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-MAX_OUTPUT)));
  const cancel = clock.after(limitMs, () => child.kill("SIGKILL"));
  return new Promise<{ output: string; failure: string | null }>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, by) => resolve({ output, failure: code === 0 ? null : `it ended with ${by ?? code}` }));
  }).finally(cancel);
}

const ASK_MS = 2_000;
const SETTLED_MS = 3_000;
const READY_MS = 30_000;

/**
 * Resolves with null once the instance has answered on its socket for three seconds without a break, else with the
 * reason. Health issues such as DNS or a full disk do not count: the executable did not cause them.
 */
export async function watchStart(dataDir: string, started: Started, clock: Clock): Promise<string | null> {
  const beganAt = clock.now();
  let answersSince: number | null = null;
  for (;;) {
    const gone = await started.failure();
    if (gone !== null) return gone;
    const isUp = await isAnswering(dataDir, ASK_MS);
    const now = clock.now();
    answersSince = isUp ? (answersSince ?? now) : null;
    if (answersSince !== null && now - answersSince >= SETTLED_MS) return null;
    if (answersSince === null && now - beganAt >= READY_MS) return `it does not answer after ${READY_MS / 1000} s`;
    await pause(clock);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.after(POLL_MS, resolve));
}
