/**
 * Routes that get more messages than they send: for minutes on end ever more segments wait, though a link is bound.
 * The operator hears of it before the lifetimes of the messages are over.
 */
import type { Clock } from "../../../platform/clock.ts";
import type { HealthIssue } from "../../../platform/health-issue.ts";
import type { Links } from "../gateway/links.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { WaitingCount } from "./waiting-count.ts";

const LOOK_EVERY_MS = 60_000;
/** What is compared spans so many looks: five minutes. */
const LOOKS = 6;
/** Fewer segments are gone in moments. */
const FEW = 100;

export interface BacklogDeps {
  routes: ReadonlyMap<string, Route>;
  waiting: Pick<WaitingCount, "get" | "isAtLimit">;
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
      growsSince === null ? [] : [this.#trouble(route, counts, growsSince)],
    );
  }

  #lookAt(route: string): void {
    const { waiting, links, isPaused, clock } = this.#deps;
    // A link that is away, and a pause, are reported by themselves.
    if (isPaused() || links.unboundMs(route) > 0) return void this.#watched.delete(route);
    const before = this.#watched.get(route);
    const counts = [...(before?.counts ?? []), waiting.get(route).waiting].slice(-LOOKS);
    const isGrowing = grows(counts, (count) => waiting.isAtLimit(count));
    const growsSince = isGrowing ? (before?.growsSince ?? clock.now()) : null;
    this.#watched.set(route, { counts, growsSince });
  }

  #trouble(route: string, counts: number[], since: number): HealthIssue {
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
    const reason = `The SMS route ${route} gets more texts than it can send: ${last} segments wait${more}. ${why} See pombo sms links.`;
    return { component: "sms", about: route, reason, since, isAdvisory: true };
  }
}

/** More than at any look before, and some at each; a count at its limit is taken for more. */
function grows(counts: readonly number[], isAtLimit: (count: number) => boolean): boolean {
  const last = counts.at(-1) ?? 0;
  if (counts.length < LOOKS || last < FEW || counts.includes(0)) return false;
  return isAtLimit(last) || counts.slice(0, -1).every((count) => count < last);
}

function rounded(rate: number): number {
  return Math.round(rate * 10) / 10;
}
