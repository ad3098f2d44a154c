import { type PurgeLoop, purgeRegularly } from "../../platform/db/purge.ts";
import type { IdempotencyStore } from "./store.ts";

/** Forgets stored answers whose time is over; the returned function stops that. */
export function purgeAnswers(parts: PurgeLoop & { idempotency: IdempotencyStore; keepMs: number }): () => void {
  const { idempotency, clock, keepMs } = parts;
  return purgeRegularly(parts, "idempotency", () => idempotency.purge(clock.now() - keepMs));
}
