import type { Clock } from "./clock.ts";
import type { ReadFree } from "./db/disk-guard.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";

/** The outside world, as an argument. */
export interface Environment {
  clock: Clock;
  random: Random;
  log: Log;
  /** Measures spans, and never jumps; default: `clock`. */
  steady?: Clock;
  /** Free space of the data directory's file system; default: the real one. */
  readFree?: ReadFree;
  /** In bytes, for the bodies of requests and for messages in delivery; default: what the machine and its cgroup allow. */
  memory?: number;
}
