import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { HealthIssue } from "./health-issue.ts";

// The wall clock may be set back, by an hour or a day. Times that were stored before lie ahead then, and what waits
// for them would wait as long as the step is. This sees the step, while running against a clock that does not jump,
// and at a start by the last time that the database knows; and has it told to those who hold such times. That it is
// set on is told to the operator alone: email and texts see that by themselves (ExpiryClock, TextClock).

/** A smaller step keeps nobody waiting. */
const STEP_MS = 5_000;
const LOOK_EVERY_MS = 1_000;
/** So long it is told. */
const TOLD_MS = 3_600_000;

/** The clock showed `fromMs`, and shows `toMs`, which is earlier, though no time has passed. */
export interface SetBack {
  fromMs: number;
  toMs: number;
}

export interface ClockStepWatchDeps {
  clock: Clock;
  steady: Clock;
  log: Log;
  /** Brings near what waits for a time that lies ahead; called again where it failed. `isStart`: nothing runs yet. */
  follow: (step: SetBack, isStart: boolean) => Promise<void>;
}

export class ClockStepWatch {
  readonly #deps: ClockStepWatchDeps;
  #offset: number;
  #told: { since: number; at: number; reason: string } | null = null;
  #cancel: (() => void) | null = null;
  #isStopped = false;

  constructor(deps: ClockStepWatchDeps) {
    this.#deps = deps;
    this.#offset = deps.clock.now() - deps.steady.now();
  }

  /** `lastAt`: the last time that the run before has written down. Rejects when what waits cannot be brought near. */
  async start(lastAt: number | null): Promise<void> {
    const now = this.#deps.clock.now();
    if (lastAt !== null && lastAt - now > STEP_MS) await this.#follow({ fromMs: lastAt, toMs: now }, true);
    this.#later();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** Of the last step, for an hour. */
  get issue(): HealthIssue | null {
    const told = this.#told;
    if (told === null || this.#deps.steady.now() - told.at > TOLD_MS) return null;
    return { component: "clock", reason: told.reason, since: told.since, isAdvisory: true };
  }

  #later(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#deps.steady.after(LOOK_EVERY_MS, () => void this.#look().then(() => this.#later()));
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { clock, steady, log } = this.#deps;
    const toMs = clock.now();
    const fromMs = Math.round(steady.now() + this.#offset);
    if (fromMs - toMs <= STEP_MS) {
      // Forwards, or little by little: nothing waits for it.
      if (toMs - fromMs > STEP_MS) this.#tellSetOn(fromMs, toMs);
      this.#offset = toMs - steady.now();
      return;
    }
    try {
      await this.#follow({ fromMs, toMs }, false);
      this.#offset -= fromMs - toMs;
    } catch (error) {
      log.error("clock", error); // and is seen again in a second
    }
  }

  #tellSetOn(fromMs: number, toMs: number): void {
    const { steady, log } = this.#deps;
    const [from, to] = [shown(fromMs), shown(toMs)];
    const reason =
      `The machine's clock was set on from ${from} to ${to}, or the machine slept. For an hour no email expires by ` +
      "that. If the time is wrong, set it right before (timedatectl).";
    this.#told = { since: toMs, at: steady.now(), reason };
    log.event("clock.set_forward", { from, to, byS: Math.round((toMs - fromMs) / 1_000) }, "warn");
  }

  async #follow(step: SetBack, isStart: boolean): Promise<void> {
    const { steady, log, follow } = this.#deps;
    await follow(step, isStart);
    const [from, to] = [shown(step.fromMs), shown(step.toMs)];
    const reason =
      `The machine's clock was set back from ${from} to ${to}. Messages and calls that ` +
      "wait keep the waits they had. Find out what set the clock (timedatectl); records may show the time in between twice.";
    this.#told = { since: step.toMs, at: steady.now(), reason };
    log.event("clock.set_back", { from, to, byS: Math.round((step.fromMs - step.toMs) / 1_000) }, "warn");
  }
}

/** To the second, in UTC. */
function shown(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
