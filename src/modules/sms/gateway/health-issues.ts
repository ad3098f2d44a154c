// Health issues of routes that messages wait for and that have no link. They are advisory: the instance stays ready, since
// email and other routes work.

import type { HealthIssue } from "../../../platform/health-issue.ts";
import type { SegmentStore } from "../queue/segment-store.ts";
import type { Links } from "./links.ts";
import type { Route } from "./route-settings.ts";

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
