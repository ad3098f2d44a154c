import type { Clock } from "../clock.ts";
import type { Commit } from "../db/group-commit.ts";
import type { DiskGuard } from "../db/disk-guard.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { Log } from "../log.ts";
import type { Random } from "../random.ts";
import type { HealthIssue } from "../health-issue.ts";
import type { AttemptContext, JobHandler, JobResult } from "./handler.ts";
import { bringNear } from "./bring-near.ts";
import { DueTimer } from "./due-timer.ts";
import { Lanes } from "./lanes.ts";
import type { Lane } from "./lane.ts";
import { lookUpOwners } from "./lane-owners.ts";
import { freeInterrupted, mendLost, type RecoverDeps } from "./recover.ts";
import { nextRetryAt } from "./retry-delay.ts";
import type { PauseView } from "./delivery-pause.ts";
import type { SiteGate } from "./site-limits.ts";
import { type Deferral, type Job, type LaneHead, RowTaken, type WorkerQueue } from "./job.ts";
import { FailedResults } from "./failed-results.ts";

export type { AttemptContext, JobHandler, JobResult };

// The worker takes due rows off the queue and hands each to the handler, which does the I/O and
// returns what to write; the worker writes it together with the row's fate in one transaction.
//
// A row's life: waiting → (claim, committed) in flight → finished (row gone) | deferred (waiting
// again) | given back (the attempt was never begun). Every way out of a handler, a thrown bug
// included, ends in one of these. An end that the storage does not take stays in memory and is tried again
// every second, while the disk guard keeps anything new from starting. One that a bug keeps from being written
// leaves the row in flight (failed-results.ts), as a crash does; recover.ts frees it at the next start.

/** A destination that did not answer is tried again with its next row after this: its backlog must not burn a core on it. */
const UNREACHED_PAUSE_MS = 1_000;
/** After a failure to write; for a bug that repeats, the difference to a loop that spins. */
const AGAIN_MS = 1_000;
const WATCH_EVERY_MS = 60_000;
/** The attempt after which one that a bug broke off behind its dot waits for the end of its life. */
const MAX_SENT_BY_BUGS = 3;
/** After the sessions' time a stop tries so long more to write what came of them, while the storage fails. */
const RECORD_GRACE_MS = 18_000;

export interface WorkerOptions {
  queue: WorkerQueue;
  handler: JobHandler;
  commit: Commit;
  guard: DiskGuard;
  clock: Clock;
  random: Random;
  log: Log;
  scheduleMs: readonly number[];
  maxJobs: number;
  maxJobsPerLane: number;
  /** What sites allow; null: everything. */
  gate?: SiteGate;
  /** Whether nothing of a workspace may be claimed, until release(); absent: nobody is held. */
  isHeld?: (workspaceId: number) => boolean;
  pause?: PauseView;
}

