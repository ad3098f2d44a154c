// The catalog: the list of a replica's lineages, a tiny database that the daemon's commands replicate.
//
// sftp and S3 by a machine's role can be reached by the daemon only, so a listing of prefixes is not to be had
// everywhere. Each write begins without local state: the daemon then counts on behind the newest file of level 0,
// and puts the whole database into the next one. With no daemon running here nothing is ever ahead of level 0.

import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CATALOG, formatCatalogConfig } from "./config.ts";
import { deletePrefix } from "./delete-prefix.ts";
import { readRecord, writeRecord } from "./record.ts";
import {
  getReason,
  inspectLineages,
  type Inspection,
  type Lineage,
  listNumbers,
  type ReplicaState,
} from "./replica.ts";
import type { DaemonTools } from "./tools.ts";

export type Catalog =
  /** The oldest first; none: the replica is empty. */
  { kind: "read"; lineages: Lineage[] } | { kind: "broken"; reason: string } | { kind: "unreachable"; reason: string };

export async function readCatalog(tools: DaemonTools, limitMs: number): Promise<Catalog> {
  return withScratch(tools, async (file) => {
    const how = { config: formatCatalogConfig(tools.replication, file), limitMs };
    const { code, err } = await tools.run(["restore", "-if-replica-exists", "-o", file], [file], how);
    if (code === 0) {
      const lineages = existsSync(file) ? readLineages(file) : [];
      return lineages === null ? { kind: "broken", reason: "it holds no list" } : { kind: "read", lineages };
    }
    const reason = getReason(code, err, limitMs);
    const isListed = code !== null && !("reason" in (await listNumbers(tools, file, { ...how, level: "all" })));
    return { kind: isListed ? "broken" : "unreachable", reason };
  });
}

/** The number of its last file, 0: there is none, and so no lineage is found. Cheaper than to read it. */
export async function listCatalog(tools: DaemonTools, limitMs: number) {
  const file = join(tools.folder, "catalog.db");
  const config = formatCatalogConfig(tools.replication, file);
  return listNumbers(tools, file, { config, limitMs, level: "0" });
}

/** Where level 0 was removed, numbers begin anew, and older copies hide what is written until they are passed. */
const MAX_WRITES = 100;

/** Why it could not be written; null: it is in the replica. */
export async function writeCatalog(tools: DaemonTools, lineages: Lineage[], limitMs: number): Promise<string | null> {
  for (let count = 0; count < MAX_WRITES; count += 1) {
    const failure = await withScratch(tools, async (file) => {
      writeRecord(file, lineages);
      const how = { config: formatCatalogConfig(tools.replication, file), limitMs };
      const { code, err } = await tools.run(["replicate", "-once", "-force-snapshot", "-enforce-retention"], [], how);
      return code === 0 ? null : getReason(code, err, limitMs);
    });
    if (failure !== null) return failure;
    const read = await readCatalog(tools, limitMs);
    if (read.kind === "unreachable") return read.reason;
    if (read.kind === "read" && Bun.deepEquals(read.lineages, lineages)) return null;
  }
  return "older copies of it stand in the way";
}

/** The same where it is damaged: its last file may make every write fail, so that all of them are deleted then. */
export async function rewriteCatalog(tools: DaemonTools, lineages: Lineage[], limitMs: number): Promise<string | null> {
  const failure = await writeCatalog(tools, lineages, limitMs);
  if (failure === null) return null;
  const isDeleted = await deletePrefix(tools, CATALOG, limitMs).catch(() => false);
  return isDeleted ? writeCatalog(tools, lineages, limitMs) : failure;
}

const SCRATCH = "catalog-";

/** Removes what commands that were killed have left. None may run. */
export function removeCatalogScratch(folder: string): void {
  for (const name of readdirSync(folder))
    if (name.startsWith(SCRATCH)) rmSync(join(folder, name), { recursive: true, force: true });
}

async function withScratch<T>({ folder }: DaemonTools, work: (file: string) => Promise<T>): Promise<T> {
  const scratch = mkdtempSync(join(folder, SCRATCH));
  try {
    return await work(join(scratch, "catalog.db"));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function readLineages(file: string): Lineage[] | null {
  const found = readRecord(file);
  return Array.isArray(found) ? (found as Lineage[]) : null;
}

/** Finds the backup that a restore would use, and lists all lineages. */
export async function inspectReplica(
  tools: DaemonTools,
  how: Inspection,
): Promise<{ replica: ReplicaState; lineages: Lineage[] }> {
  const catalog = await readCatalog(tools, how.limitMs);
  if (catalog.kind === "read")
    return { replica: await inspectLineages(tools, catalog.lineages, how), lineages: catalog.lineages };
  if (catalog.kind === "unreachable") return { replica: { kind: "unreachable", reason: catalog.reason }, lineages: [] };
  const reason = `its catalog is damaged (${catalog.reason})`;
  return { replica: { kind: "broken", lineage: "", reason, transaction: 0 }, lineages: [] };
}
