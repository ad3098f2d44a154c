import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getErrorMessage } from "../../platform/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import { idTime, isId, newId } from "../../platform/uuid.ts";
import { listCatalog, readCatalog, writeCatalog } from "./catalog.ts";
import { formatDaemonConfig, type Places } from "./config.ts";
import { deleteLineage } from "./delete-lineage.ts";
import { findGap, inspectLineage, type Lineage, listLocalSteps, type ReplicaState } from "./replica.ts";
import type { DaemonTools } from "./tools.ts";

// The lineage that is written to: gone on with while the daemon's state here joins the replica, and else a new one.
//
// The daemon numbers its steps. One that has lost its state, or has an older one, would give numbers out twice, and a
// restore would bring back a mixture. In a lineage of its own it cannot, whatever the reason: so there is no repair.
// The order makes each cut harmless: the lineage is here, then in the catalog, then it is written to; restores take
// it when it is whole; the ones before it are deleted when they are past the retention after that. Where the catalog
// lists a later one than is here, the state here is therefore of an earlier time (replica-verdict.ts).

export interface LineagesDeps {
  tools: DaemonTools;
  /** The fact instance_id, and this start. */
  instance: string;
  boot: string;
  limitMs: number;
  clock: Pick<Clock, "now">;
  random: Random;
  log: Log;
}

/** Reads in a row, a launch each, after which a catalog that cannot be read counts as damaged. */
const BROKEN_READS = 3;

