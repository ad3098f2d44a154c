// The worker of a queue: claims due rows, hands each to the handler, which does the I/O, and records the result.
//
// A row's life: waiting → (claim, committed) in flight → completed (the row is gone) | retried (it waits again) | released
// (the attempt was not begun). Every way out of a handler, an internal error included, ends in one of these. A result
// that the storage does not take stays in memory and is tried again every second, while the disk guard keeps anything new
// from starting. One that an internal error keeps from being recorded leaves the row in flight, as a crash does. If it says
// that the destination has taken the message, it stands in the journal of outcomes too.
//
// A crash may undo a claim and a result: the row is found in flight, and its attempt is made again or is uncertain. The
// point of no return may not be undone, nor the claim of a queue without one: the attempt goes on when that is kept.
//
// lanes.ts says which rows are next, result-recorder.ts writes results, recover.ts frees what a crash left in flight.

import { BackgroundTask } from "../background-task.ts";
import type { Context } from "../context.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { HealthIssue } from "../health-issue.ts";
import type { PauseView } from "./delivery-pause.ts";
import { DueTimer } from "./due-timer.ts";
import type { JobHandler, JobResult } from "./handler.ts";
import { type Job, type LaneHead, RowTaken, type WorkerQueue } from "./job.ts";
import type { Lane } from "./lane.ts";
import { Lanes } from "./lanes.ts";
import { freeInterrupted, releaseOrphanedRows, type RecoverDeps, reschedule } from "./recover.ts";
import { ResultRecorder } from "./result-recorder.ts";
import type { OutcomeJournal } from "./outcome-journal.ts";
import { nextRetryAt } from "./retry-delay.ts";
import type { SiteLimits } from "./site-limits.ts";

/** A destination that did not answer is tried again with its next row after this: its backlog must not burn a core. */
const UNREACHED_PAUSE_MS = 1_000;
/** After a claim that failed because of an internal error, which may repeat. */
const CLAIM_AGAIN_MS = 1_000;
const WATCH_EVERY_MS = 60_000;
/** After so many attempts that internal errors cut off behind the point of no return, the row waits for the end of its life. */
const MAX_UNCERTAIN_ATTEMPTS = 3;
/** A stop waits so long beyond its grace for results to be recorded while the storage fails. */
const RECORD_GRACE_MS = 18_000;

export interface WorkerOptions<State = unknown> extends Omit<Context, "steady" | "commitHere"> {
  queue: WorkerQueue<State>;
  handler: JobHandler<State>;
  /** Waits between attempts, see retry-delay.ts. */
  scheduleMs: readonly number[];
  maxJobs: number;
  maxJobsPerLane: number;
  /** Absent: sites have no limits. */
  siteLimits?: SiteLimits;
  /** Whether nothing of a workspace may be claimed until release(); absent: none is held. */
  isHeld?: (workspaceId: number) => boolean;
  pause?: PauseView;
  /** Keeps outcomes that cannot be recorded; the worker opens and closes it. */
  outcomes?: OutcomeJournal;
}

export class Worker<State = unknown> {
  readonly #options: WorkerOptions<State>;
  readonly #lanes: Lanes;
  readonly #running = new Map<number, Job<State>>();
  readonly #recorder: ResultRecorder<State>;
  readonly #timer: DueTimer;
  readonly #watch: BackgroundTask;
  readonly #stopping = new AbortController();
  readonly #cutOff = new AbortController();
  readonly #idleWaiters: (() => void)[] = [];
  #claiming = 0;
  #isTickQueued = false;
  #recovery: "due" | "running" | "done" = "due";
  /** Since when it has been starting, or stopping. */
  #changingSince: number;
  #unsubscribeGuard: (() => void) | null = null;

