// When a job is tried again.

import type { Random } from "../random.ts";

/** How far a retry may stray from its place in the schedule, so that retries do not march in step. */
const JITTER = 0.1;

/**
 * When to try again, Unix ms, after `attempts` (≥ 1) attempts: the schedule's entry for that number
 * (its last one repeats) ± 10 %. RFC 5321 §4.5.4.1 asks for a delay and for configurable parameters.
 */
export function nextRetryAt(attempts: number, scheduleMs: readonly number[], now: number, random: Random): number {
  const delayMs = scheduleMs[Math.min(attempts, scheduleMs.length) - 1] ?? 60_000;
  return Math.round(now + delayMs * (1 - JITTER + 2 * JITTER * random.unit()));
}
