// Health issues of routes: one that messages wait for and that has no link, and one that gets more than it sends.
// They are advisory: the instance stays ready, since email and other routes work.

import type { Clock } from "../../../platform/clock.ts";
import type { HealthIssue } from "../../../platform/health-issue.ts";
import type { SegmentStore } from "../queue/segment-store.ts";
import type { SmsStores } from "../stores.ts";
import type { Links } from "./links.ts";
import type { Route } from "./route-settings.ts";

/** Routes that messages wait for, and none of whose links is bound. */
export function findUnboundRoutes(
  routes: ReadonlyMap<string, Route>,
  links: Pick<Links, "unboundMs" | "views">,
  segments: Pick<SegmentStore, "hasWaiting">,
  now: number,
): HealthIssue[] {
  return [...routes.values()].flatMap(({ config: { name, failoverAfterMs }, links: own }): HealthIssue[] => {
    const unboundMs = links.unboundMs(name);
    // Infinity: its links are not opened, as in a command while no instance runs.
    if (own.length === 0 || unboundMs === Infinity || unboundMs <= failoverAfterMs || !segments.hasWaiting(name))
      return [];
    const error = links.views().find(({ route, error: last }) => route === name && last !== null)?.error ?? null;
    const why = error === null ? "" : ` (${error.reason}${error.statusName === null ? "" : `, ${error.statusName}`})`;
    const advice = error?.advice ?? "It is tried again by itself.";
    const reason = `No link of the SMS route ${name} is bound, and messages wait for it${why}. ${advice} See pombo sms links.`;
    return [
      { component: "sms", kind: "unbound", about: name, reason, since: Math.round(now - unboundMs), isAdvisory: true },
    ];
  });
}

export interface WaitingFigures {
  waiting: number;
  /** Unix ms; null: none waits. */
  oldestAt: number | null;
}

const FRESH_MS = 10_000;
/** More are not counted: it takes some milliseconds of the loop. */
const MAX_COUNTED = 100_000;

/** How many segments wait for each route, and since when. Counted at most every 10 s, since it walks the queue's index. */
export class WaitingCount {
  readonly #sms: Pick<SmsStores, "segments" | "messages">;
  readonly #clock: Pick<Clock, "now">;
  readonly #taken = new Map<string, WaitingFigures & { at: number }>();

  constructor(sms: Pick<SmsStores, "segments" | "messages">, clock: Pick<Clock, "now">) {
    this.#sms = sms;
    this.#clock = clock;
  }

  get(route: string): WaitingFigures {
    const now = this.#clock.now();
    const known = this.#taken.get(route);
    // A clock that was set back must not keep old figures fresh.
    if (known !== undefined && now >= known.at && now < known.at + FRESH_MS) return known;
    const { count: waiting, oldestId } = this.#sms.segments.waiting(route, MAX_COUNTED);
    const oldestAt = oldestId === null ? null : (this.#sms.messages.byId(oldestId)?.createdAt ?? null);
    const taken = { waiting, oldestAt, at: now };
    this.#taken.set(route, taken);
    return taken;
  }
}

const LOOK_EVERY_MS = 60_000;
/** What is compared spans so many looks: five minutes. */
const LOOKS = 6;
/** Fewer segments are gone in moments. */
const FEW = 100;

export interface BacklogDeps {
  routes: ReadonlyMap<string, Route>;
  waiting: Pick<WaitingCount, "get">;
  links: Pick<Links, "unboundMs" | "views">;
  /** Nothing is sent, as the operator wants it. */
  isPaused: () => boolean;
  /** Of stored times, and of spans. */
  clock: Pick<Clock, "now">;
  steady: Pick<Clock, "now">;
}

interface Watched {
  /** How many segments waited at the last looks, the newest last. */
  counts: number[];
  /** Unix ms: since when it grows; null: it does not. */
  growsSince: number | null;
}

/**
 * Routes that get more messages than they send: for minutes on end ever more segments wait, though a link is bound. The
 * operator hears of it before the lifetimes of the messages are over.
 */
export class Backlog {
  readonly #deps: BacklogDeps;
  readonly #watched = new Map<string, Watched>();
  #lookedAt: number;

  constructor(deps: BacklogDeps) {
    this.#deps = deps;
    this.#lookedAt = deps.steady.now();
  }

  /** Now and then: looks once a minute. */
  look(): void {
    const { routes, steady } = this.#deps;
    if (steady.now() - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#lookedAt = steady.now();
    for (const name of routes.keys()) this.#lookAt(name);
  }

  get issues(): HealthIssue[] {
    return [...this.#watched].flatMap(([route, { counts, growsSince }]) =>
      growsSince === null ? [] : [this.#describe(route, counts, growsSince)],
    );
  }

  #lookAt(route: string): void {
    const { waiting, links, isPaused, clock } = this.#deps;
    // A link that is away, and a pause, are reported by themselves.
    if (isPaused() || links.unboundMs(route) > 0) return void this.#watched.delete(route);
    const before = this.#watched.get(route);
    const counts = [...(before?.counts ?? []), waiting.get(route).waiting].slice(-LOOKS);
    const growsSince = grows(counts) ? (before?.growsSince ?? clock.now()) : null;
    this.#watched.set(route, { counts, growsSince });
  }

  #describe(route: string, counts: number[], since: number): HealthIssue {
    const [first = 0, last = 0] = [counts[0], counts.at(-1)];
    const own = this.#deps.links.views().filter((view) => view.route === route);
    const now = rounded(own.reduce((sum, { ratePerSecond }) => sum + ratePerSecond, 0));
    const links = this.#deps.routes.get(route)?.links ?? [];
    const configured = rounded(links.reduce((sum, { ratePerSecond }) => sum + ratePerSecond, 0));
    const why =
      now < configured
        ? `The provider throttles it: it sends at most ${now} a second, instead of the configured ${configured}.`
        : `It sends at most ${configured} a second, as configured, and no more at once than its window allows.`;
    const more = last > first ? `, ${last - first} more than five minutes ago` : "";
    const reason = `The SMS route ${route} gets more messages than it can send: ${last} segments wait${more}. ${why} See pombo sms links.`;
    return { component: "sms", kind: "backlog", about: route, reason, since, isAdvisory: true };
  }
}

/** More than at any look before, and some at each; a count at its limit is taken for more. */
function grows(counts: readonly number[]): boolean {
  const last = counts.at(-1) ?? 0;
  if (counts.length < LOOKS || last < FEW || counts.includes(0)) return false;
  return last >= MAX_COUNTED || counts.slice(0, -1).every((count) => count < last);
}

function rounded(rate: number): number {
  return Math.round(rate * 10) / 10;
}
