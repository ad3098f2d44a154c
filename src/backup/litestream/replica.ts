// Reads the replica with the daemon's own commands, since only they support sftp and every way to sign in to S3.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { formatDaemonConfig, getStateFolder, type Places } from "./config.ts";
import { explainNoCredentials } from "./daemon-log.ts";
import { readRecord, removeDatabase } from "./record.ts";
import type { DaemonTools } from "./tools.ts";

export type ReplicaState =
  | { kind: "empty" }
  /** `transaction`: the daemon's number of the last one in it; `at`: when that was written, Unix ms. */
  | { kind: "backup"; lineage: string; transaction: number; at: number }
  /** Files are missing between those that are there: the last state cannot be restored. `transaction`: the last one seen. */
  | { kind: "broken"; lineage: string; reason: string; transaction: number }
  | { kind: "unreachable"; reason: string };

/** The instance that writes to a lineage. A second writer would destroy the lineage for both. */
export interface Owner {
  /** The fact instance_id of the database. */
  instance: string;
  /** The start that has been writing to it. */
  boot: string;
  /** The name of its machine. */
  host: string;
  /** Unix ms. */
  startedAt: number;
  /** When it ended in order; null: it runs, or was cut off. */
  endedAt: number | null;
}

/** A lineage: one prefix of the replica, with the history of one database from a whole copy on. Who began it. */
export interface Lineage extends Omit<Owner, "endedAt"> {
  /** A UUIDv7 that sorts after all before it. */
  id: string;
  /** When its first whole copy was seen in the replica, Unix ms; null: not yet. */
  wholeAt: number | null;
}

export interface Inspection {
  limitMs: number;
  /** As it was then or before, Unix ms; null: as it is. */
  time?: number | null;
  /** Which of the two databases of a lineage. */
  part?: "database" | "owner";
}

interface Plan {
  max_txid: string;
  files: { timestamp: string }[];
}

/** Looks what a lineage holds, without fetching it. */
export async function inspectLineage(
  tools: DaemonTools,
  lineage: string,
  { limitMs, time = null, part = "database" }: Inspection,
  // A connection that broke looks the same as a file that is missing: only two in a row count.
  isFirst = true,
): Promise<ReplicaState> {
  const { run, places, replication } = tools;
  const how = { config: formatDaemonConfig(replication, places, lineage), limitMs };
  const { code, out, err } = await run(["restore", "-dry-run", "-json", ...until(time)], [places[part]], how);
  if (code === 0) {
    const plan = JSON.parse(out) as Plan;
    const at = Math.max(...plan.files.map(({ timestamp }) => Date.parse(timestamp)));
    return { kind: "backup", lineage, transaction: Number.parseInt(plan.max_txid, 16), at };
  }
  if (code === null) return { kind: "unreachable", reason: getReason(code, err, limitMs) };
  const listed = await listNumbers(tools, places[part], { ...how, level: "all" });
  if ("reason" in listed) return { kind: "unreachable", ...listed };
  if (listed.last === 0) return { kind: "empty" };
  if (isFirst) return inspectLineage(tools, lineage, { limitMs, time, part }, false);
  if (time !== null && (await inspectLineage(tools, lineage, { limitMs })).kind === "backup") return { kind: "empty" };
  const reason = `files are missing in it (${getReason(code, err, limitMs)})`;
  return { kind: "broken", lineage, reason, transaction: listed.last };
}

/**
 * What a restore takes: the newest lineage with a whole copy. One that was whole and is not any more is not passed
 * over, or a restore would silently bring back what the one before it ended with.
 */
export async function inspectLineages(
  tools: DaemonTools,
  lineages: readonly Lineage[],
  how: Inspection,
): Promise<ReplicaState> {
  for (const { id, wholeAt, startedAt } of lineages.toReversed()) {
    const state = await inspectLineage(tools, id, how);
    if (state.kind === "unreachable" || state.kind === "backup") return state;
    // Begun after the time that is looked for: a damaged one does not stand in the way.
    if (state.kind === "broken" && typeof how.time === "number" && startedAt > how.time) continue;
    if (wholeAt === null || (state.kind === "empty" && (how.time ?? null) !== null)) continue;
    if (state.kind === "broken") return state;
    return { kind: "broken", lineage: id, reason: "all its files are gone", transaction: 0 };
  }
  return { kind: "empty" };
}

