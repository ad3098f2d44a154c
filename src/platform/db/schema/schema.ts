import { sql } from "drizzle-orm";
import { blob, index, integer, primaryKey, sqliteTable, text, unique, uniqueIndex } from "drizzle-orm/sqlite-core";

// Every table, for queries and their types; those of events and webhooks, and of what comes in by mail, are in files beside it.
// migrations/*.sql make the tables and say what each column means; test/architecture/tidy.test.ts holds the two equal.

export const instance = sqliteTable("instance", {
  name: text().primaryKey(),
  value: text().notNull(),
});

/** How far a text may be changed so that it takes fewer segments: src/modules/sms/encoding/transliterate.ts. */
export const SMS_FOLDINGS = ["none", "punctuation", "portuguese"] as const;
/** The most urgent first. */
export const SMS_PRIORITIES = ["otp", "transactional", "bulk"] as const;

export const workspaces = sqliteTable(
  "workspace",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    uid: text().notNull().unique(),
    name: text().notNull(),
    plan: text().notNull(),
    createdAt: integer("created_at").notNull(),
    smsCredits: integer("sms_credits").notNull().default(0),
    smsFolding: text("sms_folding", { enum: SMS_FOLDINGS }).notNull().default("none"),
    smsPriority: text("sms_priority", { enum: SMS_PRIORITIES }).notNull().default("transactional"),
    blockedAt: integer("blocked_at"),
    blockReason: text("block_reason"),
    isHeld: integer("is_held", { mode: "boolean" }).notNull().default(false),
    rateBlockedAt: integer("rate_blocked_at"),
    rateBlockReason: text("rate_block_reason"),
    rateWarnedAt: integer("rate_warned_at"),
    reportsWarnedAt: integer("reports_warned_at"),
    reportsWarning: text("reports_warning"),
    deletedAt: integer("deleted_at"),
  },
  (t) => [index("workspace_newest").on(t.createdAt, t.id)],
);

export const DOMAIN_STATUSES = ["pending", "verified", "warning", "failed", "suspended"] as const;

export const domains = sqliteTable(
  "domain",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    uid: text().notNull().unique(),
    workspaceId: integer("workspace_id").notNull(),
    name: text().notNull(),
    status: text({ enum: DOMAIN_STATUSES }).notNull(),
    createdAt: integer("created_at").notNull(),
    verifiedAt: integer("verified_at"),
    checkedAt: integer("checked_at"),
    nextCheckAt: integer("next_check_at"),
    warningAt: integer("warning_at"),
    lastCheck: text("last_check"),
    signsEd25519: integer("signs_ed25519", { mode: "boolean" }).notNull().default(false),
    hasReturnPath: integer("has_return_path", { mode: "boolean" }).notNull().default(false),
  },
  (t) => [
    unique().on(t.workspaceId, t.name),
    uniqueIndex("domain_verified")
      .on(t.name)
      .where(sql`status IN ('verified', 'warning', 'suspended')`),
    index("domain_newest").on(t.workspaceId, t.createdAt, t.id),
    index("domain_check")
      .on(t.nextCheckAt)
      .where(sql`next_check_at IS NOT NULL`),
  ],
);

export const dkimKeys = sqliteTable(
  "dkim_key",
  {
    domainId: integer("domain_id").notNull(),
    selector: text().notNull(),
    algorithm: text({ enum: ["rsa-sha256", "ed25519-sha256"] }).notNull(),
    publicKey: text("public_key").notNull(),
    privateKey: blob("private_key", { mode: "buffer" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.domainId, t.selector] })],
);

export const apiKeys = sqliteTable(
  "api_key",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    uid: text().notNull().unique(),
    workspaceId: integer("workspace_id").notNull(),
    domainId: integer("domain_id"),
    name: text().notNull(),
    prefix: text().notNull(),
    hash: text().notNull().unique(),
    createdAt: integer("created_at").notNull(),
    lastUsedAt: integer("last_used_at"),
  },
  (t) => [
    index("api_key_newest").on(t.workspaceId, t.createdAt, t.id),
    index("api_key_domain")
      .on(t.domainId)
      .where(sql`domain_id IS NOT NULL`),
  ],
);

/** What the email row itself says; `sending` and `delivery_delayed` follow from its queue row. */
export const STORED_STATUSES = [
  "queued",
  "sent",
  "delivered",
  "bounced",
  "failed",
  "complained",
  "suppressed",
  "canceled",
] as const;

export const emails = sqliteTable(
  "email",
  {
    id: integer().primaryKey(),
    uid: text().notNull().unique(),
    workspaceId: integer("workspace_id").notNull(),
    domainId: integer("domain_id").notNull(),
    sender: text().notNull(),
    senderAddress: text("sender_address").notNull(),
    senderDomain: text("sender_domain").notNull(),
    recipient: text().notNull(),
    recipientAddress: text("recipient_address").notNull(),
    subject: text().notNull(),
    replyTo: text("reply_to"),
    returnPath: text("return_path").notNull(),
    createdAt: integer("created_at").notNull(),
    status: text({ enum: STORED_STATUSES }).notNull(),
    sentAt: integer("sent_at"),
    deliveredAt: integer("delivered_at"),
    endedAt: integer("ended_at"),
    failedReason: text("failed_reason"),
    bounce: text(),
    attempts: integer().notNull().default(0),
    possibleDuplicate: integer("possible_duplicate", { mode: "boolean" }).notNull().default(false),
  },
  (t) => [
    index("email_newest").on(t.workspaceId, t.createdAt, t.id),
    index("email_newest_of_domain").on(t.domainId, t.createdAt, t.id, t.status),
    index("email_by_status").on(t.workspaceId, t.status, t.createdAt, t.id, t.domainId),
    index("email_to").on(t.workspaceId, t.recipientAddress, t.createdAt, t.id),
    index("email_from").on(t.workspaceId, t.senderAddress, t.createdAt, t.id),
  ],
);

