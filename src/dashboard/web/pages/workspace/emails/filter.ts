// What the list of emails is narrowed to, as it stands in the address of the page and as the API takes it.

import type { CallOptions, Data } from "../../../kit.ts";

export const LIST = "GET /api/v1/emails";
type Query = NonNullable<CallOptions<typeof LIST>["query"]>;
export type Status = NonNullable<Data<typeof LIST>[number]["status"]>;
export type Category = NonNullable<Query["category"]>;

/** In the order of a life. */
export const STATUSES = Object.keys({
  scheduled: 0,
  queued: 0,
  sending: 0,
  delivery_delayed: 0,
  sent: 0,
  delivered: 0,
  bounced: 0,
  failed: 0,
  complained: 0,
  suppressed: 0,
  canceled: 0,
} satisfies Record<Status, 0>) as Status[];

/** Days up to now, today among them. */
export const PERIODS = ["1", "7", "30"] as const;

/** Those that can be chosen, in the order of their marks. `days` and the two days exclude each other; the days are whole ones of the browser's zone. */
export const NAMES = ["status", "to", "subject", "days", "from_day", "to_day", "domain", "category", "tag"] as const;
export type Name = (typeof NAMES)[number];
/** "": any. */
export type Filter = Record<Name, string>;

export function readFilter(query: Record<string, string>): Filter {
  const filter = Object.fromEntries(NAMES.map((name) => [name, query[name] ?? ""])) as Filter;
  if (!STATUSES.some((status) => status === filter.status)) filter.status = "";
  if (!PERIODS.some((days) => days === filter.days)) filter.days = "";
  for (const name of ["from_day", "to_day"] as const) if (findStart(filter[name]) === null) filter[name] = "";
  return filter;
}

export function writeAddress(path: string, filter: Filter, place: { page?: number; cursor?: string } = {}): string {
  const search = new URLSearchParams(NAMES.filter((name) => filter[name] !== "").map((name) => [name, filter[name]]));
  if (place.page !== undefined && place.page > 1) search.set("page", String(place.page));
  if (place.cursor !== undefined) search.set("cursor", place.cursor);
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

export function toQuery({ status, to, subject, days, from_day, to_day, domain, category, tag }: Filter): Query {
  const since = days === "" ? findStart(from_day) : findStart(dayOf(new Date()), 1 - Number(days));
  const [from, until] = [since?.toISOString() ?? "", findStart(to_day, 1)?.toISOString() ?? ""];
  const given = { status, to, subject, domain, category, tag, since: from, until };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "")) as Query;
}

/** When that day begins, or the one so many after it; null: it is no day. */
function findStart(day: string, after = 0): Date | null {
  const [, year, month, date] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? []).map(Number);
  if (year === undefined || year < 1971 || month === undefined || date === undefined) return null;
  const start = new Date(year, month - 1, date + after);
  return after === 0 && dayOf(start) !== day ? null : start;
}

function dayOf(time: Date): string {
  const pad = (value: number) => String(value).padStart(2, "0");
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
}