/** The number of the last file of a level, 0: there is none; or why that cannot be seen. Level 0 holds single steps. */
export async function listNumbers(
  { run }: DaemonTools,
  database: string,
  { level, ...how }: { level: "0" | "all"; config: string; limitMs: number },
): Promise<{ last: number } | { reason: string }> {
  const { code, out, err } = await run(["ltx", "-level", level, "-json"], [database], how);
  if (code !== 0) return { reason: getReason(code, err, how.limitMs) };
  const files = JSON.parse(out) as { max_txid: string }[];
  return { last: Math.max(0, ...files.map(({ max_txid: last }) => Number.parseInt(last, 16))) };
}

export function getReason(code: number | null, err: string, limitMs: number): string {
  return code === null ? `it did not answer within ${limitMs / 1_000} s` : getLastLine(err);
}

/** A database may take long to come: it is waited for. */
const RESTORE_LIMIT_MS = 48 * 3_600_000;

/**
 * Brings what a lineage holds (of the time `at` or before, Unix ms) into the new file `to`, checked by SQLite;
 * why that failed, or null. `how` full: every index is compared with its table too.
 */
export async function restoreLineage(
  { run, places, replication }: DaemonTools,
  lineage: string,
  { to, at = null, how }: { to: string; at?: number | null; how: "quick" | "full" },
): Promise<string | null> {
  const words = ["restore", "-integrity-check", how, ...until(at), "-o", to];
  const config = formatDaemonConfig(replication, places, lineage);
  const { code, err } = await run(words, [places.database], { config, limitMs: RESTORE_LIMIT_MS });
  return code === 0 ? null : getLastLine(err);
}

function until(at: number | null): string[] {
  return at === null ? [] : ["-timestamp", new Date(at).toISOString()];
}

/** Whose the newest lineage is; null: there is none. Throws when that cannot be read. */
export async function readOwner(
  { run, places, folder, replication }: DaemonTools,
  lineages: readonly Lineage[],
  limitMs: number,
): Promise<Owner | null> {
  const newest = lineages.at(-1);
  if (newest === undefined) return null;
  const scratch = join(folder, "owner-of-replica.db");
  removeDatabase(scratch);
  try {
    const config = formatDaemonConfig(replication, places, newest.id);
    const words = ["restore", "-if-replica-exists", "-o", scratch];
    const { code, err } = await run(words, [places.owner], { config, limitMs });
    if (code !== 0) throw new Error(getReason(code, err, limitMs));
    // Until its owner is in the replica the catalog says who began it.
    return (readRecord(scratch) as Owner | null) ?? { ...newest, endedAt: null };
  } finally {
    removeDatabase(scratch);
  }
}

/** The numbers of the steps of a lineage that are here, in their order. */
export function listLocalSteps(places: Places, lineage: string, part: "database" | "owner"): number[] {
  try {
    return readdirSync(join(getStateFolder(places, lineage, part), "ltx", "0"))
      .flatMap((name) => {
        const [, found] = /^[0-9a-f]{16}-([0-9a-f]{16})\.ltx$/.exec(name) ?? [];
        return found === undefined ? [] : [Number.parseInt(found, 16)];
      })
      .toSorted((a, b) => a - b);
  } catch {
    return []; // no such folder yet
  }
}

/**
 * Why the daemon cannot go on with the steps here, null: it can. It copies from the last single step in the replica on,
 * though a snapshot may hold later ones: one that was lost before stops it for ever.
 */
export async function inspectSteps(
  tools: DaemonTools,
  lineage: string,
  state: Extract<ReplicaState, { kind: "empty" | "backup" }>,
  { limitMs, part = "database" }: Omit<Inspection, "time">,
): Promise<{ gap: string | null } | { reason: string }> {
  const { places, replication } = tools;
  const how = { config: formatDaemonConfig(replication, places, lineage), limitMs };
  const copied = state.kind === "empty" ? { last: 0 } : await listNumbers(tools, places[part], { ...how, level: "0" });
  if ("reason" in copied) return copied;
  const end = state.kind === "empty" ? 0 : state.transaction;
  return { gap: findGap(listLocalSteps(places, lineage, part), { end, copied: copied.last }) };
}

/** `end`: the last step that a restore would bring; `copied`: the last that is there as itself. Pure. */
export function findGap(steps: readonly number[], { end, copied }: { end: number; copied: number }): string | null {
  const last = steps.at(-1) ?? 0;
  if (last < end) return `it ends at step ${end}, and what is here ends at ${last}`;
  const here = new Set(steps);
  for (let step = copied + 1; step <= last; step += 1)
    if (!here.has(step)) return `step ${step} was lost here before it was copied`;
  return null;
}

function getLastLine(text: string): string {
  const line = text.trim().split("\n").at(-1) ?? "";
  return explainNoCredentials(line.replace(/^Error: /, "")).slice(0, 500) || "no reason was given";
}
