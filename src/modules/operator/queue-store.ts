import { and, asc, eq, gt, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { emailQueue, emails, lanes, workspaces } from "../../platform/db/schema/schema.ts";
import { events, webhookJobs, webhooks } from "../../platform/db/schema/events.ts";
import { smsMessages } from "../../platform/db/schema/sms.ts";
import { type FindBatchEnd, prepareBatchEnd } from "../../platform/db/batches.ts";
import { fast } from "../../platform/db/statement.ts";

// What waits in the three queues, walked a slice at a time in an order that changes under nobody's feet: by what a
// row has from its beginning to its end. A choice that few rows fit costs each slice the same as one that all do.

export const KINDS = ["email", "sms", "webhook"] as const;
export type Kind = (typeof KINDS)[number];

/** Which messages are meant; null: any. */
export interface RowFilter {
  workspaceId: number | null;
  /** Where emails lead, as the queue shows it: a recipient domain, or a relay. */
  destination: string | null;
  /** An email's recipient, in the form compared. */
  address: string | null;
  /** What the number of a text begins with. */
  number: string | null;
  /** Accepted before this, Unix ms; of a call the event. */
  before: number | null;
}

/** Where a walk of one queue stands. `stage` and `rank` are the texts' alone: their status and when they expire. */
export interface At {
  stage: number;
  rank: number;
  id: number;
}

export const BEGINNING: At = { stage: 0, rank: 0, id: 0 };

export interface Found {
  id: number;
  /** It is under way at this moment. */
  isRunning: boolean;
}

export interface Slice {
  found: Found[];
  /** Null: the queue was walked to its end. */
  end: At | null;
}

type Walk = (at: At, choice: RowFilter, rows: number) => Slice;

const SMS_STAGES = ["queued", "sending"] as const;

export type OperatorQueueStore = ReturnType<typeof openOperatorQueueStore>;

/** Prepares the statements that walk the queues; nothing is written here. */
export function openOperatorQueueStore({ orm }: Db) {
  const p = sql.placeholder;
  const orAny = (name: string, holds: SQL | undefined) => sql`(${p(name)} IS NULL OR ${holds})`;
  const ofDestination = orm
    .select({ id: lanes.id })
    .from(lanes)
    .where(eq(lanes.destination, p("destination")));
  const selectEmails = fast(
    orm
      .select({ id: emailQueue.id, isRunning: emailQueue.inFlight })
      .from(emailQueue)
      .where(
        and(
          gt(emailQueue.id, p("id")),
          lte(emailQueue.id, p("end")),
          orAny("workspaceId", eq(emailQueue.workspaceId, p("workspaceId"))),
          orAny("before", lt(emailQueue.createdAt, p("before"))),
          orAny("destination", inArray(emailQueue.laneId, ofDestination)),
          orAny(
            "address",
            sql`EXISTS (SELECT 1 FROM email WHERE email.id = ${emailQueue.id} AND email.recipient_address = ${p("address")})`,
          ),
        ),
      )
      .orderBy(asc(emailQueue.id)),
  );
  const hasSegment = (state: string) =>
    sql<number>`EXISTS (SELECT 1 FROM sms_segment WHERE message_id = sms_message.id AND ${sql.raw(state)})`;
  // As a literal: SQLite uses a partial index only where the query says its condition in the same words.
  const selectTexts = fast(
    orm
      .select({
        id: smsMessages.id,
        rank: smsMessages.expiresAt,
        workspaceId: smsMessages.workspaceId,
        recipient: smsMessages.recipient,
        createdAt: smsMessages.createdAt,
        isRunning: hasSegment("state = 'in_flight'"),
        isWaiting: hasSegment("state IN ('ready', 'unknown')"),
      })
      .from(smsMessages)
      .where(
        and(
          sql.raw("is_final = 0"),
          eq(smsMessages.status, p("status")),
          sql`(expires_at, id) > (${p("rank")}, ${p("id")})`,
        ),
      )
      .orderBy(asc(smsMessages.expiresAt), asc(smsMessages.id))
      .limit(p("rows")),
  );
  const selectCalls = fast(
    orm
      .select({ id: webhookJobs.id, isRunning: webhookJobs.inFlight })
      .from(webhookJobs)
      .leftJoin(webhooks, eq(webhooks.id, webhookJobs.webhookId))
      .leftJoin(events, eq(events.id, webhookJobs.eventId))
      .where(
        and(
          gt(webhookJobs.id, p("id")),
          lte(webhookJobs.id, p("end")),
          orAny("workspaceId", eq(webhooks.workspaceId, p("workspaceId"))),
          orAny("before", lt(events.createdAt, p("before"))),
        ),
      )
      .orderBy(asc(webhookJobs.id)),
  );
  const max = (table: typeof emailQueue | typeof smsMessages | typeof webhookJobs) =>
    orm
      .select({ id: sql<number>`COALESCE(MAX(id), 0)` })
      .from(table)
      .get()?.id ?? 0;

  const walks: Record<Kind, Walk> = {
    email: byId(prepareBatchEnd(orm, emailQueue), (range) => selectEmails.all({ ...range })),
    sms(at, choice, rows) {
      const status = SMS_STAGES[at.stage];
      if (status === undefined) return { found: [], end: null };
      const seen = selectTexts.all({ status, rank: at.rank, id: at.id, rows });
      const found = seen
        .filter((row) => isMeant(row, choice) && (row.isWaiting === 1 || row.isRunning === 1))
        .map(({ id, isRunning }) => ({ id, isRunning: isRunning === 1 }));
      const last = seen.at(-1);
      const next = { stage: at.stage + 1, rank: 0, id: 0 };
      const end = last === undefined || seen.length < rows ? next : { ...at, rank: last.rank, id: last.id };
      return { found, end: end.stage < SMS_STAGES.length ? end : null };
    },
    webhook: byId(prepareBatchEnd(orm, webhookJobs), (range) => selectCalls.all({ ...range })),
  };

  return {
    /** The next `rows` rows of a queue after `at`, and which of them are meant. */
    slice: (kind: Kind, at: At, choice: RowFilter, rows: number): Slice => walks[kind](at, choice, rows),

    /** The last id that each queue has given out: what comes later is not part of a walk that begins now. */
    lastIds: (): Record<Kind, number> => ({ email: max(emailQueue), sms: max(smsMessages), webhook: max(webhookJobs) }),

    /** A text by its id, whoever's it is; null: there is none. */
    textOf: (uid: string): number | null =>
      orm.select({ id: smsMessages.id }).from(smsMessages).where(eq(smsMessages.uid, uid)).get()?.id ?? null,
    /** An email by its id, whoever's it is; null: there is none. */
    emailOf: (uid: string): number | null =>
      orm.select({ id: emails.id }).from(emails).where(eq(emails.uid, uid)).get()?.id ?? null,
    /** The calls that wait about an event; null: there is no such event. */
    callsOf(eventUid: string): number[] | null {
      const event = orm.select({ id: events.id, workspaceId: events.workspaceId }).from(events);
      const found = event.where(eq(events.uid, eventUid)).get();
      if (found === undefined) return null;
      // The index begins with the webhook.
      const ofWorkspace = orm
        .select({ id: webhooks.id })
        .from(webhooks)
        .where(eq(webhooks.workspaceId, found.workspaceId));
      return orm
        .select({ id: webhookJobs.id })
        .from(webhookJobs)
        .where(and(inArray(webhookJobs.webhookId, ofWorkspace), eq(webhookJobs.eventId, found.id)))
        .all()
        .map(({ id }) => id);
    },

    /** What is shown of waiting emails. */
    emailsIn: (ids: number[]) =>
      orm
        .select({ email: emails, queue: emailQueue, workspaceUid: workspaces.uid, destination: lanes.destination })
        .from(emailQueue)
        .innerJoin(emails, eq(emails.id, emailQueue.id))
        .innerJoin(lanes, eq(lanes.id, emailQueue.laneId))
        .leftJoin(workspaces, eq(workspaces.id, emailQueue.workspaceId))
        .where(inArray(emailQueue.id, ids))
        .orderBy(asc(emailQueue.id))
        .all(),
    /** What is shown of waiting texts. */
    textsIn: (ids: number[]) =>
      orm
        .select({ message: smsMessages, workspaceUid: workspaces.uid })
        .from(smsMessages)
        .leftJoin(workspaces, eq(workspaces.id, smsMessages.workspaceId))
        .where(inArray(smsMessages.id, ids))
        .all(),
    /** What is shown of waiting calls. */
    callsIn: (ids: number[]) =>
      orm
        .select({ job: webhookJobs, webhook: webhooks, event: events, workspaceUid: workspaces.uid })
        .from(webhookJobs)
        .innerJoin(webhooks, eq(webhooks.id, webhookJobs.webhookId))
        .innerJoin(events, eq(events.id, webhookJobs.eventId))
        .leftJoin(workspaces, eq(workspaces.id, webhooks.workspaceId))
        .where(inArray(webhookJobs.id, ids))
        .orderBy(asc(webhookJobs.id))
        .all(),
  };
}

/** The walk in the order of ids; `find` gives what is meant of a range. */
function byId(endOf: FindBatchEnd, find: (range: RowFilter & { id: number; end: number }) => Found[]): Walk {
  return ({ id }, choice, rows) => {
    const end = endOf(id, rows);
    const found = find({ ...choice, id, end: end ?? Number.MAX_SAFE_INTEGER });
    return { found, end: end === null ? null : { ...BEGINNING, id: end } };
  };
}

function isMeant(row: { workspaceId: number; recipient: string; createdAt: number }, choice: RowFilter): boolean {
  const { workspaceId, number, before } = choice;
  if (workspaceId !== null && row.workspaceId !== workspaceId) return false;
  if (number !== null && !row.recipient.startsWith(number)) return false;
  return before === null || row.createdAt < before;
}
