// The limits of a plan on what a workspace may have.

import { AppError } from "../../platform/errors.ts";

type Limited = "domain" | "webhook" | "API key";

/** Throws PLAN_LIMIT_REACHED when a workspace has all that its plan allows; below 0: there is no limit. */
export function requireBelowLimit(what: Limited, limit: number, count: () => number): void {
  if (limit >= 0 && count() >= limit) throw planLimitReached(what, limit);
}

export function planLimitReached(what: Limited, limit: number): AppError {
  const remedy = what === "API key" ? "Ask" : `Delete an unused ${what}, or ask`;
  return new AppError("PLAN_LIMIT_REACHED", `The plan allows ${limit} ${what}${limit === 1 ? "" : "s"}`, {
    hint: `${remedy} the operator to raise the plan's limits.`,
  });
}
