// The lineage that is written to: gone on with while the daemon's state here joins the replica, and else a new one.
//
// The daemon numbers its steps. One that has lost its state, or has an older one, would give numbers out twice, and a
// restore would bring back a mixture. In a lineage of its own it cannot, whatever the reason: so there is no repair.
// The order makes each cut harmless: the lineage is here, then in the catalog, then it is written to; restores take
// it when it is whole; the ones before it are deleted when they are past the retention after that. Where the catalog
// lists a later one than is here, the state here is therefore of an earlier time (replica-verdict.ts).

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getErrorMessage } from "../../platform/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import { idTime, isId, newId } from "../../platform/uuid.ts";
import { listCatalog, readCatalog, rewriteCatalog, writeCatalog } from "./catalog.ts";
import { formatDaemonConfig, type Places } from "./config.ts";
import { deletePrefix } from "./delete-prefix.ts";
import { inspectLineage, inspectSteps, type Lineage, listLocalSteps, type ReplicaState } from "./replica.ts";
import type { DaemonTools } from "./tools.ts";

export interface LineagesDeps {
  tools: DaemonTools;
  /** The fact instance_id, and this start. */
  instance: string;
  boot: string;
  limitMs: number;
  clock: Pick<Clock, "now">;
  /** For the waits between new lineages. */
  steady: Pick<Clock, "now">;
  random: Random;
  log: Log;
}

/** Reads in a row after which a catalog that cannot be read counts as damaged. */
const BROKEN_READS = 3;
/** How often the catalog is read where nobody else writes it: lineages expire, and its files may be damaged. */
const SETTLE_EVERY_MS = 3_600_000;
/**
 * Between new lineages; each is a whole copy. The first copy of a large database takes its time: the wait doubles, so
 * that one of any size comes to its end, and a fault that remains does not fill the replica.
 */
const FIRST_RENEWAL_WAIT_MS = 10 * 60_000;
const MAX_RENEWAL_WAIT_MS = 48 * 3_600_000;
/** For the deletion of one lineage; what is left then is deleted in the next hour. */
const DELETE_LIMIT_MS = 10 * 60_000;

