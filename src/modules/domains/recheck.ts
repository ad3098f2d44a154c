// The domains' checks in the background. When each is due stands in its row (status.ts plans it), so
// that a restart goes on where the last run ended; one task sleeps until the first is due. However many
// are due, they begin one after the other, and a workspace whose DNS is mute holds up only its own.

import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import { LONGEST_DELAY_MS } from "./status.ts";
import type { DomainStore } from "./store.ts";
import type { Verifier } from "./verify.ts";

/** Checks under way at once; each asks a handful of names. */
const CHECKS_AT_ONCE = 8;
const CHECKS_OF_ONE_WORKSPACE = 4;
/** From the beginning of a check to that of the next. */
const PACE_MS = 200;
/** A longer wait is taken in steps: the time may be set meanwhile. Nothing is planned nearer than this, so nobody need wake it. */
const LOOK_EVERY_MS = 60_000;
/** After a storage error. */
const PAUSE_MS = 60_000;
/** A domain whose check ends in an internal error. */
const AFTER_ERROR_MS = 60 * 60_000;

/** More between two looks than this was a pause or a change of the clock; so is any step back. */
const JUMP_MS = 10 * 60_000;
/** Daily checks that are late by more than this are spread over the next hour. */
const LATE_MS = 10 * 60_000;
const SPREAD_MS = 60 * 60_000;

export interface DomainRecheckDeps extends Pick<Context, "commit" | "guard" | "clock" | "log"> {
  domains: DomainStore;
  verifier: Verifier;
}

export class DomainRecheck {
  readonly #deps: DomainRecheckDeps;
  readonly #task: BackgroundTask;
  /** Checks under way, by domain. */
  readonly #running = new Map<number, { workspaceId: number; done: Promise<void> }>();
  #stopGuard = () => {};
  #isStopped = false;
  #lookedAt: number | null = null;
  #startedAt: number | null = null;
  #pausedAt: number | null = null;

  constructor(deps: DomainRecheckDeps) {
    this.#deps = deps;
    this.#task = new BackgroundTask({
      ...deps,
      name: "domains",
      run: () => this.#beginDue(),
    });
  }

  start(): void {
    this.#stopGuard = this.#deps.guard.whenOpen(() => this.#task.trigger());
    this.#task.start();
  }

  /** Begins nothing more; what is under way writes nothing. */
  stop(): void {
    this.#isStopped = true;
    void this.#task.stop();
    this.#stopGuard();
  }

  /** Resolves when no check is under way. */
  async idle(): Promise<void> {
    await this.#task.idle();
    for (; this.#running.size > 0; await this.#task.idle())
      await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Begins the check that is due first, when it may; answers in how many milliseconds to look again. */
  #beginDue(): Promise<number> | number {
    const { clock, guard } = this.#deps;
    if (guard.failure !== null) return LOOK_EVERY_MS; // it triggers when it opens
    const now = clock.now();
    const pauseMs = remaining(this.#pausedAt, PAUSE_MS, now);
    if (pauseMs > 0) return pauseMs;
    const isJump = this.#lookedAt === null || now < this.#lookedAt || now > this.#lookedAt + JUMP_MS;
    this.#lookedAt = now;
    if (isJump) return this.#mendTimes(now);
    if (this.#running.size >= CHECKS_AT_ONCE) return LOOK_EVERY_MS; // the end of a check triggers
    const paceMs = remaining(this.#startedAt, PACE_MS, now);
    if (paceMs > 0) return paceMs;
    const due = this.#findFirst();
    if (due === undefined) return LOOK_EVERY_MS;
    if (due.nextCheckAt > now) return Math.min(due.nextCheckAt - now, LOOK_EVERY_MS);
    this.#startedAt = now;
    this.#running.set(due.id, { workspaceId: due.workspaceId, done: this.#check(due.id) });
    return PACE_MS;
  }

  #findFirst() {
    const counts = Map.groupBy(this.#running.values(), ({ workspaceId }) => workspaceId);
    const full = [...counts].filter(([, checks]) => checks.length >= CHECKS_OF_ONE_WORKSPACE).map(([id]) => id);
    return this.#deps.domains.firstToCheck({ domainIds: this.#deps.verifier.busy(), workspaceIds: full });
  }

  /** Never rejects. */
  async #check(id: number): Promise<void> {
    const { verifier, commit, domains, clock, log } = this.#deps;
    try {
      await verifier.verifyUnasked(id, () => this.#isStopped);
    } catch (error) {
      if (isStorageError(error)) this.#pausedAt = clock.now();
      else if (!this.#isStopped) {
        log.error("domains", error);
        // It must neither be begun again at once, nor keep the others waiting.
        const nextAt = clock.now() + AFTER_ERROR_MS;
        await commit(() => domains.postponeCheck(id, nextAt)).catch(() => (this.#pausedAt = clock.now()));
      }
    }
    this.#running.delete(id);
    this.#task.trigger();
  }

  /**
   * At the start, after a pause and after a change of the clock: daily checks that are long due are
   * spread, and those planned by a clock that was ahead are brought near.
   */
  async #mendTimes(now: number): Promise<number> {
    const { domains, commit, log } = this.#deps;
    const { verified, others } = LONGEST_DELAY_MS;
    try {
      await commit(() =>
        domains.spreadChecks({
          now,
          overdueBefore: now - LATE_MS,
          tooFar: { verified: now + verified, others: now + others },
          spreadMs: SPREAD_MS,
        }),
      );
    } catch (error) {
      if (isStorageError(error)) {
        this.#lookedAt = null;
        throw error;
      }
      log.error("domains", error);
    }
    this.#task.trigger();
    return LOOK_EVERY_MS;
  }
}

/** What is left of a wait that began at `since`; a clock that was set back ends it. */
function remaining(since: number | null, waitMs: number, now: number): number {
  return since === null || now < since ? 0 : Math.max(0, since + waitMs - now);
}
