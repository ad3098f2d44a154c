import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import { StartError } from "../../platform/errors.ts";
import { placesOf } from "./config.ts";
import { controlBy, type DaemonControl } from "./control.ts";
import type { DaemonTools } from "./tools.ts";

// A daemon that outlived its pombo (kill -9). Two of them on one database would spoil the replica: it is stopped
// before another is started. It is found by its socket, or by the number noted when it was started.

/** What is needed to find it. */
type Known = Pick<DaemonTools, "places" | "folder">;

const END_LIMIT_MS = 20_000;
const KILL_LIMIT_MS = 2_000;
const LOOK_EVERY_MS = 50;

const notedIn = (folder: string) => join(folder, "pid");

/** Remembers the daemon that was just started. */
export function notePid({ folder }: Pick<DaemonTools, "folder">, pid: number): void {
  writeFileSync(notedIn(folder), `${pid}\n`, { mode: 0o600 });
}

/** Ends it in order, or by force; the pid, or null where there is none. Throws StartError when the socket is another's. */
export async function endOrphan(tools: Known, control: DaemonControl, clock: Clock): Promise<number | null> {
  const answering = await control.pid();
  if (answering !== null && !isDaemonOf(answering, tools)) {
    throw new StartError(
      `Process ${answering} answers on ${tools.places.socket} and is not pombo's Litestream: end it, then start pombo again.`,
    );
  }
  const pid = answering ?? notedPid(tools);
  if (pid === null || !isDaemonOf(pid, tools)) return null;
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
export async function endDaemonOf(dataDir: string, databaseFile: string, clock: Clock): Promise<void> {
  const places = placesOf(dataDir, databaseFile);
  await endOrphan({ places, folder: dirname(places.config) }, controlBy(places.socket), clock);
}

async function isGone(pid: number, tools: Known, wait: { clock: Clock; limitMs: number }): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < wait.limitMs; waitedMs += LOOK_EVERY_MS) {
    if (!isDaemonOf(pid, tools)) return true;
    await new Promise<void>((resolve) => wait.clock.after(LOOK_EVERY_MS, resolve));
  }
  return false;
}

/** Its command line names our configuration: a number may long be another process's. */
function isDaemonOf(pid: number, { places }: Known): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words.includes("replicate") && [places.config, places.snapshotConfig].some((each) => words.includes(each));
  } catch {
    return false;
  }
}

function notedPid({ folder }: Known): number | null {
  try {
    const pid = Number(readFileSync(notedIn(folder), "utf8"));
    return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
  } catch {
    return null;
  }
}
