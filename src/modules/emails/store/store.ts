// The emails, their attempts and totals: how they are written, and read one by one.

import { and, count, desc, eq, isNotNull, type SQL, sql } from "drizzle-orm";
import { AfterCommit } from "../../../platform/db/after-commit.ts";
import type { Db } from "../../../platform/db/open.ts";
import {
  attempts,
  emailBodies,
  emailExtras,
  emailQueue,
  emails,
  emailTotals,
} from "../../../platform/db/schema/schema.ts";
import { matches, prepare, toPlaceholders } from "../../../platform/db/statement.ts";
import { Tally } from "../../../platform/db/tally.ts";
import type { Bounce } from "../api/schema.ts";
import { openSenders, SENT_BY_NOBODY } from "../../api-keys/sender-store.ts";
import { ERASED, eraseWords } from "../../recipients/erased.ts";
import type { StoredBody } from "../content/body.ts";
import type { EmailExtra } from "../content/pack-extra.ts";
import type { CountedState } from "../queue/store.ts";
import { contentId, groupUid, openEmailGroups } from "./group-store.ts";
import { openEmailSearch } from "../list/search-store.ts";
import { type EmailScope, openEmailLists } from "./list-store.ts";
import { type DomainOfWorkspace, openWaitingEmails } from "./waiting-store.ts";

export type EmailRow = typeof emails.$inferSelect;
export type AttemptRow = typeof attempts.$inferSelect;
export type QueueRow = typeof emailQueue.$inferSelect;
export type StoredStatus = EmailRow["status"];
/** The statuses of the totals: an email that is queued counts as scheduled or delayed while its queue row does (modules/emails/queue/store.ts). */
type CountedStatus = typeof emailTotals.$inferSelect.status;

/** An email without its body, and its queue row while it is not final. */
export interface EmailState {
  email: EmailRow;
  queue: QueueRow | null;
}

/** The same with what it shares with its group. */
export interface EmailDetails extends EmailState {
  /** The first one's public id; null: it is alone. */
  groupUid: string | null;
  /** Null: there is none. */
  extra: typeof emailExtras.$inferSelect | null;
}

type EndColumn = "status" | "endedAt" | "sentAt" | "deliveredAt" | "failedReason" | "bounce" | "attempts" | "isErased";
/** `senderAddress` and `recipientAddress` are in the form compared. */
export interface NewEmail extends Omit<EmailRow, EndColumn | "id" | "possibleDuplicate"> {
  /** Null: it is the first one's of its group. */
  body: StoredBody | null;
  extra?: EmailExtra | null;
  /** Others of the same request follow. */
  startsGroup?: boolean;
}

/** The columns that most emails have no use for. */
export const USUAL = {
  recipientName: null,
  kind: "to",
  groupId: null,
  tag: null,
  sendAt: null,
  messageId: null,
  ...SENT_BY_NOBODY,
} as const;

/** How an email ended. Times in Unix ms. */
export interface EmailEnd {
  status: Exclude<StoredStatus, "queued">;
  endedAt: number;
  /** Attempts begun. */
  attempts: number;
  /** Counts only while none is known. */
  sentAt?: number | null;
  deliveredAt?: number | null;
  failedReason?: string | null;
  bounce?: Bounce | null;
}

/** Notified of what has become durable; must not throw. */
export interface EmailCounts {
  accepted(amount: number): void;
  /** `category` as in the bounce; null where there is none. */
  ended(status: StoredStatus, category: string | null): void;
  attempted(outcome: AttemptRow["outcome"], category: string | null): void;
}

export type EmailStore = ReturnType<typeof openEmailStore>;

/** Prepares the statements of the emails. */
export function openEmailStore(db: Db, counts: EmailCounts | null = null) {
  const groups = openEmailGroups(db.orm);
  return {
    ...openWrites(db, groups, counts),
    ...openReads(db.orm, groups),
    ...openWaitingEmails(db.orm),
    ...openEmailLists(db.orm),
    ...openEmailSearch(db),
  };
}

type EmailGroups = ReturnType<typeof openEmailGroups>;

