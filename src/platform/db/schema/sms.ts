// The tables of SMS, as schema.ts has the others.

import { blob, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { SMS_PRIORITIES } from "./schema.ts";

const CREDIT_KINDS = ["grant", "reservation", "refund", "writeoff"] as const;

export const smsCredits = sqliteTable("sms_credit", {
  id: integer().primaryKey({ autoIncrement: true }),
  workspaceId: integer("workspace_id").notNull(),
  kind: text({ enum: CREDIT_KINDS }).notNull(),
  amount: integer().notNull(),
  balance: integer().notNull(),
  messageId: integer("message_id"),
  segments: integer(),
  note: text(),
  createdAt: integer("created_at").notNull(),
});

export const senderIds = sqliteTable("sender_id", {
  workspaceId: integer("workspace_id").notNull(),
  name: text().notNull(),
  isDefault: integer("is_default", { mode: "boolean" }).notNull(),
  createdAt: integer("created_at").notNull(),
  priority: text({ enum: SMS_PRIORITIES }),
});

export const SMS_STATUSES = ["queued", "sending", "sent", "delivered", "undelivered", "failed", "expired"] as const;
const SMS_ENCODINGS = ["gsm7", "ucs2"] as const;
/** Which tables of seven bits: src/modules/sms/encoding/gsm-alphabet.ts. */
const SMS_ALPHABETS = ["gsm", "pt-single", "pt-locking", "pt-both"] as const;

/** The network's words for a segment, and for a whole message. */
export const RECEIPT_STATES = [
  "enroute",
  "accepted",
  "unknown",
  "delivered",
  "expired",
  "deleted",
  "undeliverable",
  "rejected",
] as const;
export const DELIVERY_STATES = ["pending", ...RECEIPT_STATES, "partially_delivered"] as const;
/** Why an SMS was not delivered. */
export const FAILURE_CATEGORIES = [
  "invalid_destination",
  "unknown_subscriber",
  "absent_subscriber",
  "handset_error",
  "blocked",
  "opted_out",
  "sender_rejected",
  "content_rejected",
  "throttled",
  "provider_auth",
  "provider_unavailable",
  "provider_error",
  "protocol_error",
  "expired",
  "receipt_timeout",
  "outcome_unknown",
  "internal_error",
] as const;

export const smsMessages = sqliteTable("sms_message", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  workspaceId: integer("workspace_id").notNull(),
  recipient: text().notNull(),
  sender: text().notNull(),
  body: text().notNull(),
  sentText: text("sent_text"),
  encoding: text({ enum: SMS_ENCODINGS }).notNull(),
  alphabet: text({ enum: SMS_ALPHABETS }).notNull(),
  segments: integer().notNull(),
  credits: integer().notNull(),
  expiresAt: integer("expires_at").notNull(),
  createdAt: integer("created_at").notNull(),
  status: text({ enum: SMS_STATUSES }).notNull(),
  deliveryState: text("delivery_state", { enum: DELIVERY_STATES }),
  failureCategory: text("failure_category", { enum: FAILURE_CATEGORIES }),
  providerId: text("provider_id"),
  providerStatus: text("provider_status"),
  providerErrorCode: text("provider_error_code"),
  failedReason: text("failed_reason"),
  possibleDuplicate: integer("possible_duplicate", { mode: "boolean" }).notNull().default(false),
  sentAt: integer("sent_at"),
  deliveredAt: integer("delivered_at"),
  lastEventAt: integer("last_event_at"),
  isFinal: integer("is_final", { mode: "boolean" }).notNull().default(false),
  isHelp: integer("is_help", { mode: "boolean" }).notNull().default(false),
  isErased: integer("is_erased", { mode: "boolean" }).notNull().default(false),
  keyId: integer("key_id"),
  userId: integer("user_id"),
});

const SEGMENT_STATES = ["ready", "in_flight", "accepted", "unknown", "delivered", "failed", "expired"] as const;
const SEGMENT_CREDITS = ["reserved", "refunded", "written_off"] as const;

