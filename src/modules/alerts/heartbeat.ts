// Asks an address every minute while there is no problem: a watchman outside, such as healthchecks.io, hears when that stops,
// also when the whole machine has.

import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import { type CallDeps, callOnce } from "./webhook-call.ts";

const EVERY_MS = 60_000;

export interface HeartbeatDeps extends Pick<Context, "log">, Omit<CallDeps, "clock"> {
  clock: Context["clock"];
  url: string;
  /** Whether a problem lasts that was told, or would be told if there were anybody to tell. */
  isWell: () => boolean;
}

export interface Heartbeat {
  /** Why the last beat was not taken; null: it was, or there was none. */
  readonly failure: string | null;
  start(): void;
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { clock, log, url, isWell } = deps;
  let failure: string | null = null;
  let failures = 0;
  const task = new BackgroundTask({
    name: "heartbeat",
    clock,
    log,
    async run(stopping) {
      if (!isWell()) return EVERY_MS;
      const found = await callOnce(url, null, deps, { stopping, nth: failures });
      if (stopping.aborted) return null;
      failures = found === null ? 0 : failures + 1;
      if ((found === null) !== (failure === null))
        log.event(found === null ? "heartbeat.recovered" : "heartbeat.failed", found === null ? {} : { detail: found });
      failure = found;
      return EVERY_MS;
    },
  });
  return {
    get failure() {
      return failure;
    },
    start: () => task.start(),
    idle: () => task.idle(),
    stop: () => task.stop(),
  };
}
