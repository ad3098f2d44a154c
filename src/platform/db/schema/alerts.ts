// Tables of alerts.

import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

const LEVELS = ["warning", "problem"] as const;

export const alertTroubles = sqliteTable("alert_trouble", {
  id: text().primaryKey(),
  level: text({ enum: LEVELS }).notNull(),
  what: text().notNull(),
  step: text(),
  beganAt: integer("began_at").notNull(),
  toldAt: integer("told_at").notNull(),
  endedAt: integer("ended_at"),
  returns: integer().notNull(),
  unseenSince: integer("unseen_since"),
});

export const alertSeen = sqliteTable("alert_seen", {
  id: text().primaryKey(),
  presentMs: integer("present_ms").notNull(),
  lastAt: integer("last_at").notNull(),
  goneAt: integer("gone_at"),
});

export const alertMessages = sqliteTable("alert_message", {
  id: integer().primaryKey({ autoIncrement: true }),
  target: text().notNull(),
  troubleId: text("trouble_id").notNull(),
  kind: text({ enum: ["began", "worsened", "reminded", "ended"] }).notNull(),
  level: text({ enum: LEVELS }).notNull(),
  what: text().notNull(),
  step: text(),
  beganAt: integer("began_at").notNull(),
  at: integer().notNull(),
  callUid: text("call_uid"),
});
