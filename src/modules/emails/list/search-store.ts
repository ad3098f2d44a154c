// The list of emails by what no index has: a part of the subject, the reason of a failure, and all of it within a range
// of time. All ranges of the indexes (of a workspace, a domain, a status, an address, a tag) are in the list's order, so
// that any of them that holds all that is meant may be walked: the one whose newest 10,000 entries lead furthest back is.
// No more are looked at at once; where a look ends, the next one begins.

import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import { NEWEST } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import { emails, WAITING_STATES } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { Position } from "../../../platform/http/pagination.ts";
import type { EmailStatus } from "../api/schema.ts";
import {
  BEFORE_ALL,
  type EmailFilter,
  type EmailScope,
  isOrAny,
  MAX_LOOKED_AT,
  ofGroup,
  ofWorkspace,
  statusNow,
} from "../store/list-store.ts";

/** Null: any. */
export interface EmailSearch extends EmailFilter {
  /** Only emails from then on. */
  since: number | null;
  /** Only emails before then. */
  until: number | null;
  /** Of `bounce`. */
  category: string | null;
  /** A part of it, in whatever case. */
  subject: string | null;
}

export interface LookWindow {
  /** Null: the newest. */
  before: Position | null;
  /** What is found may be more, of which the rest is to be found again. */
  limit: number;
  lookAt?: number;
}

export interface Look {
  /** Where those stand that were found, newest first. */
  found: Position[];
  /** All that is newer was looked at; null: everything was. */
  end: Position | null;
}

type Values = Record<string, string | number | null>;
type Range = ReturnType<typeof openRange>;

const p = sql.placeholder;

/** What an email may come to with a `bounce`. */
const REFUSED = ["bounced", "failed"] as const;

/** Prepares the statements. */
export function openEmailSearch({ orm }: Pick<Db, "orm">) {
  const ranges = {
    workspace: openRange(orm, ofWorkspace),
    domain: openRange(orm, eq(emails.domainId, p("domainId"))),
    status: openRange(orm, and(ofWorkspace, eq(emails.status, p("stored")))),
    to: openRange(orm, and(ofWorkspace, eq(emails.recipientAddress, p("to")))),
    from: openRange(orm, and(ofWorkspace, eq(emails.senderAddress, p("from")))),
    tag: openRange(orm, and(ofWorkspace, eq(emails.tag, p("tag")))),
    // With the unary plus no index serves the column: at most 50 emails are sorted, and no workspace is walked.
    group: openRange(orm, and(ofGroup, sql`+${emails.workspaceId} = ${p("workspaceId")}`)),
  };

  /** The ranges that hold all that is meant, each in one part or more. */
  const listWays = ({ domainId }: EmailScope, search: EmailSearch): { range: Range; stored: string | null }[][] => {
    const of = (range: Range, stored: string | null = null) => ({ range, stored });
    const { status, category } = search;
    const ways = [
      ...(["to", "from", "tag", "group"] as const)
        .filter((name) => search[name] !== null)
        .map((name) => [of(ranges[name])]),
      ...(domainId === null ? [] : [[of(ranges.domain)]]),
      ...(status === null ? [] : [[of(ranges.status, toStored(status))]]),
      ...(status === null && category !== null ? [REFUSED.map((each) => of(ranges.status, each))] : []),
    ];
    return ways.length > 0 ? ways : [[of(ranges.workspace)]];
  };

  return {
    /** Looks for emails older than `before`. */
    look(scope: EmailScope, search: EmailSearch, { before, limit, lookAt = MAX_LOOKED_AT }: LookWindow): Look {
      const { until } = search;
      const ceiling = until === null ? NEWEST : { createdAt: until, id: 0 };
      const start = before === null || isNewer(before, ceiling) ? ceiling : before;
      const subject = search.subject === null ? null : fold(search.subject);
      const values: Values = { ...scope, ...search, ...start, since: search.since ?? 0, subject };
      const reaches = listWays(scope, search).map((parts) => {
        const skipped = Math.max(1, Math.floor(lookAt / parts.length));
        const ends = parts.map(({ range, stored }) => range.findEnd({ ...values, stored, skipped }));
        return { parts, end: ends.reduce((newest, end) => (isNewer(end, newest) ? end : newest), BEFORE_ALL) };
      });
      const { parts, end } = reaches.reduce((deepest, way) => (isNewer(deepest.end, way.end) ? way : deepest));
      const since = Math.max(search.since ?? 0, end.createdAt);
      const bounds = { since, endedAt: end.createdAt, endId: end.id };
      const most = subject === null ? limit : lookAt;
      const found = parts
        .flatMap(({ range, stored }) => range.read({ ...values, ...bounds, stored, limit: most }))
        .filter(({ words }) => subject === null || fold(words ?? "").includes(subject));
      if (parts.length > 1) found.sort((a, b) => b.createdAt - a.createdAt || b.id - a.id);
      return { found, end: end === BEFORE_ALL ? null : end };
    },
  };
}

