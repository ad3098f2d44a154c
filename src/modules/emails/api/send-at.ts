// The time that a sender gives an email, as the API takes it: from now until 30 days ahead.

import { AppError } from "../../../platform/errors.ts";
import { time, toIsoTime } from "../../../platform/http/times.ts";

const DAY_MS = 24 * 60 * 60_000;
const MAX_AHEAD_MS = 30 * DAY_MS;
/** Clocks differ, and a request may be repeated: so far in the past is now. */
const MAX_PAST_MS = 5 * 60_000;

/** In its place the API docs show a time that lies ahead (api/docs/document.ts). */
export const EXAMPLE_SEND_AT = "2026-11-22T08:00:00+02:00";

export function sendAt(description: string) {
  return time(
    `${description}, with its offset from UTC: at most 30 days ahead. Up to 5 minutes in the past means now.`,
    undefined,
    EXAMPLE_SEND_AT,
  );
}

/** Null: at once. */
export function parseSendAt(value: string | undefined, now: number): number | null {
  const at = value === undefined ? null : Date.parse(value);
  return at === null || at <= now ? null : at;
}

/** Tells what is wrong with a time; null: nothing. */
export function findSendAtFault(value: string, now: number): { message: string; hint: string } | null {
  const at = Date.parse(value);
  const isLate = at > now + MAX_AHEAD_MS;
  if (!isLate && at >= now - MAX_PAST_MS) return null;
  const what = isLate ? "more than 30 days ahead" : "more than 5 minutes in the past";
  return { message: `sendAt is ${what}`, hint: `Here it is ${toIsoTime(now)}.` };
}

/** Another time for an email, now at the earliest; throws VALIDATION_ERROR. */
export function requireSendAt(value: string, now: number): number {
  const fault = findSendAtFault(value, now);
  if (fault !== null) throw new AppError("VALIDATION_ERROR", fault.message, { field: "sendAt", hint: fault.hint });
  return Math.max(now, Date.parse(value));
}
