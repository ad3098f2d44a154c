// Attachments: the files of each workspace, in pieces, and what each email's are called.

import { and, asc, count, desc, eq, gt, isNotNull, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import type { Walk } from "../../../platform/db/purge.ts";
import { attachmentPieces, attachments, emailAttachments, emails } from "../../../platform/db/schema/schema.ts";
import { matches, prepare, toPlaceholders } from "../../../platform/db/statement.ts";
import { contentEndedAt } from "../store/group-store.ts";

export type EmailAttachmentRow = typeof emailAttachments.$inferSelect;
export type NewAttachment = Pick<
  typeof attachments.$inferSelect,
  "workspaceId" | "sha256" | "bytes" | "storedBytes" | "encoding" | "stagedAt"
>;

export type AttachmentStore = ReturnType<typeof openAttachmentStore>;

/** Stored bytes, and files, that one transaction removes. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_ROWS = 100;

/** `removed` is called with the stored bytes of each workspace's files, inside the transaction that removes them. */
export function openAttachmentStore(db: Db, removed: (workspaceId: number, bytes: number) => void) {
  return { ...openStaging(db), ...openReads(db), ...openRemoval(db, removed), kept: openKept(db) };
}

/** Files come before the email that refers to them, piece by piece. */
function openStaging({ orm }: Db) {
  const p = sql.placeholder;
  const renew = prepare(
    orm
      .update(attachments)
      .set({ stagedAt: sql`${p("stagedAt")}` })
      .where(matches(attachments, "workspaceId", "sha256"))
      .returning({ id: attachments.id }),
  );
  const insert = prepare(
    orm
      .insert(attachments)
      .values(toPlaceholders(attachments, "workspaceId", "sha256", "bytes", "storedBytes", "encoding", "stagedAt")),
  );
  const insertPiece = prepare(orm.insert(attachmentPieces).values(toPlaceholders(attachmentPieces)));
  const selectIsThere = prepare(
    orm
      .select({ count: count() })
      .from(attachments)
      .where(eq(attachments.id, p("id"))),
  );
  const complete = prepare(
    orm
      .update(attachments)
      .set({ sha256: sql`${p("sha256")}` })
      .where(eq(attachments.id, p("id"))),
  );
  const insertReference = prepare(orm.insert(emailAttachments).values(toPlaceholders(emailAttachments)));
  const selectIsWhole = prepare(
    orm
      .select({ count: count() })
      .from(attachments)
      .where(and(eq(attachments.id, p("attachmentId")), isNotNull(attachments.sha256))),
  );
  return {
    /** The workspace has this file whole: its id, and an hour begins in which an email may refer to it. Undefined: it has not. */
    renew: (file: Pick<NewAttachment, "workspaceId" | "sha256" | "stagedAt">): number | undefined =>
      renew.all(file)[0]?.id,
    /** Its pieces follow. `sha256` null: in later transactions, the last of which completes it. */
    add: (file: NewAttachment): number => Number(insert.run(file).lastInsertRowid),
    addPiece(attachmentId: number, number: number, content: Uint8Array): void {
      if (selectIsThere.get({ id: attachmentId })?.count !== 1) throw new Error("the attachment is gone");
      insertPiece.run({ attachmentId, number, content });
    },
    complete: (id: number, sha256: Uint8Array): void => void complete.run({ id, sha256 }),
    /** An email's attachment. */
    refer(row: EmailAttachmentRow & { attachmentId: number }): void {
      if (selectIsWhole.get(row)?.count !== 1) throw new Error("an attachment is gone before its email was accepted");
      insertReference.run(row);
    },
  };
}

function openReads({ orm }: Db) {
  const p = sql.placeholder;
  const selectOfEmail = prepare(
    orm
      .select()
      .from(emailAttachments)
      .where(eq(emailAttachments.emailId, p("emailId")))
      .orderBy(asc(emailAttachments.number)),
  );
  const selectFile = prepare(
    orm
      .select({ encoding: attachments.encoding, bytes: attachments.bytes })
      .from(attachments)
      .where(eq(attachments.id, p("id"))),
  );
  const selectPiece = prepare(
    orm
      // As the driver gives it: the column's own mapping would copy it.
      .select({ content: sql<Uint8Array<ArrayBuffer>>`${attachmentPieces.content}` })
      .from(attachmentPieces)
      .where(matches(attachmentPieces, "attachmentId", "number")),
  );
  return {
    /** An email's attachments in their order; of a group the first email has them. */
    listOf: (emailId: number): EmailAttachmentRow[] => selectOfEmail.all({ emailId }),
    /** Undefined: it is gone. */
    findFile: (id: number) => selectFile.get({ id }),
    /** A piece as stored; undefined: there are no more. */
    readPiece: (attachmentId: number, number: number): Uint8Array<ArrayBuffer> | undefined =>
      selectPiece.get({ attachmentId, number })?.content,
  };
}

function openRemoval({ orm }: Db, removed: (workspaceId: number, bytes: number) => void) {
  const p = sql.placeholder;
  const columns = {
    id: attachments.id,
    workspaceId: attachments.workspaceId,
    storedBytes: attachments.storedBytes,
    stagedAt: attachments.stagedAt,
  };
  const selectBatch = prepare(
    orm
      .select({
        ...columns,
        isNeeded: sql<number>`EXISTS (SELECT 1 FROM ${emailAttachments} WHERE ${emailAttachments.attachmentId} = ${attachments.id})`,
      })
      .from(attachments)
      .where(gt(attachments.id, p("after")))
      .orderBy(asc(attachments.id))
      .limit(p("limit")),
  );
  const selectOfWorkspace = prepare(
    orm
      .select(columns)
      .from(attachments)
      .where(eq(attachments.workspaceId, p("workspaceId")))
      .limit(BATCH_ROWS),
  );
  const close = prepare(
    orm
      .update(attachments)
      .set({ sha256: null })
      .where(eq(attachments.id, p("id"))),
  );
  const selectLastPiece = prepare(
    orm
      .select({ number: attachmentPieces.number })
      .from(attachmentPieces)
      .where(eq(attachmentPieces.attachmentId, p("id")))
      .orderBy(desc(attachmentPieces.number))
      .limit(1),
  );
  const deletePiece = prepare(orm.delete(attachmentPieces).where(matches(attachmentPieces, "attachmentId", "number")));
  const deleteRow = prepare(orm.delete(attachments).where(eq(attachments.id, p("id"))));

  /** Removes one piece, and with the last one the file itself: true. From the first on nothing may refer to it. */
  const removePiece = ({ id, workspaceId, storedBytes }: { id: number; workspaceId: number; storedBytes: number }) => {
    close.run({ id });
    const last = selectLastPiece.get({ id })?.number ?? 0;
    deletePiece.run({ attachmentId: id, number: last });
    if (last > 0) return false;
    deleteRow.run({ id });
    removed(workspaceId, storedBytes);
    return true;
  };
  return {
    /**
     * Looks at the next files after an id, and removes those that no email refers to and that came before `notAfter`.
     * The id to go on after; null: there are no more.
     */
    sweep(after: number, notAfter: number, limit = BATCH_ROWS): number | null {
      const rows = selectBatch.all({ after, limit });
      let bytes = 0;
      for (const row of rows) {
        if (row.isNeeded === 1 || row.stagedAt >= notAfter) continue;
        if (!removePiece(row)) return row.id - 1;
        bytes += row.storedBytes;
        if (bytes >= BATCH_BYTES) return row.id;
      }
      return rows.length < limit ? null : (rows.at(-1)?.id ?? null);
    },
    /** Those that a sweep would look at. */
    listIds: (after: number): number[] => selectBatch.all({ after, limit: BATCH_ROWS }).map(({ id }) => id),
    /** Removes a batch of a deleted workspace's files, whose emails are gone; how many pieces. */
    removeOfWorkspace(workspaceId: number): number {
      let [pieces, bytes] = [0, 0];
      for (const row of selectOfWorkspace.all({ workspaceId })) {
        pieces += 1;
        bytes += row.storedBytes;
        if (!removePiece(row) || bytes >= BATCH_BYTES) break;
      }
      return pieces;
    },
  };
}

/** The emails whose attachments are kept; what is removed are the references, and the sweep follows. */
function openKept({ orm }: Db) {
  const p = sql.placeholder;
  const selectBatch = prepare(
    orm
      .select({ id: emailAttachments.emailId, createdAt: emails.createdAt, endedAt: contentEndedAt })
      .from(emailAttachments)
      .innerJoin(emails, eq(emails.id, emailAttachments.emailId))
      .where(and(isNotNull(emailAttachments.attachmentId), gt(emailAttachments.emailId, p("after"))))
      .groupBy(emailAttachments.emailId)
      .orderBy(asc(emailAttachments.emailId))
      .limit(p("limit")),
  );
  const forget = prepare(
    orm
      .update(emailAttachments)
      .set({ attachmentId: null })
      .where(eq(emailAttachments.emailId, p("id"))),
  );
  type Row = ReturnType<typeof selectBatch.all>[number];
  return {
    find: (after, limit) => selectBatch.all({ after, limit }),

    /** Only those of emails that are final, with all of their group. */
    remove(rows, notBefore) {
      for (const { id, endedAt } of rows) if (endedAt !== null && endedAt < notBefore) forget.run({ id });
    },
  } satisfies Walk<Row>;
}
