// Tables of people: who signs in, to which workspaces they belong, and what they and their programs did.

import { sql } from "drizzle-orm";
import { blob, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The most powerful first. */
export const ROLES = ["owner", "admin", "member", "viewer"] as const;

export const users = sqliteTable("user", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  email: text().notNull(),
  name: text().notNull(),
  isOperator: integer("is_operator", { mode: "boolean" }).notNull().default(false),
  emailVerifiedAt: integer("email_verified_at"),
  passwordHash: text("password_hash"),
  totpSecret: blob("totp_secret", { mode: "buffer" }),
  totpConfirmedAt: integer("totp_confirmed_at"),
  totpLastStep: integer("totp_last_step"),
  language: text(),
  createdAt: integer("created_at").notNull(),
});

export const recoveryCodes = sqliteTable("recovery_code", {
  userId: integer("user_id").notNull(),
  hash: text().notNull(),
});

export const passkeys = sqliteTable("passkey", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  userId: integer("user_id").notNull(),
  credentialId: text("credential_id").notNull(),
  publicKey: blob("public_key", { mode: "buffer" }).notNull(),
  counter: integer().notNull(),
  transports: text().notNull(),
  name: text().notNull(),
  createdAt: integer("created_at").notNull(),
  lastUsedAt: integer("last_used_at"),
});

export const SESSION_METHODS = ["passkey", "password", "password_totp", "recovery_code", "link", "sandbox"] as const;

export const sessions = sqliteTable("session", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  hash: text().notNull(),
  userId: integer("user_id").notNull(),
  method: text({ enum: SESSION_METHODS }).notNull(),
  network: text(),
  userAgent: text("user_agent"),
  createdAt: integer("created_at").notNull(),
  provedAt: integer("proved_at").notNull(),
  lastSeenAt: integer("last_seen_at").notNull(),
});

export const LINK_KINDS = ["setup", "reset", "magic", "email", "sandbox"] as const;

export const links = sqliteTable("link", {
  hash: text().primaryKey(),
  kind: text({ enum: LINK_KINDS }).notNull(),
  userId: integer("user_id"),
  email: text(),
  browserHash: text("browser_hash"),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at").notNull(),
});

export const memberships = sqliteTable("membership", {
  workspaceId: integer("workspace_id").notNull(),
  userId: integer("user_id").notNull(),
  role: text({ enum: ROLES }).notNull(),
  createdAt: integer("created_at").notNull(),
});

export const invitations = sqliteTable("invitation", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  workspaceId: integer("workspace_id").notNull(),
  email: text().notNull(),
  role: text({ enum: ROLES }).notNull(),
  hash: text().notNull(),
  invitedBy: integer("invited_by"),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at").notNull(),
  acceptedAt: integer("accepted_at"),
  acceptedBy: integer("accepted_by"),
});

export const audit = sqliteTable("audit", {
  id: integer().primaryKey({ autoIncrement: true }),
  uid: text().notNull(),
  workspaceId: integer("workspace_id"),
  userId: integer("user_id"),
  actor: text().notNull(),
  action: text().notNull(),
  target: text(),
  detail: text(),
  network: text(),
  createdAt: integer("created_at").notNull(),
});

export const apiRequests = sqliteTable("api_request", {
  id: integer().primaryKey(),
  uid: text().notNull(),
  workspaceId: integer("workspace_id").notNull(),
  keyId: integer("key_id").notNull(),
  method: text().notNull(),
  path: text().notNull(),
  status: integer().notNull(),
  ms: integer().notNull(),
  error: text(),
  createdAt: integer("created_at").notNull(),
  isFailed: integer("is_failed")
    .notNull()
    .generatedAlwaysAs(sql`status >= 400`),
});