/** As stored: what waits is told apart by its queue row. */
function toStored(status: EmailStatus): string {
  return WAITING_STATES.some((state) => state === status) ? "queued" : status;
}

/** Words that differ only in case, or in how an accent is composed, are the same. */
function fold(words: string): string {
  return words.normalize("NFC").toLowerCase();
}

function isNewer(a: Position, b: Position): boolean {
  return a.createdAt > b.createdAt || (a.createdAt === b.createdAt && a.id > b.id);
}

/**
 * Entries of an index, older than a place. One statement reads them, not two as docs/adr/016 says of other lists: the
 * place's own millisecond, which it walks, holds no more emails than a few requests have brought.
 */
function openRange(orm: Db["orm"], where: SQL | undefined) {
  // Or SQLite takes the two bounds for narrow, and walks all of the workspace between them.
  const isOlder = sql`likely((${emails.createdAt}, ${emails.id}) < (${p("createdAt")}, ${p("id")}))`;
  const isIn = and(where, isOlder, sql`likely(${emails.createdAt} >= ${p("since")})`);
  const order = [desc(emails.createdAt), desc(emails.id)];
  const selectEnd = prepare(
    orm
      .select({ createdAt: emails.createdAt, id: emails.id })
      .from(emails)
      .where(isIn)
      .orderBy(...order)
      .limit(1)
      .offset(p("skipped")),
  );
  // With the unary plus this is checked and not sought: for two lower bounds SQLite would take another index.
  const isLookedAt = sql`(+${emails.createdAt}, +${emails.id}) >= (${p("endedAt")}, ${p("endId")})`;
  const passes = and(
    isOrAny(emails.domainId, "domainId"),
    isOrAny(emails.recipientAddress, "to"),
    isOrAny(emails.senderAddress, "from"),
    isOrAny(emails.tag, "tag"),
    isOrAny(statusNow, "status"),
    isOrAny(sql`${emails.bounce} ->> '$.category'`, "category"),
    sql`(${p("group")} IS NULL OR ${ofGroup})`,
  );
  const select = prepare(
    orm
      .select({
        createdAt: emails.createdAt,
        id: emails.id,
        // A row is read only where something of it is asked for.
        words: sql<string | null>`CASE WHEN ${p("subject")} IS NOT NULL THEN ${emails.subject} END`,
      })
      .from(emails)
      .where(and(isIn, isLookedAt, passes))
      .orderBy(...order)
      .limit(p("limit")),
  );
  return {
    /** The place behind the last of those that are looked at; BEFORE_ALL: there are no more than these. */
    findEnd(values: Values): Position {
      const next = selectEnd.get(values);
      return next === undefined ? BEFORE_ALL : { createdAt: next.createdAt, id: next.id + 1 };
    },
    read: (values: Values) => select.all(values),
  };
}
