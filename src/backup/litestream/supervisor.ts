import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import type { DaemonControl, DaemonState } from "./control.ts";
import type { RestorableCheck } from "./restorable.ts";
import { reader } from "./daemon-log.ts";

// The supervisor of the replication daemon: it starts the child and starts it again when it ends, looks every few
// seconds how far it is, and says who brings the write-ahead log into the database.
//
// The log grows without limit while neither does. So: the daemon has it from the start, and for as long as it
// answers. While it does not, nothing is brought in, since what happens behind its back costs a new whole copy;
// above a limit pombo does it itself, until the daemon answers again.

const LOOK_EVERY_MS = 5_000;
/** It takes a moment to come up. */
const FIRST_LOOK_MS = 1_000;
const BACKOFF_MIN_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;
/** A child that lived so long begins with the shortest wait again. */
const STEADY_MS = 60_000;
/** One that has not answered for so long is ended by force. */
const SILENT_MS = 60_000;
/** After so many in a row that never answered, what they have here is put away. */
const MUTE_LAUNCHES = 3;
const WAL_LIMIT_BYTES = 256 * 1024 * 1024;
/** Since the last good copying, before it is trouble. */
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

/** A child that runs. */
export interface DaemonChild {
  pid: number;
  /** Resolves with its exit code; null: a signal ended it. */
  ended: Promise<number | null>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

export interface SupervisorDeps {
  /**
   * What must be done before each daemon runs. Null: it is; else why it cannot be done yet, in a sentence. `isDamaged`:
   * what the daemon has here has shown itself to be damaged.
   */
  prepare: (isDamaged: boolean) => Promise<string | null>;
  /** Whether its words tell that what it has here is damaged. */
  isDamage: (words: string) => boolean;
  /** Starts the daemon; `line` is called for each line that it says. `snapshotNow`: it takes a snapshot at once. */
  spawn: (line: (text: string) => void, snapshotNow: boolean) => DaemonChild;
  restorable: RestorableCheck;
  control: DaemonControl;
  databases: { main: string; owner: string };
  /** Who brings the log into the database; called by turns. */
  checkpoints: { leave: () => void; take: () => void; walBytes: () => number };
  /** For the times that are shown; the waits and spans are the steady clock's, which nobody sets. */
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
  /** Since then, or since the start. */
  lagMs: number;
  /** The daemon's number of the last transaction. */
  transaction: number | null;
  /** What it said is wrong, of one that does not answer the last that it said; null: nothing. */
  fault: string | null;
  /** Who brings the write-ahead log into the database. */
  checkpointsBy: "litestream" | "pombo";
  /** Whether the database could be restored from the replica when that was checked last. */
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
  /** The next child is about to be started. */
  #launching: Promise<void> = Promise.resolve();
  #hasAnswered = false;
  /** It is ended by us, since it does not answer. */
  #isSilent = false;
  /** Children in a row that ended, or were ended, without an answer. */
  #mute = 0;
  /** Of the last look that was over. */
  #fault: string | null = null;
  #isDamaged = false;
  #isStopping = false;
  /** No child may be started any more. */
  #isOver = false;
  #cancelLaunch: (() => void) | null = null;
  #cancelLook: (() => void) | null = null;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#copiedAt = deps.steady.now();
  }

  start(): void {
    this.#deps.checkpoints.leave();
    this.#launch();
    this.#lookLater(FIRST_LOOK_MS);
  }

