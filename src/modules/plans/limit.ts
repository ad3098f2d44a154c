// The limits of a plan on what a workspace may have.

import { AppError } from "../../platform/errors.ts";

type Limited = "domain" | "webhook" | "API key" | "member";

/** Throws PLAN_LIMIT_REACHED when a workspace has all that its plan allows; below 0: there is no limit. */
export function requireBelowLimit(what: Limited, limit: number, count: () => number): void {
  if (limit >= 0 && count() >= limit) throw planLimitReached(what, limit);
}

export function planLimitReached(what: Limited, limit: number): AppError {
  const remedy = { "API key": "Ask", member: "Remove a member or withdraw an invitation, or ask" }[what as string];
  return new AppError("PLAN_LIMIT_REACHED", `The plan allows ${limit} ${what}${limit === 1 ? "" : "s"}`, {
    hint: `${remedy ?? `Delete an unused ${what}, or ask`} the operator to raise the plan's limits.`,
  });
}
