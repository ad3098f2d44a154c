/** A small file system for a data directory, in a mount namespace that only the scenario's processes see, and its filling to the last byte. */
import { closeSync, cpSync, fstatSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Child, spawnCommand } from "./child.ts";
import { canUnshare } from "./namespace.ts";

const namespace = canUnshare();

/** Whether this machine permits it; a test that needs it says so where it skips. */
export const hasSmallDisks = namespace !== null;

export interface SmallDisk {
  /** Put before a command, which then sees the disk in its place. */
  enter: string[];
  /** The directory on it, as others reach it; SQLite opens no file by this name. */
  directory: string;
  /** Takes the space that is free, but so many bytes. */
  fill(leftBytes?: number): void;
  /** Gives it back. */
  clear(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Moves `directory` onto a file system of its own, which lives as long as this object. */
export async function mountSmallDisk(directory: string, mebibytes: number): Promise<SmallDisk> {
  const seed = `${directory}.seed`;
  cpSync(directory, seed, { recursive: true, preserveTimestamps: true });
  rmSync(directory, { recursive: true });
  mkdirSync(directory, { mode: 0o700 });
  const mount = `mount -t tmpfs -o size=${mebibytes}m,mode=700 tmpfs '${directory}' && cp -a '${seed}/.' '${directory}/'`;
  const holder: Child = spawnCommand([...(namespace ?? []), "sh", "-c", `${mount} && echo mounted && exec sleep 3600`]);
  await holder.until("the disk is mounted", () => holder.stdout().includes("mounted"));
  const isOwnUser = namespace?.includes("-rm") === true;
  const seen = `/proc/${holder.pid}/root${directory}`;
  const ballast = join(seen, "ballast");
  return {
    enter: ["nsenter", "-t", String(holder.pid), "-m", ...(isOwnUser ? ["-U", "--preserve-credentials"] : [])],
    directory: seen,
    fill: (leftBytes = 0) => fill(ballast, leftBytes),
    clear: () => rmSync(ballast, { force: true }),
    [Symbol.asyncDispose]: () => holder[Symbol.asyncDispose](),
  };
}

function fill(file: string, leftBytes: number): void {
  const descriptor = openSync(file, "a");
  try {
    for (const size of [1024 * 1024, 64 * 1024, 4096, 1]) writeUntilFull(descriptor, size);
    if (leftBytes > 0) ftruncateSync(descriptor, Math.max(0, fstatSync(descriptor).size - leftBytes));
  } finally {
    closeSync(descriptor);
  }
}

function writeUntilFull(descriptor: number, size: number): void {
  try {
    while (writeSync(descriptor, Buffer.alloc(size)) === size);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
