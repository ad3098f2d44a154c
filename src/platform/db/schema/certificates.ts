// Tables of the certificate that pombo gets itself.

import { blob, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

export const acmeAccounts = sqliteTable("acme_account", {
  directory: text().primaryKey(),
  privateKey: blob("private_key", { mode: "buffer" }).notNull(),
  createdAt: integer("created_at").notNull(),
});

export const certificates = sqliteTable("certificate", {
  id: integer().primaryKey(),
  directory: text().notNull(),
  chain: text().notNull(),
  privateKey: blob("private_key", { mode: "buffer" }).notNull(),
  profile: text(),
  issuedAt: integer("issued_at").notNull(),
});
