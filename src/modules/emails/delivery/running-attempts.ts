// The attempts that run now, for whoever watches one of them. Nothing is written, and lines are made only for a watcher:
// without one an attempt costs its place in a map, and each line of its dialogue a look whether somebody hears it.

import type { Clock } from "../../../platform/clock.ts";
import type { Dialogue, DialogueLine } from "../../../protocols/smtp/session/transcript.ts";
import type { Follower } from "../../../protocols/smtp/transmit.ts";

/** Told to each watcher of an attempt, whatever servers say. */
const MAX_LINES = 150;

export type AttemptEvent =
  | { kind: "attempt"; attempt: number; startedAt: number }
  | { kind: "dialogue"; attempt: number; lines: DialogueLine[] }
  /** `reason` null: the message was accepted. */
  | { kind: "result"; attempt: number; ms: number; reason: string | null };

/** Must not throw. */
export type AttemptWatcher = (event: AttemptEvent) => void;

interface Job {
  id: number;
  attempt: number;
  /** Unix ms. */
  startedAt: number;
}

/** What happened outside of a connection, or a connection with what was said over it. */
interface Step {
  at: number;
  by: "note" | "connect";
  words: () => string;
  dialogue: Dialogue | null;
}

export class RunningAttempts {
  readonly #steady: Pick<Clock, "now">;
  readonly #running = new Map<number, RunningAttempt>();
  readonly #watchers = new Map<number, Set<AttemptWatcher>>();

  constructor(steady: Pick<Clock, "now">) {
    this.#steady = steady;
  }

  begin(job: Job): RunningAttempt {
    const attempt = new RunningAttempt(job, this.#steady, this.#watchers.get(job.id) ?? null);
    this.#running.set(job.id, attempt);
    return attempt;
  }

  end(attempt: RunningAttempt, reason: string | null): void {
    // The same email may be tried again already.
    if (this.#running.get(attempt.job.id) === attempt) this.#running.delete(attempt.job.id);
    attempt.end(reason);
  }

  /** Hears of the email's attempts, of one that runs with what was said so far, until the returned function is called. */
  watch(emailId: number, watcher: AttemptWatcher): () => void {
    const watchers = this.#watchers.get(emailId) ?? new Set();
    this.#watchers.set(emailId, watchers.add(watcher));
    this.#running.get(emailId)?.tellSoFar(watcher, watchers);
    return () => {
      watchers.delete(watcher);
      if (watchers.size > 0 || this.#watchers.get(emailId) !== watchers) return;
      this.#watchers.delete(emailId);
      this.#running.get(emailId)?.forgetWatchers();
    };
  }
}

export class RunningAttempt implements Follower {
  readonly job: Job;
  readonly since: number;
  readonly #steady: Pick<Clock, "now">;
  readonly #steps: Step[] = [];
  #watchers: ReadonlySet<AttemptWatcher> | null;
  #lines = 0;

  constructor(job: Job, steady: Pick<Clock, "now">, watchers: ReadonlySet<AttemptWatcher> | null) {
    this.job = job;
    this.since = steady.now();
    this.#steady = steady;
    this.#watchers = watchers;
    if (watchers !== null) this.#tell(this.#begun);
  }

  /** `words` is called only for a watcher. */
  note(words: () => string): void {
    this.#add({ at: this.#steady.now(), by: "note", words, dialogue: null });
  }

  connecting({ host, address, isReused }: Parameters<Follower["connecting"]>[0], dialogue: Dialogue): void {
    const words = () => `${host} [${address}]${isReused ? ", over the session of an earlier message" : ""}`;
    this.#add({ at: this.#steady.now(), by: "connect", words, dialogue });
  }

  broken(reason: string): void {
    this.note(() => reason);
  }

  end(reason: string | null): void {
    if (this.#watchers === null) return;
    const ms = this.#msAt(this.#steady.now());
    this.#tell({ kind: "result", attempt: this.job.attempt, ms, reason });
    this.forgetWatchers();
  }

  /** `watchers`: all of the email, this one included. */
  tellSoFar(watcher: AttemptWatcher, watchers: ReadonlySet<AttemptWatcher>): void {
    const isFirst = this.#watchers === null;
    this.#watchers = watchers;
    const lines = this.#steps.flatMap((step) => this.#show(step)).slice(0, MAX_LINES);
    if (isFirst) this.#lines = lines.length;
    watcher(this.#begun);
    if (lines.length > 0) watcher({ kind: "dialogue", attempt: this.job.attempt, lines });
  }

  forgetWatchers(): void {
    this.#watchers = null;
    for (const { dialogue } of this.#steps) dialogue?.unfollow();
  }

  get #begun(): AttemptEvent {
    const { attempt, startedAt } = this.job;
    return { kind: "attempt", attempt, startedAt };
  }

  #add(step: Step): void {
    this.#steps.push(step);
    if (this.#watchers !== null) this.#hear(this.#show(step));
  }

  /** With what was said over its connection so far; what is said from now on is told. */
  #show({ at, by, words, dialogue }: Step): DialogueLine[] {
    const said = dialogue?.follow(this.since, (lines) => this.#hear(lines)) ?? [];
    return [{ ms: this.#msAt(at), by, text: words() }, ...said];
  }

  #hear(all: DialogueLine[]): void {
    const lines = all.slice(0, MAX_LINES - this.#lines);
    this.#lines += lines.length;
    if (lines.length > 0) this.#tell({ kind: "dialogue", attempt: this.job.attempt, lines });
  }

  #tell(event: AttemptEvent): void {
    for (const watcher of this.#watchers ?? []) watcher(event);
  }

  #msAt(at: number): number {
    return Math.round(at - this.since);
  }
}
