import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { Log } from "../../platform/log.ts";
import { LONGEST_DELAY_MS } from "./status.ts";
import type { DomainStore } from "./store.ts";
import type { Verifier } from "./verify.ts";

// The domains' checks in the background. When each is due stands in its row (status.ts plans it), so
// that a restart goes on where the last run ended; one loop sleeps until the first is due. However many
// are due, they begin one after the other, and a workspace whose DNS is mute holds up its own alone.

/** Checks under way at once; each asks a handful of names. */
const CHECKS_AT_ONCE = 8;
const CHECKS_OF_ONE_WORKSPACE = 4;
/** From the beginning of a check to that of the next. */
const PACE_MS = 200;
/** A longer wait is taken in steps: the time may be set meanwhile. Nothing is planned nearer than this, so nobody need wake it. */
const LOOK_EVERY_MS = 60_000;
/** After trouble with the storage. */
const PAUSE_MS = 60_000;
/** A domain whose check fails by a bug. */
const AFTER_BUG_MS = 60 * 60_000;

/** More between two looks than this was a pause or a change of the clock; so is any step back. */
const JUMP_MS = 10 * 60_000;
/** Daily checks that are late by more than this are spread over the next hour. */
const LATE_MS = 10 * 60_000;
const SPREAD_MS = 60 * 60_000;

export interface DomainWatchOptions {
  domains: DomainStore;
  verifier: Verifier;
  commit: Commit;
  guard: { readonly failure: string | null; whenOpen(run: () => void): () => void };
  clock: Clock;
  log: Log;
}

export class DomainRecheck {
  readonly #options: DomainWatchOptions;
  /** Domains whose check this watch has under way, with their workspaces. */
  readonly #running = new Map<number, number>();
  #isMending = false;
  #isStopped = false;
  #cancelTimer: (() => void) | null = null;
  #unsubscribeGuard: (() => void) | null = null;
  #lookedAt: number | null = null;
  #startedAt: number | null = null;
  #pausedAt: number | null = null;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(options: DomainWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unsubscribeGuard = this.#options.guard.whenOpen(() => this.#look());
    this.#look();
  }

  /** Begins nothing more; what is under way writes nothing. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
    this.#unsubscribeGuard?.();
  }

  /** Resolves when nothing of it is under way. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#running.size === 0 && !this.#isMending;
  }

  #look(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#isStopped) return;
    const { clock, log } = this.#options;
    let delayMs = LOOK_EVERY_MS;
    try {
      delayMs = this.#beginDue();
    } catch (error) {
      if (!isStorageError(error)) log.error("domains", error);
    }
    this.#cancelTimer = clock.after(Math.min(Math.max(0, delayMs), LOOK_EVERY_MS), () => this.#look());
  }

  /** Begins the check that is due first, when it may; answers in how many milliseconds to look again. */
  #beginDue(): number {
    const { clock, guard } = this.#options;
    const now = clock.now();
    if (guard.failure !== null || this.#isMending) return LOOK_EVERY_MS; // they call when they are over
    const pauseMs = remaining(this.#pausedAt, PAUSE_MS, now);
    if (pauseMs > 0) return pauseMs;
    const isJump = this.#lookedAt === null || now < this.#lookedAt || now > this.#lookedAt + JUMP_MS;
    this.#lookedAt = now;
    if (isJump) {
      void this.#mendTimes(now);
      return LOOK_EVERY_MS;
    }
    if (this.#running.size >= CHECKS_AT_ONCE) return LOOK_EVERY_MS;
    const paceMs = remaining(this.#startedAt, PACE_MS, now);
    if (paceMs > 0) return paceMs;
    const due = this.#first();
    if (due === undefined) return LOOK_EVERY_MS;
    if (due.nextCheckAt > now) return due.nextCheckAt - now;
    this.#startedAt = now;
    void this.#check(due.id, due.workspaceId);
    return PACE_MS;
  }

  #first() {
    const held = new Map<number, number>();
    for (const workspaceId of this.#running.values()) held.set(workspaceId, (held.get(workspaceId) ?? 0) + 1);
    const full = [...held].filter(([, checks]) => checks >= CHECKS_OF_ONE_WORKSPACE).map(([id]) => id);
    return this.#options.domains.firstToCheck({ domainIds: this.#options.verifier.busy(), workspaceIds: full });
  }

  async #check(id: number, workspaceId: number): Promise<void> {
    const { verifier, commit, domains, clock, log } = this.#options;
    this.#running.set(id, workspaceId);
    try {
      await verifier.verifyUnasked(id, () => this.#isStopped);
    } catch (error) {
      if (isStorageError(error)) this.#pausedAt = clock.now();
      else if (!this.#isStopped) {
        log.error("domains", error);
        // It must neither be begun again at once, nor keep the others waiting.
        const nextAt = clock.now() + AFTER_BUG_MS;
        await commit(() => domains.postponeCheck(id, nextAt)).catch(() => (this.#pausedAt = clock.now()));
      }
    }
    this.#running.delete(id);
    this.#goOn();
  }

  /**
   * At the start, after a pause and after a change of the clock: daily checks that are long due are
   * spread, and those planned by a clock that was ahead are brought near.
   */
  async #mendTimes(now: number): Promise<void> {
    const { domains, commit, log } = this.#options;
    const { verified, others } = LONGEST_DELAY_MS;
    this.#isMending = true;
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
        this.#pausedAt = now;
      } else log.error("domains", error);
    }
    this.#isMending = false;
    this.#goOn();
  }

  #goOn(): void {
    this.#look();
    if (this.#isIdle) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}

/** What is left of a wait that began at `since`; a clock that was set back ends it. */
function remaining(since: number | null, waitMs: number, now: number): number {
  return since === null || now < since ? 0 : Math.max(0, since + waitMs - now);
}
