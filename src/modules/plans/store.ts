import { and, between, desc, eq, gte, inArray, lt, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { usage, usageReported } from "../../platform/db/schema/schema.ts";
import { prepare, toPlaceholders } from "../../platform/db/statement.ts";
import { Tally } from "../../platform/db/tally.ts";

/** The kinds of reports that arrive by mail about an email. */
export type ReportedName = "hard_bounces" | "complaints";

/**
 * Of the emails sent to the recipients' own servers: those that got an answer about themselves, those of
 * them that bounced hard, and those that were complained about; apart, what came by mail beyond its cap.
 * sending-block.ts says what follows from them.
 */
const RATE_NAMES = ["answered", "hard_bounces", "complaints", "capped_hard_bounces", "capped_complaints"] as const;
export type RateName = (typeof RATE_NAMES)[number];

/** One day's reports about recipients of one organizational domain. */
export interface DayOfReports {
  workspaceId: number;
  name: ReportedName;
  domain: string;
  day: string;
}

/** What is counted: `emails` and `sms` when they are accepted; `stored_bytes` are what is there, on no day. */
export type UsageName = "emails" | "sms" | "stored_bytes" | RateName;

/** In place of a day, for what is there now. */
const NO_DAY = "";

/** One day's count of a workspace; `day` is a UTC date like 2026-11-21. */
export interface DayOfUse {
  workspaceId: number;
  name: UsageName;
  day: string;
}

/** Sums over some days. */
export type RateSums = Record<RateName, number>;

export type UsageStore = ReturnType<typeof openUsageStore>;

/** Counters by day; a month is the sum of its days, so that accepting writes one row. */
export function openUsageStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const add = prepare(
    orm
      .insert(usage)
      .values({ workspaceId: p("workspaceId"), name: p("name"), day: p("day"), count: p("amount") })
      .onConflictDoUpdate({
        target: [usage.workspaceId, usage.name, usage.day],
        set: { count: sql`${usage.count} + excluded.count` },
        setWhere: sql`(${p("limit")} < 0 OR ${usage.count} + excluded.count <= ${p("limit")})`,
      }),
  );
  const sum = prepare(
    orm
      .select({ count: sql<number>`COALESCE(SUM(${usage.count}), 0)` })
      .from(usage)
      .where(
        and(
          eq(usage.workspaceId, p("workspaceId")),
          eq(usage.name, p("name")),
          between(usage.day, p("first"), p("last")),
        ),
      ),
  );
  const sumRates = prepare(
    orm
      .select({ name: usage.name, count: sql<number>`SUM(${usage.count})` })
      .from(usage)
      .where(
        and(
          eq(usage.workspaceId, p("workspaceId")),
          inArray(usage.name, [...RATE_NAMES]),
          between(usage.day, p("first"), p("last")),
        ),
      )
      .groupBy(usage.name),
  );

  const addReported = prepare(
    orm
      .insert(usageReported)
      .values(toPlaceholders(usageReported))
      .onConflictDoUpdate({
        target: [usageReported.workspaceId, usageReported.day, usageReported.name, usageReported.domain],
        set: {
          count: sql`${usageReported.count} + excluded.count`,
          counted: sql`${usageReported.counted} + excluded.counted`,
        },
      }),
  );
  const sumCounted = prepare(
    orm
      .select({ counted: sql<number>`COALESCE(SUM(${usageReported.counted}), 0)` })
      .from(usageReported)
      .where(
        and(
          eq(usageReported.workspaceId, p("workspaceId")),
          gte(usageReported.day, p("first")),
          eq(usageReported.name, p("name")),
          eq(usageReported.domain, p("domain")),
        ),
      ),
  );
  const removeReported = prepare(
    orm
      .delete(usageReported)
      .where(and(eq(usageReported.workspaceId, p("workspaceId")), lt(usageReported.day, p("first")))),
  );

  const unlimited = new Tally<{ workspaceId: number; name: UsageName; day: string }>((counter, amount) => {
    add.run({ ...counter, amount, limit: -1 });
  });
  db.listeners.push(unlimited);

  return {
    /** Counts `amount` more where nothing is limited, once for all of the transaction, at its end. */
    count(counter: DayOfUse, amount: number): void {
      unlimited.add({ ...counter }, amount);
    },
    /** Counts `amount` more if the day stays within `limit` (-1: none), inside the accepting transaction. False: nothing counted. */
    take(counter: DayOfUse, amount: number, limit: number): boolean {
      if (limit >= 0 && amount > limit) return false;
      return add.run({ ...counter, amount, limit }).changes > 0;
    },
    add(counter: DayOfUse, amount: number): void {
      add.run({ ...counter, amount, limit: -1 });
    },
    /** `bytes` more of contents, within `limit` (-1: none), inside the transaction that stores them. False: nothing counted. */
    takeStorage(workspaceId: number, bytes: number, limit: number): boolean {
      const counter = { workspaceId, name: "stored_bytes", day: NO_DAY } as const;
      if (limit >= 0) return bytes <= limit && add.run({ ...counter, amount: bytes, limit }).changes > 0;
      unlimited.add(counter, bytes);
      return true;
    },
    /** `bytes` of contents less, inside the transaction that removes them. */
    giveStorageBack(workspaceId: number, bytes: number): void {
      unlimited.add({ workspaceId, name: "stored_bytes", day: NO_DAY }, -bytes);
    },
    storedBytes: (workspaceId: number): number =>
      sum.get({ workspaceId, name: "stored_bytes", first: NO_DAY, last: NO_DAY })?.count ?? 0,
    /** Of a UTC day like 2026-11-21. */
    ofDay: (workspaceId: number, name: UsageName, day: string): number =>
      sum.get({ workspaceId, name, first: day, last: day })?.count ?? 0,
    /** The sum of a UTC month like 2026-11. */
    ofMonth(workspaceId: number, name: UsageName, month: string): number {
      return sum.get({ workspaceId, name, first: `${month}-01`, last: `${month}-31` })?.count ?? 0;
    },
    /** Over the UTC days from `first` to `last`, both included. */
    rates(workspaceId: number, first: string, last: string): RateSums {
      const sums: RateSums = {
        answered: 0,
        hard_bounces: 0,
        complaints: 0,
        capped_hard_bounces: 0,
        capped_complaints: 0,
      };
      for (const { name, count } of sumRates.all({ workspaceId, first, last })) sums[name as RateName] = count;
      return sums;
    },
    /** Forgets what was counted for the rates, of every day. */
    forgetRates(workspaceId: number): void {
      orm
        .delete(usage)
        .where(and(eq(usage.workspaceId, workspaceId), inArray(usage.name, [...RATE_NAMES])))
        .run();
      orm.delete(usageReported).where(eq(usageReported.workspaceId, workspaceId)).run();
    },
    /** How many reports about recipients of a domain were counted of the emails since the UTC day `first`. */
    countedSince: (of: Omit<DayOfReports, "day">, first: string): number =>
      sumCounted.get({ ...of, first })?.counted ?? 0,
    /** Notes `count` more reports, `counted` of which count; what is about emails before the day `first` is forgotten. */
    addReported(reports: DayOfReports, amount: { count: number; counted: number }, first: string): void {
      addReported.run({ ...reports, ...amount });
      removeReported.run({ workspaceId: reports.workspaceId, first });
    },
    /** The domain about whose recipients most was reported since the UTC day `first`. */
    mostReported: (workspaceId: number, name: ReportedName, first: string) =>
      orm
        .select({ domain: usageReported.domain, count: sql<number>`SUM(${usageReported.count})` })
        .from(usageReported)
        .where(
          and(eq(usageReported.workspaceId, workspaceId), gte(usageReported.day, first), eq(usageReported.name, name)),
        )
        .groupBy(usageReported.domain)
        .orderBy(desc(sql`SUM(${usageReported.count})`))
        .limit(1)
        .get(),
  };
}