  constructor(options: WorkerOptions<State>) {
    const { clock, queue } = options;
    this.#options = options;
    this.#changingSince = clock.now();
    this.#timer = new DueTimer(clock, () => this.#tickSoon());
    this.#watch = new BackgroundTask({ ...options, name: "watch", run: () => this.#releaseOrphanedRows() });
    this.#recorder = new ResultRecorder(options, (job, dueAt) => {
      if (dueAt !== null) this.nudge(job.laneId, dueAt, job.expiresAt);
      this.#tickSoon();
    });
    // A lane whose workspace cannot be read takes its turns with its like.
    const findWorkspace = (laneId: number) => this.#ask(() => queue.findWorkspace(laneId), 0);
    const isHeld = (workspaceId: number) => this.#isHeld(workspaceId);
    this.#lanes = new Lanes(options.maxJobsPerLane, findWorkspace, options.siteLimits, isHeld);
  }

  /** Frees what a crash left in flight, then begins to work. */
  async start(): Promise<void> {
    const { guard, pause, log } = this.#options;
    this.#unsubscribeGuard = guard.whenOpen(
      () => void this.#resume().catch((error: unknown) => log.error("recover", error)),
    );
    pause?.whenResumed(() => this.#tickSoon());
    await this.#resume();
    this.#watch.start(WATCH_EVERY_MS);
  }

  /** A row of the lane was committed, due at `dueAt`; `expiresAt` null: not known here. */
  nudge(laneId: number, dueAt: number, expiresAt: number | null = null): void {
    this.#lanes.wake(laneId, dueAt, expiresAt);
    this.#tickSoon();
  }

  /** The workspace is not held any more: what is due of it starts. */
  release(workspaceId: number): void {
    this.#lanes.release(workspaceId);
    this.#tickSoon();
  }

  /** These lanes were removed, with all that waited in them. */
  forgetLanes(laneIds: readonly number[]): void {
    for (const laneId of laneIds) this.#lanes.forget(laneId);
  }

  /** The clock was set back: shortens waits for a time that lies further ahead now. Rejects with StorageError. */
  async rescheduleAfterSetBack(): Promise<void> {
    const heads = await reschedule(this.#options);
    this.#lanes.forgetPauses();
    for (const { laneId, dueAt } of heads) this.#lanes.wake(laneId, dueAt);
    this.#tickSoon();
  }

  /** Resolves when nothing runs and nothing is due now, but for what is held. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** The site that a lane leads to; null: not known yet. */
  getSite(laneId: number): string | null {
    return this.#lanes.getSite(laneId);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Why it does not work as usual; storage errors are reported by the disk guard. */
  get issue(): HealthIssue | null {
    const since = this.#changingSince;
    if (this.#stopping.signal.aborted) {
      const running = this.#running.size;
      const reason = `pombo is stopping: it sends nothing new and waits for ${running} running deliveries to end`;
      return { component: "worker", reason, since };
    }
    if (this.#recovery === "done") return this.#recorder.failed.issue;
    const reason = "Delivery has not begun yet: what was under way when pombo ended last is put in order first";
    return { component: "worker", reason, since };
  }

  /**
   * Stops: nothing new is claimed, attempts not begun are released, running ones get `graceMs` to end, then their connections
   * are cut. Resolves when every result is recorded, or with how many could not be: their rows stay in flight, as a crash
   * leaves them.
   */
  async stop(graceMs: number): Promise<number> {
    const { clock } = this.#options;
    this.#changingSince = clock.now();
    this.#stopping.abort();
    this.#timer.set(null);
    void this.#watch.stop();
    this.#recorder.failed.stop();
    this.#unsubscribeGuard?.();
    const cancelGrace = clock.after(graceMs, () => this.#cutOff.abort());
    const cancelRecording = clock.after(graceMs + RECORD_GRACE_MS, () => this.#recorder.giveUp());
    await this.idle();
    cancelGrace();
    cancelRecording();
    this.#options.outcomes?.close();
    return this.#recorder.unrecorded;
  }

  get #recoverDeps(): RecoverDeps {
    const freed = ({ laneId, dueAt }: LaneHead) => this.nudge(laneId, dueAt);
    return { ...this.#options, failed: this.#recorder.failed, freed };
  }

  /** At the start, and each time that the storage works again. */
  async #resume(): Promise<void> {
    if (this.#recovery === "due") {
      this.#recovery = "running";
      try {
        for (const { laneId, dueAt } of await freeInterrupted(this.#recoverDeps)) this.#lanes.wake(laneId, dueAt);
        this.#recovery = "done";
      } catch (error) {
        this.#recovery = "due";
        if (isStorageError(error)) return; // the guard calls again
        throw error;
      }
    } else if (this.#recovery === "done") {
      // Rows that were committed while it was closed, and whose callers were told that nobody knows: nobody has nudged for them.
      const heads = await this.#options.commit(() => this.#options.queue.listHeads()).catch(() => []);
      for (const { laneId, dueAt } of heads) this.#lanes.wake(laneId, dueAt);
    }
    this.#tickSoon();
  }

  async #releaseOrphanedRows(): Promise<number> {
    if (this.#claiming > 0 || this.#options.guard.failure !== null || this.#recovery !== "done") return WATCH_EVERY_MS;
    const heads = await releaseOrphanedRows((id) => this.#running.has(id), this.#recoverDeps);
    for (const { laneId, dueAt } of heads) this.nudge(laneId, dueAt);
    return WATCH_EVERY_MS;
  }

  /** Whether nothing may be claimed now. */
  get #isHalted(): boolean {
    const { guard, pause } = this.#options;
    if (this.#stopping.signal.aborted || guard.failure !== null) return true;
    return this.#recorder.failed.isTooMany || pause?.isPaused === true;
  }

  get #isIdle(): boolean {
    if (this.#running.size > 0 || this.#claiming > 0 || this.#isTickQueued) return false;
    if (this.#isHalted) return true;
    const dueAt = this.#lanes.nextDueAt();
    return dueAt === null || dueAt > this.#options.clock.now();
  }

  /** What cannot be read is not held for that. */
  #isHeld(workspaceId: number): boolean {
    return this.#ask(() => this.#options.isHeld?.(workspaceId) ?? false, false);
  }

  /** For questions after a commit, or between two claims, where nothing may fail. */
  #ask<T>(question: () => T, otherwise: T): T {
    try {
      return question();
    } catch (error) {
      this.#options.log.error("lanes", error);
      return otherwise;
    }
  }

  #tickSoon(): void {
    if (this.#isTickQueued) return;
    this.#isTickQueued = true;
    // After the callbacks of this turn, so that the places they free are filled by one claim.
    setImmediate(() => {
      this.#isTickQueued = false;
      this.#tick();
      if (this.#isIdle) for (const resolve of this.#idleWaiters.splice(0)) resolve();
    });
  }

  #tick(): void {
    const { clock, maxJobs } = this.#options;
    if (this.#isHalted || this.#recovery !== "done") return;
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
    const { queue, commit, kept, clock, random, scheduleMs, log } = this.#options;
    this.#claiming += limit;
    try {
      const { jobs, head } = await commit(() => {
        const now = clock.now();
        const retryAt = (attempt: number) => nextRetryAt(attempt, scheduleMs, now, random);
        // Its workspace may have come to be held in this very transaction.
        const isHeld = this.#isHeld(lane.workspaceId);
        const claimed = isHeld ? [] : queue.claim({ laneId: lane.id, now, limit, retryAt });
        return { jobs: claimed, head: queue.findHead(lane.id) };
      });
      if (queue.markPointOfNoReturn === undefined && jobs.length > 0) await kept?.();
      this.#lanes.claimed(lane, limit, jobs.length, head);
      for (const job of jobs) void this.#run(job);
    } catch (error) {
      if (isStorageError(error)) {
        this.#lanes.unclaimed(lane, limit); // the guard is closed now, and calls when it opens
      } else {
        log.error("claim", error);
        this.#lanes.claimed(lane, limit, 0, { dueAt: clock.now() + CLAIM_AGAIN_MS, expiresAt: null });
      }
    } finally {
      this.#claiming -= limit;
      this.#tickSoon();
    }
  }

  /** From the claim to the record. Never rejects. */
  async #run(job: Job<State>): Promise<void> {
    this.#running.set(job.id, job);
    const result = await this.#attempt(job);
    await this.#recorder.record(job, result);
    // A row that was released may have been claimed again in the very transaction that did so.
    if (this.#running.get(job.id) === job) this.#running.delete(job.id);
    this.#lanes.ended(job.laneId, result.isReached, this.#options.clock.now() + UNREACHED_PAUSE_MS);
    this.#tickSoon();
  }

  async #attempt(job: Job<State>): Promise<JobResult<State>> {
    const { handler, log } = this.#options;
    if (this.#stopping.signal.aborted) return { action: { kind: "release" }, isReached: null };
    let uncertainSince: number | null = null;
    try {
      return await handler.attempt(job, {
        markPointOfNoReturn: async () => {
          uncertainSince = await this.#markPointOfNoReturn(job);
        },
        locate: (site) => this.#locate(job.laneId, site),
        stopping: this.#stopping.signal,
        cutOff: this.#cutOff.signal,
      });
    } catch (error) {
      log.error("attempt", error);
      return this.#buildErrorResult(job, uncertainSince);
    }
  }

  #buildErrorResult(job: Job<State>, uncertainSince: number | null): JobResult<State> {
    const { handler } = this.#options;
    const { id, attempt: attempts, startedAt, expiresAt } = job;
    const state = handler.stateAfterError?.(job) ?? job.state;
    if (uncertainSince === null) return { action: { kind: "retry", at: null, state }, isReached: null };
    // The same error would send it at each attempt for days.
    const at = attempts >= MAX_UNCERTAIN_ATTEMPTS ? expiresAt : null;
    return {
      action: { kind: "retry", at, state },
      isReached: null,
      isUncertain: true,
      record: (ownsRow) =>
        ownsRow ? handler.recordUncertain?.({ id, attempts, startedAt, uncertainSince }) : undefined,
    };
  }

  /** Returns when it was. */
  async #markPointOfNoReturn(job: Job<State>): Promise<number> {
    const { queue, commit, kept, guard, clock } = this.#options;
    // This small mark may still fit where the record of the result would not.
    if (guard.failure !== null) throw new Error(guard.failure);
    const now = clock.now();
    const isOurs = await commit(() => queue.markPointOfNoReturn?.(job, now)).catch((error: unknown) => {
      if (!isStorageError(error)) this.#recorder.logError("point of no return", job, error);
      throw error;
    });
    if (isOurs === undefined) throw new Error("the queue has no point of no return");
    if (!isOurs) throw new RowTaken("the row was taken from this attempt");
    await kept?.();
    return now;
  }

  #locate(laneId: number, site: string): void {
    if (this.#lanes.getSite(laneId) === site) return;
    this.#lanes.locate(laneId, site);
    this.#tickSoon();
  }
}
