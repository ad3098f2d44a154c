// Child processes of the benchmark and the interoperability run: start them, wait for them, read
// their CPU time, stop every one of them by its pid. Nothing here touches a process it did not
// start. Used by bench/ and test/e2e/interop/ only; unit tests need no child processes.

import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";

/** Where private instances keep their files: on disk even where /tmp is memory, since fsync is measured. */
const FOLDER_PARENT = "/var/tmp";
/** Linux reports CPU time in ticks of 1/100 s on every architecture Bun runs on (USER_HZ). */
const TICKS_PER_SECOND = 100;
const STOP_GRACE_MS = 10_000;
const LISTENER_TIMEOUT_MS = 10_000;
const POLL_MS = 25;
/** What a shell reports for a program ended by Ctrl-C. */
const INTERRUPTED = 130;

export interface Running {
  readonly pid: number;
  readonly logFile: string;
  /** All that the process has written to stdout and stderr so far. */
  output(): string;
  isAlive(): boolean;
  /** SIGTERM, then SIGKILL after ten seconds; resolves when the process is gone. */
  stop(): Promise<void>;
}

/** Children that have not ended. A program that is interrupted in the middle stops them by this list. */
const children = new Set<Bun.Subprocess>();

/** Starts `command` with stdout and stderr in `logFile`. */
export function startProcess(options: { command: string[]; logFile: string; env?: Record<string, string> }): Running {
  const log = openSync(options.logFile, "w");
  const child = Bun.spawn(options.command, {
    stdin: "ignore",
    stdout: log,
    stderr: log,
    env: { ...process.env, ...options.env },
  });
  closeSync(log);
  remember(child);
  return {
    pid: child.pid,
    logFile: options.logFile,
    output: () => readFileSync(options.logFile, "utf8"),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    stop: () => stopChild(child),
  };
}

function remember(child: Bun.Subprocess): void {
  children.add(child);
  void child.exited.finally(() => children.delete(child));
}

async function stopChild(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGTERM");
  const killer = setTimeout(() => child.kill("SIGKILL"), STOP_GRACE_MS);
  await child.exited;
  clearTimeout(killer);
}

export interface Finished {
  exitCode: number;
  output: string;
}

/** Runs `command` to its end; stdout and stderr joined. Never throws on a bad exit code. */
export async function run(command: string[], env: Record<string, string> = {}): Promise<Finished> {
  const child = Bun.spawn(command, {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...env },
  });
  remember(child);
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, output: out + err };
}

/** Runs `command` to its end where its output is seen as it comes. @returns its exit code */
export async function runShown(
  command: string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<number> {
  const child = Bun.spawn(command, {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
  });
  remember(child);
  return child.exited;
}

/** Like `run`, for steps that must work. @throws Error naming the command and what it said. */
export async function mustRun(command: string[], env: Record<string, string> = {}): Promise<string> {
  const finished = await run(command, env);
  if (finished.exitCode === 0) return finished.output;
  throw new Error(`${command.join(" ")} ended with ${finished.exitCode}:\n${finished.output}`);
}

/** What has been started, in order; `close` stops it in the opposite order. */
export class Cleanup {
  readonly #closers: (() => Promise<unknown> | void)[] = [];

  add(closer: () => Promise<unknown> | void): void {
    this.#closers.push(closer);
  }

  /** A part with an end of its own, which this one also ends when it comes first. */
  part(): Cleanup {
    const part = new Cleanup();
    this.add(() => part.close());
    return part;
  }

  /** Every closer runs, even after one of them has failed. */
  async close(): Promise<void> {
    for (let closer = this.#closers.pop(); closer; closer = this.#closers.pop()) {
      try {
        await closer();
      } catch (error) {
        console.error(`cleanup: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}

/** Runs a whole program: its exit code becomes the process's, and Ctrl-C too stops what was started. */
export async function runProgram(program: (cleanup: Cleanup) => Promise<number>): Promise<never> {
  const cleanup = new Cleanup();
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
    // First the closers, for what is not our child (Postfix's master); then whatever they did not know.
    void cleanup
      .close()
      .then(() => Promise.all([...children].map(stopChild)))
      .finally(() => process.exit(INTERRUPTED));
  };
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  let exitCode = 1;
  try {
    exitCode = await program(cleanup);
  } catch (error) {
    // What an interruption breaks off is no news.
    if (!isInterrupted) console.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  // An interruption ends the process itself, once all is stopped.
  if (isInterrupted) return new Promise<never>(() => {});
  await cleanup.close();
  process.exit(exitCode);
}

/** A new folder that other users may enter (Postfix works as its own user), removed at the end. */
export function makeFolder(name: string, cleanup: Cleanup, isKept = false): string {
  const folder = mkdtempSync(join(FOLDER_PARENT, `pombo-${name}-`));
  chmodSync(folder, 0o755);
  cleanup.add(() => {
    if (isKept) console.error(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/**
 * A loopback TCP port that nothing listens at, for what cannot choose one itself or comes back at the same one. Below
 * the range that systems give to outgoing connections, so that no connection takes it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => void server.close(() => resolve(true)));
  });
}

/** Asks again until `claim` holds. @throws Error naming `what` after `timeoutMs`. */
export async function waitUntil(
  what: string,
  timeoutMs: number,
  claim: () => boolean | Promise<boolean>,
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await claim())) {
    if (performance.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await Bun.sleep(POLL_MS);
  }
}

/** Resolves once something accepts connections at the port (on 127.0.0.1 unless told) or socket path. */
export function waitForListener(where: number | string, host = "127.0.0.1"): Promise<void> {
  return waitUntil(`a listener at ${where}`, LISTENER_TIMEOUT_MS, () => canConnect(where, host));
}

function canConnect(where: number | string, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = typeof where === "number" ? connect(where, host) : connect(where);
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}

interface ProcessTimes {
  parent: number;
  ticks: number;
}

/** CPU seconds (user + system) of a process and of all its descendants, ended ones included. */
export function cpuSeconds(root: number): number {
  const times = new Map<number, ProcessTimes>();
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    const found = Number.isInteger(pid) ? readTimes(pid) : null;
    if (found) times.set(pid, found);
  }
  let ticks = 0;
  for (const [pid, time] of times) {
    if (isDescendant(pid, root, times)) ticks += time.ticks;
  }
  return ticks / TICKS_PER_SECOND;
}

/** CPU seconds that all processes of the machine have used since it started, waiting for the disk not counted. */
export function machineCpuSeconds(): number {
  // proc(5), first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, …
  const ticks = (readFileSync("/proc/stat", "latin1").split("\n")[0] ?? "").trim().split(/\s+/).slice(1, 8).map(Number);
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0);
  return (ticks.reduce((sum, part) => sum + part, 0) - idle) / TICKS_PER_SECOND;
}

function readTimes(pid: number): ProcessTimes | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return null; // it ended between the listing and the reading
  }
  // proc(5): the command in parentheses may hold spaces; after it come state, ppid, …, and
  // utime, stime, cutime, cstime as fields 14 to 17.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), ticks };
}

function isDescendant(pid: number, root: number, times: Map<number, ProcessTimes>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 1; at = times.get(at)?.parent) {
    if (at === root) return true;
  }
  return false;
}
