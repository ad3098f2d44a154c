// Removes the records of old emails, with their attempts, reports and contents, and counts them out of the totals.

import { asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import type { Walk } from "../../../platform/db/purge.ts";
import { attempts, emailBodies, emailReports, emails } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { StoredStatus } from "./store.ts";

export type EmailRetentionStore = ReturnType<typeof openEmailRetentionStore>;

export interface RetentionCounts {
  /** Inside the transaction: these totals change by so much. */
  addTotal: (key: { workspaceId: number; domainId: number; status: StoredStatus }, amount: number) => void;
  giveStorageBack: (workspaceId: number, bytes: number) => void;
}

export function openEmailRetentionStore({ orm }: Db, { addTotal, giveStorageBack }: RetentionCounts) {
  const selectBatch = prepare(
    orm
      .select({
        id: emails.id,
        workspaceId: emails.workspaceId,
        domainId: emails.domainId,
        status: emails.status,
        createdAt: emails.createdAt,
        endedAt: emails.endedAt,
        bytes: sql<number | null>`LENGTH(${emailBodies.content})`,
      })
      .from(emails)
      .leftJoin(emailBodies, eq(emailBodies.emailId, emails.id))
      .where(gt(emails.id, sql.placeholder("after")))
      .orderBy(asc(emails.id))
      .limit(sql.placeholder("limit")),
  );
  type Row = ReturnType<typeof selectBatch.all>[number];
  return {
    find: (after, limit) => selectBatch.all({ after, limit }),

    /** Only final emails. */
    remove(rows, notBefore) {
      const old = rows.filter(({ endedAt }) => endedAt !== null && endedAt < notBefore);
      if (old.length === 0) return;
      const ids = old.map(({ id }) => id);
      for (const each of [attempts, emailReports, emailBodies])
        orm.delete(each).where(inArray(each.emailId, ids)).run();
      orm.delete(emails).where(inArray(emails.id, ids)).run();
      for (const { workspaceId, domainId, status, bytes } of old) {
        addTotal({ workspaceId, domainId, status }, -1);
        if (bytes !== null) giveStorageBack(workspaceId, bytes);
      }
    },
  } satisfies Walk<Row>;
}
