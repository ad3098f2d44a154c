// Supervises the replication daemon: starts it, starts it again when it ends, and decides who checkpoints the WAL.
//
// Only the daemon checkpoints while it answers: a checkpoint that it did not make forces a new whole copy. While it
// does not answer the WAL grows, and above a limit pombo checkpoints, until the daemon answers again.

import { getErrorMessage } from "../../platform/errors.ts";
import { BackgroundTask } from "../../platform/background-task.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import type { DaemonControl, DaemonState } from "./control.ts";
import type { Lineages } from "./lineages.ts";
import type { RestorableCheck } from "./restorable.ts";
import { createLineReader } from "./daemon-log.ts";

const LOOK_EVERY_MS = 5_000;
/** It takes a moment to come up. */
const FIRST_LOOK_MS = 1_000;
const BACKOFF_MIN_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;
/** A child that lived so long begins with the shortest wait again. */
const STEADY_MS = 60_000;
/** One that has not answered for so long is ended by force. */
const SILENT_MS = 60_000;
/** After so many in a row that never answered, a new lineage is begun. */
const MUTE_LAUNCHES = 3;
/** A state that is damaged is believed when so many looks in a row have shown it. */
const DAMAGE_LOOKS = 2;
const WAL_LIMIT_BYTES = 256 * 1024 * 1024;
/** Since the last good copying, before it is an issue. */
const LATE_MS = 5 * 60_000;
/** A stop: for the last copying asked for, for the daemon to end by itself, and for one that must be started for it. */
const SYNC_LIMIT_MS = 10_000;
const END_LIMIT_MS = 18_000;
/** However late it is. */
const MIN_LIMIT_MS = 1_000;
/** Left to a daemon to end by itself, where there is little time. */
const END_SHARE_MS = 6_000;
const COME_UP_LIMIT_MS = 5_000;
const COME_UP_LOOK_MS = 100;
/** Of its words, in the status. */
const MAX_WORDS = 500;

export interface DaemonChild {
  pid: number;
  /** Resolves with its exit code; null: a signal ended it. */
  ended: Promise<number | null>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

export interface SupervisorDeps {
  lineages: Pick<Lineages, "prepare" | "hasStep" | "issue">;
  /** Starts the daemon; `line` is called for each line of its output. */
  spawn: (line: (text: string) => void) => DaemonChild;
  restorable: RestorableCheck;
  control: DaemonControl;
  databases: { main: string; owner: string };
  /** Who checkpoints the WAL; called by turns. */
  checkpoints: { leave: () => void; take: () => void; walBytes: () => number };
  /** For the times that are shown; waits and spans use the steady clock, which is never set. */
  clock: Pick<Clock, "now">;
  steady: Clock;
  log: Log;
}

/** For /metrics, /ready and pombo status. */
export interface ReplicationStatus {
  /** The daemon runs and answers. */
  isRunning: boolean;
  pid: number | null;
  /** How often it has ended by itself. */
  restarts: number;
  /** When all that there was had been copied last, Unix ms; null: not since this start. */
  lastSyncAt: number | null;
  /** How long ago that was, or the start. */
  lagMs: number;
  /** The daemon's last error; while it does not answer, its last line of output; null: none. */
  fault: string | null;
  /** Who checkpoints the WAL. */
  checkpointsBy: "litestream" | "pombo";
  /** Whether this database could be restored from the replica when that was checked last. */
  isRestorable: boolean;
}

export class Supervisor {
  readonly #deps: SupervisorDeps;
  /** By the steady clock, as the other two: when all was copied last, or the start. */
  #copiedAt: number;
  #child: DaemonChild | null = null;
  #childSince = 0;
  #answeredAt = 0;
  #state: DaemonState | null = null;
  /** Since it answered last. */
  #lastWords: string | null = null;
  #lastSyncAt: number | null = null;
  #restarts = 0;
  #backoffMs = BACKOFF_MIN_MS;
  #isOurs = false;
  readonly #launches: BackgroundTask;
  readonly #looks: BackgroundTask;
  #hasAnswered = false;
  /** It is ended by us, since it does not answer. */
  #isSilent = false;
  /** Children in a row that ended, or were ended, without an answer. */
  #mute = 0;
  /** Of the last look that was over. */
  #fault: string | null = null;
  /** Looks in a row that have shown damage. */
  #damagedLooks = 0;
  /** Why the next daemon needs a new lineage. */
  #renewal: string | null = null;
  #isStopping = false;
  /** No child may be started any more. */
  #isOver = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#copiedAt = deps.steady.now();
    const shared = { name: "replication", clock: deps.steady, log: deps.log };
    // One launch at a time: two daemons would write the same files.
    this.#launches = new BackgroundTask({ ...shared, run: () => this.#launch() });
    this.#looks = new BackgroundTask({ ...shared, run: () => this.look().then(() => LOOK_EVERY_MS) });
  }

