// Removes the records of old emails, with their attempts, reports, contents and extras, and counts them out of the totals.
// A group goes as one, once all of it is old: so its content always has an email.

import { and, asc, eq, gt, inArray, ne, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import type { Walk } from "../../../platform/db/purge.ts";
import {
  attempts,
  emailAttachments,
  emailBodies,
  emailExtras,
  emailReports,
  emails,
} from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { contentEndedAt } from "./group-store.ts";
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
        endedAt: contentEndedAt,
        groupId: emails.groupId,
        bytes: sql<number | null>`LENGTH(${emailBodies.content})`,
      })
      .from(emails)
      .leftJoin(emailBodies, eq(emailBodies.emailId, emails.id))
      .where(gt(emails.id, sql.placeholder("after")))
      .orderBy(asc(emails.id))
      .limit(sql.placeholder("limit")),
  );
  type Row = ReturnType<typeof selectBatch.all>[number];
  /** Those of groups besides their first email. */
  const listFollowers = (groups: number[]) =>
    orm
      .select({ id: emails.id, workspaceId: emails.workspaceId, domainId: emails.domainId, status: emails.status })
      .from(emails)
      .where(and(inArray(emails.groupId, groups), ne(emails.id, emails.groupId)))
      .all();
  return {
    find: (after, limit) => selectBatch.all({ after, limit }),

    /** Only final emails. */
    remove(rows, notBefore) {
      const old = rows.filter(({ endedAt }) => endedAt !== null && endedAt < notBefore);
      if (old.length === 0) return;
      const groups = old.map(({ groupId }) => groupId).filter((id) => id !== null);
      const all = [...old, ...(groups.length === 0 ? [] : listFollowers(groups))];
      const ids = all.map(({ id }) => id);
      for (const each of [attempts, emailReports, emailBodies, emailExtras, emailAttachments])
        orm.delete(each).where(inArray(each.emailId, ids)).run();
      orm.delete(emails).where(inArray(emails.id, ids)).run();
      for (const { workspaceId, domainId, status } of all) addTotal({ workspaceId, domainId, status }, -1);
      for (const { workspaceId, bytes } of old) if (bytes !== null) giveStorageBack(workspaceId, bytes);
    },
  } satisfies Walk<Row>;
}
