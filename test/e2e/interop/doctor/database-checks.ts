// A database that somebody holds locked: messages that come in cannot be kept, though the port answers.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { logTail, type PomboApp } from "../../../support/peers/pombo.ts";
import { waitUntil } from "../../../support/peers/process.ts";
import type { Doctor, Lines } from "./kit.ts";

const WELL_MS = 15_000;
const TRIES = 3;

/** While nothing is sent: a write of pombo's own that comes before the message closes the port for it. */
export async function checkLocked(options: { app: PomboApp; doctor: Doctor; lines: Lines }): Promise<void> {
  const { app, doctor, lines } = options;
  const id = "bounce_letter";
  const what = "somebody has left a transaction open in the database";
  for (let left = TRIES; left > 0; left--) {
    // As sqlite3 does, where one types BEGIN IMMEDIATE and goes for lunch.
    using database = new Database(join(app.dataFolder, "pombo.db"));
    database.run("PRAGMA busy_timeout = 5000");
    database.run("BEGIN IMMEDIATE");
    const report = await doctor.look("bounce");
    const isReached = report.findings.some((each) => each.id === "bounce_port" && each.level === "ok");
    if (isReached || left === 1) {
      const found = lines.expect(report, { id, level: "problem", what });
      expectCause(found?.step ?? "", options);
      left = 0;
    }
    database.run("ROLLBACK");
    // It tries a write each second.
    const isWell = async () => (await doctor.look("health")).findings.every(({ level }) => level === "ok");
    await waitUntil("the database is written again", WELL_MS, isWell);
  }
  lines.expect(await doctor.look(id), { id, level: "ok", what: "the transaction is over", isCure: true });
}

/** The step begins with the log, and goes on with a command for what the log says. */
function expectCause(step: string, { app, lines }: { app: PomboApp; lines: Lines }): void {
  lines.claim("bounce_letter: its step", /^Look at the log: .* pombo doctor --only health,disk/.test(step), () => step);
  const log = app.process.output();
  lines.claim("bounce_letter: the log says why", log.includes("database is locked"), () => logTail(app));
}
