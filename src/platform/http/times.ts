// Times as requests and answers have them, ISO 8601; everywhere else they are Unix ms.

import { Type } from "@sinclair/typebox";
import { text } from "./request-schemas.ts";

const MAX_TIME = 40;
/** Seconds optional. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** In UTC, with milliseconds. */
export function toIsoTime(at: number): string {
  return new Date(at).toISOString();
}

export function toIsoTimeOrNull(at: number | null): string | null {
  return at === null ? null : toIsoTime(at);
}

/** Whether the month has the day: for Date.parse November 31 is December 1. */
function isDay(value: string): boolean {
  return new Date(`${value.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(value.slice(8, 10));
}

/** A member that holds a time; `check` says what is wrong with it beside. */
export function time(
  description: string,
  check: (at: number) => string | null = () => null,
  example = "2026-11-21T12:00:00Z",
) {
  const options = { maxLength: MAX_TIME, format: "date-time", description, examples: [example] };
  return text(options, (value) => {
    const at = DATE_TIME.test(value) && isDay(value) ? Date.parse(value) : Number.NaN;
    return at >= 0 ? check(at) : "must be a time since 1970 in ISO 8601 with its offset, like 2026-11-21T12:00:00Z";
  });
}

/** The ends of a range of time, in the query of a list. */
export const TimeRangeQuery = Type.Object({
  since: Type.Optional(time("Not before this time.")),
  until: Type.Optional(time("Before this time.")),
});

/** Unix ms; null: no end there. */
export interface TimeRange {
  since: number | null;
  until: number | null;
}

export function parseTimeRange({ since, until }: typeof TimeRangeQuery.static): TimeRange {
  return {
    since: since === undefined ? null : Date.parse(since),
    until: until === undefined ? null : Date.parse(until),
  };
}
