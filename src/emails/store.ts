import { and, asc, count, desc, eq, gt, inArray, isNotNull, notInArray, sql } from "drizzle-orm";
import { Facts } from "../db/facts.ts";
import type { Db } from "../db/open.ts";
import { fast } from "../db/statement.ts";
import { Tally } from "../db/tally.ts";
import { attempts, domains, emailBodies, emailQueue, emails, emailTotals } from "../db/schema.ts";
import type { StoredBody } from "./body.ts";
import { openEmailLists } from "./list-store.ts";
import type { Bounce } from "./schema.ts";

export type EmailRow = typeof emails.$inferSelect;
export type AttemptRow = typeof attempts.$inferSelect;
export type QueueRow = typeof emailQueue.$inferSelect;
export type StoredStatus = EmailRow["status"];
/** What the totals tell apart: an email that is queued counts as delayed while its queue row does (queue/store.ts). */
type CountedStatus = typeof emailTotals.$inferSelect.status;

export interface NewEmail {
  uid: string;
  workspaceId: number;
  domainId: number;
  sender: string;
  /** In the form compared, as `recipientAddress`. */
  senderAddress: string;
  senderDomain: string;
  recipient: string;
  recipientAddress: string;
  subject: string;
  replyTo: string | null;
  returnPath: string;
  createdAt: number;
  body: StoredBody;
}

/** What the end of an attempt changes on the email's row. */
export interface EmailEnd {
  status: StoredStatus;
  endedAt: number;
  deliveredAt: number | null;
  failedReason: string | null;
  /** JSON of src/emails/schema.ts Bounce. */
  bounce: string | null;
  attempts: number;
}

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

/** Told of what has become durable; must not throw. */
export interface EmailCounts {
  accepted(amount: number): void;
  /** `category` as in the bounce; null where there is none. */
  ended(status: StoredStatus, category: string | null): void;
  attempted(outcome: AttemptRow["outcome"], category: string | null): void;
}

export type EmailStore = ReturnType<typeof openEmailStore>;

/** Prepares the statements of the emails. */
export function openEmailStore(db: Db, counts: EmailCounts | null = null) {
  const { orm } = db;
  return { ...writes(db, counts), ...reads(orm), ...openEmailLists(orm) };
}

