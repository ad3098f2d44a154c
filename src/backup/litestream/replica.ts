import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DaemonTools } from "./tools.ts";
import { type Owner, readOwner } from "./replica-owner.ts";
import { withCure } from "./daemon-log.ts";

// What is in the replica, by the daemon's own commands: no other code knows S3 or sftp.

export type ReplicaLook =
  | { kind: "empty" }
  /** `transaction`: the daemon's number of the last one in it; `at`: when that was written, Unix ms. */
  | { kind: "backup"; transaction: number; at: number }
  /** Files are missing between those that are there: the last state cannot be restored. `transaction`: the last one seen. */
  | { kind: "broken"; reason: string; transaction: number }
  | { kind: "unreachable"; reason: string };

/** What the daemon says where nothing can be restored. */
const NOTHING = "no matching backup files available";
const GAP = "non-contiguous ltx files";

interface Plan {
  max_txid: string;
  files: { timestamp: string }[];
}

/**
 * Looks whether the replica holds a backup (of `time` or before, Unix ms), without fetching it; of `database`, which
 * is the main one where it is left out.
 */
export async function lookAtReplica(
  { run, places }: DaemonTools,
  { limitMs, time = null, database = places.database }: { limitMs: number; time?: number | null; database?: string },
): Promise<ReplicaLook> {
  const { code, out, err } = await run(["restore", "-dry-run", "-json", ...until(time)], [database], limitMs);
  if (code === 0) {
    const plan = JSON.parse(out) as Plan;
    const at = Math.max(...plan.files.map(({ timestamp }) => Date.parse(timestamp)));
    return { kind: "backup", transaction: Number.parseInt(plan.max_txid, 16), at };
  }
  if (err.includes(NOTHING)) return { kind: "empty" };
  if (err.includes(GAP)) {
    const last = await lastStepOf({ run }, database, limitMs, "all");
    return typeof last === "number"
      ? { kind: "broken", reason: `files are missing in it (${lastLineOf(err)})`, transaction: last }
      : { kind: "unreachable", reason: last.reason };
  }
  return { kind: "unreachable", reason: reasonOf(code, err, limitMs) };
}

/**
 * The number of the last step that is in the replica, 0: there is none; or why that cannot be seen. Level 0 holds
 * single steps, the others those that were joined.
 */
export async function lastStepOf(
  { run }: Pick<DaemonTools, "run">,
  database: string,
  limitMs: number,
  level: "0" | "all" = "0",
): Promise<number | { reason: string }> {
  const { code, out, err } = await run(["ltx", "-level", level, "-json"], [database], limitMs);
  if (code !== 0) return { reason: reasonOf(code, err, limitMs) };
  const files = JSON.parse(out) as { max_txid: string }[];
  return Math.max(0, ...files.map(({ max_txid: last }) => Number.parseInt(last, 16)));
}

function reasonOf(code: number | null, err: string, limitMs: number): string {
  return code === null ? `it did not answer within ${limitMs / 1_000} s` : lastLineOf(err);
}

/** A database may take long to come: it is waited for. */
const BRING_LIMIT_MS = 48 * 3_600_000;

/**
 * Brings what the replica holds (of the time `at` or before, Unix ms) into the new file `to`, checked by SQLite;
 * why that failed, or null. `how` full: every index is compared with its table too.
 */
export async function bringFromReplica(
  { run, places }: DaemonTools,
  to: string,
  { at = null, how }: { at?: number | null; how: "quick" | "full" },
): Promise<string | null> {
  const words = ["restore", "-integrity-check", how, ...until(at), "-o", to];
  const { code, err } = await run(words, [places.database], BRING_LIMIT_MS);
  return code === 0 ? null : lastLineOf(err);
}

function until(at: number | null): string[] {
  return at === null ? [] : ["-timestamp", new Date(at).toISOString()];
}

/** Whose it is; null: nobody has said so. Throws when that cannot be read. */
export async function ownerOfReplica({ run, places, folder }: DaemonTools, limitMs: number): Promise<Owner | null> {
  const scratch = join(folder, "owner-of-replica.db");
  removeDatabase(scratch);
  try {
    const { code, err } = await run(["restore", "-if-replica-exists", "-o", scratch], [places.owner], limitMs);
    if (code !== 0) throw new Error(lastLineOf(err));
    return readOwner(scratch);
  } finally {
    removeDatabase(scratch);
  }
}

/** The number of the last transaction that the daemon has put down here; null: none. */
export function localTransaction(state: string): number | null {
  return localSteps(state).at(-1) ?? null;
}

/** The numbers of the steps that are here, in their order. */
export function localSteps(state: string): number[] {
  try {
    return readdirSync(join(state, "ltx", "0"))
      .flatMap((name) => {
        const [, found] = /^[0-9a-f]{16}-([0-9a-f]{16})\.ltx$/.exec(name) ?? [];
        return found === undefined ? [] : [Number.parseInt(found, 16)];
      })
      .toSorted((a, b) => a - b);
  } catch {
    return []; // no such folder yet
  }
}

function removeDatabase(file: string): void {
  for (const end of ["", "-wal", "-shm", "-journal", ".tmp"]) rmSync(`${file}${end}`, { force: true });
}

function lastLineOf(text: string): string {
  const line = text.trim().split("\n").at(-1) ?? "";
  return withCure(line.replace(/^Error: /, "")).slice(0, 500) || "no reason was given";
}
