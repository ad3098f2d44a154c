// What memory a process holds, as the kernel counts it.

import { readFileSync } from "node:fs";

const KIB = 1024;

export interface Resident {
  /** Bytes now, the pages of the executable and of shared files included. */
  now: number;
  /** The most since the process started. */
  peak: number;
}

/** @throws Error when the process has ended. */
export function readResident(pid: number): Resident {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return { now: field(status, "VmRSS"), peak: field(status, "VmHWM") };
}

/** proc(5): `VmRSS:     118728 kB`, where kB are KiB. */
function field(status: string, name: string): number {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
  if (kib === undefined) throw new Error(`no ${name} in the status of the process`);
  return Number(kib) * KIB;
}

/** In millions of bytes, the stricter reading of MB. */
export function megabytes(bytes: number): number {
  return bytes / 1e6;
}