export class Lineages {
  readonly #deps: LineagesDeps;
  #current: Lineage | null = null;
  /** As the catalog was last read: what a damaged one is written anew from. */
  #known: readonly Lineage[] = [];
  /** Reads in a row that found the catalog damaged. */
  #brokenReads = 0;
  /** One write of the catalog at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: LineagesDeps) {
    this.#deps = deps;
  }

  /**
   * Prepares a daemon: with the lineage that its state here belongs to, or with a new one, as where there is a `reason`
   * for that. Why no daemon may run yet, in a sentence; null: it may.
   */
  prepare(reason: string | null): Promise<string | null> {
    return this.#inTurn(async () => {
      const { tools, limitMs } = this.#deps;
      const catalog = await readCatalog(tools, limitMs);
      if (catalog.kind === "unreachable") return catalog.reason;
      if (catalog.kind === "broken") {
        // One failed read looks the same as a damaged catalog: only a lasting one is written anew.
        this.#brokenReads += 1;
        if (this.#brokenReads < BROKEN_READS) return `its catalog cannot be read: ${catalog.reason}`;
        return this.#begin(this.#known, `the catalog cannot be read: ${catalog.reason}`);
      }
      this.#brokenReads = 0;
      this.#known = catalog.lineages;
      const doubt = await this.#findDoubt(catalog.lineages);
      if (doubt instanceof Object) return doubt.unreachable;
      const why = reason ?? doubt;
      return why === null ? this.#use(catalog.lineages.at(-1)) : this.#begin(catalog.lineages, why);
    });
  }

  /** Whether a restore would find the current lineage, and what it would bring back. */
  async inspect(): Promise<ReplicaState> {
    const { tools, limitMs } = this.#deps;
    const current = this.#current?.id;
    if (current === undefined) return { kind: "empty" };
    const listed = await listCatalog(tools, limitMs);
    if ("reason" in listed) return { kind: "unreachable", ...listed };
    if (listed.last === 0) return { kind: "empty" };
    const state = await inspectLineage(tools, current, { limitMs });
    if (state.kind !== "backup") return state;
    const reason = findGap(listLocalSteps(tools.places, current, "database"), state.transaction);
    return reason === null ? state : { ...state, kind: "broken", reason };
  }

  /** Whether the step of this number is here; 0: it is none. */
  hasStep(transaction: number): boolean {
    const { places } = this.#deps.tools;
    return transaction === 0 || listLocalSteps(places, this.#current?.id ?? "", "database").includes(transaction);
  }

  /**
   * Records that the lineage `whole` can be restored, and deletes those that no restore needs any more. It need not be
   * the current one: another may have begun since it was inspected. False: to be repeated.
   */
  settle(whole: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const { tools, limitMs, clock } = this.#deps;
      const catalog = await readCatalog(tools, limitMs);
      if (catalog.kind !== "read") return false;
      this.#known = catalog.lineages;
      const now = clock.now();
      const current = this.#current;
      // Where two wrote the catalog at once, the one lineage may have replaced the other.
      const isListed = current === null || catalog.lineages.some(({ id }) => id === current.id);
      const listed = isListed ? catalog.lineages : [...catalog.lineages, current].toSorted(compareIds);
      const lineages = listed.map((each) => (each.id === whole ? { ...each, wholeAt: each.wholeAt ?? now } : each));
      const gone = new Set<string>();
      for (const { id } of findExpired(lineages, now, tools.replication.retentionMs))
        if (await this.#delete(id)) gone.add(id);
      const left = lineages.filter(({ id }) => !gone.has(id));
      return Bun.deepEquals(left, catalog.lineages) || (await writeCatalog(tools, left, limitMs)) === null;
    });
  }

  /** False: it is still there. */
  async #delete(lineage: string): Promise<boolean> {
    const { tools, log } = this.#deps;
    try {
      const isDeleted = await deleteLineage(tools, lineage);
      const words = isDeleted ? {} : { words: "pombo cannot delete there: delete this prefix of the replica" };
      log.event("replication.lineage_expired", { lineage, ...words }, isDeleted ? "info" : "warn");
      return true;
    } catch (error) {
      const words = `it cannot be deleted: ${getErrorMessage(error)}`;
      log.event("replication.lineage_expired", { lineage, words }, "warn");
      return false;
    }
  }

  /** Why a new lineage is needed; null: it is not. */
  async #findDoubt(lineages: readonly Lineage[]): Promise<string | { unreachable: string } | null> {
    const { tools, limitMs } = this.#deps;
    const newest = lineages.at(-1)?.id;
    if (newest === undefined) return "the replica is empty";
    if (newest !== findLocalLineage(tools.places)) return "nothing here leads on from what is in the replica";
    for (const part of ["database", "owner"] as const) {
      const state = await inspectLineage(tools, newest, { limitMs, part });
      if (state.kind === "unreachable") return { unreachable: state.reason };
      if (state.kind === "broken") return state.reason;
      const gap = findGap(listLocalSteps(tools.places, newest, part), state.kind === "backup" ? state.transaction : 0);
      if (gap !== null) return gap;
    }
    return null;
  }

  async #begin(lineages: readonly Lineage[], reason: string): Promise<string | null> {
    const { tools, instance, boot, limitMs, clock, random, log } = this.#deps;
    const startedAt = clock.now();
    const last = lineages.at(-1);
    const id = newId(Math.max(startedAt, last === undefined ? 0 : idTime(last.id) + 1), random);
    const lineage = { id, instance, boot, host: tools.host, startedAt, wholeAt: null };
    const folder = join(tools.places.lineages, id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const failure = await writeCatalog(tools, [...lineages, lineage], limitMs);
    if (failure !== null) {
      rmSync(folder, { recursive: true });
      return failure;
    }
    for (const other of readdirSync(tools.places.lineages))
      if (other !== id) rmSync(join(tools.places.lineages, other), { recursive: true });
    log.event("replication.lineage", { lineage: id, reason });
    return this.#use(lineage);
  }

  #use(lineage: Lineage | undefined): null {
    const { places, replication } = this.#deps.tools;
    if (lineage === undefined) throw new Error("a daemon without a lineage");
    rmSync(places.config, { force: true });
    writeFileSync(places.config, formatDaemonConfig(replication, places, lineage.id), { mode: 0o600, flag: "wx" });
    this.#current = lineage;
    return null;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

/** The lineage that the state here belongs to; null: there is none. */
export function findLocalLineage({ lineages }: Places): string | null {
  try {
    return readdirSync(lineages).filter(isId).toSorted().at(-1) ?? null;
  } catch {
    return null; // no such folder yet
  }
}

function compareIds(a: Lineage, b: Lineage): number {
  return a.id < b.id ? -1 : 1;
}

/** Those behind which another has been whole for as long as the database can be restored back to. Pure. */
export function findExpired(lineages: readonly Lineage[], now: number, retentionMs: number): Lineage[] {
  const isPast = ({ wholeAt }: Lineage) => wholeAt !== null && now - wholeAt >= retentionMs;
  return lineages.slice(0, Math.max(0, lineages.findLastIndex(isPast)));
}
