// Counts requests that came with a wrong key to the operator's paths: somebody may be guessing it.

import type { Clock } from "../../platform/clock.ts";
import type { Trouble } from "./trouble.ts";

const WINDOW_MS = 60 * 60_000;
const MANY = 5;

export interface FailedKeys {
  note(): void;
  find(): Trouble[];
}

export function createFailedKeys(steady: Pick<Clock, "now">): FailedKeys {
  /** The last ones. */
  const times: number[] = [];
  return {
    note() {
      times.push(steady.now());
      if (times.length > MANY) times.shift();
    },
    find() {
      const first = times[0];
      if (times.length < MANY || first === undefined || steady.now() - first > WINDOW_MS) return [];
      return [
        {
          id: "operator_key.failed",
          level: "warning",
          what: `${MANY} or more requests within an hour had a wrong key for the operator's paths.`,
          step:
            "If it was a program of yours, give it the right key. Else close the API to strangers, in a firewall or the " +
            "reverse proxy; pombo operator-key rotate makes a new key.",
        },
      ];
    },
  };
}
