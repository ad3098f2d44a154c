// The limits that the API and SMTP count together: a workspace's sends, and an address's failures to authenticate.

import type { Config } from "../../config/config.ts";
import { TokenBuckets } from "../../platform/http/token-buckets.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Null: there is no limit. */
export interface SharedLimits {
  /** By workspace; a batch is one. */
  sends: TokenBuckets<number> | null;
  /** By one word for the client's address. */
  failures: TokenBuckets<string> | null;
}

export function createSharedLimits(rates: Config["rateLimits"]): SharedLimits {
  const { sendsPerSecond, sendsBurst, failedAuthPerMinute: failed } = rates;
  return {
    sends:
      sendsPerSecond === 0
        ? null
        : new TokenBuckets({ name: "sends", rate: sendsPerSecond, perMs: SECOND_MS, burst: sendsBurst }),
    failures:
      failed === 0 ? null : new TokenBuckets({ name: "failed-keys", rate: failed, perMs: MINUTE_MS, burst: failed }),
  };
}