  get status(): ReplicationStatus {
    return {
      isRunning: this.#child !== null && this.#state !== null,
      pid: this.#child?.pid ?? null,
      restarts: this.#restarts,
      lastSyncAt: this.#lastSyncAt,
      lagMs: Math.round(this.#deps.steady.now() - this.#copiedAt),
      transaction: this.#state?.transaction ?? null,
      fault: this.#state === null ? this.#lastWords : this.#fault,
      checkpointsBy: this.#isOurs ? "pombo" : "litestream",
      isRestorable: this.#deps.restorable.fault === null,
    };
  }

  /** Mail goes on; what is accepted now would be lost with this machine's disk. */
  get trouble(): HealthIssue | null {
    const { lagMs, isRunning, fault } = this.status;
    if (lagMs <= LATE_MS) return this.#restoreTrouble;
    const stopped = `the daemon does not run${fault === null ? "" : ` (${fault})`}`;
    const why = isRunning ? (fault ?? "the replica may not be reachable, or full") : stopped;
    const reason = `Nothing was replicated for ${Math.floor(lagMs / 60_000)} minutes: ${why}. It is tried again by itself; see the log.`;
    return { component: "replication", reason, since: this.#deps.clock.now() - lagMs, isAdvisory: true };
  }

  get #restoreTrouble(): HealthIssue | null {
    const { fault } = this.#deps.restorable;
    if (fault === null) return null;
    const reason = `Nothing can be restored from the replica: ${fault.reason}. Something removed files from it. A new snapshot is being taken; until it is there, a lost disk loses everything.`;
    return { component: "replication", reason, since: fault.since, isAdvisory: true };
  }

  /** Looks at once how far it is. */
  async look(): Promise<void> {
    const { control, databases, steady, log } = this.#deps;
    const child = this.#child;
    const state = child === null ? null : await control.state(databases.main);
    if (child !== this.#child || this.#isStopping) return;
    this.#state = state;
    const now = steady.now();
    if (state !== null) {
      this.#minded(state, now - this.#answeredAt);
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
    this.#shareCheckpoints();
  }

  /**
   * The end, once the database is closed here: all is copied, then the daemon ends. In the other order our closing
   * would be the last, and bring the log in behind its back. Resolves within `limitMs`, of which it needs 35 s at
   * the most and 8 s to be sound.
   */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    this.#cancelLook?.();
    this.#cancelLaunch?.();
    const { control, databases, steady, log } = this.#deps;
    const startedAt = steady.now();
    // None is less than a second.
    const left = (atMost: number, forOthers = 0) =>
      Math.min(atMost, Math.max(MIN_LIMIT_MS, limitMs - forOthers - (steady.now() - startedAt)));
    let wasThere = this.#child !== null;
    const comingUp = () => left(COME_UP_LIMIT_MS, END_SHARE_MS);
    await this.#within(comingUp(), this.#launching);
    const syncAll = async () => {
      await this.#comeUp(comingUp());
      if (this.#child === null) return false;
      wasThere = true;
      const within = left(SYNC_LIMIT_MS, END_SHARE_MS);
      const done = [databases.main, databases.owner].map((database) => control.sync(database, within));
      return (await Promise.all(done)).every((each) => each);
    };
    let isComplete = await syncAll();
    // It ended meanwhile, as where a terminal or a service manager signals all processes: one more for what is left.
    if (this.#child === null && wasThere) isComplete = await syncAll();
    this.#isOver = true;
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

  #launch(): void {
    this.#cancelLaunch = null;
    // One at a time: two would write the same files.
    this.#launching = this.#launching.then(() => this.#begin());
  }

  async #begin(): Promise<void> {
    const { prepare, steady, log } = this.#deps;
    if (this.#child !== null || this.#isOver) return;
    const isDamaged = this.#isDamaged || this.#mute >= MUTE_LAUNCHES;
    let reason: string | null;
    try {
      reason = await prepare(isDamaged);
      if (this.#isOver) return;
      if (reason === null) {
        this.#isDamaged = false;
        if (isDamaged) this.#mute = 0;
        this.#spawn();
        return;
      }
    } catch (error) {
      // Its file may be gone, or there is no process to be had: another try may do.
      reason = error instanceof Error ? error.message : String(error);
    }
    if (this.#isStopping) return;
    const afterMs = this.#nextBackoff();
    this.#lastWords = reason;
    log.event("replication.waits", { reason, againInMs: afterMs }, "warn");
    this.#cancelLaunch = steady.after(afterMs, () => this.#launch());
  }

  #spawn(): void {
    const { spawn, steady, log } = this.#deps;
    const snapshotNow = this.#deps.restorable.startDaemon();
    const child = spawn(
      reader(log, steady, (words) => this.#heard(words)),
      snapshotNow,
    );
    this.#child = child;
    this.#childSince = this.#answeredAt = steady.now();
    this.#hasAnswered = this.#isSilent = false;
    this.#fault = null;
    log.event("replication.started", { pid: child.pid });
    void child.ended.then((code) => this.#ended(child, code));
  }

  #heard(words: string): void {
    this.#lastWords = words.slice(0, MAX_WORDS).toWellFormed();
    if (this.#deps.isDamage(words)) this.#putAway(words);
  }

  /** What it says of itself, which holds only where it can read the database. */
  #minded({ lastSyncAt, fault, isAtIt }: DaemonState, sinceAnswerMs: number): void {
    // While it is at it, it has forgotten what was wrong the last time, and its steps may be none.
    if (isAtIt) return;
    this.#fault = fault;
    if (fault === null) {
      if (lastSyncAt !== null && lastSyncAt !== this.#lastSyncAt) this.#copied(lastSyncAt, sinceAnswerMs);
    } else if (this.#deps.isDamage(fault)) this.#putAway(fault);
  }

  /** It was after the daemon's last answer, or that would have told of it, whatever the wall clock says. */
  #copied(at: number, sinceAnswerMs: number): void {
    const { clock, steady } = this.#deps;
    this.#lastSyncAt = at;
    this.#copiedAt = steady.now() - Math.min(Math.max(0, clock.now() - at), sinceAnswerMs);
  }

  /** Whether a restore would succeed is asked of a daemon that is well; of others the lag tells. */
  async #checkReplica(state: DaemonState): Promise<void> {
    const child = this.#child;
    if (child === null || state.fault !== null || state.isAtIt) return;
    const action = await this.#deps.restorable.observe(state);
    if (action === "restart" && child === this.#child && !this.#isStopping) child.kill("SIGKILL");
  }

  /** Ends it, so that the next one begins with a whole copy. */
  #putAway(reason: string): void {
    if (this.#isDamaged || this.#isStopping) return;
    this.#isDamaged = true;
    this.#deps.log.event("replication.damaged", { reason: reason.slice(0, MAX_WORDS).toWellFormed() }, "warn");
    this.#child?.kill("SIGKILL");
  }

  #ended(child: DaemonChild, code: number | null): void {
    if (this.#child !== child) return;
    const { steady, log } = this.#deps;
    this.#child = this.#state = null;
    if (this.#isStopping) return;
    // One that somebody else killed has said nothing of what it has here.
    if (this.#hasAnswered) this.#mute = 0;
    else if (code !== null || this.#isSilent) this.#mute += 1;
    if (steady.now() - this.#childSince >= STEADY_MS) this.#backoffMs = BACKOFF_MIN_MS;
    const afterMs = this.#nextBackoff();
    this.#restarts += 1;
    log.event("replication.ended", { pid: child.pid, code, againInMs: afterMs }, "warn");
    this.#cancelLaunch = steady.after(afterMs, () => this.#launch());
  }

  async #within(limitMs: number, what: Promise<void>): Promise<void> {
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    const cancel = this.#deps.steady.after(limitMs, resolve);
    await Promise.race([what, isOver]);
    cancel();
  }

  #nextBackoff(): number {
    const afterMs = this.#backoffMs;
    this.#backoffMs = Math.min(2 * afterMs, BACKOFF_MAX_MS);
    return afterMs;
  }

  #lookLater(afterMs: number): void {
    this.#cancelLook = this.#deps.steady.after(afterMs, () => {
      void this.look()
        .catch((error: unknown) => this.#deps.log.error("replication", error))
        .then(() => (this.#isStopping ? undefined : this.#lookLater(LOOK_EVERY_MS)));
    });
  }

  #shareCheckpoints(): void {
    const { checkpoints, log } = this.#deps;
    // One that cannot read the database does not bring the log in either.
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
      this.#launch();
      await this.#within(limitMs, this.#launching);
    }
    let isOver = false;
    const cancel = steady.after(limitMs, () => (isOver = true));
    while (!isOver && this.#child !== null && (await control.state(databases.main)) === null)
      await new Promise<void>((resolve) => steady.after(COME_UP_LOOK_MS, resolve));
    cancel();
  }
}