export const emailBodies = sqliteTable("email_body", {
  emailId: integer("email_id").primaryKey(),
  content: blob({ mode: "buffer" }).notNull(),
  htmlBytes: integer("html_bytes"),
  textBytes: integer("text_bytes"),
  encoding: text({ enum: ["plain", "zstd"] }).notNull(),
});

export const lanes = sqliteTable(
  "lane",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    workspaceId: integer("workspace_id").notNull(),
    destination: text().notNull(),
  },
  (t) => [unique().on(t.workspaceId, t.destination), index("lane_destination").on(t.destination)],
);

/** Statuses of an email that is not final, read from its queue row. */
export const WAITING_STATES = ["queued", "sending", "delivery_delayed"] as const;

export const emailQueue = sqliteTable(
  "email_queue",
  {
    id: integer().primaryKey(),
    laneId: integer("lane_id").notNull(),
    workspaceId: integer("workspace_id").notNull(),
    domainId: integer("domain_id").notNull(),
    createdAt: integer("created_at").notNull(),
    nextAt: integer("next_at").notNull(),
    expiresAt: integer("expires_at").notNull(),
    attempts: integer().notNull().default(0),
    inFlight: integer("in_flight", { mode: "boolean" }).notNull().default(false),
    startedAt: integer("started_at"),
    dotAt: integer("dot_at"),
    lastReply: text("last_reply"),
    badDomainAt: integer("bad_domain_at"),
    state: text({ enum: WAITING_STATES })
      .notNull()
      .generatedAlwaysAs(
        sql`CASE WHEN in_flight = 1 THEN 'sending' WHEN attempts > 0 THEN 'delivery_delayed' ELSE 'queued' END`,
      ),
  },
  (t) => [
    index("email_queue_due").on(t.laneId, t.nextAt, t.id),
    index("email_queue_state").on(t.workspaceId, t.state, t.createdAt, t.id, t.domainId),
    index("email_queue_in_flight")
      .on(t.id)
      .where(sql`in_flight = 1`),
  ],
);

export const ATTEMPT_OUTCOMES = ["delivered", "sent", "deferred", "bounced", "failed", "unknown"] as const;

export const attempts = sqliteTable(
  "attempt",
  {
    emailId: integer("email_id").notNull(),
    number: integer().notNull(),
    startedAt: integer("started_at").notNull(),
    endedAt: integer("ended_at").notNull(),
    host: text(),
    address: text(),
    tls: text(),
    stage: text(),
    code: integer(),
    enhancedCode: text("enhanced_code"),
    reply: text(),
    outcome: text({ enum: ATTEMPT_OUTCOMES }).notNull(),
    category: text(),
    tries: text(),
    dialogue: text(),
  },
  (t) => [primaryKey({ columns: [t.emailId, t.number] })],
);

export const idempotency = sqliteTable(
  "idempotency",
  {
    workspaceId: integer("workspace_id").notNull(),
    domainId: integer("domain_id").notNull(),
    operation: text().notNull(),
    key: text().notNull(),
    requestHash: blob("request_hash", { mode: "buffer" }).notNull(),
    response: text().notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.domainId, t.operation, t.key] }),
    index("idempotency_age").on(t.createdAt),
  ],
);

export const usage = sqliteTable(
  "usage",
  {
    workspaceId: integer("workspace_id").notNull(),
    name: text().notNull(),
    day: text().notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.name, t.day] })],
);

export const usageReported = sqliteTable(
  "usage_reported",
  {
    workspaceId: integer("workspace_id").notNull(),
    day: text().notNull(),
    name: text().notNull(),
    domain: text().notNull(),
    count: integer().notNull(),
    counted: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.day, t.name, t.domain] })],
);

export const emailTotals = sqliteTable(
  "email_total",
  {
    workspaceId: integer("workspace_id").notNull(),
    domainId: integer("domain_id").notNull(),
    status: text({ enum: [...STORED_STATUSES, "delivery_delayed"] }).notNull(),
    count: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.workspaceId, t.domainId, t.status] })],
);

export const SUPPRESSION_CHANNELS = ["email", "sms"] as const;
export const SUPPRESSION_REASONS = ["hard_bounce", "complaint", "manual", "opt_out", "invalid_number"] as const;

export const suppressions = sqliteTable(
  "suppression",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    workspaceId: integer("workspace_id").notNull(),
    channel: text({ enum: SUPPRESSION_CHANNELS }).notNull(),
    address: text().notNull(),
    reason: text({ enum: SUPPRESSION_REASONS }).notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    unique().on(t.workspaceId, t.address, t.channel),
    index("suppression_newest").on(t.workspaceId, t.createdAt, t.id),
    index("suppression_newest_of_channel").on(t.workspaceId, t.channel, t.createdAt, t.id),
  ],
);

export const heldSuppressions = sqliteTable(
  "suppression_held",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    workspaceId: integer("workspace_id").notNull(),
    channel: text({ enum: SUPPRESSION_CHANNELS }).notNull(),
    address: text().notNull(),
    reason: text({ enum: SUPPRESSION_REASONS }).notNull(),
    site: text().notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [unique().on(t.workspaceId, t.channel, t.address)],
);
