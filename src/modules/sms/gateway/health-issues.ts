import type { HealthIssue } from "../../../platform/health-issue.ts";
import type { SegmentStore } from "../queue/segment-store.ts";
import type { Links } from "./links.ts";
import type { Route } from "./route-settings.ts";

/**
 * Routes that texts wait for and that have had no link for longer than others would stand in for them. They are no
 * reason to take nothing any more, neither mail nor texts of other routes: the instance stays ready.
 */
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
    const reason = `No link of the SMS route ${name} is bound, and texts wait for it${why}. ${advice} See pombo sms links.`;
    return [{ component: "sms", about: name, reason, since: Math.round(now - unboundMs), isAdvisory: true }];
  });
}
