// Hours in minutes: a clock that a test moves on, and the world that it does so in.

import { systemClock } from "../../../src/platform/clock.ts";
import { fakeClock, type FakeClock } from "../../support/fakes/clock.ts";
import type { SmscHandle } from "../../support/peers/smsc/client.ts";

/** What lasts no longer than this lasts as long as it does: batches, refills, flushes. */
const SHORT_MS = 20;

/** A clock whose short waits are real, and whose long ones end when the test has moved it on. */
export function hurriedClock(): FakeClock {
  const clock = fakeClock(systemClock.now());
  return {
    now: () => clock.now(),
    after: (delayMs, run) => (delayMs <= SHORT_MS ? systemClock.after(delayMs, run) : clock.after(delayMs, run)),
    advance: (ms) => clock.advance(ms),
    set: (ms) => clock.set(ms),
    get pending() {
      return clock.pending;
    },
  };
}

/** Moves the clock on by steps of at most this, with the SMSCs' answers between them: no wait ends because of the test. */
const STEP_MS = 1_000;

/**
 * Moves the clock until `isOver`, no faster than `perMs` of its milliseconds in a real one (Infinity: as fast as the
 * SMSCs answer). `tick` runs after each step.
 */
export async function passTime(
  { clock, smscs, perMs }: { clock: FakeClock; smscs: SmscHandle[]; perMs: number },
  isOver: () => boolean | Promise<boolean>,
  tick: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const [startedAt, from] = [performance.now(), clock.now()];
  while (!(await isOver())) {
    const due = perMs === Infinity ? STEP_MS : (performance.now() - startedAt) * perMs - (clock.now() - from);
    // Whole milliseconds, as every clock of ours has them.
    clock.advance(Math.max(0, Math.min(STEP_MS, Math.floor(due))));
    await Promise.all(smscs.map((smsc) => smsc.state()));
    await tick();
  }
}

const MINUTE_MS = 60_000;

/** One SMSC's issues: it is there for 13 to 16 minutes, and away for 1 to 3. */
export class Flapping {
  readonly #smsc: SmscHandle;
  readonly #clock: FakeClock;
  readonly #chance: () => number;
  #nextAt: number;
  #isAway = false;
  /** Times that it went away. */
  count = 0;

  /** `firstMs`: until it goes away for the first time. */
  constructor(smsc: SmscHandle, options: { clock: FakeClock; chance: () => number; firstMs: number }) {
    this.#smsc = smsc;
    this.#clock = options.clock;
    this.#chance = options.chance;
    this.#nextAt = options.clock.now() + options.firstMs;
  }

  /** Whatever its time has come for. */
  async look(): Promise<void> {
    if (this.#clock.now() < this.#nextAt) return;
    await (this.#isAway ? this.comeBack() : this.#goAway());
    const [least, most] = this.#isAway ? [1, 3] : [13, 16];
    this.#nextAt = this.#clock.now() + (least + this.#chance() * (most - least)) * MINUTE_MS;
  }

  async comeBack(): Promise<void> {
    if (!this.#isAway) return;
    this.#isAway = false;
    await this.#smsc.tell("door", { isOpen: true });
  }

  async #goAway(): Promise<void> {
    this.#isAway = true;
    this.count += 1;
    await this.#smsc.tell("door", { isOpen: false });
    await this.#smsc.tell("drop", { how: this.#chance() < 0.5 ? "rst" : "fin" });
  }
}