export class Lineages {
  readonly #deps: LineagesDeps;
  #current: Lineage | null = null;
  /** As the catalog was last read or written: what a damaged one is written anew from. */
  #known: readonly Lineage[] = [];
  /** Those that were there when this process read the catalog first. */
  #first: ReadonlySet<string> | null = null;
  /** The last one that another has begun since; null: none has. */
  #foreign: Lineage | null = null;
  /** The number of the catalog's last file, as `inspect` saw it. */
  #catalogEnd = 0;
  /** That number, and the lineage, at the last settle that succeeded. */
  #settled: { whole: string; catalogEnd: number; at: number } | null = null;
  /** Reads in a row that found the catalog damaged, and when the first was; null: the last one did not. */
  #damage: { reads: number; since: number } | null = null;
  /** Lineages begun since one outlived its wait, when that of the last is over (steady clock), and whether it was whole. */
  #begun = { count: 0, waitUntil: 0, isWhole: false };
  #isCleaning = false;
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
      const listed = await this.#read();
      if ("reason" in listed) return listed.reason;
      const doubt = await this.#findDoubt(listed.lineages);
      if (doubt instanceof Object) return doubt.unreachable;
      const why = reason ?? doubt;
      if (why === null) return this.#use(listed.lineages.at(-1));
      const minutes = Math.ceil(this.renewalWaitMs / 60_000);
      if (minutes > 0) return `a new lineage is begun in ${minutes} minutes, later each time: ${why}`;
      return this.#begin(listed.lineages, why);
    });
  }

  /** How long until a new lineage may be begun. The first one after a lineage that was whole does not wait. */
  get renewalWaitMs(): number {
    const { count, waitUntil, isWhole } = this.#begun;
    return count === 0 || (count === 1 && isWhole) ? 0 : Math.max(0, waitUntil - this.#deps.steady.now());
  }

  /** A catalog that cannot be written anew, or another that writes to the same replica. */
  get issue(): HealthIssue | null {
    const { tools, instance } = this.#deps;
    const foreign = this.#foreign;
    const url = tools.replication.url ?? "";
    if (this.#damage !== null && this.#damage.reads >= BROKEN_READS) {
      const reason = `Nothing can be restored from the replica: its catalog is damaged and cannot be written anew. Delete the folder or prefix catalog at ${url}, but nothing else; pombo then writes it anew within a few minutes.`;
      return { component: "replication", kind: "catalog", reason, since: this.#damage.since, isAdvisory: true };
    }
    if (foreign === null) return null;
    const where = `(on ${foreign.host})`;
    const reason =
      foreign.instance === instance
        ? `Another copy of this instance ${where} runs and writes to the replica at ${url}: the same messages may be sent twice. Stop one of the two for good. If this one remains, start it again with pombo serve --take-over.`
        : `Another instance of pombo ${where} writes to the replica at ${url}: a restore would bring back its database, and not this one. Give that one a [replication] url of its own, then start this one again with pombo serve --take-over; or give this one a url of its own.`;
    return { component: "replication", kind: "foreign", reason, since: foreign.startedAt, isAdvisory: true };
  }

  /** The lineage that is written to; null: none yet. */
  get current(): string | null {
    return this.#current?.id ?? null;
  }

  /** Whether a restore would find the current lineage, and what it would bring back. */
  async inspect(): Promise<ReplicaState> {
    const { tools, limitMs } = this.#deps;
    const current = this.#current?.id;
    if (current === undefined) return { kind: "empty" };
    const listed = await listCatalog(tools, limitMs);
    if ("reason" in listed) return { kind: "unreachable", ...listed };
    if (listed.last === 0) return { kind: "empty" };
    this.#catalogEnd = listed.last;
    const state = await inspectLineage(tools, current, { limitMs });
    if (state.kind !== "backup") return state;
    const steps = await inspectSteps(tools, current, state, { limitMs });
    if ("reason" in steps) return { kind: "unreachable", ...steps };
    return steps.gap === null ? state : { ...state, kind: "broken", reason: steps.gap };
  }

  /** Whether the step of this number is here; 0: it is none. */
  hasStep(transaction: number): boolean {
    const { places } = this.#deps.tools;
    return transaction === 0 || listLocalSteps(places, this.#current?.id ?? "", "database").includes(transaction);
  }

  /**
   * Records that the lineage `whole` can be restored, and deletes those that no restore needs any more. It need not be
   * the current one: another may have begun since it was inspected. Called after each `inspect` that succeeded; only
   * reads the catalog when somebody has written it since, or each hour.
   */
  async settle(whole: string): Promise<void> {
    const [now, catalogEnd, settled] = [this.#deps.clock.now(), this.#catalogEnd, this.#settled];
    const isSettled = settled?.whole === whole && settled.catalogEnd === catalogEnd;
    if (whole === this.#current?.id) {
      const isStable = this.#deps.steady.now() >= this.#begun.waitUntil;
      this.#begun = { ...this.#begun, count: isStable ? 0 : this.#begun.count, isWhole: true };
    }
    if (isSettled && Math.abs(now - settled.at) < SETTLE_EVERY_MS) return;
    if (!(await this.#inTurn(() => this.#settle(whole, now)))) return;
    this.#settled = { whole, catalogEnd, at: now };
    void this.#clean();
  }

  async #settle(whole: string, now: number): Promise<boolean> {
    const read = await this.#read();
    if ("reason" in read) return false;
    const current = this.#current;
    // Where two wrote the catalog at once, the one lineage may have replaced the other.
    const isListed = current === null || read.lineages.some(({ id }) => id === current.id);
    const listed = isListed ? read.lineages : [...read.lineages, current].toSorted(compareIds);
    const lineages = listed.map((each) => (each.id === whole ? { ...each, wholeAt: each.wholeAt ?? now } : each));
    return Bun.deepEquals(lineages, read.lineages) || (await this.#write(lineages)) === null;
  }

  /** Deletes what no restore needs, beside the turn: no daemon waits for it. */
  async #clean(): Promise<void> {
    if (this.#isCleaning) return;
    this.#isCleaning = true;
    try {
      const gone = new Set<string>();
      for (const lineage of await this.#findNeedless()) if (await this.#delete(lineage)) gone.add(lineage.id);
      if (gone.size === 0) return;
      await this.#inTurn(async () => {
        const read = await this.#read();
        // Otherwise they are still listed, and deleted again.
        if ("lineages" in read) await this.#write(read.lineages.filter(({ id }) => !gone.has(id)));
      });
    } catch (error) {
      this.#deps.log.error("replication", error);
    } finally {
      this.#isCleaning = false;
    }
  }

  /** Lineages past the retention, and those of this instance that it left before they held a whole copy. */
  async #findNeedless(): Promise<Lineage[]> {
    const { tools, instance, limitMs, clock } = this.#deps;
    const current = this.#current?.id ?? "";
    // While another writes here too, its lineages say nothing of what this one needs.
    if (this.#foreign !== null) return [];
    const known = this.#known.filter(({ id }) => id <= current);
    const found = findExpired(known, clock.now(), tools.replication.retentionMs);
    const isAnyWhole = known.some(({ wholeAt }) => wholeAt !== null);
    for (const lineage of known.slice(found.length, -1)) {
      if (lineage.wholeAt !== null || lineage.instance !== instance) continue;
      const { kind } = await inspectLineage(tools, lineage.id, { limitMs });
      // A broken one may be all that there is to save.
      if (kind === "empty" || (kind === "broken" && isAnyWhole)) found.push(lineage);
    }
    return found;
  }

  /** Reads the catalog; one that is damaged for good is written anew from the list last read. Or why there is none. */
  async #read(): Promise<{ lineages: readonly Lineage[] } | { reason: string }> {
    const { tools, boot, limitMs, clock, log } = this.#deps;
    const catalog = await readCatalog(tools, limitMs);
    if (catalog.kind === "unreachable") return catalog;
    if (catalog.kind === "broken" || (catalog.lineages.length === 0 && this.#known.length > 0)) {
      const reason = catalog.kind === "broken" ? catalog.reason : "it is empty";
      // One failed read looks the same as a damaged catalog: only a lasting one is written anew.
      const damage = (this.#damage ??= { reads: 0, since: clock.now() });
      damage.reads += 1;
      if (damage.reads < BROKEN_READS) return { reason: `its catalog cannot be read: ${reason}` };
      log.event("replication.catalog_damaged", { reason, words: "it is written anew" }, "warn");
      const failure = await rewriteCatalog(tools, [...this.#known], limitMs);
      if (failure !== null) return { reason: `its catalog is damaged and cannot be written anew: ${failure}` };
      this.#damage = null;
      return { lineages: this.#known };
    }
    this.#damage = null;
    const { lineages } = catalog;
    this.#known = lineages;
    const first = (this.#first ??= new Set(lineages.map(({ id }) => id)));
    const foreign = lineages.findLast(({ id, boot: by }) => by !== boot && !first.has(id)) ?? null;
    if (foreign !== null && foreign.id !== this.#foreign?.id)
      log.event("replication.second_writer", { lineage: foreign.id, host: foreign.host }, "warn");
    this.#foreign = foreign;
    return { lineages };
  }

  /** False: it is still there. */
  async #delete({ id, wholeAt }: Lineage): Promise<boolean> {
    const { tools, log } = this.#deps;
    const about = { lineage: id, wholeAt };
    try {
      const isDeleted = await deletePrefix(tools, id, DELETE_LIMIT_MS);
      const place = `${tools.replication.url}/${id}`;
      const words = isDeleted ? {} : { words: `pombo cannot delete there: delete the folder or prefix ${place}` };
      log.event("replication.lineage_expired", { ...about, ...words }, isDeleted ? "info" : "warn");
      return true;
    } catch (error) {
      const words = `it cannot be deleted: ${getErrorMessage(error)}`;
      log.event("replication.lineage_expired", { ...about, words }, "warn");
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
      const steps = await inspectSteps(tools, newest, state, { limitMs, part });
      if ("reason" in steps) return { unreachable: steps.reason };
      if (steps.gap !== null) return steps.gap;
    }
    return null;
  }

  async #begin(lineages: readonly Lineage[], reason: string): Promise<string | null> {
    const { tools, limitMs, instance, boot, clock, steady, random, log } = this.#deps;
    const startedAt = clock.now();
    const last = lineages.at(-1);
    const id = newId(Math.max(startedAt, last === undefined ? 0 : idTime(last.id) + 1), random);
    const lineage = { id, instance, boot, host: tools.host, startedAt, wholeAt: null };
    const folder = join(tools.places.lineages, id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const failure = await this.#write([...lineages, lineage]);
    if (failure !== null) {
      // A write that failed may have arrived. Without the folder a start would then take this state for an older one.
      const catalog = await readCatalog(tools, limitMs);
      const isListed = catalog.kind !== "read" || catalog.lineages.some((each) => each.id === id);
      if (!isListed) rmSync(folder, { recursive: true });
      return failure;
    }
    // An empty replica is filled by nothing, and its first lineage may fail at once.
    const count = last === undefined ? -1 : this.#begun.count;
    const waitMs = Math.min(FIRST_RENEWAL_WAIT_MS * 2 ** Math.max(0, count), MAX_RENEWAL_WAIT_MS);
    this.#begun = { count: count + 1, waitUntil: steady.now() + waitMs, isWhole: false };
    for (const other of readdirSync(tools.places.lineages))
      if (other !== id) rmSync(join(tools.places.lineages, other), { recursive: true });
    log.event("replication.lineage", { lineage: id, reason });
    this.#use(lineage);
    void this.#clean();
    return null;
  }

  async #write(lineages: Lineage[]): Promise<string | null> {
    const { tools, limitMs } = this.#deps;
    const failure = await writeCatalog(tools, lineages, limitMs);
    if (failure === null) this.#known = lineages;
    return failure;
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
