import { sql } from "drizzle-orm";
import { blob, index, integer, sqliteTable, text, unique } from "drizzle-orm/sqlite-core";

// The tables of events and webhooks, as schema.ts has the others.

export const events = sqliteTable(
  "event",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    uid: text().notNull().unique(),
    workspaceId: integer("workspace_id").notNull(),
    type: text().notNull(),
    resource: text().notNull(),
    body: text().notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    index("event_of_workspace").on(t.workspaceId, t.id),
    index("event_since").on(t.workspaceId, t.createdAt, t.id),
    index("event_age").on(t.createdAt),
    index("event_resource").on(t.resource, t.id),
  ],
);

export const webhooks = sqliteTable(
  "webhook",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    uid: text().notNull().unique(),
    workspaceId: integer("workspace_id").notNull(),
    url: text().notNull(),
    events: text().notNull(),
    description: text(),
    isEnabled: integer("is_enabled", { mode: "boolean" }).notNull(),
    disabledReason: text("disabled_reason"),
    secret: blob({ mode: "buffer" }).notNull(),
    oldSecrets: text("old_secrets").notNull().default("[]"),
    createdAt: integer("created_at").notNull(),
    lastDeliveryAt: integer("last_delivery_at"),
    lastFailureAt: integer("last_failure_at"),
    lastFailureReason: text("last_failure_reason"),
    failingSince: integer("failing_since"),
    deliveryCount: integer("delivery_count").notNull().default(0),
  },
  (t) => [index("webhook_newest").on(t.workspaceId, t.createdAt, t.id)],
);

export const goneWebhooks = sqliteTable("webhook_gone", { id: integer().primaryKey() });

export const webhookJobs = sqliteTable(
  "webhook_job",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    webhookId: integer("webhook_id").notNull(),
    eventId: integer("event_id").notNull(),
    nextAt: integer("next_at").notNull(),
    attempts: integer().notNull().default(0),
    inFlight: integer("in_flight", { mode: "boolean" }).notNull().default(false),
    startedAt: integer("started_at"),
    again: text({ enum: ["always", "on_failure"] }),
  },
  (t) => [
    unique().on(t.webhookId, t.eventId),
    index("webhook_job_due").on(t.webhookId, t.nextAt, t.id),
    index("webhook_job_in_flight")
      .on(t.id)
      .where(sql`in_flight = 1`),
  ],
);

export const webhookDeliveries = sqliteTable(
  "webhook_delivery",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    uid: text().notNull().unique(),
    webhookId: integer("webhook_id").notNull(),
    eventId: integer("event_id").notNull(),
    eventUid: text("event_uid").notNull(),
    eventType: text("event_type").notNull(),
    attempt: integer().notNull(),
    responseStatus: integer("response_status"),
    errorMessage: text("error_message"),
    createdAt: integer("created_at").notNull(),
    deliveredAt: integer("delivered_at"),
    failedAt: integer("failed_at"),
    durationMs: integer("duration_ms").notNull(),
    nextAttemptAt: integer("next_attempt_at"),
  },
  (t) => [
    index("webhook_delivery_newest").on(t.webhookId, t.createdAt, t.id),
    index("webhook_delivery_of_event").on(t.webhookId, t.eventId),
    index("webhook_delivery_age").on(t.createdAt),
  ],
);
