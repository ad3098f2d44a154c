// The emails of one request share their content: the first one has it for all. An email alone has its own.

import { asc, eq, or, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { emailAttachments, emailExtras, emailQueue, emails } from "../../../platform/db/schema/schema.ts";
import { prepare, toPlaceholders } from "../../../platform/db/statement.ts";
import type { EmailExtra } from "../content/pack-extra.ts";

/** The email that has body and extras. */
export const contentId = sql`COALESCE(email.group_id, email.id)`;

/** Its public id; null: the email is alone. */
export const groupUid = sql<string | null>`(SELECT head.uid FROM email AS head WHERE head.id = email.group_id)`;

/** When the last email of a group ended; null: one has not, or the email is not the first of its group. */
export const contentEndedAt = sql<number | null>`CASE WHEN email.group_id IS NULL THEN email.ended_at
  WHEN email.group_id = email.id THEN (SELECT CASE WHEN COUNT(*) = COUNT(member.ended_at) THEN MAX(member.ended_at) END
    FROM email AS member WHERE member.group_id = email.id) END`;

export function openEmailGroups(orm: Db["orm"]) {
  const p = sql.placeholder;
  const insertExtra = prepare(orm.insert(emailExtras).values(toPlaceholders(emailExtras)));
  const startGroup = prepare(
    orm
      .update(emails)
      .set({ groupId: sql`${emails.id}` })
      .where(eq(emails.id, p("id"))),
  );
  const selectMembers = prepare(
    orm
      .select({
        email: { uid: emails.uid, recipient: emails.recipient, kind: emails.kind, status: emails.status },
        queue: { attempts: emailQueue.attempts, inFlight: emailQueue.inFlight, sendAt: emailQueue.sendAt },
      })
      .from(emails)
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .where(eq(emails.groupId, p("groupId")))
      .orderBy(asc(emails.id)),
  );
  const selectGroup = prepare(
    orm
      .select({ id: emails.id, status: emails.status })
      .from(emails)
      .where(or(eq(emails.id, p("first")), eq(emails.groupId, p("first"))))
      .orderBy(asc(emails.id)),
  );
  const selectFiles = prepare(
    orm
      .select({
        filename: emailAttachments.filename,
        contentType: emailAttachments.contentType,
        contentId: emailAttachments.contentId,
        bytes: emailAttachments.bytes,
      })
      .from(emailAttachments)
      .where(eq(emailAttachments.emailId, p("emailId")))
      .orderBy(asc(emailAttachments.number)),
  );
  return {
    /** The attachments of an email, or of a group's first one, without their content. */
    listFiles: (emailId: number) => selectFiles.all({ emailId }),
    insertExtra: (emailId: number, extra: EmailExtra): void => void insertExtra.run({ emailId, ...extra }),
    /** Others of the same request follow. */
    startGroup: (id: number): void => void startGroup.run({ id }),
    /** As its record shows them, in the order to, cc, bcc. */
    listMembers: (groupId: number) => selectMembers.all({ groupId }),
    /** The emails of a request, itself included. */
    listGroup: ({ id, groupId }: { id: number; groupId: number | null }) => selectGroup.all({ first: groupId ?? id }),
  };
}