export const smsSegments = sqliteTable("sms_segment", {
  messageId: integer("message_id").notNull(),
  seq: integer().notNull(),
  parts: integer().notNull(),
  workspaceId: integer("workspace_id").notNull(),
  payload: blob({ mode: "buffer" }).notNull(),
  reference: integer(),
  umr: integer().notNull(),
  state: text({ enum: SEGMENT_STATES }).notNull(),
  route: text().notNull(),
  link: text(),
  priority: text({ enum: SMS_PRIORITIES }).notNull(),
  attempts: integer().notNull().default(0),
  resends: integer().notNull().default(0),
  reroutes: integer().notNull().default(0),
  retries: text({ mode: "json" }).$type<Record<string, number>>(),
  nextAt: integer("next_at").notNull(),
  leaseEpoch: integer("lease_epoch").notNull().default(0),
  submittedAt: integer("submitted_at"),
  acceptedAt: integer("accepted_at"),
  smscId: text("smsc_id"),
  smscIdKey: text("smsc_id_key"),
  smscIdKey2: text("smsc_id_key2"),
  expectsReceipt: integer("expects_receipt", { mode: "boolean" }).notNull().default(true),
  receiptState: text("receipt_state", { enum: RECEIPT_STATES }),
  receiptAt: integer("receipt_at"),
  overdue: text({ enum: ["sent", "undelivered"] }),
  category: text({ enum: FAILURE_CATEGORIES }),
  providerStatus: text("provider_status"),
  providerCode: text("provider_code"),
  reason: text(),
  changedAt: integer("changed_at"),
  credit: text({ enum: SEGMENT_CREDITS }).notNull().default("reserved"),
});

export const smsReferences = sqliteTable("sms_reference", {
  recipient: text().primaryKey(),
  last: integer().notNull(),
});

export const smsReceiptOrphans = sqliteTable("sms_receipt_orphan", {
  id: integer().primaryKey({ autoIncrement: true }),
  route: text().notNull(),
  smscId: text("smsc_id"),
  smscIdKey: text("smsc_id_key"),
  numberKey: text("number_key"),
  umr: integer(),
  receiptState: text("receipt_state", { enum: RECEIPT_STATES }).notNull(),
  receipt: text().notNull(),
  raw: blob({ mode: "buffer" }).notNull(),
  receivedAt: integer("received_at").notNull(),
});

export const smsInboundParts = sqliteTable("sms_inbound_part", {
  route: text().notNull(),
  source: text().notNull(),
  destination: text().notNull(),
  scheme: text({ enum: ["udh8", "udh16", "sar"] }).notNull(),
  reference: integer().notNull(),
  total: integer().notNull(),
  seq: integer().notNull(),
  dataCoding: integer("data_coding").notNull(),
  alphabet: text({ enum: SMS_ALPHABETS }).notNull(),
  payload: blob({ mode: "buffer" }).notNull(),
  receivedAt: integer("received_at").notNull(),
});

export const smsInbound = sqliteTable("sms_inbound", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  workspaceId: integer("workspace_id"),
  route: text().notNull(),
  sender: text().notNull(),
  recipient: text().notNull(),
  body: text().notNull(),
  isWhole: integer("is_whole", { mode: "boolean" }).notNull(),
  raw: blob({ mode: "buffer" }),
  receivedAt: integer("received_at").notNull(),
});

export const smsSeen = sqliteTable("sms_seen", {
  id: integer().primaryKey({ autoIncrement: true }),
  route: text().notNull(),
  digest: text().notNull(),
  reference: text(),
  session: text().notNull(),
  sequence: integer().notNull(),
  receivedAt: integer("received_at").notNull(),
});

export const smppLearned = sqliteTable("smpp_learned", {
  route: text().notNull(),
  name: text().notNull(),
  value: text().notNull(),
  learnedAt: integer("learned_at").notNull(),
});

export const smppLinkEvents = sqliteTable("smpp_link_event", {
  id: integer().primaryKey({ autoIncrement: true }),
  link: text().notNull(),
  kind: text().notNull(),
  detail: text(),
  createdAt: integer("created_at").notNull(),
});
