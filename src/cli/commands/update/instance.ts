import { spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import type { Clock } from "../../../platform/clock.ts";
import { type Lock, takeLock } from "../../../platform/instance-lock.ts";
import { CommandError } from "../../framework/failure.ts";
import { isAnswering } from "../health.ts";
import type { Hands, Running } from "./service.ts";

// The instance that an update stops and starts. One that a systemd unit runs is stopped and started by systemd, which
// would bring the old executable back in the middle else; one that was started by hand is sent SIGTERM and started
// again as it was, by its own user: same arguments, directory, output, and of its environment what counts.

export interface Started {
  /** Why it is gone for good, or null. */
  gone(): Promise<string | null>;
  /** Ends it. */
  stop(): Promise<void>;
}

const AGAIN_MS = 100;
/** Longer than an instance takes to stop (22 s of grace, and what it writes then). */
const STOP_MS = 90_000;

/** Null: nothing runs. Throws CommandError where it cannot be stopped and started from here. */
export async function findRunning(dataDir: string, hands: Hands, clock: Clock): Promise<Running | null> {
  for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
    const lock = takeLock(dataDir, "command");
    if (lock.kind === "locked") {
      lock.release();
      return null;
    }
    // A command is soon through; who has only just begun will soon be known.
    if (lock.pid !== null && !lock.byCommand) return hands.inspect(lock.pid);
    if (waitedMs >= 10_000)
      throw new CommandError(
        `Something holds ${dataDir}, and it is not known what: stop pombo yourself, then run this again. Nothing was changed.`,
      );
    await pause(clock);
  }
}

/** Ends it, and resolves with the directory's lock. Throws CommandError when it does not end. */
export async function stopRunning(
  running: Running,
  dataDir: string,
  by: { hands: Hands; clock: Clock },
): Promise<Extract<Lock, { kind: "locked" }>> {
  const { unit, pid } = running;
  if (unit !== null) await by.hands.stop();
  else signal(pid, "SIGTERM");
  const lock = await waitForLock(dataDir, STOP_MS, by.clock);
  if (lock !== null) return lock;
  throw new CommandError(
    `pombo (process ${pid}) has not ended after ${STOP_MS / 1000} s: look at its log, end it, and start it again. Nothing was changed.`,
  );
}

/** Null: somebody else has it for all that time. */
export async function waitForLock(
  dataDir: string,
  patienceMs: number,
  clock: Clock,
): Promise<Extract<Lock, { kind: "locked" }> | null> {
  for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
    const lock = takeLock(dataDir, "command");
    if (lock.kind === "locked") return lock;
    if (waitedMs >= patienceMs) return null;
    await pause(clock);
  }
}

/** Open descriptors: standard output and standard error. */
export type Outputs = readonly [number, number];

/** Where an instance writes to, opened before it ends, by its own user: 1 and 2 of the next. */
export function outputsOf(pid: number, say: (text: string) => void): Outputs {
  const { O_WRONLY, O_APPEND, O_NOCTTY, O_NONBLOCK } = constants;
  const open = (file: string) => {
    // First so: a pipe that nobody reads would be waited for. Not kept: what pombo writes may wait for who reads it.
    closeSync(openSync(file, O_WRONLY | O_NOCTTY | O_NONBLOCK));
    return openSync(file, O_WRONLY | O_APPEND | O_NOCTTY);
  };
  const outputs = [1, 2].map((number) => {
    try {
      return open(`/proc/${pid}/fd/${number}`);
    } catch (error) {
      // Another user's, or nobody reads it.
      const { code } = error as NodeJS.ErrnoException;
      say(
        `The ${number === 1 ? "output" : "error output"} of pombo cannot be opened again (${code}): that of the next pombo is discarded.`,
      );
      return open("/dev/null");
    }
  });
  return [outputs[0] ?? 1, outputs[1] ?? 2];
}

export async function startUnit(unit: string, hands: Hands): Promise<Started> {
  await hands.start();
  return {
    gone: async () => ((await hands.hasFailed()) ? `systemd has given ${unit} up: journalctl -u ${unit}` : null),
    stop: () => hands.stop(),
  };
}

export function startByHand(binary: string, running: Running, outputs: Outputs, clock: Clock): Started {
  const child = spawn(binary, running.args, {
    cwd: running.cwd,
    env: running.env,
    // A session of its own: it goes on when the update's screen is gone.
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
    gone: () => Promise.resolve(gone),
    async stop() {
      if (gone !== null) return;
      child.kill("SIGTERM");
      const cancel = clock.after(STOP_MS, () => child.kill("SIGKILL"));
      await ended;
      cancel();
    },
  };
}

const ASK_MS = 2_000;
const SETTLED_MS = 3_000;
const READY_MS = 30_000;

/**
 * Resolves with null once the instance has answered its operator's socket for three seconds without a break, else
 * with why it is not well. DNS or a full disk do not count: they are not the executable's fault.
 */
export async function watchStart(dataDir: string, started: Started, clock: Clock): Promise<string | null> {
  const beganAt = clock.now();
  let wellSince: number | null = null;
  for (;;) {
    const gone = await started.gone();
    if (gone !== null) return gone;
    const isWell = await isAnswering(dataDir, ASK_MS);
    const now = clock.now();
    wellSince = isWell ? (wellSince ?? now) : null;
    if (wellSince !== null && now - wellSince >= SETTLED_MS) return null;
    if (wellSince === null && now - beganAt >= READY_MS) return `it does not answer after ${READY_MS / 1000} s`;
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
  return new Promise((resolve) => clock.after(AGAIN_MS, resolve));
}
