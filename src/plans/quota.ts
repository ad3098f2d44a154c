import type { Plan } from "../config.ts";
import { AppError } from "../errors.ts";
import type { UsageStore } from "./store.ts";

/** UTC day and month of a time, as the counters name them: 2026-11-21, 2026-11. */
export function periodsAt(now: number): { day: string; month: string } {
  const iso = new Date(now).toISOString();
  return { day: iso.slice(0, 10), month: iso.slice(0, 7) };
}

/**
 * Takes `amount` emails from the workspace's quotas, inside the accepting transaction; throws 402 with
 * the time until the period ends.
 */
export function takeEmailQuota(
  request: { workspaceId: number; plan: Plan; amount: number; now: number },
  usage: UsageStore,
): void {
  const { workspaceId, plan, amount, now } = request;
  const { day, month } = periodsAt(now);
  const isOverMonth =
    plan.emailsPerMonth >= 0 && usage.ofMonth(workspaceId, "emails", month) + amount > plan.emailsPerMonth;
  if (isOverMonth) {
    throw overQuota(
      "MONTHLY_QUOTA_EXCEEDED",
      `month allows ${plan.emailsPerMonth} emails`,
      startOfNextMonth(now) - now,
    );
  }
  if (!usage.take({ workspaceId, name: "emails", day }, amount, plan.emailsPerDay)) {
    throw overQuota("DAILY_QUOTA_EXCEEDED", `day allows ${plan.emailsPerDay} emails`, startOfNextDay(now) - now);
  }
}

function overQuota(code: "DAILY_QUOTA_EXCEEDED" | "MONTHLY_QUOTA_EXCEEDED", what: string, waitMs: number): AppError {
  return new AppError(code, `The quota is used up: the plan's ${what}`, {
    retryAfterS: Math.ceil(waitMs / 1000),
    hint: "Wait until the period ends (UTC), or ask the operator to raise the plan's limits.",
  });
}

function startOfNextDay(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1);
}

function startOfNextMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