function writes({ orm, followers }: Db, counts: EmailCounts | null) {
  const p = sql.placeholder;
  const insertRow = fast(
    orm.insert(emails).values({
      uid: p("uid"),
      workspaceId: p("workspaceId"),
      domainId: p("domainId"),
      sender: p("sender"),
      senderAddress: p("senderAddress"),
      senderDomain: p("senderDomain"),
      recipient: p("recipient"),
      recipientAddress: p("recipientAddress"),
      subject: p("subject"),
      replyTo: p("replyTo"),
      returnPath: p("returnPath"),
      createdAt: p("createdAt"),
      status: "queued",
    }),
  );
  const insertBody = fast(
    orm.insert(emailBodies).values({
      emailId: p("emailId"),
      content: p("content"),
      htmlBytes: p("htmlBytes"),
      textBytes: p("textBytes"),
      encoding: p("encoding"),
    }),
  );
  const addTotal = fast(
    orm
      .insert(emailTotals)
      .values({ workspaceId: p("workspaceId"), domainId: p("domainId"), status: p("status"), count: p("amount") })
      .onConflictDoUpdate({
        target: [emailTotals.workspaceId, emailTotals.domainId, emailTotals.status],
        set: { count: sql`${emailTotals.count} + excluded.count` },
      }),
  );
  const updateEnd = fast(
    orm
      .update(emails)
      .set({
        status: sql`${p("status")}`,
        sentAt: sql`COALESCE(${emails.sentAt}, ${p("sentAt")})`,
        deliveredAt: sql`${p("deliveredAt")}`,
        endedAt: sql`${p("endedAt")}`,
        failedReason: sql`${p("failedReason")}`,
        bounce: sql`${p("bounce")}`,
        attempts: sql`${p("attempts")}`,
      })
      .where(eq(emails.id, p("id")))
      .returning({ workspaceId: emails.workspaceId, domainId: emails.domainId }),
  );
  const updateSentAt = fast(
    orm
      .update(emails)
      .set({ sentAt: sql`${p("sentAt")}` })
      .where(and(eq(emails.id, p("id")), sql`sent_at IS NULL`)),
  );
  const insertAttempt = fast(
    orm.insert(attempts).values({
      emailId: p("emailId"),
      number: p("number"),
      startedAt: p("startedAt"),
      endedAt: p("endedAt"),
      host: p("host"),
      address: p("address"),
      tls: p("tls"),
      stage: p("stage"),
      code: p("code"),
      enhancedCode: p("enhancedCode"),
      reply: p("reply"),
      outcome: p("outcome"),
      category: p("category"),
      tries: p("tries"),
      dialogue: p("dialogue"),
    }),
  );

  /** Told of each end, inside its transaction. */
  let ended: ((end: { id: number; workspaceId: number; status: StoredStatus; at: number }) => void) | null = null;
  const totals = new Tally<{ workspaceId: number; domainId: number; status: CountedStatus }>((key, amount) => {
    addTotal.run({ ...key, amount });
  });
  // Counted where it is written, so that nobody who ends an email can forget it.
  const facts = new Facts();
  followers.push(totals, facts);

  return {
    /** Writes an accepted email and its body; its integer id. */
    insert(email: NewEmail): number {
      const id = Number(insertRow.run(email).lastInsertRowid);
      insertBody.run({ emailId: id, ...email.body });
      return id;
    },
    /** Counts `amount` emails of a status for the lists' totals. */
    addTotal(row: { workspaceId: number; domainId: number; status: StoredStatus }, amount: number): void {
      totals.add(row, amount);
      if (counts !== null && row.status === "queued" && amount > 0) facts.note(() => counts.accepted(amount));
    },
    /** The queue has one delayed email more (1) or less (-1); counted as queued are the others. */
    countDelayed({ workspaceId, domainId }: { workspaceId: number; domainId: number }, change: 1 | -1): void {
      totals.add({ workspaceId, domainId, status: "delivery_delayed" }, change);
      totals.add({ workspaceId, domainId, status: "queued" }, -change);
    },
    /** Ends an email that was queued, or changes how it ended; `sentAt` counts only when none is known yet. */
    end(id: number, end: EmailEnd & { sentAt: number | null }, from: StoredStatus = "queued"): void {
      const { workspaceId, domainId } = updateEnd.get({ id, ...end });
      totals.add({ workspaceId, domainId, status: from }, -1);
      totals.add({ workspaceId, domainId, status: end.status }, 1);
      ended?.({ id, workspaceId, status: end.status, at: end.endedAt });
      if (counts === null) return;
      const category = end.bounce === null ? null : (JSON.parse(end.bounce) as Bounce).category;
      facts.note(() => counts.ended(end.status, category));
    },
    /** From now on `tell` is told of each email that ends, inside the transaction that ends it: nobody who ends one can forget it. */
    followEnds(tell: NonNullable<typeof ended>): void {
      ended = tell;
    },
    /** The first attempt that reached the recipient's server. */
    setSentAt(id: number, sentAt: number): void {
      updateSentAt.run({ id, sentAt });
    },
    /** The message arrived after its state had been decided elsewhere. */
    setDeliveredAt(id: number, deliveredAt: number): void {
      orm.update(emails).set({ deliveredAt }).where(eq(emails.id, id)).run();
    },
    setPossibleDuplicate(id: number): void {
      orm.update(emails).set({ possibleDuplicate: true }).where(eq(emails.id, id)).run();
    },
    insertAttempt(row: AttemptRow): void {
      insertAttempt.run(row);
      if (counts !== null) facts.note(() => counts.attempted(row.outcome, row.category));
    },
  };
}

function reads(orm: Db["orm"]) {
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
