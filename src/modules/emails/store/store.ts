import { and, eq, sql } from "drizzle-orm";
import { AfterCommit } from "../../../platform/db/after-commit.ts";
import type { Db } from "../../../platform/db/open.ts";
import { fast } from "../../../platform/db/statement.ts";
import { Tally } from "../../../platform/db/tally.ts";
import { attempts, emailBodies, emails, emailTotals } from "../../../platform/db/schema/schema.ts";
import type { StoredBody } from "../content/body.ts";
import { openEmailLists } from "./list-store.ts";
import { type AttemptRow, type EmailRow, openEmailReads } from "./read-store.ts";
import type { Bounce } from "../api/schema.ts";

export type StoredStatus = EmailRow["status"];
/** What the totals tell apart: an email that is queued counts as delayed while its queue row does (modules/emails/queue/delayed-store.ts). */
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
  /** JSON of src/modules/emails/api/schema.ts Bounce. */
  bounce: string | null;
  attempts: number;
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
  return { ...writes(db, counts), ...openEmailReads(orm), ...openEmailLists(orm) };
}

function writes({ orm, listeners: followers }: Db, counts: EmailCounts | null) {
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
  const facts = new AfterCommit();
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
      if (counts !== null && row.status === "queued" && amount > 0) facts.run(() => counts.accepted(amount));
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
      facts.run(() => counts.ended(end.status, category));
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
      if (counts !== null) facts.run(() => counts.attempted(row.outcome, row.category));
    },
  };
}
