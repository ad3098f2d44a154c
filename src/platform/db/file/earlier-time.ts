// What follows for a database of an earlier time: one that was restored, or put back.

import type { Database } from "bun:sqlite";

/**
 * Inside a transaction, before anything is sent from the database and anybody signs in to it. Messages that wait in it may
 * have been sent since, and are possible duplicates when they are sent again. Who was removed since must not come back:
 * sessions, links and open invitations end, and people and keys are to be reviewed. No store may have cached a row yet.
 */
export function settleEarlierTime(sqlite: Pick<Database, "run">, now: number): void {
  sqlite.run("UPDATE email SET possible_duplicate = 1 WHERE id IN (SELECT id FROM email_queue)");
  sqlite.run(
    "UPDATE sms_message SET possible_duplicate = 1 WHERE id IN (SELECT message_id FROM sms_segment WHERE state = 'ready')",
  );
  // As if each had been sent a second time: one more lost response gives it up.
  sqlite.run("UPDATE sms_segment SET resends = MAX(resends, 1) WHERE state = 'ready'");
  sqlite.run("DELETE FROM session");
  sqlite.run("DELETE FROM link");
  sqlite.run("DELETE FROM domain_share");
  sqlite.run("DELETE FROM invitation WHERE accepted_at IS NULL");
  sqlite.run("INSERT OR REPLACE INTO instance (name, value) VALUES ('access_review', ?)", [String(now)]);
}
