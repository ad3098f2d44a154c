import { and, asc, desc, eq, gte, inArray, lt } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { emails, suppressions, workspaces } from "../../platform/db/schema/schema.ts";
import { events, webhookDeliveries, webhookJobs, webhooks } from "../../platform/db/schema/events.ts";
import { smsMessages } from "../../platform/db/schema/sms.ts";

// Where the trace of a message is read from: whoever's it is, by any id that is about it.

/** Events about one message, and calls about one event, that are shown. */
const MAX_EVENTS = 200;
const MAX_CALLS = 200;
/** Behind every character that an id may have. */
const PAST_HEX = "g";

export type TraceStore = ReturnType<typeof openTraceStore>;

export function openTraceStore({ orm }: Db) {
  const email = {
    uid: emails.uid,
    workspaceId: emails.workspaceId,
    from: emails.sender,
    to: emails.recipient,
    status: emails.status,
    createdAt: emails.createdAt,
  };
  const text = {
    uid: smsMessages.uid,
    workspaceId: smsMessages.workspaceId,
    from: smsMessages.sender,
    to: smsMessages.recipient,
    status: smsMessages.status,
    createdAt: smsMessages.createdAt,
  };
  return {
    emailsFrom: (prefix: string, limit: number) =>
      orm
        .select(email)
        .from(emails)
        .where(and(gte(emails.uid, prefix), lt(emails.uid, prefix + PAST_HEX)))
        .orderBy(desc(emails.uid))
        .limit(limit)
        .all(),
    textsFrom: (prefix: string, limit: number) =>
      orm
        .select(text)
        .from(smsMessages)
        .where(and(gte(smsMessages.uid, prefix), lt(smsMessages.uid, prefix + PAST_HEX)))
        .orderBy(desc(smsMessages.uid))
        .limit(limit)
        .all(),
    /** A workspace's emails to an address, the newest first: the index begins with the workspace. */
    emailsTo: (workspaceId: number, address: string, limit: number) =>
      orm
        .select(email)
        .from(emails)
        .where(and(eq(emails.workspaceId, workspaceId), eq(emails.recipientAddress, address)))
        .orderBy(desc(emails.createdAt), desc(emails.id))
        .limit(limit)
        .all(),
    textsTo: (number: string, limit: number) =>
      orm
        .select(text)
        .from(smsMessages)
        .where(eq(smsMessages.recipient, number))
        .orderBy(desc(smsMessages.id))
        .limit(limit)
        .all(),
    workspaceIds: (): number[] =>
      orm
        .select({ id: workspaces.id })
        .from(workspaces)
        .all()
        .map(({ id }) => id),

    emailOf: (uid: string): number | null =>
      orm.select({ id: emails.id }).from(emails).where(eq(emails.uid, uid)).get()?.id ?? null,
    textOf: (uid: string) => orm.select().from(smsMessages).where(eq(smsMessages.uid, uid)).get() ?? null,
    /** What an event, or a call about one, is about; null: there is neither. */
    resourceOf(uid: string): { type: string; resource: string } | null {
      const about = { type: events.type, resource: events.resource };
      const event = orm.select(about).from(events).where(eq(events.uid, uid)).get();
      if (event !== undefined) return event;
      return (
        orm
          .select(about)
          .from(webhookDeliveries)
          .innerJoin(events, eq(events.id, webhookDeliveries.eventId))
          .where(eq(webhookDeliveries.uid, uid))
          .get() ?? null
      );
    },
    /** What was told of a message, in the order in which it happened. */
    eventsAbout: (resource: string) =>
      orm.select().from(events).where(eq(events.resource, resource)).orderBy(asc(events.id)).limit(MAX_EVENTS).all(),
    webhooksOf: (workspaceId: number) =>
      orm
        .select({ id: webhooks.id, uid: webhooks.uid, url: webhooks.url })
        .from(webhooks)
        .where(eq(webhooks.workspaceId, workspaceId))
        .all(),
    callsMade: (webhookIds: number[], eventId: number) =>
      orm
        .select()
        .from(webhookDeliveries)
        .where(and(inArray(webhookDeliveries.webhookId, webhookIds), eq(webhookDeliveries.eventId, eventId)))
        .orderBy(asc(webhookDeliveries.id))
        .limit(MAX_CALLS)
        .all(),
    callsWaiting: (webhookIds: number[], eventId: number) =>
      orm
        .select()
        .from(webhookJobs)
        .where(and(inArray(webhookJobs.webhookId, webhookIds), eq(webhookJobs.eventId, eventId)))
        .all(),
    suppressionsOf: (workspaceId: number, address: string) =>
      orm
        .select()
        .from(suppressions)
        .where(and(eq(suppressions.workspaceId, workspaceId), eq(suppressions.address, address)))
        .all(),
  };
}
