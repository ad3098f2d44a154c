// The clocks of a pombo process, moved on from here: minutes pass in milliseconds, also while no process runs.
import { join } from "node:path";

const PRELOAD = join(import.meta.dir, "steered-clock-entry.ts");

export interface SteeredClock {
  /** How much was moved in all. */
  readonly aheadMs: number;
  /** The environment of the next process. */
  nextEnvironment(): Record<string, string>;
  /** Moves on; false: no process runs any more that could see it. */
  move(ms: number): Promise<boolean>;
}

/** `folder`: for its sockets. */
export function steerClock(folder: string): SteeredClock {
  let aheadMs = 0;
  let processes = 0;
  let socket = "";
  return {
    get aheadMs() {
      return aheadMs;
    },
    nextEnvironment() {
      processes += 1;
      socket = join(folder, `clock-${processes}`);
      return {
        BUN_OPTIONS: `--preload=${PRELOAD}`,
        POMBO_TEST_CLOCK: socket,
        POMBO_TEST_CLOCK_AHEAD_MS: String(aheadMs),
      };
    },
    async move(ms) {
      aheadMs += ms;
      try {
        await fetch("http://pombo/", { method: "POST", body: String(ms), unix: socket });
        return true;
      } catch {
        return false;
      }
    },
  };
}
