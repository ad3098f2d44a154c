// Limits of sign-ins: so many attempts from a network, and a growing wait for an account. Nobody can lock another out.

import type { Clock } from "../../../platform/clock.ts";
import { AppError } from "../../../platform/errors.ts";
import { TokenBuckets } from "../../../platform/http/token-buckets.ts";
import { ExpiringMap } from "../expiring-map.ts";

const MINUTE_MS = 60_000;
/** Attempts at an account before it waits. */
const FREE_ATTEMPTS = 5;
const FIRST_WAIT_MS = 1_000;
/** However many have failed: its person comes in between two of them. */
const MAX_WAIT_MS = 30_000;
/** Attempts that failed are forgotten after this. */
const REMEMBERED_MS = 15 * MINUTE_MS;
/** Accounts with failed attempts. */
const MAX_REMEMBERED = 10_000;
/** Challenges for passkeys, which cost only memory. */
const CHALLENGES_PER_MINUTE = 60;
const LINKS_PER_HOUR = 5;

export interface Attempt {
  /** Null: it has no address, and is not counted. */
  network: string | null;
  /** As it was typed, in its comparable form; whether there is such an account makes no difference. */
  email: string;
  /** The account has a session from this network: only the network's limit counts. */
  isKnown: boolean;
}

export interface SignInLimits {
  /** Runs an attempt; throws RATE_LIMITED instead where there were too many. One that throws INVALID_CREDENTIALS counts. */
  attempt<T>(attempt: Attempt, work: () => Promise<T>): Promise<T>;
  /** Throws RATE_LIMITED when a network asked for too many challenges. */
  countChallenge(network: string | null): void;
  /** Takes one of the links that are mailed to an address; false: there were enough for now. */
  mayMailLink(email: string): boolean;
}

interface Failures {
  count: number;
  /** The account waits until then. */
  until: number;
}

/** `perMinute`: attempts from a network; 0 = no limit. */
export function createSignInLimits(clock: Pick<Clock, "now">, perMinute: number): SignInLimits {
  const bucket = (name: string, rate: number) =>
    rate === 0 ? null : new TokenBuckets<string>({ name, rate, perMs: MINUTE_MS, burst: rate });
  const networks = bucket("sign-ins", perMinute);
  const challenges = bucket("challenges", perMinute === 0 ? 0 : CHALLENGES_PER_MINUTE);
  const links = new TokenBuckets<string>({
    name: "links",
    rate: LINKS_PER_HOUR,
    perMs: 60 * MINUTE_MS,
    burst: LINKS_PER_HOUR,
  });
  const accounts = new ExpiringMap<string, Failures>(MAX_REMEMBERED, REMEMBERED_MS, clock);

  const take = (buckets: TokenBuckets<string> | null, network: string | null) => {
    const waitMs = buckets === null || network === null ? 0 : buckets.take(network, clock.now());
    if (waitMs > 0) throw tooMany("Too many sign-ins from this address", waitMs);
  };
  /** Before the attempt runs: many that run at once must count too. */
  const count = ({ email, isKnown }: Attempt): (() => void) => {
    const now = clock.now();
    const before = accounts.get(email) ?? { count: 0, until: 0 };
    if (now < before.until && !isKnown) throw tooMany("Too many sign-ins to this account failed", before.until - now);
    const failed = before.count + 1;
    accounts.set(email, { count: failed, until: now + getWait(failed) });
    // Only this one is taken back: others may have failed meanwhile.
    return () => {
      const after = accounts.get(email);
      if (after === undefined) return;
      accounts.set(email, { count: after.count - 1, until: after.count === failed ? before.until : after.until });
    };
  };

  return {
    async attempt(attempt, work) {
      take(networks, attempt.network);
      const uncount = count(attempt);
      try {
        const result = await work();
        accounts.delete(attempt.email);
        if (attempt.network !== null) networks?.giveBack(attempt.network, clock.now());
        return result;
      } catch (error) {
        const isGuess = error instanceof AppError && error.code === "INVALID_CREDENTIALS";
        // The password was right and a code is missing, or nothing was checked.
        if (!isGuess) {
          uncount();
          if (attempt.network !== null) networks?.giveBack(attempt.network, clock.now());
        }
        throw error;
      }
    },
    countChallenge: (network) => take(challenges, network),
    mayMailLink: (email) => links.take(email, clock.now()) === 0,
  };
}

function getWait(failed: number): number {
  return failed < FREE_ATTEMPTS ? 0 : Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failed - FREE_ATTEMPTS, 20));
}

function tooMany(message: string, waitMs: number): AppError {
  return new AppError("RATE_LIMITED", message, {
    hint: "Wait for the time in Retry-After. A passkey is not limited so.",
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
