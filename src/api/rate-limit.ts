// Rate limits of requests, by workspace and by client address.

import type { Clock } from "../platform/clock.ts";
import type { Config } from "../config/config.ts";
import type { SharedLimits } from "../modules/plans/shared-limits.ts";
import { AppError } from "../platform/errors.ts";
import type { Caller } from "../platform/http/auth.ts";
import { TokenBuckets } from "../platform/http/token-buckets.ts";

// A workspace has a bucket for its sends, one for its other changes and one for its reads; a person has one for reads and
// one for changes of their own account, so that an open dashboard takes nothing from the workspace's programs; an address
// has one for requests without a valid key, and one for workspaces created without a key. Requests are counted right after the key
// is checked and before the body is read. The answer says what is left: draft-ietf-httpapi-ratelimit-headers.

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** A batch is one send. */
const SEND_PATHS = new Set(["/api/v1/emails", "/api/v1/emails/batch", "/api/v1/sms"]);
const READ_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

type PersonCaller = Extract<Caller, { userId: number }>;

type AnswerHeaders = Record<string, string | number>;

export interface LimitedRequest {
  request: Request;
  path: string;
  /** Of the answer: the fields RateLimit and RateLimit-Policy are put here. */
  headers: AnswerHeaders;
}

/** Each method throws RATE_LIMITED when nothing is left. */
export interface RateLimiter {
  /** Counts a request with a valid key, or without one where none is needed. */
  count(caller: Caller, asked: LimitedRequest): void;
  /** Counts a request without a valid key. */
  countFailure(asked: LimitedRequest): void;
  /** Takes back the count of a request that should have created a workspace and failed. */
  uncountCreation(request: Request, headers: AnswerHeaders): void;
}

interface Limit<Key> {
  buckets: TokenBuckets<Key>;
  message: string;
  hint: string;
}

const GO_SLOWER = "Wait as long as Retry-After says, then go on more slowly.";

export interface LimiterDeps {
  shared: SharedLimits;
  /** Anybody may create workspaces. */
  isCreationOpen?: boolean;
  clock: Clock;
  /** One word for the client's address; null: it has none, and is not counted. */
  findNetwork: (request: Request) => string | null;
}

export function createRateLimiter(
  rates: Config["rateLimits"],
  { clock, shared, findNetwork, isCreationOpen }: LimiterDeps,
): RateLimiter {
  const sends =
    shared.sends === null
      ? null
      : describeLimit(shared.sends, "sends", { perSecond: rates.sendsPerSecond, burst: rates.sendsBurst });
  const writes = createWorkspaceLimit("writes", rates.writesPerSecond, rates.writesBurst);
  const reads = createWorkspaceLimit("reads", rates.readsPerSecond, rates.readsBurst);
  const userReads = createWorkspaceLimit("reads", rates.readsPerSecond, rates.readsBurst, "user");
  const userWrites = createWorkspaceLimit("writes", rates.writesPerSecond, rates.writesBurst, "user");
  const failures: Limit<string> | null =
    shared.failures === null
      ? null
      : {
          buckets: shared.failures,
          message: "Too many requests without a valid API key from this address",
          hint: "Wait for the time in Retry-After; requests with a valid key are still answered.",
        };
  const creations = createAddressLimit("new-workspaces", rates.workspacesPerHour, HOUR_MS, {
    message: "Too many new workspaces from this address",
    hint: "Wait for the time in Retry-After.",
  });
  /** Requests that may create a workspace, with the address that they count for. */
  const creating = new WeakMap<Request, string>();

  const countPerson = (caller: PersonCaller, { request, path, headers }: LimitedRequest) => {
    // A preview changes nothing; a page that shows one must take nothing from the workspace's programs.
    const isRead = READ_METHODS.has(request.method) || path.endsWith("/preview");
    if (!isRead && caller.kind === "member") {
      const limit = isSend(request.method, path) ? sends : writes;
      if (limit !== null) take(limit, caller.workspaceId, clock.now(), headers);
      return;
    }
    const limit = isRead ? userReads : userWrites;
    if (limit !== null) take(limit, caller.userId, clock.now(), headers);
  };

  return {
    count(caller, { request, path, headers }) {
      if (caller.kind === "key") {
        const limit = READ_METHODS.has(request.method) ? reads : isSend(request.method, path) ? sends : writes;
        if (limit !== null) take(limit, caller.workspaceId, clock.now(), headers);
      } else if (caller.kind === "member" || caller.kind === "person") {
        countPerson(caller, { request, path, headers });
      }
      // Where anybody may create a workspace, anybody has a key.
      const mayCreate =
        (caller.kind === "anonymous" || caller.kind === "key") &&
        isCreationOpen === true &&
        isCreation(request.method, path);
      if (mayCreate && creations !== null) {
        const network = findNetwork(request);
        if (network === null) return;
        take(creations, network, clock.now(), headers);
        creating.set(request, network);
      }
    },
    countFailure({ request, headers }) {
      const network = failures === null ? null : findNetwork(request);
      if (failures !== null && network !== null) take(failures, network, clock.now(), headers);
    },
    uncountCreation(request, headers) {
      const network = creating.get(request);
      if (network === undefined || creations === null) return;
      creating.delete(request);
      creations.buckets.giveBack(network, clock.now());
      headers["ratelimit"] = creations.buckets.left(network, clock.now());
    },
  };
}

function take<Key>({ buckets, message, hint }: Limit<Key>, key: Key, now: number, headers: AnswerHeaders): void {
  const waitMs = buckets.take(key, now);
  headers["ratelimit-policy"] = buckets.policy;
  headers["ratelimit"] = buckets.left(key, now);
  if (waitMs > 0) throw new AppError("RATE_LIMITED", message, { retryAfterS: buckets.wholeSeconds(waitMs), hint });
}

function isCreation(method: string, path: string): boolean {
  return method === "POST" && /^\/api\/v1\/workspaces\/?$/.test(path);
}

function isSend(method: string, path: string): boolean {
  return method === "POST" && SEND_PATHS.has(path.endsWith("/") ? path.slice(0, -1) : path);
}

/** Null: there is no limit. */
function createWorkspaceLimit(
  name: string,
  perSecond: number,
  burst: number,
  whose: "workspace" | "user" = "workspace",
): Limit<number> | null {
  if (perSecond === 0) return null;
  const buckets = new TokenBuckets<number>({ name, rate: perSecond, perMs: SECOND_MS, burst });
  return describeLimit(buckets, name, { perSecond, burst }, whose);
}

function describeLimit(
  buckets: TokenBuckets<number>,
  name: string,
  { perSecond, burst }: { perSecond: number; burst: number },
  whose: "workspace" | "user" = "workspace",
): Limit<number> {
  return {
    buckets,
    message: `Too many ${name}: a ${whose} may make ${perSecond} a second, and ${burst} at once`,
    hint: name === "sends" ? `${GO_SLOWER} A batch counts as one.` : GO_SLOWER,
  };
}

/** As many at once as come in `perMs`. Null: there is no limit. */
function createAddressLimit(
  name: string,
  rate: number,
  perMs: number,
  words: { message: string; hint: string },
): Limit<string> | null {
  return rate === 0 ? null : { buckets: new TokenBuckets({ name, rate, perMs, burst: rate }), ...words };
}