function openWrites({ orm, listeners, changes }: Db, groups: EmailGroups, counts: EmailCounts | null) {
  const p = sql.placeholder;
  const insertRow = prepare(
    orm.insert(emails).values({
      uid: p("uid"),
      workspaceId: p("workspaceId"),
      domainId: p("domainId"),
      sender: p("sender"),
      senderAddress: p("senderAddress"),
      senderDomain: p("senderDomain"),
      recipient: p("recipient"),
      recipientAddress: p("recipientAddress"),
      recipientName: p("recipientName"),
      kind: p("kind"),
      groupId: p("groupId"),
      subject: p("subject"),
      replyTo: p("replyTo"),
      returnPath: p("returnPath"),
      tag: p("tag"),
      createdAt: p("createdAt"),
      sendAt: p("sendAt"),
      keyId: p("keyId"),
      userId: p("userId"),
      messageId: p("messageId"),
      status: "queued",
    }),
  );
  const insertBody = prepare(orm.insert(emailBodies).values(toPlaceholders(emailBodies)));
  const addTotal = prepare(
    orm
      .insert(emailTotals)
      .values({ workspaceId: p("workspaceId"), domainId: p("domainId"), status: p("status"), count: p("amount") })
      .onConflictDoUpdate({
        target: [emailTotals.workspaceId, emailTotals.domainId, emailTotals.status],
        set: { count: sql`${emailTotals.count} + excluded.count` },
      }),
  );
  const updateEnd = prepare(
    orm
      .update(emails)
      .set({
        status: sql`${p("status")}`,
        sentAt: sql`COALESCE(${emails.sentAt}, ${p("sentAt")})`,
        deliveredAt: sql`${p("deliveredAt")}`,
        endedAt: sql`${p("endedAt")}`,
        // A server's words may repeat the address.
        failedReason: sql`CASE WHEN ${emails.isErased} AND ${p("failedReason")} IS NOT NULL THEN ${ERASED} ELSE ${p("failedReason")} END`,
        bounce: sql`${p("bounce")}`,
        attempts: sql`${p("attempts")}`,
      })
      .where(eq(emails.id, p("id")))
      .returning({ workspaceId: emails.workspaceId, domainId: emails.domainId }),
  );
  const updateSentAt = prepare(
    orm
      .update(emails)
      .set({ sentAt: sql`${p("sentAt")}` })
      .where(and(eq(emails.id, p("id")), sql`sent_at IS NULL`)),
  );
  const insertAttempt = prepare(orm.insert(attempts).values(toPlaceholders(attempts)));
  const isErased = openErasedCheck(orm);

  const totals = new Tally<{ workspaceId: number; domainId: number; status: CountedStatus }>((key, amount) => {
    addTotal.run({ ...key, amount });
  });
  // Counted where it is written, so that nobody who ends an email can forget it.
  const afterCommit = new AfterCommit();
  listeners.push(totals, afterCommit);

  return {
    /** Writes an accepted email and its body; its integer id. */
    insert(email: NewEmail): number {
      const id = Number(insertRow.run(email).lastInsertRowid);
      if (email.body !== null) insertBody.run({ emailId: id, ...email.body });
      if (email.extra) groups.insertExtra(id, email.extra);
      if (email.startsGroup === true) groups.startGroup(id);
      changes.note(email.workspaceId, "emails", id);
      return id;
    },
    /** Counts `amount` emails of a status for the lists' totals. */
    addTotal(row: { workspaceId: number; domainId: number; status: StoredStatus }, amount: number): void {
      totals.add(row, amount);
      if (counts !== null && row.status === "queued" && amount > 0) afterCommit.run(() => counts.accepted(amount));
    },
    /** The queue has one email more (1) or less (-1) of this state; counted as queued are the others. */
    countState({ workspaceId, domainId }: DomainOfWorkspace, status: CountedState, change: 1 | -1): void {
      totals.add({ workspaceId, domainId, status }, change);
      totals.add({ workspaceId, domainId, status: "queued" }, -change);
    },
    /** Only for endEmail (modules/emails/events.ts), which records the event too. Whose email it is. */
    setEnd(id: number, end: EmailEnd, from: StoredStatus): { workspaceId: number; domainId: number } {
      const { sentAt = null, deliveredAt = null, failedReason = null, bounce = null } = end;
      const stored = bounce === null ? null : JSON.stringify(bounce);
      const owner = updateEnd.get({ id, ...end, sentAt, deliveredAt, failedReason, bounce: stored });
      changes.note(owner.workspaceId, "emails", id);
      totals.add({ ...owner, status: from }, -1);
      totals.add({ ...owner, status: end.status }, 1);
      if (counts !== null) afterCommit.run(() => counts.ended(end.status, bounce?.category ?? null));
      return owner;
    },
    /** The first attempt that reached the recipient's server. */
    setSentAt(id: number, sentAt: number): void {
      updateSentAt.run({ id, sentAt });
    },
    /** The time of a scheduled email was changed, in its queue row too. */
    setSendAt(id: number, sendAt: number): void {
      orm.update(emails).set({ sendAt }).where(eq(emails.id, id)).run();
    },
    /** The message arrived after its state had been decided elsewhere. */
    setDeliveredAt(id: number, deliveredAt: number): void {
      orm.update(emails).set({ deliveredAt }).where(eq(emails.id, id)).run();
    },
    setPossibleDuplicate(id: number): void {
      orm.update(emails).set({ possibleDuplicate: true }).where(eq(emails.id, id)).run();
    },
    insertAttempt(row: AttemptRow): void {
      insertAttempt.run(isErased(row.emailId) ? { ...row, ...eraseAttempt(row) } : row);
      if (counts !== null) afterCommit.run(() => counts.attempted(row.outcome, row.category));
    },
  };
}

