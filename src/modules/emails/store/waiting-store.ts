// Reads of the emails that wait in the queue: how many, and which to end without an attempt.

import { and, asc, eq, gt, inArray, isNotNull, isNull, ne, notInArray, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { domains, emailQueue, emails, emailTotals, SYSTEM_WORKSPACE_ID } from "../../../platform/db/schema/schema.ts";

/** A domain by its key inside; it may be gone. */
export interface DomainOfWorkspace {
  workspaceId: number;
  domainId: number;
}

export function openWaitingEmails(orm: Db["orm"]) {
  const countIn = (workspaceId: number, ...statuses: ("queued" | "delivery_delayed")[]): number =>
    orm
      .select({ count: sql<number>`COALESCE(SUM(${emailTotals.count}), 0)` })
      .from(emailTotals)
      .where(and(eq(emailTotals.workspaceId, workspaceId), inArray(emailTotals.status, statuses)))
      .get()?.count ?? 0;
  const listWaiting = (where: SQL | undefined, since: typeof emailQueue.createdAt | typeof emailQueue.expiresAt) => {
    const { id, uid, recipient, createdAt, sendAt } = emails;
    const { expiresAt, lastReply } = emailQueue;
    return orm
      .select({ id, uid, recipient, createdAt, sendAt, expiresAt, lastReply })
      .from(emailQueue)
      .innerJoin(emails, eq(emails.id, emailQueue.id))
      .where(where)
      .orderBy(asc(since), asc(emailQueue.id));
  };

  return {
    /** Emails of a workspace that wait to be delivered, from the maintained totals; scheduled ones are not among them. */
    countWaiting: (workspaceId: number): number => countIn(workspaceId, "queued", "delivery_delayed"),

    /** Those of them that wait for another attempt, or are in one. */
    countWaitingAgain: (workspaceId: number): number => countIn(workspaceId, "delivery_delayed"),

    /**
     * A workspace's emails that wait so and were not scheduled, the oldest first: the first to expire too, unless their
     * lifetime was changed.
     */
    listOldestWaiting: (workspaceId: number, state: "queued" | "delivery_delayed", limit: number) =>
      listWaiting(
        and(eq(emailQueue.workspaceId, workspaceId), eq(emailQueue.state, state), isNull(emailQueue.sendAt)),
        emailQueue.createdAt,
      )
        .limit(limit)
        .all(),

    /** A workspace's emails that were scheduled and are not being sent, the first to expire first. */
    listScheduledByExpiry: (workspaceId: number, limit: number) =>
      listWaiting(
        and(eq(emailQueue.workspaceId, workspaceId), isNotNull(emailQueue.sendAt), eq(emailQueue.inFlight, false)),
        emailQueue.expiresAt,
      )
        .limit(limit)
        .all(),

    /** A batch of the emails from a domain that wait in the queue and are not being sent. */
    listWaitingOfDomain({ workspaceId, domainId }: DomainOfWorkspace, limit: number) {
      return orm
        .select({ id: emailQueue.id, senderDomain: emails.senderDomain })
        .from(emailQueue)
        .innerJoin(emails, eq(emails.id, emailQueue.id))
        .where(
          and(
            eq(emailQueue.workspaceId, workspaceId),
            inArray(emailQueue.state, ["scheduled", "queued", "delivery_delayed"]),
            eq(emailQueue.domainId, domainId),
          ),
        )
        .limit(limit)
        .all();
    },

    /** Domains that are gone while emails from them are not final, from the maintained totals. */
    listDeletedDomainsWithMail(): DomainOfWorkspace[] {
      return orm
        .selectDistinct({ workspaceId: emailTotals.workspaceId, domainId: emailTotals.domainId })
        .from(emailTotals)
        .where(
          and(
            inArray(emailTotals.status, ["scheduled", "queued", "delivery_delayed"]),
            gt(emailTotals.count, 0),
            ne(emailTotals.workspaceId, SYSTEM_WORKSPACE_ID),
            notInArray(emailTotals.domainId, orm.select({ id: domains.id }).from(domains)),
          ),
        )
        .all();
    },
  };
}
