// Sees steps of the wall clock. After a step back, by an hour or a day, times that were stored before lie ahead, and
// what waits for them would wait as long as the step is. While running, the step shows against a clock that does not
// jump; at a start, by the last time that the database knows. A step forward is only reported to the operator: email
// and SMS see that by themselves (ExpiryClock, TextClock).

import { BackgroundTask } from "./background-task.ts";
import type { Context } from "./context.ts";
import type { HealthIssue } from "./health-issue.ts";

/** A smaller step keeps nobody waiting. */
const STEP_MS = 5_000;
const LOOK_EVERY_MS = 1_000;
/** A step is reported for so long. */
const REPORTED_MS = 3_600_000;

/** The clock showed `fromMs`, and shows `toMs`, which is earlier, though no time has passed. */
export interface SetBack {
  fromMs: number;
  toMs: number;
}

export interface ClockStepWatchDeps extends Pick<Context, "clock" | "steady" | "log"> {
  /** Brings near what waits for a time that lies ahead; called again where it failed. `isStart`: nothing runs yet. */
  follow: (step: SetBack, isStart: boolean) => Promise<void>;
}

export class ClockStepWatch {
  readonly #deps: ClockStepWatchDeps;
  readonly #task: BackgroundTask;
  #offset: number;
  #lastStep: { since: number; seenAt: number; reason: string } | null = null;

  constructor(deps: ClockStepWatchDeps) {
    this.#deps = deps;
    this.#offset = deps.clock.now() - deps.steady.now();
    this.#task = new BackgroundTask({
      name: "clock",
      clock: deps.steady,
      log: deps.log,
      run: () => this.#look(),
      retryMs: LOOK_EVERY_MS,
    });
  }

  /** `lastAt`: the last time that the run before has written down. Rejects when what waits cannot be brought near. */
  async start(lastAt: number | null): Promise<void> {
    const now = this.#deps.clock.now();
    if (lastAt !== null && lastAt - now > STEP_MS) await this.#followSetBack({ fromMs: lastAt, toMs: now }, true);
    this.#task.start(LOOK_EVERY_MS);
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  /** The last step, for an hour. */
  get issue(): HealthIssue | null {
    const step = this.#lastStep;
    if (step === null || this.#deps.steady.now() - step.seenAt > REPORTED_MS) return null;
    return { component: "clock", reason: step.reason, since: step.since, isAdvisory: true };
  }

  async #look(): Promise<number> {
    const { clock, steady } = this.#deps;
    const toMs = clock.now();
    const fromMs = Math.round(steady.now() + this.#offset);
    if (fromMs - toMs > STEP_MS) {
      // Where this fails, the next look sees the same step.
      await this.#followSetBack({ fromMs, toMs }, false);
      this.#offset -= fromMs - toMs;
    } else {
      // Forwards, or little by little: nothing waits for it.
      if (toMs - fromMs > STEP_MS) this.#reportSetForward(fromMs, toMs);
      this.#offset = toMs - steady.now();
    }
    return LOOK_EVERY_MS;
  }

  #reportSetForward(fromMs: number, toMs: number): void {
    this.#report("clock.set_forward", { fromMs, toMs }, (words) => {
      return `The machine's clock was set forward ${words}, or the machine slept. For an hour no email expires because of that. If the time is wrong, correct it before then (timedatectl).`;
    });
  }

  async #followSetBack(step: SetBack, isStart: boolean): Promise<void> {
    await this.#deps.follow(step, isStart);
    this.#report("clock.set_back", step, (words) => {
      return `The machine's clock was set back ${words}. Messages and calls that wait keep the waits they had. Find out what set the clock (timedatectl); records may show the time in between twice.`;
    });
  }

  #report(event: string, { fromMs, toMs }: SetBack, explain: (words: string) => string): void {
    const { steady, log } = this.#deps;
    const [from, to] = [formatTime(fromMs), formatTime(toMs)];
    this.#lastStep = { since: toMs, seenAt: steady.now(), reason: explain(`from ${from} to ${to}`) };
    log.event(event, { from, to, byS: Math.round(Math.abs(toMs - fromMs) / 1_000) }, "warn");
  }
}

/** To the second, in UTC. */
function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