/** A server's words may repeat the address and the message. */
function eraseAttempt({ reply }: Pick<AttemptRow, "reply">): Pick<AttemptRow, "reply" | "tries" | "dialogue"> {
  return { reply: eraseWords(reply), tries: null, dialogue: null };
}

function openErasedCheck(orm: Db["orm"]): (id: number) => boolean {
  const select = prepare(
    orm
      .select({ isErased: emails.isErased })
      .from(emails)
      .where(eq(emails.id, sql.placeholder("id"))),
  );
  return (id) => select.get({ id })?.isErased ?? false;
}

/** Reads emails one by one. */
function openReads(orm: Db["orm"], { listFiles, listMembers, listGroup }: EmailGroups) {
  const p = sql.placeholder;
  const findSender = openSenders({ orm });
  const isOwn = matches(emails, "uid", "workspaceId");
  // The content of an email whose recipient was erased may still be that of others.
  const ofContent = (key: typeof emailBodies.emailId | typeof emailExtras.emailId) =>
    and(eq(key, contentId), eq(emails.isErased, false));
  const selectForDelivery = prepare(
    orm
      .select({ email: emails, body: emailBodies, extra: emailExtras, groupUid })
      .from(emails)
      .leftJoin(emailBodies, ofContent(emailBodies.emailId))
      .leftJoin(emailExtras, ofContent(emailExtras.emailId))
      .where(eq(emails.id, p("id"))),
  );
  const selectRecord = prepare(
    orm
      .select({ email: emails, body: emailBodies, queue: emailQueue, extra: emailExtras, groupUid })
      .from(emails)
      .leftJoin(emailBodies, ofContent(emailBodies.emailId))
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .leftJoin(emailExtras, ofContent(emailExtras.emailId))
      .where(isOwn),
  );
  const selectDetails = prepare(
    orm
      .select({ email: emails, queue: emailQueue, extra: emailExtras, groupUid })
      .from(emails)
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .leftJoin(emailExtras, ofContent(emailExtras.emailId))
      .where(eq(emails.id, p("id"))),
  );
  const selectState = (where: SQL | undefined) =>
    prepare(
      orm
        .select({ email: emails, queue: emailQueue })
        .from(emails)
        .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
        .where(where),
    );
  const selectOwnState = selectState(isOwn);
  const selectStateByUid = selectState(eq(emails.uid, p("uid")));
  const selectReturnPath = prepare(
    orm
      .select({
        recipientAddress: emails.recipientAddress,
        returnPath: emails.returnPath,
        isErased: emails.isErased,
        sendAt: emails.sendAt,
      })
      .from(emails)
      .where(eq(emails.uid, p("uid"))),
  );

  return {
    /** The return path and recipient of any email, to check incoming mail against; undefined when it is gone. */
    findReturnPath: (uid: string) => selectReturnPath.get({ uid }),

    /** An email without its body, whoever's it is; undefined when it is gone. */
    findStateById: (id: number): EmailDetails | undefined => selectDetails.get({ id }),
    findStateByUid: (uid: string): EmailState | undefined => selectStateByUid.get({ uid }),
    /** Its recipient was erased: nothing that repeats the address may be written any more. */
    isErased: openErasedCheck(orm),

    /** All that composing a message needs; undefined when the email is gone. */
    findForDelivery: (id: number) => selectForDelivery.get({ id }),

    /** One email of a scope, with its body and its queue row while it has one, and all of its group. */
    findRecord(scope: EmailScope, uid: string) {
      const found = selectRecord.get({ uid, workspaceId: scope.workspaceId });
      if (found === undefined || !isInScope(scope, found.email)) return undefined;
      const { groupId } = found.email;
      const hasFiles = (found.extra?.attachmentBytes ?? null) !== null;
      return {
        ...found,
        group: groupId === null ? null : listMembers(groupId),
        attachments: hasFiles ? listFiles(groupId ?? found.email.id) : [],
        sentBy: findSender(found.email),
      };
    },

    listGroup,

    /** The same without its body. */
    findState(scope: EmailScope, uid: string): EmailState | undefined {
      const found = selectOwnState.get({ uid, workspaceId: scope.workspaceId });
      return found !== undefined && isInScope(scope, found.email) ? found : undefined;
    },

    /** How often a server took the email whole and its answer was lost; a crash of ours names no host and does not count. */
    countLostAnswers: (emailId: number): number =>
      orm
        .select({ count: count() })
        .from(attempts)
        .where(and(eq(attempts.emailId, emailId), eq(attempts.outcome, "unknown"), isNotNull(attempts.host)))
        .get()?.count ?? 0,

    /** The email's last `limit` attempts, in their order. */
    listAttempts: (emailId: number, limit: number): AttemptRow[] =>
      orm
        .select()
        .from(attempts)
        .where(eq(attempts.emailId, emailId))
        .orderBy(desc(attempts.number))
        .limit(limit)
        .all()
        .toReversed(),
  };
}

function isInScope(scope: EmailScope, email: EmailRow): boolean {
  return scope.domainId === null || scope.domainId === email.domainId;
}
