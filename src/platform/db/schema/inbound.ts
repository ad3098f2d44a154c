import { blob, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

// The tables of what comes in by mail, for schema.ts.

export const REPORT_KINDS = ["bounce", "delay", "complaint"] as const;

export const emailReports = sqliteTable(
  "email_report",
  {
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
  },
  (t) => [primaryKey({ columns: [t.emailId, t.number] })],
);

/** Whom a mail that is kept for the operator was for. */
export const INBOUND_MAILBOXES = ["postmaster", "abuse", "fbl", "bounce"] as const;

export const inboundMails = sqliteTable(
  "inbound_mail",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    uid: text().notNull().unique(),
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
  },
  (t) => [index("inbound_mail_age").on(t.receivedAt)],
);
