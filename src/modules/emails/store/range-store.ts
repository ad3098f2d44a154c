import { and, asc, count, desc, eq, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { fast } from "../../../platform/db/statement.ts";
import { emailQueue, emails } from "../../../platform/db/schema/schema.ts";
import type { Position } from "../../../platform/http/pagination.ts";

// Ranges of the indexes that are in the list's order (createdAt, id), and how a page's ids are read
// from them: from the index alone, or by looking at each email.

/** Emails of an address that are looked at, the newest, and the most that are read one by one for its sake. */
export const MAX_LOOKED_AT = 10_000;

/** A part of a list. */
export interface Window {
  limit: number;
  offset: number;
}

/** What the statements take by name. */
type Values = Record<string, string | number | null>;

const p = sql.placeholder;

/** What an email's queue row says of it; null: it has none. */
export const stateInQueue = sql`(SELECT ${emailQueue.state} FROM ${emailQueue} WHERE ${emailQueue.id} = ${emails.id})`;

/** A page of a range of `total` ids, in the list's order, read from the end that is nearer. */
export function openRange(orm: Db["orm"], table: typeof emails | typeof emailQueue, where: SQL | undefined) {
  const select = (order: typeof asc) =>
    fast(
      orm
        .select({ id: table.id })
        .from(table)
        .where(where)
        .orderBy(order(table.createdAt), order(table.id))
        .limit(p("limit"))
        .offset(p("offset")),
    );
  const newest = select(desc);
  const oldest = select(asc);
  return (values: Values, total: number, window: Window): number[] => {
    const { limit, offset } = within(total, window);
    if (limit === 0) return [];
    const older = total - offset - limit;
    const rows =
      offset <= older
        ? newest.all({ ...values, limit, offset })
        : oldest.all({ ...values, limit, offset: older }).toReversed();
    return rows.map(({ id }) => id);
  };
}

/** Ids of a range whose emails pass a filter, newest first; every email is read until the window is full. */
export function openReading(orm: Db["orm"], where: SQL | undefined) {
  // As statusOf() has it.
  const status = sql`CASE WHEN ${emails.status} <> 'queued' THEN ${emails.status} ELSE COALESCE(${stateInQueue}, 'queued') END`;
  const passes = and(
    isOrAny(emails.domainId, "domainId"),
    isOrAny(emails.recipientAddress, "to"),
    isOrAny(emails.senderAddress, "from"),
    isOrAny(status, "status"),
  );
  const select = fast(
    orm
      .select({ id: emails.id })
      .from(emails)
      .where(and(where, passes))
      .orderBy(desc(emails.createdAt), desc(emails.id))
      .limit(p("limit"))
      .offset(p("offset")),
  );
  return (values: Values, window: Window): number[] => select.all({ ...values, ...window }).map(({ id }) => id);
}

/** The range of an address, and how far down it is looked at. */
export function openAddress(orm: Db["orm"], column: typeof emails.recipientAddress | typeof emails.senderAddress) {
  const ofAddress = and(eq(emails.workspaceId, p("workspaceId")), eq(column, p("address")));
  const isNewer = sql`(${emails.createdAt}, ${emails.id}) > (${p("createdAt")}, ${p("id")})`;
  const selectEnd = fast(
    orm
      .select({ createdAt: emails.createdAt, id: emails.id })
      .from(emails)
      .where(ofAddress)
      .orderBy(desc(emails.createdAt), desc(emails.id))
      .limit(1)
      .offset(MAX_LOOKED_AT),
  );
  const selectCount = fast(orm.select({ total: count() }).from(emails).where(ofAddress));
  const read = openReading(orm, and(ofAddress, isNewer));
  return {
    ids: openRange(orm, emails, ofAddress),
    /** How many emails of the address are looked at; all of them are newer than `end`. */
    reach(values: Values): { end: Position; total: number; isMinimum: boolean } {
      const end = selectEnd.get(values);
      if (end !== undefined) return { end, total: MAX_LOOKED_AT, isMinimum: true };
      return { end: BEFORE_ALL, total: selectCount.get(values)?.total ?? 0, isMinimum: false };
    },
    /** Those of them that pass the filter. */
    read: (values: Values, end: Position): number[] => read({ ...values, ...end }, { limit: MAX_LOOKED_AT, offset: 0 }),
  };
}

const BEFORE_ALL: Position = { createdAt: -1, id: -1 };

/** `value` is what is given under this name, or null is given. */
export function isOrAny(value: SQLWrapper, name: string): SQL {
  return sql`(${p(name)} IS NULL OR ${value} = ${p(name)})`;
}

/** The part of a window that a list of `total` fills. */
export function within(total: number, { limit, offset }: Window): Window {
  return { limit: Math.max(0, Math.min(limit, total - offset)), offset };
}
