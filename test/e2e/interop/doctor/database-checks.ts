// A database that somebody holds locked: messages that come in cannot be kept, though the port answers.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { PomboApp } from "../../../support/peers/pombo.ts";
import type { Doctor, Lines } from "./kit.ts";

export async function checkLocked(options: { app: PomboApp; doctor: Doctor; lines: Lines }): Promise<void> {
  const { app, doctor, lines } = options;
  const id = "bounce_letter";
  const what = "somebody has left a transaction open in the database";
  // As sqlite3 does, where one types BEGIN IMMEDIATE and goes for lunch.
  const database = new Database(join(app.dataFolder, "pombo.db"));
  database.run("BEGIN IMMEDIATE");
  try {
    const found = lines.expect(await doctor.look("bounce"), { id, level: "problem", what });
    const step = found?.step ?? "";
    const only = /pombo doctor --only (\S+) shows/.exec(step)?.[1];
    lines.claim(`${id}: its step names a command`, only !== undefined, () => step);
    const about = { id: "health", subject: "database" } as const;
    const shown = lines.expect(await doctor.look(only), { ...about, level: "problem", what });
    const seen = shown?.seen ?? "";
    lines.claim(`${id}: which shows that the database cannot be written`, /cannot be written/.test(seen), () => seen);
  } finally {
    database.run("ROLLBACK");
    database.close();
  }
  const cured = await doctor.look(id);
  lines.expect(cured, { id, level: "ok", what: "the transaction is over", isCure: true });
}
