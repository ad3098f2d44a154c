// Every table, for queries and their types; those of SMS are in sms.ts.
// migrations/*.sql make the tables with their keys, constraints and indexes, and say what each column means;
// test/architecture/tidy-database.test.ts holds the columns equal.

import { sql } from "drizzle-orm";
import { blob, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

export const instance = sqliteTable("instance", {
  name: text().primaryKey(),
  value: text().notNull(),
});

/** How far a text may be changed so that it takes fewer segments: src/modules/sms/encoding/transliterate.ts. */
export const SMS_FOLDINGS = ["none", "punctuation", "portuguese"] as const;
/** The most urgent first. */
export const SMS_PRIORITIES = ["otp", "transactional", "bulk"] as const;

export const workspaces = sqliteTable("workspace", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  name: text().notNull(),
  plan: text().notNull(),
  createdAt: integer("created_at").notNull(),
  smsCredits: integer("sms_credits").notNull().default(0),
  smsFolding: text("sms_folding", { enum: SMS_FOLDINGS }).notNull().default("none"),
  smsPriority: text("sms_priority", { enum: SMS_PRIORITIES }).notNull().default("transactional"),
  viewersSeeContent: integer("viewers_see_content", { mode: "boolean" }).notNull().default(false),
  operatorsSeeContent: integer("operators_see_content", { mode: "boolean" }).notNull().default(false),
  blockedAt: integer("blocked_at"),
  blockReason: text("block_reason"),
  isHeld: integer("is_held", { mode: "boolean" }).notNull().default(false),
  rateBlockedAt: integer("rate_blocked_at"),
  rateBlockReason: text("rate_block_reason"),
  rateWarnedAt: integer("rate_warned_at"),
  reportsWarnedAt: integer("reports_warned_at"),
  reportsWarning: text("reports_warning"),
  deletedAt: integer("deleted_at"),
});

export const DOMAIN_STATUSES = ["pending", "verified", "warning", "failed", "suspended"] as const;

export const domains = sqliteTable("domain", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
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
});

export const domainShares = sqliteTable("domain_share", {
  domainId: integer("domain_id").primaryKey(),
  hash: text().notNull(),
  expiresAt: integer("expires_at").notNull(),
});

export const dkimKeys = sqliteTable("dkim_key", {
  domainId: integer("domain_id").notNull(),
  selector: text().notNull(),
  algorithm: text({ enum: ["rsa-sha256", "ed25519-sha256"] }).notNull(),
  publicKey: text("public_key").notNull(),
  privateKey: blob("private_key", { mode: "buffer" }).notNull(),
});

export const apiKeys = sqliteTable("api_key", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  workspaceId: integer("workspace_id").notNull(),
  domainId: integer("domain_id"),
  name: text().notNull(),
  prefix: text().notNull(),
  hash: text().notNull(),
  createdAt: integer("created_at").notNull(),
  lastUsedAt: integer("last_used_at"),
});

/** An email that is sent, or over. */
export const ENDED_STATUSES = [
  "sent",
  "delivered",
  "bounced",
  "failed",
  "complained",
  "suppressed",
  "canceled",
] as const;

/** What the email row itself says; `scheduled`, `sending` and `delivery_delayed` follow from its queue row. */
export const STORED_STATUSES = ["queued", ...ENDED_STATUSES] as const;

/** The `workspaceId` of pombo's own mail: no workspace has it. */
export const SYSTEM_WORKSPACE_ID = 0;

/** Where a recipient stands in the header; a bcc stands nowhere. */
export const RECIPIENT_KINDS = ["to", "cc", "bcc"] as const;

