import { closeSync, mkdirSync, openSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptyStep, stepName } from "./empty-step.ts";
import { lastStepOf, localTransaction, lookAtReplica } from "./replica.ts";
import type { DaemonTools } from "./tools.ts";

// A daemon that has nothing of its own here, as after a restore, counts on behind the last single step in the
// replica. A whole copy may be ahead of those: it is made of what the old machine had put down, and that died before
// the steps were copied too. The numbers in between would then be used twice, and the next restore would lay new
// steps over an old copy. So the daemon finds empty steps up to the copy's number and counts on behind that; its
// first own step is the whole database.

/** A second's worth at most are missing where a machine died. Each is a file in the replica. */
const MOST_STEPS = 10_000;

export interface Bridged {
  database: string;
  /** Numbers of steps, the last of them that of the whole copy. */
  from: number;
  to: number;
}

/**
 * Before the first daemon of a start: the numbers that are taken are given away to nobody. What was bridged; or, as
 * a sentence, why that cannot be told yet. `at`: Unix ms.
 */
export async function bridgeNumbers(tools: DaemonTools, at: number, limitMs: number): Promise<Bridged[] | string> {
  const { places } = tools;
  const bridged: Bridged[] = [];
  for (const [database, state] of [
    [places.database, places.state],
    [places.owner, places.ownerState],
  ] as const) {
    const local = localTransaction(state);
    const look = await lookAtReplica(tools, { limitMs, database });
    // One that has its own steps goes on with them, whether the replica can be reached or not.
    if (look.kind === "unreachable" && local === null) return look.reason;
    if (look.kind !== "backup" || look.transaction <= (local ?? 0)) continue;
    const last = await lastStepOf(tools, database, limitMs);
    if (typeof last !== "number") return last.reason;
    if (look.transaction <= last) continue;
    const missing = look.transaction - last;
    if (missing > MOST_STEPS) {
      return `the replica lacks the last ${missing.toLocaleString("en")} steps before its newest whole copy; give [replication] url another path, where a new one is begun`;
    }
    writeSteps({ state, database, from: last + 1, to: look.transaction, at });
    bridged.push({ database, from: last + 1, to: look.transaction });
  }
  return bridged;
}

function writeSteps({ state, database, from, to, at }: Bridged & { state: string; at: number }): void {
  const folder = join(state, "ltx", "0");
  // What the daemon has here of an earlier time leads to none of these numbers.
  rmSync(join(state, "ltx"), { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const size = sizeOf(database);
  for (let transaction = from; transaction <= to; transaction += 1) {
    writeFileSync(join(folder, stepName(transaction)), emptyStep({ transaction, ...size, at }), { mode: 0o600 });
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
