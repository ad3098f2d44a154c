// The list of emails. Every question is a range of an index that is in the list's order: of a
// workspace, a domain, a status, a state of the queue, an address. Ids come from the index only,
// from whichever end is nearer; then the rows of one page are read. How many there are is counted as
// it changes (email_total); of an address the newest 10,000 are looked at and no others. Where no
// index has the whole question (an address and a status), the emails of the shorter range are read
// one by one. A tag is looked for as an address is; a group is at most 50 emails.

import { and, asc, count, desc, eq, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Db } from "../../../platform/db/open.ts";
import { emailQueue, emails, emailTotals, WAITING_STATES } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { Position } from "../../../platform/http/pagination.ts";
import type { EmailStatus } from "../api/schema.ts";
import { groupUid } from "./group-store.ts";

/** Emails of an address that are looked at, the newest, and the most that are read one by one for its sake. */
export const MAX_LOOKED_AT = 10_000;
/** Entries of an index that are passed over in the time of looking up one row of the queue. */
const LOOK_UP_COST = 20;

/** Whose emails a caller sees: a workspace's, or one domain's of it. */
export interface EmailScope {
  workspaceId: number;
  domainId: number | null;
}

/** Addresses are in the form compared; null: any. */
export interface EmailFilter {
  status: EmailStatus | null;
  to: string | null;
  from: string | null;
  tag: string | null;
  /** The public id of its first email. */
  group: string | null;
}

interface Window {
  limit: number;
  offset: number;
}

/** The named parameters of the statements. */
type Values = Record<string, string | number | null>;

export type EmailPage = Omit<Found, "ids"> & { emails: ListedEmail[] };
export type ListedEmail = NonNullable<ReturnType<ReturnType<typeof openListed>["get"]>>;

interface Found {
  /** Of the page. */
  ids: number[];
  total: number;
  /** There may be more than `total`: not all were looked at. */
  isMinimum: boolean;
}

const p = sql.placeholder;
export const ofWorkspace = eq(emails.workspaceId, p("workspaceId"));
const ofDomain = eq(emails.domainId, p("domainId"));
export const ofGroup = sql`${emails.groupId} = (SELECT head.id FROM ${emails} AS head WHERE head.uid = ${p("group")})`;

/** Prepares the statements of the list. */
export function openEmailLists(orm: Db["orm"]) {
  const countTotal = openTotals(orm);
  const findByStatus = openStatuses(orm, countTotal);
  const findByAddress = openAddresses(orm, countTotal);
  const listed = openListed(orm);
  const readListed = (ids: number[]) => ids.map((id) => listed.get({ id })).filter((email) => email !== undefined);
  return {
    /** What lists show of these emails, without those that are gone. */
    readListed,

    /** A page of those of a scope's emails that the filter lets through, newest first. */
    list(scope: EmailScope, filter: EmailFilter, window: Window): EmailPage {
      const isByMember = [filter.to, filter.from, filter.tag, filter.group].some((asked) => asked !== null);
      const { ids, ...counted } = isByMember
        ? findByAddress(scope, filter, window)
        : findByStatus(scope, filter.status, window);
      return { ...counted, emails: readListed(ids) };
    },
  };
}

/** The columns that the list shows of an email, and of its queue row while it has one. */
function openListed(orm: Db["orm"]) {
  const { uid, sender, senderDomain, recipient, subject, createdAt, sentAt, deliveredAt, attempts, status } = emails;
  const { tag, bounce, failedReason, messageId } = emails;
  const own = { uid, sender, senderDomain, recipient, subject, createdAt, sentAt, deliveredAt, attempts, status };
  const email = { ...own, tag, bounce, failedReason, messageId };
  return prepare(
    orm
      .select({
        email,
        queue: { attempts: emailQueue.attempts, inFlight: emailQueue.inFlight, sendAt: emailQueue.sendAt },
        groupUid,
      })
      .from(emails)
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .where(eq(emails.id, p("id"))),
  );
}

type CountTotal = (scope: EmailScope, status: EmailStatus | null) => number;

/**
 * The totals of everything and of each status. An email whose queue row an internal error took (platform/queue/worker.ts) counts as queued, as
 * its record says, and is on no page of that status.
 */
