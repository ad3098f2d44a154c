// A machine that works without the lease because a person says so: the bucket is away for longer than mail may wait, and
// the other machines are off. Its answers rest on its own disk. standby-alone.json in the data directory is that wish, and
// holds for every start until it is taken back; standby.json then remembers that the database went on alone, so that
// nothing sets it aside later without a person.

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readPlainFile, replaceFile } from "../../platform/data-files.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import { databaseFile } from "../../platform/db/open.ts";
import { getErrorMessage, StartError } from "../../platform/errors.ts";
import type { LeaseObject } from "./lease-object.ts";
import type { LeaseRecord } from "./lease.ts";
import { type Alone, type NodeState, readNodeState, writeNodeState } from "./node-file.ts";
import { bringDatabase, type TakeoverDeps } from "./takeover.ts";

export interface AloneWish {
  /** A person has compared the machines: no other has a newer database. */
  isNewest: boolean;
}

const MAX_BYTES = 4096;

const getFile = (dataDir: string) => join(dataDir, "standby-alone.json");

/** Null: there is none. Throws StartError where it cannot be read: guessing either way could cost mail. */
export function readAloneWish(dataDir: string): AloneWish | null {
  const text = readPlainFile(getFile(dataDir), MAX_BYTES);
  if (text === null) return null;
  try {
    return { isNewest: (JSON.parse(text) as Partial<AloneWish>).isNewest === true };
  } catch {
    throw new StartError(`${getFile(dataDir)} cannot be read. Run pombo standby alone again, or delete it.`);
  }
}

export function writeAloneWish(dataDir: string, wish: AloneWish): void {
  replaceFile(getFile(dataDir), JSON.stringify(wish));
}

/** False: there was none. */
export function removeAloneWish(dataDir: string): boolean {
  const isThere = existsSync(getFile(dataDir));
  rmSync(getFile(dataDir), { force: true });
  return isThere;
}

/**
 * Brings the database for a start without the lease: the one here where it is known or said to be the newest, otherwise
 * the one of the replica. Returns what standby.json has to remember. Throws StartError.
 */
export async function bringAloneDatabase(
  state: NodeState,
  wish: AloneWish,
  { object, ...deps }: TakeoverDeps & { object: Pick<LeaseObject, "read"> },
): Promise<Alone> {
  const { dataDir } = deps.config;
  const hasDatabase = existsSync(databaseFile(dataDir));
  if (state.alone !== null && hasDatabase) return state.alone;
  let before: LeaseRecord | null;
  try {
    before = (await object.read())?.record ?? null;
  } catch (error) {
    if (wish.isNewest && hasDatabase) return { after: null, term: state.seen, isStarted: false };
    throw new StartError(
      `pombo is to work alone here, and the replica cannot be read (${getErrorMessage(error)}): whether this database is the newest is not known. Run pombo standby alone on every machine; on the one that worked last: sudo pombo standby alone --yes --this-database-is-newest`,
    );
  }
  const after = before?.nonce ?? null;
  if (!(wish.isNewest && hasDatabase)) await bringDatabase(before, state, deps);
  if (!existsSync(databaseFile(dataDir)))
    throw new StartError("pombo is to work alone here, and there is no database, neither here nor in the replica.");
  return { after, term: null, isStarted: false };
}

/** The health issue of a machine that works alone. */
export function describeAlone(since: number): HealthIssue {
  return {
    component: "standby",
    kind: "alone",
    reason:
      "This machine works alone, without the lease: its answers rest on its own disk, and no other machine takes over. Keep the others off. " +
      "When the replica can be reached again: sudo pombo standby alone --end, sudo systemctl restart pombo, then start the others.",
    since,
    isAdvisory: true,
  };
}

/** Before a start without a [standby] lease: if the machine was one of several, its database goes on alone from here. */
export function noteStartWithoutLease(dataDir: string): void {
  const state = readNodeState(dataDir);
  if (state?.alone === null)
    writeNodeState(dataDir, { ...state, alone: { after: null, term: state.seen, isStarted: true } });
}

/** Throws StartError where this database went on alone, and another machine has had the lease since. */
export function requireNoSplit({ alone }: NodeState, seen: LeaseRecord | null, isOwn: boolean): void {
  if (alone === null || seen === null || isOwn || seen.nonce === alone.after) return;
  // The other machine only renewed its lease until the bucket was away. It has not begun another term since.
  if (alone.after === null && seen.term === alone.term) return;
  throw new StartError(
    `This machine has worked alone, and ${seen.host} has had the lease since (term ${seen.term}): each of the two may have accepted and sent messages that the other does not know. ` +
      "Decide which database goes on: docs/two-machines.md, “A split”.",
  );
}
