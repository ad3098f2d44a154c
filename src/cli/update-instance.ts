import { spawn, spawnSync } from "node:child_process";
import { constants, openSync, readFileSync, readlinkSync, statSync } from "node:fs";
import type { Clock } from "../clock.ts";
import { type Lock, takeLock } from "../lock.ts";
import { CommandError } from "./failure.ts";
import { isAnswering } from "./health.ts";

// The instance that an update stops and starts: who runs it, and how it was started. One that a systemd unit runs
// is stopped and started by systemd, which would bring the old executable back in the middle else; one that was
// started by hand is sent SIGTERM and started again as it was: same arguments, directory, environment, output.

export interface Unit {
  name: string;
  /** Of a person's own systemd. */
  isUsers: boolean;
}

export interface Running {
  pid: number;
  /** Null: it was started by hand, or by a supervisor that is not known here. */
  unit: Unit | null;
  /** Behind the executable. */
  args: string[];
  cwd: string;
  env: Record<string, string>;
  uid: number;
  gid: number;
}

export interface Started {
  /** Why it is gone for good, or null. */
  gone(): string | null;
  /** Ends it. */
  stop(): Promise<void>;
}

const AGAIN_MS = 100;
/** Longer than an instance takes to stop (22 s of grace, and what it writes then). */
const STOP_MS = 90_000;
const UNIT_NAME = /^[\w@.:\\-]+\.service$/;

/** Null: nothing runs. Throws CommandError where it cannot be stopped and started from here. */
export async function findRunning(dataDir: string, binary: string, clock: Clock): Promise<Running | null> {
  for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
    const lock = takeLock(dataDir, "command");
    if (lock.kind === "locked") {
      lock.release();
      return null;
    }
    // A command is soon through; who has only just begun will soon be known.
    if (lock.pid !== null && !lock.byCommand) return inspect(lock.pid, dataDir, binary);
    if (waitedMs >= 10_000)
      throw new CommandError(
        `Something holds ${dataDir}, and it is not known what: stop pombo yourself, then run this again. Nothing was changed.`,
      );
    await pause(clock);
  }
}

function inspect(pid: number, dataDir: string, binary: string): Running {
  if (pid === 1)
    throw new CommandError(
      "This pombo is the first process of a container: update it by its image, with the same volume. Nothing was changed.",
    );
  const at = `/proc/${pid}`;
  let executable: string;
  let found: Running;
  try {
    executable = readlinkSync(`${at}/exe`).replace(/ \(deleted\)$/, "");
    const words = (file: string) => readFileSync(`${at}/${file}`, "utf8").split("\0");
    const env = words("environ").filter((line) => line.includes("="));
    const { uid, gid } = statSync(at);
    found = {
      pid,
      unit: unitOf(pid),
      args: words("cmdline").slice(1, -1),
      cwd: readlinkSync(`${at}/cwd`),
      env: Object.fromEntries(env.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])),
      uid,
      gid,
    };
  } catch (error) {
    throw new CommandError(
      `The pombo on ${dataDir} (process ${pid}) belongs to another user (${reasonOf(error)}): run the update as root. Nothing was changed.`,
    );
  }
  if (executable !== binary)
    throw new CommandError(
      `What runs on ${dataDir} (process ${pid}) is ${executable}, and this is ${binary}: run ${executable} update. Nothing was changed.`,
    );
  if (found.unit !== null && !found.unit.isUsers && process.geteuid?.() !== 0)
    throw new CommandError(
      `systemd runs this pombo (${found.unit.name}): run the update as root. Nothing was changed.`,
    );
  return found;
}

/** The systemd unit whose main process it is. */
function unitOf(pid: number): Unit | null {
  const path = readFileSync(`/proc/${pid}/cgroup`, "utf8")
    .split("\n")
    .map((line) => /^(?:0:|\d+:name=systemd):(.*)$/.exec(line)?.[1])
    .find((found) => found !== undefined);
  const name = path?.split("/").at(-1) ?? "";
  if (!UNIT_NAME.test(name)) return null;
  const unit = { name, isUsers: path?.includes("/user@") ?? false };
  // What a unit runs may start a pombo by hand too: a session, a job of a build.
  return systemctl(unit, ["show", "--property=MainPID", "--value"]).output.trim() === String(pid) ? unit : null;
}

/** A unit by the name that an earlier update wrote down; null: it is none. */
export function unitNamed(name: string | null): Unit | null {
  return name !== null && UNIT_NAME.test(name) ? { name, isUsers: process.geteuid?.() !== 0 } : null;
}

/** Ends it, and resolves with the directory's lock. Throws CommandError when it does not end. */
export async function stopRunning(
  running: Running,
  dataDir: string,
  clock: Clock,
): Promise<Extract<Lock, { kind: "locked" }>> {
  const { unit, pid } = running;
  if (unit !== null) mustSystemctl(unit, "stop");
  else signal(pid, "SIGTERM");
  const lock = await waitForLock(dataDir, STOP_MS, clock);
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

/** Where an instance writes to, opened before it ends: 1 and 2 of the next. */
export function outputsOf(pid: number): Outputs {
  const open = (file: string) => openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_NOCTTY);
  const outputs = [1, 2].map((number) => {
    try {
      return open(`/proc/${pid}/fd/${number}`);
    } catch {
      return open("/dev/null");
    }
  });
  return [outputs[0] ?? 1, outputs[1] ?? 2];
}

export function startUnit(unit: Unit): Started {
  systemctl(unit, ["reset-failed"]);
  mustSystemctl(unit, "start");
  return {
    gone: () =>
      systemctl(unit, ["is-failed"]).code === 0
        ? `systemd has given ${unit.name} up: journalctl -u ${unit.name}`
        : null,
    stop: () => Promise.resolve(mustSystemctl(unit, "stop")),
  };
}

export function startByHand(binary: string, running: Running, outputs: Outputs, clock: Clock): Started {
  const isOthers = process.geteuid?.() === 0 && running.uid !== 0;
  const child = spawn(binary, running.args, {
    cwd: running.cwd,
    env: running.env,
    // A session of its own: it goes on when the update's screen is gone.
    detached: true,
    stdio: ["ignore", ...outputs],
    ...(isOthers ? { uid: running.uid, gid: running.gid } : {}),
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
    gone: () => gone,
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
    const gone = started.gone();
    if (gone !== null) return gone;
    const isWell = await isAnswering(dataDir, ASK_MS);
    const now = clock.now();
    wellSince = isWell ? (wellSince ?? now) : null;
    if (wellSince !== null && now - wellSince >= SETTLED_MS) return null;
    if (wellSince === null && now - beganAt >= READY_MS) return `it does not answer after ${READY_MS / 1000} s`;
    await pause(clock);
  }
}

function mustSystemctl(unit: Unit, verb: "start" | "stop"): void {
  const { code, output } = systemctl(unit, [verb]);
  if (code !== 0) throw new CommandError(`systemctl ${verb} ${unit.name} failed: ${output.trim()}`);
}

function systemctl(unit: Unit, words: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(
    "systemctl",
    [...(unit.isUsers ? ["--user"] : []), ...words, "--", unit.name],
    { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
  );
  return { code: status, output: `${stdout ?? ""}${stderr ?? ""}` };
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

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
