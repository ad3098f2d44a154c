// Rows of people, written as a test needs them.

import type { Database } from "bun:sqlite";

const USER = "(SELECT id FROM user WHERE email = 'ana@example.com')";

/** A person with a password and an authenticator app, a session, a link, an invitation that she accepted, and one that is open. */
export function addAccess(sqlite: Database): void {
  const uid = () => Bun.randomUUIDv7();
  sqlite.run(
    `INSERT INTO user (uid, email, name, is_operator, password_hash, totp_secret, totp_confirmed_at, created_at)
     VALUES (?, 'ana@example.com', 'Ana', 1, 'x', x'00', 1, 1)`,
    [uid()],
  );
  sqlite.run(
    `INSERT INTO session (uid, hash, user_id, method, created_at, proved_at, last_seen_at) VALUES (?, ?, ${USER}, 'password', 1, 1, 1)`,
    [uid(), uid()],
  );
  const later = Date.now() + 3_600_000;
  sqlite.run(`INSERT INTO link (hash, kind, user_id, created_at, expires_at) VALUES (?, 'reset', ${USER}, 1, ?)`, [
    uid(),
    later,
  ]);
  for (const acceptedAt of [null, 2])
    sqlite.run(
      `INSERT INTO invitation (uid, workspace_id, email, role, hash, created_at, expires_at, accepted_at)
       VALUES (?, 1, 'rui@example.com', 'admin', ?, 1, ?, ?)`,
      [uid(), uid(), later, acceptedAt],
    );
}

export function countAccess(sqlite: Database) {
  const count = (from: string) => sqlite.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${from}`).get()?.n;
  return {
    users: count("user"),
    sessions: count("session"),
    links: count("link"),
    open: count("invitation WHERE accepted_at IS NULL"),
    accepted: count("invitation WHERE accepted_at IS NOT NULL"),
    review: count("instance WHERE name = 'access_review' AND value <> ''"),
  };
}

/** The first link is that of the set-up. */
export const ALL_ACCESS = { users: 1, sessions: 1, links: 1, open: 1, accepted: 1, review: 0 };
export const ENDED_ACCESS = { users: 1, sessions: 0, links: 0, open: 0, accepted: 1, review: 1 };
