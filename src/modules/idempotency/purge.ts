import { type PurgeLoop, purgeRegularly } from "../../platform/db/purge.ts";
import type { IdempotencyStore } from "./store.ts";

/** Forgets stored answers after their retention. */
export function createAnswerPurge(deps: PurgeLoop & { idempotency: IdempotencyStore; retentionMs: number }): {
  start(): void;
  stop(): void;
} {
  const { idempotency, clock, retentionMs } = deps;
  let stop = () => {};
  return {
    start: () => void (stop = purgeRegularly(deps, "idempotency", () => idempotency.purge(clock.now() - retentionMs))),
    stop: () => stop(),
  };
}
