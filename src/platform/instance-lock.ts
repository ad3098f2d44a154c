// One instance per data directory. <data_dir>/lock is an SQLite file held in BEGIN EXCLUSIVE for life:
// the lock is the kernel's, so it is gone the moment its holder is, kill -9 included, and no stale file
// can keep an instance from starting. lock.pid beside it only names the holder for the second starter's
// message; a full disk has no room for it.
//
// POSIX drops all of a process's locks on a file when the process closes any descriptor of it. So this
// process must never open <data_dir>/lock in any other way than through SQLite, which knows the rule.

import { Database } from "bun:sqlite";
import { closeSync, lstatSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "./clock.ts";
import { createAccessError, getErrorCode, getErrorMessage, StartError } from "./errors.ts";
import { readPlainFile } from "./data-files.ts";

/** `byCommand`: one of the operator's commands has it and will soon be through; an instance has it for life. */
export type Lock = { kind: "locked"; release(): void } | { kind: "held"; pid: number | null; byCommand?: true };

const PID_TEXT_MAX = 30;

/** Behind the PID of a command. */
const COMMAND = " command";

/** Open locks are kept from the garbage collector here: a collected Database closes its file and frees the lock. */
const openLocks = new Set<Database>();

/** An instance holds it for life, a command for a moment. */
export type Purpose = "instance" | "command";

/** Files that are locks: of the directory and what is in it; of an update, which lets go of the first in between; of a restore drill. */
export type LockFile = "lock" | "update.lock" | "drill.lock";

/**
 * Takes the lock of a data directory, at once or not at all. `pid` is the holder's, null when it is not
 * known (it has only just started, or runs in another container). `release` may be called twice.
 * Throws StartError when the directory cannot be used.
 */
export function takeLock(dataDir: string, purpose: Purpose = "instance", name: LockFile = "lock"): Lock {
  // Root becomes the directory's owner before it touches anything there (cli/client/data-owner.ts).
  if (process.geteuid?.() === 0 && (statSync(dataDir, { throwIfNoEntry: false })?.uid ?? 0) !== 0)
    throw new Error(`root was about to work on ${dataDir}, which belongs to another user`);
  const path = join(dataDir, name);
  const pidPath = join(dataDir, `${name}.pid`);
  const database = openLockFile(path, dataDir);
  try {
    database.run("PRAGMA busy_timeout = 0");
    // In memory: a full disk has no room for a journal, and nothing is ever committed.
    database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (getErrorCode(error).startsWith("SQLITE_BUSY")) return { kind: "held", ...readHolder(pidPath) };
    throw unusable(path, error);
  }
  openLocks.add(database);
  try {
    writeHolder(pidPath, purpose);
  } catch (error) {
    if (getErrorCode(error) !== "ENOSPC") {
      free(database);
      throw unusable(pidPath, error);
    }
    rmSync(`${pidPath}.new`, { force: true });
  }
  return { kind: "locked", release: () => release(database, pidPath) };
}

/** How long an instance waits for a command that has the lock; and for a holder that is not known (yet). */
const COMMAND_PATIENCE_MS = 30_000;
const UNKNOWN_PATIENCE_MS = 1_000;
const AGAIN_MS = 50;

/** The same for an instance that starts: what a command has, it waits for; what another instance has, it does not. */
export async function takeInstanceLock(dataDir: string, clock: Clock): Promise<Lock> {
  for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
    const lock = takeLock(dataDir, "instance");
    if (lock.kind === "locked") return lock;
    const patienceMs = lock.byCommand ? COMMAND_PATIENCE_MS : lock.pid === null ? UNKNOWN_PATIENCE_MS : 0;
    if (waitedMs >= patienceMs) return lock;
    await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
  }
}

function release(database: Database, pidPath: string): void {
  if (!openLocks.has(database)) return;
  // Before the lock is free: after that the file may be the next holder's.
  rmSync(pidPath, { force: true });
  free(database);
}

function free(database: Database): void {
  openLocks.delete(database);
  database.close();
}

function openLockFile(path: string, dataDir: string): Database {
  try {
    // SQLite would create it readable by others. "ax" opens nothing when it exists (see above).
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if (getErrorCode(error) === "ENOENT") {
      throw new StartError(
        `The data directory ${dataDir} does not exist: create it with pombo init, or correct data_dir.`,
      );
    }
    if (getErrorCode(error) !== "EEXIST") throw unusable(path, error);
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    throw new StartError(`${path} is not the lock file of pombo: find out who put it there, and delete it.`);
  try {
    return new Database(path, { readwrite: true });
  } catch (error) {
    throw unusable(path, error);
  }
}

/** Renamed into place, so that a reader never sees half a number. */
function writeHolder(pidPath: string, purpose: Purpose): void {
  const draft = `${pidPath}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${process.pid}${purpose === "command" ? COMMAND : ""}\n`, { mode: 0o600, flag: "wx" });
  renameSync(draft, pidPath);
}

/** The file may still be that of a holder killed earlier: a PID that no longer lives is left out. */
function readHolder(pidPath: string): { pid: number | null; byCommand?: true } {
  try {
    const text = readPlainFile(pidPath, PID_TEXT_MAX) ?? "";
    const [, digits, command] = /^([1-9]\d*)( command)?\n$/.exec(text) ?? [];
    if (digits === undefined || !isAlive(Number(digits))) return { pid: null };
    return { pid: Number(digits), ...(command === undefined ? {} : { byCommand: true }) };
  } catch {
    return { pid: null };
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return getErrorCode(error) === "EPERM";
  }
}

function unusable(path: string, error: unknown): StartError {
  if (getErrorCode(error) === "SQLITE_NOTADB") {
    return new StartError(`${path} is not the lock file of pombo. Nothing is kept in it: delete it.`);
  }
  const reason = getErrorMessage(error);
  return createAccessError(
    error,
    `${path} cannot be used (${reason}): run pombo as the user that owns the data directory, and see that its disk is writable and not full.`,
  );
}

export function describeHolder(pid: number | null): string {
  return pid === null ? "Another pombo" : `Another pombo (process ${pid})`;
}

export function lockHeld(dataDir: string, pid: number | null): string {
  return `${describeHolder(pid)} is running on ${dataDir}. Stop it first, or give this one a data_dir of its own; nothing was written or sent.`;
}