export const emails = sqliteTable("email", {
  id: integer().primaryKey(),
  uid: text().notNull(),
  workspaceId: integer("workspace_id").notNull(),
  domainId: integer("domain_id").notNull(),
  sender: text().notNull(),
  senderAddress: text("sender_address").notNull(),
  senderDomain: text("sender_domain").notNull(),
  recipient: text().notNull(),
  recipientAddress: text("recipient_address").notNull(),
  recipientName: text("recipient_name"),
  kind: text({ enum: RECIPIENT_KINDS }).notNull().default("to"),
  groupId: integer("group_id"),
  subject: text().notNull(),
  replyTo: text("reply_to"),
  returnPath: text("return_path").notNull(),
  tag: text(),
  createdAt: integer("created_at").notNull(),
  sendAt: integer("send_at"),
  status: text({ enum: STORED_STATUSES }).notNull(),
  sentAt: integer("sent_at"),
  deliveredAt: integer("delivered_at"),
  endedAt: integer("ended_at"),
  failedReason: text("failed_reason"),
  bounce: text(),
  attempts: integer().notNull().default(0),
  possibleDuplicate: integer("possible_duplicate", { mode: "boolean" }).notNull().default(false),
  isErased: integer("is_erased", { mode: "boolean" }).notNull().default(false),
  keyId: integer("key_id"),
  userId: integer("user_id"),
  messageId: text("message_id"),
});

export const emailBodies = sqliteTable("email_body", {
  emailId: integer("email_id").primaryKey(),
  content: blob({ mode: "buffer" }).notNull(),
  htmlBytes: integer("html_bytes"),
  textBytes: integer("text_bytes"),
  encoding: text({ enum: ["plain", "zstd"] }).notNull(),
  mime: text(),
});

export const emailExtras = sqliteTable("email_extra", {
  emailId: integer("email_id").primaryKey(),
  recipients: text(),
  replyTo: text("reply_to"),
  headers: text(),
  metadata: text(),
  unsubscribe: text(),
  attachmentBytes: integer("attachment_bytes"),
  keepsDialogue: integer("keeps_dialogue", { mode: "boolean" }),
});

export const attachments = sqliteTable("attachment", {
  id: integer().primaryKey({ autoIncrement: true }),
  workspaceId: integer("workspace_id").notNull(),
  sha256: blob({ mode: "buffer" }),
  bytes: integer().notNull(),
  storedBytes: integer("stored_bytes").notNull(),
  encoding: text({ enum: ["plain", "zstd"] }).notNull(),
  stagedAt: integer("staged_at").notNull(),
});

export const attachmentPieces = sqliteTable("attachment_piece", {
  attachmentId: integer("attachment_id").notNull(),
  number: integer().notNull(),
  content: blob({ mode: "buffer" }).notNull(),
});

export const emailAttachments = sqliteTable("email_attachment", {
  emailId: integer("email_id").notNull(),
  number: integer().notNull(),
  attachmentId: integer("attachment_id"),
  filename: text().notNull(),
  contentType: text("content_type").notNull(),
  contentId: text("content_id"),
  bytes: integer().notNull(),
  transferEncoding: text("transfer_encoding", { enum: ["base64", "quoted-printable", "identity"] }),
});

export const lanes = sqliteTable("lane", {
  id: integer().primaryKey({ autoIncrement: true }),
  workspaceId: integer("workspace_id").notNull(),
  destination: text().notNull(),
});

/** Statuses of an email that is not final, read from its queue row. */
export const WAITING_STATES = ["scheduled", "queued", "sending", "delivery_delayed"] as const;

export const emailQueue = sqliteTable("email_queue", {
  id: integer().primaryKey(),
  laneId: integer("lane_id").notNull(),
  workspaceId: integer("workspace_id").notNull(),
  domainId: integer("domain_id").notNull(),
  createdAt: integer("created_at").notNull(),
  nextAt: integer("next_at").notNull(),
  sendAt: integer("send_at"),
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
      sql`CASE WHEN in_flight = 1 THEN 'sending' WHEN attempts > 0 THEN 'delivery_delayed' WHEN send_at IS NOT NULL THEN 'scheduled' ELSE 'queued' END`,
    ),
});

export const ATTEMPT_OUTCOMES = ["delivered", "sent", "deferred", "bounced", "failed", "unknown"] as const;

export const attempts = sqliteTable("attempt", {
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
  egress: text(),
});

export const idempotency = sqliteTable("idempotency", {
  workspaceId: integer("workspace_id").notNull(),
  domainId: integer("domain_id").notNull(),
  operation: text().notNull(),
  key: text().notNull(),
  requestHash: blob("request_hash", { mode: "buffer" }).notNull(),
  response: text().notNull(),
  createdAt: integer("created_at").notNull(),
});