function openTotals(orm: Db["orm"]): CountTotal {
  const inWorkspace = and(eq(emailTotals.workspaceId, p("workspaceId")), isOrAny(emailTotals.status, "status"));
  const running = and(eq(emailQueue.workspaceId, p("workspaceId")), eq(emailQueue.state, "sending"));
  const sum = (where: SQL | undefined) =>
    prepare(
      orm
        .select({ total: sql<number>`COALESCE(SUM(${emailTotals.count}), 0)` })
        .from(emailTotals)
        .where(where),
    );
  const countRunning = (where: SQL | undefined) =>
    prepare(
      orm
        .select({
          all: count(),
          delayed: sql<number>`COALESCE(SUM(${emailQueue.attempts} > 1), 0)`,
          scheduled: sql<number>`COALESCE(SUM(${emailQueue.attempts} = 1 AND ${emailQueue.sendAt} IS NOT NULL), 0)`,
        })
        .from(emailQueue)
        .where(where),
    );
  const sums = {
    whole: sum(inWorkspace),
    ofDomain: sum(and(inWorkspace, eq(emailTotals.domainId, p("domainId")))),
  };
  const sending = {
    whole: countRunning(running),
    ofDomain: countRunning(and(running, eq(emailQueue.domainId, p("domainId")))),
  };
  return (scope, status) => {
    const extent = getExtent(scope);
    const counted = () => sums[extent].get({ ...scope, status })?.total ?? 0;
    // While an attempt runs an email stays counted as what it was before: these few are told apart here.
    const inFlight = () => sending[extent].get({ ...scope }) ?? { all: 0, delayed: 0, scheduled: 0 };
    switch (status) {
      case "sending":
        return inFlight().all;
      case "queued": {
        const { all, delayed, scheduled } = inFlight();
        return counted() - all + delayed + scheduled;
      }
      case "scheduled":
        return counted() - inFlight().scheduled;
      case "delivery_delayed":
        return counted() - inFlight().delayed;
      default:
        return counted();
    }
  };
}

/** The list of everything and of one status: the totals are known, so that pages can be read from either end. */
function openStatuses(orm: Db["orm"], countTotal: CountTotal) {
  const withStatus = and(ofWorkspace, eq(emails.status, p("status")));
  const inState = and(eq(emailQueue.workspaceId, p("workspaceId")), eq(emailQueue.state, p("status")));
  const stateOfDomain = and(ofDomain, eq(emails.status, "queued"), sql`${stateInQueue} = ${p("status")}`);
  const all = { whole: openRange(orm, emails, ofWorkspace), ofDomain: openRange(orm, emails, ofDomain) };
  // A status of a domain is in two ranges: the status's, with the domains of others, and the domain's, with other
  // statuses. The others are passed over in the index.
  const ended = {
    whole: openRange(orm, emails, withStatus),
    ofDomain: openRange(orm, emails, and(withStatus, sql`+${emails.domainId} = ${p("domainId")}`)),
    inDomain: openRange(orm, emails, and(ofDomain, sql`+${emails.status} = ${p("status")}`)),
  };
  const waiting = {
    whole: openRange(orm, emailQueue, inState),
    ofDomain: openRange(orm, emailQueue, and(inState, eq(emailQueue.domainId, p("domainId")))),
    inDomain: openRange(orm, emails, stateOfDomain),
  };

  return (scope: EmailScope, status: EmailStatus | null, window: Window): Found => {
    const total = countTotal(scope, status);
    const extent = getExtent(scope);
    const ids = (range: ReturnType<typeof openRange>) => ({ ids: range({ ...scope, status }, total, window) });
    const counted = { total, isMinimum: false };
    if (status === null) return { ...counted, ...ids(all[extent]) };
    const ranges = isWaiting(status) ? waiting : ended;
    if (extent === "whole") return { ...counted, ...ids(ranges.whole) };
    const passedInDomain = countTotal(scope, null) * (isWaiting(status) ? LOOK_UP_COST : 1);
    const isDomainShorter = passedInDomain < countTotal({ ...scope, domainId: null }, status);
    return { ...counted, ...ids(isDomainShorter ? ranges.inDomain : ranges.ofDomain) };
  };
}

