// The states of a domain, and when it is checked next. Only its RSA key decides.
//
// A new domain is pending. It is verified when the key resolves and no other workspace holds the name; without the key
// it fails after 14 days. A verified domain whose key is gone is in warning: it still sends, is verified again as soon
// as the key is back, and fails after 72 hours without. A failed one is no longer checked, but a requested check may
// verify it. A suspended one stays so until the operator lifts that; then it is pending. Every step takes a definite
// answer of DNS at that moment, however much time has passed.

import type { Verdict } from "./check.ts";
import type { DomainRow } from "./store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A pending domain is looked at every minute for so long: somebody is at work on its records. */
const EAGER_MS = 15 * MINUTE_MS;
/** Then so far apart at first, each time half as far again, to an hour. */
const FIRST_DELAY_MS = 5 * MINUTE_MS;
const GROWTH = 1.5;
const PENDING_LIMIT_MS = 14 * DAY_MS;
const WARNING_LIMIT_MS = 72 * HOUR_MS;
/** Spreads the checks of domains that were registered or verified together. */
const SPREAD = 0.1;

/** No planned check is further away than this; one that is was planned before the clock was set back. */
export const LONGEST_DELAY_MS = { verified: (1 + SPREAD) * DAY_MS, others: (1 + SPREAD) * HOUR_MS };

export type VerificationState = Pick<DomainRow, "status" | "createdAt" | "verifiedAt" | "warningAt">;

export type Change = "verified" | "warning" | "failed";

/** The outcome of a check. `isTakenElsewhere`: another workspace has the name verified, in warning or suspended. */
export interface Evidence {
  rsa: Verdict;
  isTakenElsewhere: boolean;
}

export function stateAfterCheck(
  life: VerificationState,
  evidence: Evidence,
  now: number,
): { life: VerificationState; change: Change | null } {
  const { status } = life;
  if (status === "suspended" || evidence.rsa === "unknown") return { life, change: null };
  if (evidence.rsa === "no") return stateWithoutKey(life, now);
  if (status === "verified" || evidence.isTakenElsewhere) return { life, change: null };
  const verifiedAt = life.verifiedAt ?? now;
  return { life: { ...life, status: "verified", verifiedAt, warningAt: null }, change: "verified" };
}

function stateWithoutKey(life: VerificationState, now: number): { life: VerificationState; change: Change | null } {
  switch (life.status) {
    case "verified":
      return { life: { ...life, status: "warning", warningAt: now }, change: "warning" };
    case "warning":
    case "pending": {
      // One that was verified once and is pending again has been missing its key since this was first seen.
      const missed = life.verifiedAt === null ? life : { ...life, warningAt: life.warningAt ?? now };
      const endsAt = givenUpAt(missed);
      const isOver = endsAt !== null && now >= endsAt;
      return isOver ? { life: { ...missed, status: "failed" }, change: "failed" } : { life: missed, change: null };
    }
    case "failed":
    case "suspended":
      return { life, change: null };
  }
}

/** When it is failed if its key is still missing then; null: it will not be. */
export function givenUpAt({ status, createdAt, verifiedAt, warningAt }: VerificationState): number | null {
  if (status === "warning" && warningAt !== null) return warningAt + WARNING_LIMIT_MS;
  if (status !== "pending") return null;
  const since = verifiedAt === null ? createdAt : warningAt;
  return since === null ? null : since + PENDING_LIMIT_MS;
}

/** The first check in the background of a domain that was made at `createdAt`. */
export function firstCheckAt(createdAt: number): number {
  return createdAt + MINUTE_MS;
}

/** A check that has ended, for the time of the next. */
export interface Ended {
  now: number;
  /** DNS did not answer for the key, this time and the time before. */
  isUnknown: boolean;
  wasUnknown: boolean;
  /** Somebody asked for it: the waits begin anew. */
  isAskedFor: boolean;
  /** The wait that the previous check planned; null: there was none. */
  lastDelayMs: number | null;
  /** In [0, 1). */
  chance: number;
}

/** When a domain is looked at next, given its life after a check; null: not by itself. */
export function nextCheckAt(life: VerificationState, ended: Ended): number | null {
  const usualMs = usualDelay(life, ended);
  if (usualMs === null) return null;
  const delayMs = ended.isUnknown ? Math.min(usualMs, delayAfterSilence(ended)) : usualMs;
  const spread = delayMs < FIRST_DELAY_MS ? 1 : 1 - SPREAD + 2 * SPREAD * ended.chance;
  const at = ended.now + Math.round(delayMs * spread);
  const endsAt = givenUpAt(life);
  // On time, rather than up to an hour late.
  return endsAt !== null && endsAt > ended.now ? Math.min(at, endsAt) : at;
}

function usualDelay(life: VerificationState, ended: Ended): number | null {
  switch (life.status) {
    case "verified":
      return DAY_MS;
    case "warning":
      return HOUR_MS;
    case "pending": {
      const ageMs = ended.now - life.createdAt;
      const isEager = ageMs >= 0 && ageMs + MINUTE_MS <= EAGER_MS;
      return isEager ? MINUTE_MS : grown(ended, GROWTH);
    }
    case "failed":
    case "suspended":
      return null;
  }
}

/** Soon, but a DNS that is down for a day is not asked every five minutes. */
function delayAfterSilence(ended: Ended): number {
  return ended.wasUnknown ? grown(ended, 2) : FIRST_DELAY_MS;
}

function grown({ isAskedFor, lastDelayMs }: Ended, factor: number): number {
  // The last wait may have been shortened by its spread.
  const isFirst = isAskedFor || lastDelayMs === null || lastDelayMs < (1 - SPREAD) * FIRST_DELAY_MS;
  return isFirst ? FIRST_DELAY_MS : Math.min(lastDelayMs * factor, HOUR_MS);
}
