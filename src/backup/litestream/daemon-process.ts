// The daemon's process: started, and ended where it outlived its pombo (kill -9), since two of them on one database
// would spoil the lineage. It is found by its socket, or by the pid noted when it was started.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import { StartError } from "../../platform/errors.ts";
import { getPlaces } from "./config.ts";
import { openControl, type DaemonControl } from "./control.ts";
import type { DaemonChild } from "./supervisor.ts";
import type { DaemonTools } from "./tools.ts";

/** The paths by which a running daemon is found. */
type Known = Pick<DaemonTools, "places" | "folder">;

const END_LIMIT_MS = 20_000;
const KILL_LIMIT_MS = 2_000;
const LOOK_EVERY_MS = 50;

const getPidFile = (folder: string) => join(folder, "pid");

const LINE_MAX = 8_192;

/** Starts the daemon for good; its output comes line by line. */
export function spawnDaemon(tools: DaemonTools, line: (text: string) => void): DaemonChild {
  const { path, places, environment } = tools;
  const child = Bun.spawn([path, "replicate", "-config", places.config, "-no-expand-env"], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: environment,
    // Ctrl+C at a terminal is for pombo only, which ends it when all is copied.
    detached: true,
  });
  try {
    writeFileSync(getPidFile(tools.folder), `${child.pid}\n`, { mode: 0o600 });
  } catch (error) {
    // A full disk, for example: a daemon that nobody knows of would go on beside the next.
    child.kill("SIGKILL");
    throw error;
  }
  const read = Promise.all([readLines(child.stdout, line), readLines(child.stderr, line)]);
  const ended = child.exited.then(async () => {
    await read;
    return child.exitCode;
  });
  return {
    pid: child.pid,
    ended,
    kill(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    },
  };
}

async function readLines(from: ReadableStream<Uint8Array>, line: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of from) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = (lines.pop() ?? "").slice(0, LINE_MAX);
    for (const each of lines) if (each.trim() !== "") line(each.slice(0, LINE_MAX));
  }
  if (rest.trim() !== "") line(rest);
}

/** Ends it in order, or by force; the pid, or null where there is none. Throws StartError when the socket is another's. */
export async function endOrphan(tools: Known, control: DaemonControl, clock: Clock): Promise<number | null> {
  const answering = await control.pid();
  if (answering !== null && !isOurDaemon(answering, tools)) {
    throw new StartError(
      `Process ${answering} answers on ${tools.places.socket} and is not pombo's Litestream: end it, then start pombo again.`,
    );
  }
  const pid = answering ?? readPid(tools);
  if (pid === null || !isOurDaemon(pid, tools)) return null;
  process.kill(pid, "SIGTERM");
  if (!(await isGone(pid, tools, { clock, limitMs: END_LIMIT_MS }))) {
    process.kill(pid, "SIGKILL");
    await isGone(pid, tools, { clock, limitMs: KILL_LIMIT_MS });
  }
  rmSync(tools.places.socket, { force: true });
  return pid;
}

/**
 * The same of a data directory, whatever its configuration says now: before its database is put in the place of
 * another. A daemon that went on would mix pages of both in the replica, which could not be restored any more.
 */
export async function endOrphanDaemon(dataDir: string, databaseFile: string, clock: Clock): Promise<void> {
  const places = getPlaces(dataDir, databaseFile);
  await endOrphan({ places, folder: dirname(places.config) }, openControl(places.socket), clock);
}

async function isGone(pid: number, tools: Known, wait: { clock: Clock; limitMs: number }): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < wait.limitMs; waitedMs += LOOK_EVERY_MS) {
    if (!isOurDaemon(pid, tools)) return true;
    await new Promise<void>((resolve) => wait.clock.after(LOOK_EVERY_MS, resolve));
  }
  return false;
}

/** Its command line names our configuration: a number may long be another process's. */
function isOurDaemon(pid: number, { places }: Known): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words.includes("replicate") && words.includes(places.config);
  } catch {
    return false;
  }
}

function readPid({ folder }: Known): number | null {
  try {
    const pid = Number(readFileSync(getPidFile(folder), "utf8"));
    return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
  } catch {
    return null;
  }
}
