// What mail servers answered lately, for the doctor: the newest attempts in pages, so that no read holds others up.

import { and, desc, eq, gte, lt, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { attempts, emailReports, emails } from "../../../platform/db/schema/schema.ts";

export type DeliveryStore = ReturnType<typeof openDeliveryLookStore>;
export type AttemptLook = ReturnType<DeliveryStore["listBefore"]>[number];

export function openDeliveryLookStore({ orm }: Pick<Db, "orm">) {
  const p = sql.placeholder;
  const selectBefore = prepare(
    orm
      .select({
        emailId: attempts.emailId,
        number: attempts.number,
        startedAt: attempts.startedAt,
        endedAt: attempts.endedAt,
        host: attempts.host,
        code: attempts.code,
        enhancedCode: attempts.enhancedCode,
        reply: attempts.reply,
        outcome: attempts.outcome,
        category: attempts.category,
        senderDomain: emails.senderDomain,
        createdAt: emails.createdAt,
      })
      .from(attempts)
      .innerJoin(emails, eq(emails.id, attempts.emailId))
      .where(lt(attempts.emailId, p("before")))
      .orderBy(desc(attempts.emailId))
      .limit(p("limit")),
  );
  return {
    /** The attempts of emails older than this one, the newest email first; those of the last email may be cut off. */
    listBefore: (before: number, limit: number) => selectBefore.all({ before, limit }),
    /** Complaints about emails from this one on, by the domain that sent them. */
    countComplaints: (fromEmailId: number): { senderDomain: string; count: number }[] =>
      orm
        .select({ senderDomain: emails.senderDomain, count: sql<number>`count(DISTINCT ${emailReports.emailId})` })
        .from(emailReports)
        .innerJoin(emails, eq(emails.id, emailReports.emailId))
        .where(and(gte(emailReports.emailId, fromEmailId), eq(emailReports.kind, "complaint")))
        .groupBy(emails.senderDomain)
        .all(),
  };
}
