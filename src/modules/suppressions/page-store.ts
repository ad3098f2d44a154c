// Pages of a workspace's suppressions, newest first, by channel, reason, address or the beginning of it.

import { and, desc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import { NEWEST } from "../../platform/db/batches.ts";
import type { Db } from "../../platform/db/open.ts";
import { SUPPRESSION_CHANNELS, SUPPRESSION_REASONS, suppressions } from "../../platform/db/schema/schema.ts";
import { prepare } from "../../platform/db/statement.ts";
import type { Position } from "../../platform/http/pagination.ts";
import type { Channel, Reason } from "./address.ts";

type SuppressionRow = typeof suppressions.$inferSelect;

/** Null: all. */
export interface KindFilter {
  workspaceId: number;
  channel: Channel | null;
  reason: Reason | null;
}

/** A page by the beginning of an address reads and sorts all that begin so: at most so many, some 10 ms. */
export const MAX_OF_PREFIX = 2_000;

/** Sorts after every character, in the bytes of UTF-8. */
const PAST_ALL = "\u{10ffff}";

/** Each page has one row more when there are more. */
export function openSuppressionPages({ orm }: Db) {
  const p = sql.placeholder;
  const selectPage = (...filters: SQL[]) =>
    prepare(
      orm
        .select()
        .from(suppressions)
        .where(and(eq(suppressions.workspaceId, p("workspaceId")), ...filters))
        .orderBy(desc(suppressions.createdAt), desc(suppressions.id))
        .limit(p("limit")),
    );
  // Two statements for one page: for what is older, and for the rest of the cursor's own millisecond, in which an
  // import or apply may have put any number. In one, with OR or a row value, SQLite walks all of that.
  const isOlder = lt(suppressions.createdAt, p("createdAt"));
  const isRest = [eq(suppressions.createdAt, p("createdAt")), lt(suppressions.id, p("id"))];
  const isOfKind = [eq(suppressions.channel, p("channel")), eq(suppressions.reason, p("reason"))];
  const ofAll = { rest: selectPage(...isRest), older: selectPage(isOlder) };
  const ofKind = { rest: selectPage(...isOfKind, ...isRest), older: selectPage(...isOfKind, isOlder) };

  const readPage = (
    { rest, older }: typeof ofAll,
    of: Partial<KindFilter>,
    before: Position | null,
    limit: number,
  ): SuppressionRow[] => {
    const page = { ...of, ...(before ?? NEWEST) };
    const first = before === null ? [] : rest.all({ ...page, limit: limit + 1 });
    const missing = limit + 1 - first.length;
    return missing === 0 ? first : [...first, ...older.all({ ...page, limit: missing })];
  };

  /** Of rows that are few: all of them are read and sorted. */
  const readFew = (of: KindFilter, isMeant: SQL | undefined, before: Position | null, limit: number) => {
    // With the unary plus no index serves the column: SQLite would rather walk all of the workspace's in their order.
    const [channel, reason, createdAt, id] = [
      sql`+${suppressions.channel}`,
      sql`+${suppressions.reason}`,
      sql`+${suppressions.createdAt}`,
      sql`+${suppressions.id}`,
    ];
    return orm
      .select()
      .from(suppressions)
      .where(
        and(
          eq(suppressions.workspaceId, of.workspaceId),
          isMeant,
          of.channel === null ? undefined : sql`${channel} = ${of.channel}`,
          of.reason === null ? undefined : sql`${reason} = ${of.reason}`,
          before === null ? undefined : sql`(${createdAt}, ${id}) < (${before.createdAt}, ${before.id})`,
        ),
      )
      .orderBy(sql`${createdAt} DESC`, sql`${id} DESC`)
      .limit(limit + 1)
      .all();
  };

  const beginsWith = (prefix: string) =>
    and(gte(suppressions.address, prefix), lt(suppressions.address, prefix + PAST_ALL));

  return {
    ofKinds(of: KindFilter, before: Position | null, limit: number): SuppressionRow[] {
      const { workspaceId, channel, reason } = of;
      if (channel === null && reason === null) return readPage(ofAll, of, before, limit);
      const channels = channel === null ? SUPPRESSION_CHANNELS : [channel];
      const reasons = reason === null ? SUPPRESSION_REASONS : [reason];
      const kinds = channels.flatMap((each) => reasons.map((why) => ({ workspaceId, channel: each, reason: why })));
      return mergePages(
        kinds.flatMap((kind) => readPage(ofKind, kind, before, limit)),
        limit,
      );
    },

    /** By the stored forms of an address. */
    ofAddresses: (of: KindFilter & { addresses: string[] }, before: Position | null, limit: number) =>
      readFew(of, inArray(suppressions.address, of.addresses), before, limit),

    /** Without erased ones, whose hashes begin as addresses may. */
    ofPrefix: (of: KindFilter & { prefix: string }, before: Position | null, limit: number) =>
      readFew(of, and(beginsWith(of.prefix), sql`${suppressions.isErased} = 0`), before, limit),

    /** Whether more begin so than a page of them reads. */
    isBroad(workspaceId: number, prefix: string): boolean {
      const isOfPrefix = and(eq(suppressions.workspaceId, workspaceId), beginsWith(prefix));
      const last = orm.select({ id: suppressions.id }).from(suppressions).where(isOfPrefix).limit(1);
      return last.offset(MAX_OF_PREFIX).get() !== undefined;
    },
  };
}

/** One page of several. */
export function mergePages(rows: SuppressionRow[], limit: number): SuppressionRow[] {
  return rows.toSorted((a, b) => b.createdAt - a.createdAt || b.id - a.id).slice(0, limit + 1);
}
