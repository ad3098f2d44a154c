import { closeSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { emptyStep, type Ends, HEAD_BYTES, isWholeStep, stepName, TAIL_BYTES } from "./empty-ltx.ts";
import { lastStepOf, localSteps, lookAtReplica } from "./replica.ts";
import type { Places } from "./config.ts";
import type { DaemonTools } from "./tools.ts";

// What the daemon has here before it runs: the steps that lead on from what is in the replica, or nothing of its own.
//
// It counts on behind its last step here. Where that one is damaged, behind the replica's (a data directory that was
// put back) or not joined to it (steps that were lost, another replica in between), it would use numbers twice or lay
// steps over a base that they do not fit, and a restore would fail or bring back a mixture, unnoticed. One that has no
// steps counts on behind the last single one in the replica, though a whole copy may be ahead of that: it is made of
// what the old machine had put down, and that died before the steps were copied too.
//
// So what does not lead on is put away, and it finds empty steps up to one behind all that is in the replica: of those
// it knows that they are not of this log, and its own first step is the whole database.

/** A second's worth at most are missing where a machine died. Each is a file in the replica. */
const MOST_STEPS = 10_000;

export interface Bridged {
  database: string;
  /** Numbers of empty steps. */
  from: number;
  to: number;
}

export interface BridgeOptions {
  /** Unix ms. */
  at: number;
  limitMs: number;
  /** What is here has shown itself to be damaged: it is put away in any case. */
  isDamaged: boolean;
}

/** Makes all ready for a daemon. What was bridged; or, as a sentence, why no daemon may run yet. */
export async function bridgeNumbers(tools: DaemonTools, options: BridgeOptions): Promise<Bridged[] | string> {
  const { places } = tools;
  const bridged: Bridged[] = [];
  for (const [database, state] of [
    [places.database, places.state],
    [places.owner, places.ownerState],
  ] as const) {
    const look = await lookAtReplica(tools, { limitMs: options.limitMs, database });
    if (look.kind === "unreachable") return look.reason;
    const copy = look.kind === "empty" ? 0 : look.transaction;
    const last = await lastStepOf(tools, database, options.limitMs);
    if (typeof last !== "number") return last.reason;
    if (!options.isDamaged && leadsOn(state, { last, copy })) continue;
    const highest = Math.max(last, copy);
    if (highest - last > MOST_STEPS) {
      return `the replica lacks the last ${(highest - last).toLocaleString("en")} steps before its newest whole copy; give [replication] url another path, where a new one is begun`;
    }
    // Into an empty one the whole database is the first step.
    const to = highest === 0 ? 0 : highest + 1;
    try {
      replaceSteps({ state, database, from: last + 1, to }, options.at);
    } catch (error) {
      return `${state} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (to > 0) bridged.push({ database, from: last + 1, to });
  }
  return bridged;
}

/**
 * Whether the daemon's words tell that a step here is gone or damaged. What else may fail with one, as for want of
 * memory or room, passes.
 */
export function isDamageWords(words: string, { state, ownerState }: Pick<Places, "state" | "ownerState">): boolean {
  const isOfSteps = [state, ownerState].some((each) => words.includes(`ltx file ${join(each, "ltx")}`));
  return isOfSteps && /no such file|missing|corrupt|checksum|mismatch|EOF|invalid/i.test(words);
}

/** Whether the steps here join what is in the replica: its last single step, and its newest whole copy. */
function leadsOn(state: string, { last, copy }: { last: number; copy: number }): boolean {
  const steps = localSteps(state);
  const own = steps.at(-1);
  if (own === undefined) return last === 0 && copy === 0;
  if (own < last || own < copy) return false;
  const here = new Set(steps);
  for (let step = last + 1; step <= own; step += 1) if (!here.has(step)) return false;
  return isWholeStep(endsOf(join(state, "ltx", "0", stepName(own))), own);
}

/** One may be the whole database, of any size. */
function endsOf(file: string): Ends {
  const { size } = statSync(file);
  const [head, tail] = [Buffer.alloc(HEAD_BYTES), Buffer.alloc(TAIL_BYTES)];
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, head, 0, HEAD_BYTES, 0);
    readSync(descriptor, tail, 0, TAIL_BYTES, Math.max(0, size - TAIL_BYTES));
  } finally {
    closeSync(descriptor);
  }
  return { size, head, tail };
}

/** In place of all that is there; cut off anywhere nothing is there, or all of it. */
function replaceSteps({ state, database, from, to }: Bridged & { state: string }, at: number): void {
  const [steps, draft] = [join(state, "ltx"), join(state, "ltx.new")];
  for (const folder of [draft, steps]) rmSync(folder, { recursive: true, force: true });
  if (to === 0) return;
  const folder = join(draft, "0");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const size = sizeOf(database);
  for (let transaction = from; transaction <= to; transaction += 1) {
    const descriptor = openSync(join(folder, stepName(transaction)), "wx", 0o600);
    try {
      writeSync(descriptor, emptyStep({ transaction, ...size, at }));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
  for (const each of [folder, draft]) syncFolder(each);
  renameSync(draft, steps);
  syncFolder(state);
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The size of a page stands in the file's header, where 1 means 65,536. */
function sizeOf(database: string): { pageBytes: number; pages: number } {
  const header = Buffer.alloc(18);
  const descriptor = openSync(database, "r");
  try {
    readSync(descriptor, header, 0, header.length, 0);
  } finally {
    closeSync(descriptor);
  }
  const told = header.readUInt16BE(16);
  const pageBytes = told === 1 ? 65_536 : told;
  return { pageBytes, pages: Math.max(1, Math.floor(statSync(database).size / pageBytes)) };
}
