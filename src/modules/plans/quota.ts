import type { Plan } from "../../config/config.ts";
import { AppError } from "../../platform/errors.ts";
import type { UsageStore } from "./store.ts";

/** A UTC day: there are no others among the counters' periods. */
export const DAY_MS = 24 * 60 * 60 * 1000;

/** UTC day and month of a time, as the counters name them: 2026-11-21, 2026-11. */
export function periodsAt(now: number): { day: string; month: string } {
  const day = dayAt(now);
  return { day, month: day.slice(0, 7) };
}

/** The UTC day of a time: 2026-11-21. */
export function dayAt(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Percentages of a quota at which its owner is warned. */
const WARNED_AT = [80, 100];

/** A percentage of a quota that was reached. */
export interface QuotaWarning {
  period: "day" | "month";
  percent: number;
  used: number;
  limit: number;
}

/**
 * Takes `amount` emails from the workspace's quotas, inside the accepting transaction; the percentages
 * that were reached. Throws 402 with the time until the period ends.
 */
export function takeEmailQuota(
  request: { workspaceId: number; plan: Plan; amount: number; now: number },
  usage: UsageStore,
): QuotaWarning[] {
  const { workspaceId, plan, amount, now } = request;
  const { day, month } = periodsAt(now);
  if (plan.emailsPerMonth < 0 && plan.emailsPerDay < 0) {
    usage.count({ workspaceId, name: "emails", day }, amount);
    return [];
  }
  if (plan.emailsPerMonth >= 0) {
    const left = plan.emailsPerMonth - usage.ofMonth(workspaceId, "emails", month);
    if (amount > left)
      throw overQuota("month", { allowed: plan.emailsPerMonth, left, endsInMs: startOfNextMonth(now) - now });
  }
  if (!usage.take({ workspaceId, name: "emails", day }, amount, plan.emailsPerDay)) {
    const left = plan.emailsPerDay - usage.ofDay(workspaceId, "emails", day);
    throw overQuota("day", { allowed: plan.emailsPerDay, left, endsInMs: startOfNextDay(now) - now });
  }
  const { emailsPerDay, emailsPerMonth } = plan;
  return [
    ...(emailsPerDay < 0 ? [] : reached("day", usage.ofDay(workspaceId, "emails", day), emailsPerDay, amount)),
    ...(emailsPerMonth < 0
      ? []
      : reached("month", usage.ofMonth(workspaceId, "emails", month), emailsPerMonth, amount)),
  ];
}

/** Takes the room for contents from the workspace's storage, inside the accepting transaction. Throws 402. */
export function takeStorage(request: { workspaceId: number; plan: Plan; bytes: number }, usage: UsageStore): void {
  const { workspaceId, plan, bytes } = request;
  if (usage.takeStorage(workspaceId, bytes, plan.storage)) return;
  const mib = (plan.storage / 1024 / 1024).toLocaleString("en", { maximumFractionDigits: 1 });
  throw new AppError("PLAN_LIMIT_REACHED", `The plan's ${mib} MiB for email contents are full`, {
    hint: "Contents are removed some time after an email is final. Wait for that, send smaller emails, or ask the operator to raise the plan's limits.",
  });
}

/** The percentages of `limit` that the last `amount` of `used` went over. */
function reached(period: QuotaWarning["period"], used: number, limit: number, amount: number): QuotaWarning[] {
  return WARNED_AT.filter((percent) => {
    const threshold = (limit * percent) / 100;
    return used >= threshold && used - amount < threshold;
  }).map((percent) => ({ period, percent, used, limit }));
}

/** `left` is below 0 when the plan was changed for a smaller one. */
function overQuota(period: "day" | "month", quota: { allowed: number; left: number; endsInMs: number }): AppError {
  const { allowed, left, endsInMs } = quota;
  const isPart = left > 0;
  const code = period === "day" ? "DAILY_QUOTA_EXCEEDED" : "MONTHLY_QUOTA_EXCEEDED";
  const message = isPart ? `The quota does not reach: ${left} emails are left, and` : "The quota is used up:";
  return new AppError(code, `${message} the plan's ${period} allows ${allowed} emails`, {
    retryAfterS: Math.ceil(endsInMs / 1000),
    hint: `${isPart ? "Send fewer at once, wait" : "Wait"} until the period ends (UTC), or ask the operator to raise the plan's limits.`,
  });
}

function startOfNextDay(now: number): number {
  return (Math.floor(now / DAY_MS) + 1) * DAY_MS;
}

function startOfNextMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