export class Worker {
  readonly #options: WorkerOptions;
  readonly #lanes: Lanes;
  readonly #isHeld: (workspaceId: number) => boolean;
  readonly #running = new Map<number, Job>();
  readonly #unwritten: FailedResults;
  readonly #stopping = new AbortController();
  readonly #cutOff = new AbortController();
  readonly #givingUp = new AbortController();
  /** Ends of attempts that a stop gave up writing. */
  #unrecorded = 0;
  readonly #idleWaiters: (() => void)[] = [];
  #claiming = 0;
  #isTickQueued = false;
  #recovery: "due" | "running" | "done" = "due";
  readonly #timer: DueTimer;
  #cancelWatch: (() => void) | null = null;
  /** Since when it has been starting, or stopping. */
  #changingSince: number;
  #unsubscribeGuard: (() => void) | null = null;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#changingSince = options.clock.now();
    this.#unwritten = new FailedResults(options);
    this.#timer = new DueTimer(options.clock, () => this.#tickSoon());
    const { workspaceOf, isHeld } = lookUpOwners(options);
    this.#lanes = new Lanes(options.maxJobsPerLane, workspaceOf, options.gate, isHeld);
    this.#isHeld = isHeld;
  }

  /** Frees what a crash left in flight, then begins to work. */
  async start(): Promise<void> {
    const { guard, log } = this.#options;
    this.#unsubscribeGuard = guard.whenOpen(
      () => void this.#resume().catch((error: unknown) => log.error("recover", error)),
    );
    this.#options.pause?.whenResumed(() => this.#tickSoon());
    await this.#resume();
    this.#watch();
  }

  /** A row of the lane was committed, due at `dueAt`; null: when it expires is not known here. */
  nudge(laneId: number, dueAt: number, expiresAt: number | null = null): void {
    this.#lanes.wake(laneId, dueAt, expiresAt);
    this.#tickSoon();
  }

  /** The workspace is held no more: what of it is due starts. */
  release(workspaceId: number): void {
    this.#lanes.release(workspaceId);
    this.#tickSoon();
  }

  /** These lanes were removed, with all that waited in them. */
  forgetLanes(laneIds: readonly number[]): void {
    for (const laneId of laneIds) this.#lanes.forget(laneId);
  }

  /** The clock was set back: what waits for a time that lies ahead now is brought near. Rejects with StorageError. */
  async followSetBack(): Promise<void> {
    const heads = await bringNear(this.#options);
    this.#lanes.forgetPauses();
    for (const { laneId, dueAt } of heads) this.#lanes.wake(laneId, dueAt);
    this.#tickSoon();
  }

  /** Resolves when nothing runs and nothing is due now, but what is held. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** The site that a lane leads to, or null when it is not known yet. */
  siteOf(laneId: number): string | null {
    return this.#lanes.siteOf(laneId);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Why it takes nothing off the queue by itself; the storage's trouble is the guard's to tell. */
  get issue(): HealthIssue | null {
    const since = this.#changingSince;
    if (this.#stopping.signal.aborted) {
      const running = this.#running.size;
      const reason = `pombo is stopping: it sends nothing new and waits for ${running} running deliveries to end`;
      return { component: "worker", reason, since };
    }
    if (this.#recovery === "done") return this.#unwritten.issue;
    const reason = "Delivery has not begun yet: what was under way when pombo ended last is put in order first";
    return { component: "worker", reason, since };
  }

  /**
   * Stops: nothing new is claimed, attempts not begun are given back, running ones get `graceMs` to
   * end, then their connections are cut. Resolves when every outcome is recorded, or with how many could not be: these
   * rows stay in flight, as a crash leaves them.
   */
  async stop(graceMs: number): Promise<number> {
    this.#changingSince = this.#options.clock.now();
    this.#stopping.abort();
    this.#timer.set(null);
    this.#cancelWatch?.();
    this.#unwritten.stop();
    this.#unsubscribeGuard?.();
    const { clock } = this.#options;
    const cancelGrace = clock.after(graceMs, () => this.#cutOff.abort());
    const cancelRecording = clock.after(graceMs + RECORD_GRACE_MS, () => this.#givingUp.abort());
    await this.idle();
    cancelGrace();
    cancelRecording();
    return this.#unrecorded;
  }

  get #recoverParts(): RecoverDeps {
    const freed = (heads: LaneHead[]) => {
      for (const head of heads) this.nudge(head.laneId, head.dueAt);
    };
    return { ...this.#options, unwritten: this.#unwritten, freed };
  }

  /** At start, and each time the storage is well again. */
  async #resume(): Promise<void> {
    if (this.#recovery === "due") {
      this.#recovery = "running";
      try {
        for (const head of await freeInterrupted(this.#recoverParts)) this.#lanes.wake(head.laneId, head.dueAt);
        this.#recovery = "done";
      } catch (error) {
        this.#recovery = "due";
        if (isStorageError(error)) return; // the guard calls again
        throw error;
      }
    }
    this.#tickSoon();
  }

  #isIdle(): boolean {
    if (this.#running.size > 0 || this.#claiming > 0 || this.#isTickQueued) return false;
    if (this.#stopping.signal.aborted || this.#options.guard.failure !== null || this.#isPaused) return true;
    const dueAt = this.#lanes.nextDueAt();
    return dueAt === null || dueAt > this.#options.clock.now();
  }

  get #isPaused(): boolean {
    return this.#unwritten.isTooMany || (this.#options.pause?.isPaused ?? false);
  }

  #tickSoon(): void {
    if (this.#isTickQueued) return;
    this.#isTickQueued = true;
    // After the callbacks of this turn, so that the slots they free are filled by one claim.
    setImmediate(() => {
      this.#isTickQueued = false;
      this.#tick();
      if (this.#isIdle()) for (const resolve of this.#idleWaiters.splice(0)) resolve();
    });
  }

  #tick(): void {
    const { clock, guard, maxJobs } = this.#options;
    if (this.#stopping.signal.aborted || guard.failure !== null || this.#recovery !== "done" || this.#isPaused) return;
    const now = clock.now();
    let free = maxJobs - this.#running.size - this.#claiming;
    while (free > 0) {
      const next = this.#lanes.take(now, free);
      if (next === null) break;
      free -= next.room;
      void this.#claim(next.lane, next.room);
    }
    this.#timer.set(free > 0 ? this.#lanes.nextInHeapAt() : null);
  }

  async #claim(lane: Lane, limit: number): Promise<void> {
    const { queue, commit, clock, random, scheduleMs, log } = this.#options;
    this.#claiming += limit;
    try {
      const { jobs, head } = await commit(() => {
        const now = clock.now();
        const retryAt = (attempt: number) => nextRetryAt(attempt, scheduleMs, now, random);
        // Its workspace may have come to be held in this very transaction.
        const isHeld = this.#isHeld(lane.workspaceId);
        const claimed = isHeld ? [] : queue.claim({ laneId: lane.id, now, limit, retryAt });
        return { jobs: claimed, head: queue.headOf(lane.id) };
      });
      this.#lanes.claimed(lane, limit, jobs.length, head);
      for (const job of jobs) void this.#run(job);
    } catch (error) {
      if (isStorageError(error)) {
        this.#lanes.unclaimed(lane, limit); // the guard is closed now, and calls when it opens
      } else {
        log.error("claim", error);
        this.#lanes.claimed(lane, limit, 0, { dueAt: clock.now() + AGAIN_MS, expiresAt: null });
      }
    } finally {
      this.#claiming -= limit;
      this.#tickSoon();
    }
  }

  async #run(job: Job): Promise<void> {
    this.#running.set(job.id, job);
    const settlement = await this.#attempt(job);
    await this.#settle(job, settlement);
    // A row that was given back may have been claimed again in the very transaction that did so.
    if (this.#running.get(job.id) === job) this.#running.delete(job.id);
    this.#lanes.ended(job.laneId, settlement.isReached, this.#options.clock.now() + UNREACHED_PAUSE_MS);
    this.#tickSoon();
  }

  async #attempt(job: Job): Promise<JobResult> {
    const { handler, queue, commit, guard, clock, log } = this.#options;
    const nothing = () => undefined;
    if (this.#stopping.signal.aborted) return { action: { kind: "give_back" }, isReached: null, record: nothing };
    let dotAt: number | null = null;
    const markDot = async () => {
      // This small mark may still fit where the record of the outcome would not.
      if (guard.failure !== null) throw new Error(guard.failure);
      const now = clock.now();
      const isOurs = await commit(() => queue.markPointOfNoReturn(job, now)).catch((error: unknown) => {
        if (!isStorageError(error)) this.#unwritten.tellBug("dot", job, error);
        throw error;
      });
      if (!isOurs) throw new RowTaken("the row was taken from this attempt");
      dotAt = now;
    };
    try {
      return await handler.attempt(job, {
        markPointOfNoReturn: markDot,
        locate: (site) => this.#locate(job.laneId, site),
        stopping: this.#stopping.signal,
        cutOff: this.#cutOff.signal,
      });
    } catch (error) {
      log.error("attempt", error);
      const lastReply = "pombo failed inside; see its log";
      const { id, attempt, startedAt } = job;
      const mayBeSent = dotAt === null ? null : { id, attempts: attempt, startedAt, dotAt };
      // The same bug would send it at each attempt for days.
      const isLast = mayBeSent !== null && attempt >= MAX_SENT_BY_BUGS;
      return {
        action: { kind: "defer", at: isLast ? job.expiresAt : null, lastReply, badDomainAt: job.badDomainAt },
        isReached: null,
        isInDoubt: mayBeSent !== null,
        record: (ownsRow) => (ownsRow && mayBeSent !== null ? handler.recordUncertain(mayBeSent) : undefined),
      };
    }
  }

  #locate(laneId: number, site: string): void {
    if (this.#lanes.siteOf(laneId) === site) return;
    this.#lanes.locate(laneId, site);
    this.#tickSoon();
  }

  /** Writes the end of an attempt, however long the storage takes to let it. */
  async #settle(job: Job, settlement: JobResult): Promise<void> {
    const { clock } = this.#options;
    let whatIsLeft = settlement;
    for (;;) {
      try {
        return await this.#write(job, whatIsLeft);
      } catch (error) {
        if (isStorageError(error)) {
          if (this.#givingUp.signal.aborted) return void (this.#unrecorded += 1);
          await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
          continue;
        }
        this.#unwritten.tellBug("record", job, error);
      }
      // The room's rows cannot be written. What nobody has taken is put off without them; of the rest none is to be
      // sent again unmarked, nor taken off the queue with nobody told how it ended.
      const mayPutOff = settlement.action.kind === "defer" && settlement.isInDoubt !== true;
      if (!mayPutOff || whatIsLeft !== settlement) return this.#keep(job, settlement);
      whatIsLeft = { action: settlement.action, isReached: settlement.isReached, record: () => undefined };
    }
  }

  #keep(job: Job, settlement: JobResult): void {
    this.#unwritten.keep(job.id, async () => {
      await this.#write(job, settlement);
      this.#tickSoon();
    });
  }

  async #write(job: Job, settlement: JobResult): Promise<void> {
    const { commit, log } = this.#options;
    const dueAt = await commit(() => this.#record(job, settlement));
    try {
      if (dueAt !== null) this.nudge(job.laneId, dueAt, job.expiresAt);
      settlement.committed?.();
    } catch (error) {
      log.error("committed", error);
    }
  }

  #record(job: Job, settlement: JobResult): number | null {
    const { queue, clock, random, scheduleMs } = this.#options;
    const { action: fate } = settlement;
    switch (fate.kind) {
      case "finish":
        settlement.record(queue.complete(job), job.nextAt);
        return null;
      case "defer": {
        // Counted from the end: an attempt may outlast the delay that its claim has set (ten minutes for the dot
        // against one), and must not be followed by the next at once (R28).
        const at = fate.at ?? nextRetryAt(job.attempt, scheduleMs, clock.now(), random);
        const deferral: Deferral = {
          // Told off on time; but what is deferred after its time, by a bug, must not come again at once for ever.
          nextAt: job.startedAt < job.expiresAt ? Math.min(at, job.expiresAt) : at,
          lastReply: fate.lastReply,
          badDomainAt: fate.badDomainAt,
        };
        const ownsRow = queue.retry(job, deferral);
        settlement.record(ownsRow, deferral.nextAt);
        return ownsRow ? deferral.nextAt : null;
      }
      case "give_back": {
        // It was due when it was claimed; where the clock was set back since, that time lies ahead.
        const dueAt = Math.min(job.dueAt, clock.now());
        queue.release({ ...job, dueAt });
        return dueAt;
      }
    }
  }

  #watch(): void {
    const { clock, guard } = this.#options;
    if (this.#stopping.signal.aborted) return; // during the recovery at the start
    this.#cancelWatch = clock.after(WATCH_EVERY_MS, () => {
      this.#watch();
      if (this.#claiming > 0 || guard.failure !== null || this.#recovery !== "done") return;
      mendLost((id) => this.#running.has(id), this.#recoverParts);
    });
  }
}