  start(): void {
    this.#deps.checkpoints.leave();
    this.#launches.start();
    this.#looks.start(FIRST_LOOK_MS);
  }

  get status(): ReplicationStatus {
    return {
      isRunning: this.#child !== null && this.#state !== null,
      pid: this.#child?.pid ?? null,
      restarts: this.#restarts,
      lastSyncAt: this.#lastSyncAt,
      lagMs: Math.round(this.#deps.steady.now() - this.#copiedAt),
      fault: this.#state === null ? this.#lastWords : this.#fault,
      checkpointsBy: this.#isOurs ? "pombo" : "litestream",
      isRestorable: this.#deps.restorable.fault === null && this.#deps.lineages.issue === null,
    };
  }

  /** Mail goes on; what is accepted now would be lost with this machine's disk. */
  get issue(): HealthIssue | null {
    const { lagMs, isRunning, fault } = this.status;
    if (lagMs <= LATE_MS) return this.#restoreIssue ?? this.#deps.lineages.issue;
    const stopped = `the daemon does not run${fault === null ? "" : ` (${fault})`}`;
    const why = isRunning ? (fault ?? "the replica may not be reachable, or full") : stopped;
    const reason = `Nothing was replicated for ${Math.floor(lagMs / 60_000)} minutes: ${why}. It is tried again by itself; see the log.`;
    return { component: "replication", kind: "late", reason, since: this.#deps.clock.now() - lagMs, isAdvisory: true };
  }

  get #restoreIssue(): HealthIssue | null {
    const { fault } = this.#deps.restorable;
    if (fault === null) return null;
    const reason = `Nothing can be restored from the replica: ${fault.reason}. A new copy of the whole database is being made; until it is there, a lost disk loses everything.`;
    return { component: "replication", kind: "restorable", reason, since: fault.since, isAdvisory: true };
  }

  /** Has all that is committed copied; the daemon's number of the last transaction; null: not within `limitMs`, or there is no daemon now. */
  async sync(limitMs: number): Promise<number | null> {
    const { control, databases } = this.#deps;
    return this.#child === null ? null : control.sync(databases.main, limitMs);
  }

  /** Looks at once how far it is. */
  async look(): Promise<void> {
    const { control, databases, steady, log } = this.#deps;
    const child = this.#child;
    const ask = (database: string) => (child === null ? null : control.state(database));
    const [state, owner] = await Promise.all([ask(databases.main), ask(databases.owner)]);
    if (child !== this.#child || this.#isStopping) return;
    this.#state = state;
    const now = steady.now();
    if (state !== null) {
      this.#note(state, now - this.#answeredAt, owner?.transaction === null);
      this.#answeredAt = now;
      this.#hasAnswered = true;
      this.#lastWords = null;
      void this.#checkReplica(state).catch((error: unknown) => log.error("replication", error));
    } else if (child !== null && now - this.#answeredAt > SILENT_MS) {
      log.event("replication.unresponsive", { pid: child.pid, forMs: now - this.#answeredAt }, "warn");
      this.#answeredAt = now;
      this.#isSilent = true;
      child.kill("SIGKILL");
    }
    this.#assignCheckpoints();
  }

  /**
   * Copies everything and ends the daemon, once the database is closed here: in the other order our closing would be
   * the last, and checkpoint without the daemon. Resolves within `limitMs`, of which it needs 35 s at the most, and
   * 8 s to be sound.
   */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    void this.#looks.stop();
    const { control, databases, steady, log } = this.#deps;
    const startedAt = steady.now();
    // None is less than a second.
    const left = (atMost: number, forOthers = 0) =>
      Math.min(atMost, Math.max(MIN_LIMIT_MS, limitMs - forOthers - (steady.now() - startedAt)));
    let wasThere = this.#child !== null;
    const comingUp = () => left(COME_UP_LIMIT_MS, END_SHARE_MS);
    await this.#within(comingUp(), this.#launches.idle());
    const syncAll = async () => {
      await this.#comeUp(comingUp());
      if (this.#child === null) return false;
      wasThere = true;
      const within = left(SYNC_LIMIT_MS, END_SHARE_MS);
      const done = [databases.main, databases.owner].map((database) => control.sync(database, within));
      return (await Promise.all(done)).every((each) => each !== null);
    };
    let isComplete = await syncAll();
    // It ended meanwhile, as where a terminal or a service manager signals all processes: one more for what is left.
    if (this.#child === null && wasThere) isComplete = await syncAll();
    this.#isOver = true;
    void this.#launches.stop();
    const child = this.#child;
    child?.kill("SIGTERM");
    const cancel = steady.after(left(END_LIMIT_MS), () => child?.kill("SIGKILL"));
    await child?.ended;
    cancel();
    const words = isComplete ? {} : { words: "not everything is in the replica: it follows at the next start" };
    log.event(
      "replication.stopped",
      { isComplete, ms: Math.round(steady.now() - startedAt), ...words },
      isComplete ? "info" : "warn",
    );
  }

  /** When it is to be tried again; null: when the daemon ends. */
  async #launch(): Promise<number | null> {
    const { lineages, log } = this.#deps;
    if (this.#child !== null || this.#isOver) return null;
    const isMute = this.#mute >= MUTE_LAUNCHES;
    let reason: string | null;
    try {
      reason = await lineages.prepare(
        this.#renewal ?? (isMute ? `${MUTE_LAUNCHES} daemons in a row did not answer` : null),
      );
      if (this.#isOver) return null;
      if (reason === null) {
        this.#renewal = null;
        if (isMute) this.#mute = 0;
        this.#spawn();
        return null;
      }
    } catch (error) {
      // Its file may be gone, or there is no process to be had: another try may do.
      reason = getErrorMessage(error);
    }
    if (this.#isStopping) return null;
    const afterMs = this.#nextBackoff();
    this.#lastWords = reason;
    log.event("replication.waits", { reason, againInMs: afterMs }, "warn");
    return afterMs;
  }

  #spawn(): void {
    const { spawn, steady, log } = this.#deps;
    this.#deps.restorable.startDaemon();
    const child = spawn(
      createLineReader(log, steady, (words) => (this.#lastWords = words.slice(0, MAX_WORDS).toWellFormed())),
    );
    this.#child = child;
    this.#childSince = this.#answeredAt = steady.now();
    this.#hasAnswered = this.#isSilent = false;
    this.#fault = null;
    this.#damagedLooks = 0;
    log.event("replication.started", { pid: child.pid });
    void child.ended.then((code) => this.#ended(child, code));
  }

  /** What it says of itself holds only where it can read the database. */
  #note({ lastSyncAt, transaction, fault, isAtIt }: DaemonState, sinceAnswerMs: number, isOwnerDamaged: boolean): void {
    // While it is at it, it has forgotten what was wrong the last time, and its steps may be none.
    if (isAtIt) return;
    this.#fault = fault;
    if (fault === null && lastSyncAt !== null && lastSyncAt !== this.#lastSyncAt)
      this.#copied(lastSyncAt, sinceAnswerMs);
    const isGone = fault !== null && transaction !== null && !this.#deps.lineages.hasStep(transaction);
    const isDamaged = isOwnerDamaged || transaction === null || isGone;
    this.#damagedLooks = isDamaged ? this.#damagedLooks + 1 : 0;
    if (this.#damagedLooks >= DAMAGE_LOOKS) this.#renew("its last step here is damaged or gone");
  }

  /** It was after the daemon's last answer, which would have named it, whatever the wall clock says. */
  #copied(at: number, sinceAnswerMs: number): void {
    const { clock, steady } = this.#deps;
    this.#lastSyncAt = at;
    this.#copiedAt = steady.now() - Math.min(Math.max(0, clock.now() - at), sinceAnswerMs);
  }

  /** Checks whether a restore would succeed, a daemon with a fault included: it may stand at a step that was lost here. */
  async #checkReplica(state: DaemonState): Promise<void> {
    const child = this.#child;
    if (child === null || state.isAtIt) return;
    const reason = await this.#deps.restorable.observe(state);
    if (reason !== null && child === this.#child) this.#renew(reason);
  }

  /** Ends the daemon, so that the next one begins a new lineage. */
  #renew(reason: string): void {
    if (this.#isStopping) return;
    this.#renewal ??= reason;
    this.#child?.kill("SIGKILL");
  }

  #ended(child: DaemonChild, code: number | null): void {
    if (this.#child !== child) return;
    const { steady, log } = this.#deps;
    this.#child = this.#state = null;
    if (this.#isStopping) return;
    // One that was killed from outside says nothing about the state here.
    if (this.#hasAnswered) this.#mute = 0;
    else if (code !== null || this.#isSilent) this.#mute += 1;
    if (steady.now() - this.#childSince >= STEADY_MS) this.#backoffMs = BACKOFF_MIN_MS;
    const afterMs = this.#nextBackoff();
    this.#restarts += 1;
    log.event("replication.ended", { pid: child.pid, code, againInMs: afterMs }, "warn");
    this.#launches.start(afterMs);
  }

  async #within(limitMs: number, work: Promise<void>): Promise<void> {
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    const cancel = this.#deps.steady.after(limitMs, resolve);
    await Promise.race([work, isOver]);
    cancel();
  }

  #nextBackoff(): number {
    const afterMs = this.#backoffMs;
    this.#backoffMs = Math.min(2 * afterMs, BACKOFF_MAX_MS);
    return afterMs;
  }

  #assignCheckpoints(): void {
    const { checkpoints, log } = this.#deps;
    // A daemon that cannot read the database does not checkpoint either.
    const isWell = this.#state !== null && this.#fault === null;
    if (isWell && this.#isOurs) {
      this.#isOurs = false;
      checkpoints.leave();
      log.event("replication.checkpoints", { by: "litestream" });
    } else if (!isWell && !this.#isOurs && checkpoints.walBytes() > WAL_LIMIT_BYTES) {
      this.#isOurs = true;
      const words =
        "the write-ahead log grew while the daemon does not answer or cannot read it; it will need a new whole copy";
      log.event("replication.checkpoints", { by: "pombo", words }, "warn");
      checkpoints.take();
    }
  }

  /** A daemon that has just been started is waited for; where it had just ended there is one more, for what is left. */
  async #comeUp(limitMs: number): Promise<void> {
    const { control, databases, steady } = this.#deps;
    if (this.#child === null) {
      this.#launches.trigger();
      await this.#within(limitMs, this.#launches.idle());
    }
    let isOver = false;
    const cancel = steady.after(limitMs, () => (isOver = true));
    while (!isOver && this.#child !== null && (await control.state(databases.main)) === null)
      await new Promise<void>((resolve) => steady.after(COME_UP_LOOK_MS, resolve));
    cancel();
  }
}
