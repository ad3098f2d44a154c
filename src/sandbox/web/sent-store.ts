// The newest emails and SMS of all workspaces, from pombo's own database, for the sandbox's page.

import { and, desc, eq, sql } from "drizzle-orm";
import { contentId, groupUid } from "../../modules/emails/store/group-store.ts";
import type { EmailDetails } from "../../modules/emails/store/store.ts";
import type { MessageRow } from "../../modules/sms/queue/message-store.ts";
import type { Db } from "../../platform/db/open.ts";
import { emailExtras, emailQueue, emails } from "../../platform/db/schema/schema.ts";
import { smsMessages, smsSegments } from "../../platform/db/schema/sms.ts";

export interface SentSms {
  message: MessageRow;
  /** Its first segment's; the SMSC sees it too, whichever attempt arrives. */
  userMessageReference: number | null;
}

export interface SentStore {
  /** Newest first. */
  listEmails(limit: number): EmailDetails[];
  /** Newest first. */
  listSms(limit: number): SentSms[];
  /** Rows that were written since the start: while it stays the same, so do the others. */
  countChanges(): number;
}

export function openSentStore({ orm }: Pick<Db, "orm">): SentStore {
  return {
    listEmails: (limit) =>
      orm
        .select({ email: emails, queue: emailQueue, extra: emailExtras, groupUid })
        .from(emails)
        .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
        .leftJoin(emailExtras, eq(emailExtras.emailId, contentId))
        .orderBy(desc(emails.id))
        .limit(limit)
        .all(),
    listSms: (limit) =>
      orm
        .select({ message: smsMessages, userMessageReference: smsSegments.umr })
        .from(smsMessages)
        .leftJoin(smsSegments, and(eq(smsSegments.messageId, smsMessages.id), eq(smsSegments.seq, 1)))
        .orderBy(desc(smsMessages.id))
        .limit(limit)
        .all(),
    countChanges: () => orm.get<[count: number]>(sql`SELECT total_changes()`)[0],
  };
}
