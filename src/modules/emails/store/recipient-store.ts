// The emails to one address: read, and erased.

import { and, desc, eq, sql } from "drizzle-orm";
import { isOlder, newestFirst } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import {
  attempts,
  emailAttachments,
  emailBodies,
  emailExtras,
  emailQueue,
  emailReports,
  emails,
} from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { Position } from "../../../platform/http/pagination.ts";
import { comparableAddress, parseAddress, requireMailbox } from "../../../protocols/mime/address.ts";
import { ERASED, ERASED_RECIPIENT } from "../../recipients/erased.ts";
import { replaceHeader, unpackMimeHeader } from "../content/mime-body.ts";
import type { StoredRecipient } from "../content/pack-extra.ts";
import { eraseFromHeader } from "../submitted/erase-header.ts";

export type EmailRecipientStore = ReturnType<typeof openEmailRecipientStore>;

/** `removed` is called with the bytes of each workspace's contents, inside the transaction that removes them. */
export function openEmailRecipientStore({ orm }: Db, removed: (workspaceId: number, bytes: number) => void) {
  const p = sql.placeholder;
  const selectBatch = prepare(
    orm
      .select({
        id: emails.id,
        uid: emails.uid,
        recipient: emails.recipient,
        status: emails.status,
        createdAt: emails.createdAt,
        isRunning: emailQueue.inFlight,
      })
      .from(emails)
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .where(and(eq(emails.workspaceId, p("workspaceId")), eq(emails.recipientAddress, p("address"))))
      .orderBy(desc(emails.createdAt), desc(emails.id))
      .limit(p("limit")),
  );
  const deleteBody = prepare(
    orm
      .delete(emailBodies)
      .where(eq(emailBodies.emailId, p("id")))
      .returning({ bytes: sql<number>`LENGTH(${emailBodies.content})` }),
  );
  const deleteExtra = prepare(orm.delete(emailExtras).where(eq(emailExtras.emailId, p("id"))));
  const deleteAttachments = prepare(orm.delete(emailAttachments).where(eq(emailAttachments.emailId, p("id"))));
  const eraseFromGroup = openGroupErasure({ orm });
  const deleteContent = (id: number, workspaceId: number) => {
    for (const { bytes } of deleteBody.all({ id })) removed(workspaceId, bytes);
    deleteExtra.run({ id });
    deleteAttachments.run({ id });
  };
  /** Null stays null. */
  const ifAny = (column: typeof attempts.reply | typeof emailQueue.lastReply | typeof emails.failedReason) =>
    sql`CASE WHEN ${column} IS NOT NULL THEN ${ERASED} END`;
  const byEmail = [
    orm
      .update(attempts)
      .set({ reply: ifAny(attempts.reply), tries: null, dialogue: null })
      .where(eq(attempts.emailId, p("id"))),
    orm
      .update(emailReports)
      .set({ diagnostic: null })
      .where(eq(emailReports.emailId, p("id"))),
    orm
      .update(emailQueue)
      .set({ lastReply: ifAny(emailQueue.lastReply) })
      .where(eq(emailQueue.id, p("id"))),
    orm
      .update(emails)
      .set({
        recipient: ERASED_RECIPIENT.email,
        recipientAddress: ERASED_RECIPIENT.email,
        recipientName: null,
        // Some programs make it of the address.
        messageId: sql`CASE WHEN ${emails.messageId} IS NOT NULL THEN ${emails.uid} || '@' || ${emails.senderDomain} END`,
        subject: ERASED,
        failedReason: ifAny(emails.failedReason),
        isErased: true,
      })
      .where(eq(emails.id, p("id"))),
  ].map((statement) => prepare(statement));

  return {
    /** A workspace's emails to an address, in the form compared, older than `before`; the newest first. */
    list: (workspaceId: number, address: string, before: Position, limit: number) =>
      orm
        .select({ id: emails.id, uid: emails.uid, createdAt: emails.createdAt })
        .from(emails)
        .where(and(eq(emails.workspaceId, workspaceId), eq(emails.recipientAddress, address), isOlder(emails, before)))
        .orderBy(...newestFirst(emails))
        .limit(limit)
        .all(),

    /** The newest of them, to be erased. `isRunning`: an attempt is being made. */
    listToErase: (workspaceId: number, address: string, limit: number) =>
      selectBatch.all({ workspaceId, address, limit }).map((row) => ({ ...row, isRunning: row.isRunning ?? false })),

    /** Inside a transaction. A running attempt writes no words at its end (store.ts). */
    erase({ id, workspaceId }: { id: number; workspaceId: number }): void {
      const { groupId = null, recipientAddress = "" } = eraseFromGroup.find(id) ?? {};
      for (const statement of byEmail) statement.run({ id });
      if (groupId === null) deleteContent(id, workspaceId);
      else if (eraseFromGroup.isErased(groupId)) deleteContent(groupId, workspaceId);
      else {
        const shorter = eraseFromGroup.removeAddress(groupId, recipientAddress);
        if (shorter !== 0) removed(workspaceId, shorter);
      }
    },
  };
}

/** A group's content belongs to all its recipients: it stays while one of them does, without the others' addresses. */
function openGroupErasure({ orm }: Pick<Db, "orm">) {
  const p = sql.placeholder;
  const select = prepare(
    orm
      .select({ groupId: emails.groupId, recipientAddress: emails.recipientAddress })
      .from(emails)
      .where(eq(emails.id, p("id"))),
  );
  const selectLeft = prepare(
    orm
      .select({ id: emails.id })
      .from(emails)
      .where(and(eq(emails.groupId, p("groupId")), eq(emails.isErased, false)))
      .limit(1),
  );
  const selectRecipients = prepare(
    orm
      .select({ recipients: emailExtras.recipients })
      .from(emailExtras)
      .where(eq(emailExtras.emailId, p("groupId"))),
  );
  const updateRecipients = prepare(
    orm
      .update(emailExtras)
      .set({ recipients: sql`${p("recipients")}` })
      .where(eq(emailExtras.emailId, p("groupId"))),
  );
  const selectBody = prepare(
    orm
      .select()
      .from(emailBodies)
      .where(eq(emailBodies.emailId, p("groupId"))),
  );
  const eraseFromBody = (groupId: number, body: typeof emailBodies.$inferSelect, address: string): number => {
    const mime = unpackMimeHeader(body);
    if (mime === null) return 0;
    const replaced = replaceHeader(body, eraseFromHeader(mime, address));
    orm.update(emailBodies).set(replaced).where(eq(emailBodies.emailId, groupId)).run();
    return body.content.length - replaced.content.length;
  };
  return {
    find: (id: number) => select.get({ id }),
    isErased: (groupId: number): boolean => selectLeft.get({ groupId }) === undefined,
    /** `address` in the form compared. By how many bytes the stored content is shorter then. */
    removeAddress(groupId: number, address: string): number {
      const body = selectBody.get({ groupId });
      const shorter = body === undefined ? 0 : eraseFromBody(groupId, body, address);
      const stored = selectRecipients.get({ groupId })?.recipients ?? null;
      if (stored === null) return shorter;
      const left = (JSON.parse(stored) as StoredRecipient[]).filter(
        ([, each]) => comparableAddress(requireMailbox(parseAddress(each))) !== address,
      );
      updateRecipients.run({ groupId, recipients: JSON.stringify(left) });
      return shorter;
    },
  };
}
