import { and, asc, eq, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { attempts, emailReports } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";

export type ReportRow = typeof emailReports.$inferSelect;

/** Of one email; what comes after is not kept. */
const MAX_REPORTS = 20;

export type ReportStore = ReturnType<typeof openReportStore>;

/** Prepares the statements of the reports about emails. */
export function openReportStore({ orm }: Db) {
  const p = sql.placeholder;
  const selectReports = prepare(
    orm
      .select()
      .from(emailReports)
      .where(eq(emailReports.emailId, p("emailId")))
      .orderBy(asc(emailReports.number)),
  );
  return {
    /** The MX host that took an email; null: none has, or it went to a relay. */
    findDeliveredTo: (emailId: number): string | null =>
      orm
        .select({ host: attempts.host })
        .from(attempts)
        .where(and(eq(attempts.emailId, emailId), eq(attempts.outcome, "delivered")))
        .get()?.host ?? null,

    /** The reports about an email, in their order. */
    list: (emailId: number): ReportRow[] => selectReports.all({ emailId }),

    /**
     * Notes a report. `repeated`: the same was noted before, as when the answer to it was lost; `full`: the
     * email has as many as are kept.
     */
    add(report: Omit<ReportRow, "number">): "noted" | "repeated" | "full" {
      const noted = selectReports.all({ emailId: report.emailId });
      if (noted.some((each) => isSame(each, report))) return "repeated";
      if (noted.length >= MAX_REPORTS) return "full";
      orm
        .insert(emailReports)
        .values({ ...report, number: noted.length + 1 })
        .run();
      return "noted";
    },
  };
}

function isSame({ number: _number, ...noted }: ReportRow, report: Omit<ReportRow, "number">): boolean {
  return Bun.deepEquals({ ...noted, at: 0, reporter: null }, { ...report, at: 0, reporter: null });
}