/** The list of an address, tag or group: counted as it is asked for. */
function openAddresses(orm: Db["orm"], countTotal: CountTotal) {
  const readDomain = openReading(orm, ofDomain);
  const readGroup = openReading(orm, and(ofWorkspace, ofGroup), [desc(emails.id)]);
  const ranges = {
    to: openAddress(orm, emails.recipientAddress),
    from: openAddress(orm, emails.senderAddress),
    tag: openAddress(orm, emails.tag),
  };

  return (scope: EmailScope, filter: EmailFilter, window: Window): Found => {
    const { status, group } = filter;
    const given = { ...scope, ...filter };
    if (group !== null) return pageOf(readGroup(given, { limit: MAX_LOOKED_AT, offset: 0 }), false, window);
    const asked = (["to", "from", "tag"] as const).flatMap((name) =>
      filter[name] === null ? [] : [{ range: ranges[name], values: { ...given, address: filter[name] } }],
    );
    const [only, second] = asked;
    if (only !== undefined && second === undefined && status === null && scope.domainId === null) {
      const { total, isMinimum } = only.range.reach(only.values);
      // Of a range that goes on, the newest end is the only one known.
      const ids = only.range.ids(only.values, isMinimum ? Infinity : total, within(total, window));
      return { ids, total, isMinimum };
    }
    const ways = asked.map(({ range, values }) => {
      const { end, ...reach } = range.reach(values);
      return { ...reach, read: () => range.read(values, end) };
    });
    const inDomain = scope.domainId === null ? Infinity : countTotal(scope, null);
    if (inDomain <= MAX_LOOKED_AT) {
      const read = () => readDomain(given, { limit: MAX_LOOKED_AT, offset: 0 });
      ways.push({ total: inDomain, isMinimum: false, read });
    }
    const [shortest] = ways.toSorted((a, b) => Number(a.isMinimum) - Number(b.isMinimum) || a.total - b.total);
    return pageOf(shortest?.read() ?? [], shortest?.isMinimum ?? false, window);
  };
}

function pageOf(ids: number[], isMinimum: boolean, { limit, offset }: Window): Found {
  return { ids: ids.slice(offset, offset + limit), total: ids.length, isMinimum };
}

function getExtent(scope: EmailScope): "whole" | "ofDomain" {
  return scope.domainId === null ? "whole" : "ofDomain";
}

function isWaiting(status: EmailStatus): boolean {
  return WAITING_STATES.some((state) => state === status);
}

/** The state in an email's queue row; null: it has none. */
const stateInQueue = sql`(SELECT ${emailQueue.state} FROM ${emailQueue} WHERE ${emailQueue.id} = ${emails.id})`;

/** Its status, from both its rows. */
export const statusNow = sql`CASE WHEN ${emails.status} <> 'queued' THEN ${emails.status} ELSE COALESCE(${stateInQueue}, 'queued') END`;

/** A page of a range of `total` ids, in the list's order, read from the end that is nearer. */
function openRange(orm: Db["orm"], table: typeof emails | typeof emailQueue, where: SQL | undefined) {
  const select = (order: typeof asc) =>
    prepare(
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
function openReading(orm: Db["orm"], where: SQL | undefined, order = [desc(emails.createdAt), desc(emails.id)]) {
  const passes = and(
    isOrAny(emails.domainId, "domainId"),
    isOrAny(emails.recipientAddress, "to"),
    isOrAny(emails.senderAddress, "from"),
    isOrAny(emails.tag, "tag"),
    isOrAny(statusNow, "status"),
  );
  const select = prepare(
    orm
      .select({ id: emails.id })
      .from(emails)
      .where(and(where, passes))
      .orderBy(...order)
      .limit(p("limit"))
      .offset(p("offset")),
  );
  return (values: Values, window: Window): number[] => select.all({ ...values, ...window }).map(({ id }) => id);
}

/** The range of an address, and how far down it is looked at. */
function openAddress(orm: Db["orm"], column: SQLiteColumn) {
  const ofAddress = and(eq(emails.workspaceId, p("workspaceId")), eq(column, p("address")));
  const isNewer = sql`(${emails.createdAt}, ${emails.id}) > (${p("createdAt")}, ${p("id")})`;
  const selectEnd = prepare(
    orm
      .select({ createdAt: emails.createdAt, id: emails.id })
      .from(emails)
      .where(ofAddress)
      .orderBy(desc(emails.createdAt), desc(emails.id))
      .limit(1)
      .offset(MAX_LOOKED_AT),
  );
  const selectCount = prepare(orm.select({ total: count() }).from(emails).where(ofAddress));
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

/** A place that everything is newer than. */
export const BEFORE_ALL: Position = { createdAt: -1, id: -1 };

/** `value` is what is given under this name, or null is given. */
export function isOrAny(value: SQLWrapper, name: string): SQL {
  return sql`(${p(name)} IS NULL OR ${value} = ${p(name)})`;
}

/** The part of a window that a list of `total` fills. */
function within(total: number, { limit, offset }: Window): Window {
  return { limit: Math.max(0, Math.min(limit, total - offset)), offset };
}
