// Times as the language writes them, in the zone of the browser.

import { findLocale } from "../i18n/index.ts";

export function formatTime(iso: string): string {
  const options = { dateStyle: "medium", timeStyle: "medium" } as const;
  return new Intl.DateTimeFormat(findLocale(), options).format(new Date(iso));
}

export function formatDate(iso: string): string {
  return new Intl.DateTimeFormat(findLocale(), { dateStyle: "medium" }).format(new Date(iso));
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];

/** Clocks agree no better: what was just made is not to come in 2 seconds. */
const NOW_S = 5;

/** "now", "3 minutes ago", "yesterday", "in 5 days"; a date when that is more than a week away. */
export function formatAgo(iso: string, now: number): string {
  const format = new Intl.RelativeTimeFormat(findLocale(), { numeric: "auto" });
  let value = (new Date(iso).getTime() - now) / 1_000;
  if (value > 0 && value < NOW_S) value = 0;
  for (const [unit, size] of UNITS) {
    if (Math.abs(value) < size) return format.format(Math.round(value), unit);
    value /= size;
  }
  return formatDate(iso);
}
