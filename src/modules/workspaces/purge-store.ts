// Removes in batches what belongs to a deleted workspace. A new table with a column workspace_id is added here:
// test/unit/modules/workspaces/removal.test.ts finds one that is missing.

import { and, eq, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Db } from "../../platform/db/open.ts";
import {
  attempts,
  emailAttachments,
  emailBodies,
  emailExtras,
  emailQueue,
  emailReports,
  emailTotals,
  emails,
  events,
  heldSuppressions,
  idempotency,
  lanes,
  suppressions,
  usage,
  usageReported,
  webhooks,
} from "../../platform/db/schema/schema.ts";
import { apiRequests, audit, invitations, memberships } from "../../platform/db/schema/people.ts";
import { senderIds, smsCredits, smsInbound, smsMessages, smsSegments } from "../../platform/db/schema/sms.ts";
import { prepare } from "../../platform/db/statement.ts";

/** Rows of one kind that one transaction removes; of an email, with all that hangs on it. */
const BATCH_EMAILS = 200;
const BATCH_MESSAGES = 100;
const BATCH_ROWS = 500;
/** Bodies that one transaction removes: each of their pages is overwritten and put on the list of free ones. */
const BATCH_BYTES = 1024 * 1024;

/** Beside the emails and lanes, by their keys. */
const OWNED: [table: SQLiteTable & { workspaceId: SQLiteColumn }, key: SQLiteColumn[]][] = [
  [emailTotals, [emailTotals.workspaceId, emailTotals.domainId, emailTotals.status]],
  [usage, [usage.workspaceId, usage.name, usage.day]],
  [usageReported, [usageReported.workspaceId, usageReported.day, usageReported.name, usageReported.domain]],
  [idempotency, [idempotency.workspaceId, idempotency.domainId, idempotency.operation, idempotency.key]],
  [suppressions, [suppressions.id]],
  [heldSuppressions, [heldSuppressions.id]],
  [senderIds, [senderIds.workspaceId, senderIds.name]],
  [smsCredits, [smsCredits.id]],
  [smsInbound, [smsInbound.id]],
  [events, [events.id]],
  [webhooks, [webhooks.id]],
  [memberships, [memberships.workspaceId, memberships.userId]],
  [invitations, [invitations.id]],
  [audit, [audit.id]],
  [apiRequests, [apiRequests.id]],
];

export type WorkspacePurgeStore = ReturnType<typeof openWorkspacePurgeStore>;

export interface WorkspacePurgeStores {
  /** Called for each SMS that is removed. */
  sms: { forget: (id: number) => void };
  /** Removes a batch of a workspace's files, about a megabyte; how many pieces. */
  attachments: { removeOfWorkspace: (workspaceId: number) => number };
}

export function openWorkspacePurgeStore({ orm }: Db, { sms, attachments }: WorkspacePurgeStores) {
  const p = sql.placeholder;
  const selectEmails = prepare(
    orm
      .select({ id: emails.id, bytes: sql<number | null>`LENGTH(${emailBodies.content})` })
      .from(emails)
      .leftJoin(emailBodies, eq(emailBodies.emailId, emails.id))
      .leftJoin(emailQueue, and(eq(emailQueue.id, emails.id), eq(emailQueue.inFlight, true)))
      .where(and(eq(emails.workspaceId, p("workspaceId")), sql`${emailQueue.id} IS NULL`))
      .limit(BATCH_EMAILS),
  );
  const byEmail = [
    orm.delete(emailQueue).where(eq(emailQueue.id, p("id"))),
    orm.delete(emailBodies).where(eq(emailBodies.emailId, p("id"))),
    orm.delete(emailExtras).where(eq(emailExtras.emailId, p("id"))),
    orm.delete(attempts).where(eq(attempts.emailId, p("id"))),
    orm.delete(emailReports).where(eq(emailReports.emailId, p("id"))),
    orm.delete(emailAttachments).where(eq(emailAttachments.emailId, p("id"))),
    orm.delete(emails).where(eq(emails.id, p("id"))),
  ].map((statement) => prepare(statement));
  const selectMessages = prepare(
    orm
      .select({ id: smsMessages.id })
      .from(smsMessages)
      .where(eq(smsMessages.workspaceId, p("workspaceId")))
      .limit(BATCH_MESSAGES),
  );
  const byMessage = [
    orm.delete(smsSegments).where(eq(smsSegments.messageId, p("id"))),
    orm.delete(smsMessages).where(eq(smsMessages.id, p("id"))),
  ].map((statement) => prepare(statement));
  const selectQueued = prepare(
    orm
      .select({ id: emailQueue.id })
      .from(emailQueue)
      .where(eq(emailQueue.workspaceId, p("workspaceId")))
      .limit(1),
  );
  /** Up to `limit` rows of a table. */
  const isInBatch = (table: SQLiteTable & { workspaceId: SQLiteColumn }, key: SQLiteColumn[]) => {
    const columns = sql.join(key, sql`, `);
    return sql`(${columns}) IN (SELECT ${columns} FROM ${table}
      WHERE ${table.workspaceId} = ${p("workspaceId")} LIMIT ${p("limit")})`;
  };
  const deleteLanes = prepare(
    orm
      .delete(lanes)
      .where(isInBatch(lanes, [lanes.id]))
      .returning({ id: lanes.id }),
  );
  const deleteOwned = OWNED.map(([table, key]) => prepare(orm.delete(table).where(isInBatch(table, key))));

  return {
    /** Removes a batch of the emails that are not being sent, with their bodies, attempts and queue rows; how many. */
    removeEmails(workspaceId: number): number {
      let count = 0;
      let bytes = 0;
      for (const email of selectEmails.all({ workspaceId })) {
        for (const statement of byEmail) statement.run({ id: email.id });
        count += 1;
        bytes += email.bytes ?? 0;
        if (bytes >= BATCH_BYTES) break;
      }
      return count;
    },
    /** Whether an email of it is in the queue: being sent, once the others are removed. */
    isQueued: (workspaceId: number): boolean => selectQueued.get({ workspaceId }) !== undefined,
    /** Removes a batch of its lanes, none of which has rows; their ids. */
    removeLanes: (workspaceId: number): number[] =>
      deleteLanes.all({ workspaceId, limit: BATCH_ROWS }).map(({ id }) => id),
    /** Removes a batch of everything else; how many rows. The response to an SMS that is being sent finds nothing. */
    removeRest(workspaceId: number): number {
      const pieces = attachments.removeOfWorkspace(workspaceId);
      if (pieces > 0) return pieces;
      const removed = selectMessages.all({ workspaceId });
      for (const { id } of removed) {
        sms.forget(id);
        for (const statement of byMessage) statement.run({ id });
      }
      let count = removed.length;
      for (const statement of deleteOwned) {
        if (count >= BATCH_ROWS) break;
        count += statement.run({ workspaceId, limit: BATCH_ROWS - count }).changes;
      }
      return count;
    },
  };
}
