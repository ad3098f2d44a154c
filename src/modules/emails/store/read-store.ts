import { and, asc, count, desc, eq, gt, inArray, isNotNull, notInArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { attempts, domains, emailBodies, emailQueue, emails, emailTotals } from "../../../platform/db/schema/schema.ts";
import { fast } from "../../../platform/db/statement.ts";

// How emails are read, but for the list (list-store.ts). store.ts is the one that changes them.

export type EmailRow = typeof emails.$inferSelect;
export type AttemptRow = typeof attempts.$inferSelect;
export type QueueRow = typeof emailQueue.$inferSelect;

/** An email without its body, and its queue row while it is not final. */
export interface EmailState {
  email: EmailRow;
  queue: QueueRow | null;
}

/** What ending an email that waits takes. */
export interface WaitingEmail {
  id: number;
  uid: string;
  recipient: string;
  createdAt: number;
  expiresAt: number;
  lastReply: string | null;
}

/** Whose emails a caller sees: a workspace's, or one domain's of it. */
export interface EmailScope {
  workspaceId: number;
  domainId: number | null;
}

/** A domain by its key inside; it may be gone. */
export interface DomainOfWorkspace {
  workspaceId: number;
  domainId: number;
}

/** Prepares the statements that read emails one by one, or those that wait. */
export function openEmailReads(orm: Db["orm"]) {
  const p = sql.placeholder;
  const selectForDelivery = fast(
    orm
      .select({ email: emails, body: emailBodies })
      .from(emails)
      .leftJoin(emailBodies, eq(emailBodies.emailId, emails.id))
      .where(eq(emails.id, p("id"))),
  );
  const selectRecord = fast(
    orm
      .select({ email: emails, body: emailBodies, queue: emailQueue })
      .from(emails)
      .leftJoin(emailBodies, eq(emailBodies.emailId, emails.id))
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .where(and(eq(emails.uid, p("uid")), eq(emails.workspaceId, p("workspaceId")))),
  );
  const selectState = fast(
    orm
      .select({ email: emails, queue: emailQueue })
      .from(emails)
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .where(and(eq(emails.uid, p("uid")), eq(emails.workspaceId, p("workspaceId")))),
  );

  const selectStateById = fast(
    orm
      .select({ email: emails, queue: emailQueue })
      .from(emails)
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .where(eq(emails.id, p("id"))),
  );

  const selectReturnPath = fast(
    orm
      .select({ recipientAddress: emails.recipientAddress, returnPath: emails.returnPath })
      .from(emails)
      .where(eq(emails.uid, p("uid"))),
  );

  return {
    /** What mail to the return path of an email is checked against, whoever's it is; undefined when it is gone. */
    returnPathOf: (uid: string) => selectReturnPath.get({ uid }),

    /** An email without its body, whoever's it is; undefined when it is gone. */
    stateById: (id: number): EmailState | undefined => selectStateById.get({ id }),

    /** All that composing a message needs; undefined when the email is gone. */
    forDelivery: (id: number) => selectForDelivery.get({ id }),

    /** One email of a scope, with its body and its queue row while it has one. */
    record(scope: EmailScope, uid: string) {
      const found = selectRecord.get({ uid, workspaceId: scope.workspaceId });
      return found !== undefined && isInScope(scope, found.email) ? found : undefined;
    },

    /** The same without its body. */
    state(scope: EmailScope, uid: string): EmailState | undefined {
      const found = selectState.get({ uid, workspaceId: scope.workspaceId });
      return found !== undefined && isInScope(scope, found.email) ? found : undefined;
    },

    /** Emails of a workspace that have come to no end yet, from the maintained totals. */
    waitingOf: (workspaceId: number): number =>
      orm
        .select({ count: sql<number>`COALESCE(SUM(${emailTotals.count}), 0)` })
        .from(emailTotals)
        .where(
          and(eq(emailTotals.workspaceId, workspaceId), inArray(emailTotals.status, ["queued", "delivery_delayed"])),
        )
        .get()?.count ?? 0,

    /** A workspace's emails that wait so, the oldest first: the first to expire too, unless their lifetime was changed. */
    oldestWaiting: (workspaceId: number, state: "queued" | "delivery_delayed", limit: number): WaitingEmail[] =>
      orm
        .select({
          id: emails.id,
          uid: emails.uid,
          recipient: emails.recipient,
          createdAt: emails.createdAt,
          expiresAt: emailQueue.expiresAt,
          lastReply: emailQueue.lastReply,
        })
        .from(emailQueue)
        .innerJoin(emails, eq(emails.id, emailQueue.id))
        .where(and(eq(emailQueue.workspaceId, workspaceId), eq(emailQueue.state, state)))
        .orderBy(asc(emailQueue.createdAt), asc(emailQueue.id))
        .limit(limit)
        .all(),

    /** A share of the emails from a domain that wait in the queue and are not being sent. */
    waitingOfDomain({ workspaceId, domainId }: DomainOfWorkspace, limit: number) {
      return orm
        .select({ id: emailQueue.id, senderDomain: emails.senderDomain })
        .from(emailQueue)
        .innerJoin(emails, eq(emails.id, emailQueue.id))
        .where(
          and(
            eq(emailQueue.workspaceId, workspaceId),
            inArray(emailQueue.state, ["queued", "delivery_delayed"]),
            eq(emailQueue.domainId, domainId),
          ),
        )
        .limit(limit)
        .all();
    },

    /** Domains that are gone while emails from them are not final, from the maintained totals. */
    deletedDomainsWithMail(): DomainOfWorkspace[] {
      return orm
        .selectDistinct({ workspaceId: emailTotals.workspaceId, domainId: emailTotals.domainId })
        .from(emailTotals)
        .where(
          and(
            inArray(emailTotals.status, ["queued", "delivery_delayed"]),
            gt(emailTotals.count, 0),
            notInArray(emailTotals.domainId, orm.select({ id: domains.id }).from(domains)),
          ),
        )
        .all();
    },

    /** How often a server took the email whole and its answer was lost; a crash of ours names no host and does not count. */
    lostAnswers: (emailId: number): number =>
      orm
        .select({ count: count() })
        .from(attempts)
        .where(and(eq(attempts.emailId, emailId), eq(attempts.outcome, "unknown"), isNotNull(attempts.host)))
        .get()?.count ?? 0,

    /** The email's last `limit` attempts, in their order. */
    attemptsOf: (emailId: number, limit: number): AttemptRow[] =>
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
