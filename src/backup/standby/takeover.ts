// Brings the database after the lease was taken: the one here goes on if it has all that was answered; otherwise it is set
// aside, and the lineage that the lease names is restored.

import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../platform/context.ts";
import { databaseFile } from "../../platform/db/open.ts";
import { StartError } from "../../platform/errors.ts";
import { findLocalLineage } from "../litestream/lineages.ts";
import { MARKER } from "../litestream/marker.ts";
import { inspectLineage, listLocalSteps } from "../litestream/replica.ts";
import type { DaemonTools } from "../litestream/tools.ts";
import { restoreForTerm } from "../restore.ts";
import type { LeaseHolder } from "./lease-holder.ts";
import type { LeaseRecord } from "./lease.ts";
import type { NodeState } from "./node-file.ts";
import type { PresenceWatch } from "./presence.ts";

const INSPECT_LIMIT_MS = 60_000;
const SET_ASIDE = "set-aside";
/** All that belongs to one database. */
const FILES = [
  "pombo.db",
  "pombo.db-wal",
  "pombo.db-shm",
  "pombo.db.before-update",
  "update.json",
  MARKER,
  "outcomes.journal",
  "litestream/lineages",
  "litestream/owner.db",
  "litestream/owner.db-wal",
  "litestream/owner.db-shm",
];

/** The lease that this machine has, and where its database is from: "first": nothing was answered under a lease yet. */
export interface HeldTerm {
  holder: Pick<LeaseHolder, "confirm" | "term">;
  standbys: PresenceWatch;
  database: "first" | "here" | "replica";
  /** Called when the replica has all of it, and the lease says where; absent: nobody waits for that. */
  settled?: () => void;
}

export interface TakeoverDeps {
  config: Config;
  environment: Environment;
  tools: DaemonTools;
}

/**
 * The database here is the one to go on with, when this resolves. `before`: the lease before this term; null: there was
 * none. Returns from where it is. Throws StartError.
 */
export async function bringDatabase(
  before: LeaseRecord | null,
  state: NodeState,
  { config, environment, tools }: TakeoverDeps,
): Promise<HeldTerm["database"]> {
  const { dataDir } = config;
  if (before === null || before.lineage === "") return "first";
  // What it did alone is nowhere else, and nobody had the lease since (alone.ts).
  if (state.alone !== null && existsSync(databaseFile(dataDir))) return "here";
  if (await hasAll(before, state, { dataDir, tools })) return "here";
  await restoreForTerm({ config, environment, tools, lineage: before.lineage, makeRoom: () => setAside(dataDir) });
  return "replica";
}

/** Whether the database here has everything that any machine has answered. */
async function hasAll(
  before: LeaseRecord,
  { term, nonces }: NodeState,
  { dataDir, tools }: { dataDir: string; tools: DaemonTools },
): Promise<boolean> {
  const isOwn = nonces.includes(before.nonce) && term === before.term;
  if (!isOwn || !existsSync(databaseFile(dataDir))) return false;
  if (findLocalLineage(tools.places) !== before.lineage) return false;
  // The image of this machine may have been put back.
  const replica = await inspectLineage(tools, before.lineage, { limitMs: INSPECT_LIMIT_MS });
  if (replica.kind === "unreachable") throw new StartError(`The replica cannot be read: ${replica.reason}.`);
  const last = listLocalSteps(tools.places, before.lineage, "database").at(-1) ?? 0;
  // Where its files are gone or damaged, the one here is all there is.
  return replica.kind === "empty" || replica.transaction <= last;
}

/** Keeps only the last one, and completes a move that was cut off. */
function setAside(dataDir: string): void {
  const aside = join(dataDir, SET_ASIDE);
  if (existsSync(databaseFile(dataDir))) rmSync(aside, { recursive: true, force: true });
  mkdirSync(join(aside, "litestream"), { recursive: true, mode: 0o700 });
  // The database moves last: while it is here the move is not complete.
  for (const file of FILES.toReversed())
    if (existsSync(join(dataDir, file))) renameSync(join(dataDir, file), join(aside, file));
}
