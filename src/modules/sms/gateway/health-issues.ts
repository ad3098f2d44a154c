import type { HealthIssue } from "../../../platform/health-issue.ts";
import type { LinkView } from "./links.ts";
import type { Route } from "./route-settings.ts";

/**
 * Routes that texts wait for and that have had no link for longer than others would stand in for them. They are no
 * reason to take nothing any more, neither mail nor texts of other routes: the instance stays ready.
 */
export function troublesOf(
  routes: ReadonlyMap<string, Route>,
  now: number,
  look: { unboundMs: (route: string) => number; hasWaiting: (route: string) => boolean; views: () => LinkView[] },
): HealthIssue[] {
  return [...routes.values()].flatMap(({ config: { name, failoverAfterMs }, links }): HealthIssue[] => {
    const unboundMs = look.unboundMs(name);
    // Infinity: its links are not opened, as in a command while no instance runs.
    if (links.length === 0 || unboundMs === Infinity || unboundMs <= failoverAfterMs || !look.hasWaiting(name))
      return [];
    const error = look.views().find(({ route, error: last }) => route === name && last !== null)?.error ?? null;
    const why = error === null ? "" : ` (${error.reason}${error.statusName === null ? "" : `, ${error.statusName}`})`;
    const advice = error?.advice ?? "It is tried again by itself.";
    const reason = `No link of the SMS route ${name} is bound, and texts wait for it${why}. ${advice} See pombo sms links.`;
    return [{ component: "sms", about: name, reason, since: Math.round(now - unboundMs), isAdvisory: true }];
  });
}