export const usage = sqliteTable("usage", {
  workspaceId: integer("workspace_id").notNull(),
  name: text().notNull(),
  day: text().notNull(),
  count: integer().notNull(),
});

export const usageReported = sqliteTable("usage_reported", {
  workspaceId: integer("workspace_id").notNull(),
  day: text().notNull(),
  name: text().notNull(),
  domain: text().notNull(),
  count: integer().notNull(),
  counted: integer().notNull(),
});

export const emailTotals = sqliteTable("email_total", {
  workspaceId: integer("workspace_id").notNull(),
  domainId: integer("domain_id").notNull(),
  status: text({ enum: [...STORED_STATUSES, "scheduled", "delivery_delayed"] }).notNull(),
  count: integer().notNull(),
});

export const SUPPRESSION_CHANNELS = ["email", "sms"] as const;
export const SUPPRESSION_REASONS = [
  "hard_bounce",
  "complaint",
  "manual",
  "opt_out",
  "invalid_number",
  "unsubscribe",
] as const;

const suppression = {
  id: integer().primaryKey({ autoIncrement: true }),
  workspaceId: integer("workspace_id").notNull(),
  channel: text({ enum: SUPPRESSION_CHANNELS }).notNull(),
  address: text().notNull(),
  reason: text({ enum: SUPPRESSION_REASONS }).notNull(),
};

export const suppressions = sqliteTable("suppression", {
  ...suppression,
  /** "": all mail. */
  list: text().notNull().default(""),
  createdAt: integer("created_at").notNull(),
  isErased: integer("is_erased", { mode: "boolean" }).notNull().default(false),
});

export const heldSuppressions = sqliteTable("suppression_held", {
  ...suppression,
  site: text().notNull(),
  createdAt: integer("created_at").notNull(),
});

export const events = sqliteTable("event", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  workspaceId: integer("workspace_id").notNull(),
  type: text().notNull(),
  resource: text().notNull(),
  body: text().notNull(),
  createdAt: integer("created_at").notNull(),
});

export const webhooks = sqliteTable("webhook", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
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
});

export const goneWebhooks = sqliteTable("webhook_gone", { id: integer().primaryKey() });

export const webhookJobs = sqliteTable("webhook_job", {
  id: integer().primaryKey({ autoIncrement: true }),
  webhookId: integer("webhook_id").notNull(),
  eventId: integer("event_id").notNull(),
  nextAt: integer("next_at").notNull(),
  attempts: integer().notNull().default(0),
  inFlight: integer("in_flight", { mode: "boolean" }).notNull().default(false),
  startedAt: integer("started_at"),
  again: text({ enum: ["always", "on_failure"] }),
});

export const webhookDeliveries = sqliteTable("webhook_delivery", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
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
  responseBody: text("response_body"),
});

export const REPORT_KINDS = ["bounce", "delay", "complaint"] as const;

export const emailReports = sqliteTable("email_report", {
  emailId: integer("email_id").notNull(),
  number: integer().notNull(),
  at: integer().notNull(),
  kind: text({ enum: REPORT_KINDS }).notNull(),
  isPermanent: integer("is_permanent", { mode: "boolean" }),
  category: text(),
  code: integer(),
  enhancedCode: text("enhanced_code"),
  diagnostic: text(),
  remoteMta: text("remote_mta"),
  reporter: text(),
  feedbackType: text("feedback_type"),
});

/** Whom a mail that is kept for the operator was for. */
export const INBOUND_MAILBOXES = ["postmaster", "abuse", "fbl", "bounce"] as const;

export const inboundMails = sqliteTable("inbound_mail", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  mailbox: text({ enum: INBOUND_MAILBOXES }).notNull(),
  envelopeFrom: text("envelope_from").notNull(),
  sender: text(),
  subject: text(),
  receivedAt: integer("received_at").notNull(),
  helo: text().notNull(),
  clientAddress: text("client_address").notNull(),
  isTls: integer("is_tls", { mode: "boolean" }).notNull(),
  size: integer().notNull(),
  content: blob({ mode: "buffer" }).notNull(),
});
