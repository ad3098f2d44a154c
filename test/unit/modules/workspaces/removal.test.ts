import { expect, test } from "bun:test";
import { openAttachmentStore } from "../../../../src/modules/emails/attachments/store.ts";
import { openDomainStore } from "../../../../src/modules/domains/store.ts";
import { openKeyStore } from "../../../../src/modules/api-keys/store.ts";
import { createWorkspacePurge } from "../../../../src/modules/workspaces/purge.ts";
import { openWorkspacePurgeStore } from "../../../../src/modules/workspaces/purge-store.ts";
import { openWorkspaceStore } from "../../../../src/modules/workspaces/store.ts";
import { type TemporaryDatabase, temporaryDatabase, turn } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

/** One row of each table that says whose it is; `{w}` is the workspace. Domain 10 is workspace 1's, 20 workspace 2's. */
const ROWS: Record<string, string> = {
  domain: "(id, uid, workspace_id, name, status, created_at) VALUES ({w}0, 'd{w}', {w}, 'd{w}.test', 'pending', 0)",
  api_key:
    "(uid, workspace_id, domain_id, name, prefix, hash, created_at) VALUES ('k{w}', {w}, {w}0, 'x', 'x', 'h{w}', 0)",
  attachment: "(id, workspace_id, bytes, stored_bytes, encoding, staged_at) VALUES ({w}, {w}, 1, 1, 'plain', 0)",
  email_total: "VALUES ({w}, {w}0, 'delivered', 5)",
  usage: "VALUES ({w}, 'emails', '2026-11-21', 5)",
  usage_reported: "VALUES ({w}, '2026-11-21', 'complaints', 'example.com', 5, 2)",
  idempotency: "VALUES ({w}, 0, 'emails', 'k', x'00', '{}', 0)",
  suppression: "(workspace_id, channel, address, reason, created_at) VALUES ({w}, 'email', 'a@b', 'manual', 0)",
  suppression_held:
    "(workspace_id, channel, address, reason, site, created_at) VALUES ({w}, 'email', 'a@b', 'hard_bounce', 'x', 0)",
  sender_id: "VALUES ({w}, 'Loja', 1, 0, NULL)",
  sms_credit: "(workspace_id, kind, amount, balance, note, created_at) VALUES ({w}, 'grant', 5, 5, NULL, 0)",
  sms_message: `(id, uid, workspace_id, recipient, sender, body, encoding, alphabet, segments, credits, expires_at,
    created_at, status)
    VALUES ({w}, 'm{w}', {w}, '+258841234567', 'Loja', 'x', 'gsm7', 'gsm', 1, 1, 9, 0, 'sent')`,
  sms_segment: `(message_id, seq, parts, workspace_id, payload, umr, state, route, priority, next_at)
    VALUES ({w}, 1, 1, {w}, x'78', 0, 'accepted', 'r', 'bulk', 0)`,
  sms_inbound: `(uid, workspace_id, route, sender, recipient, body, is_whole, received_at)
    VALUES ('i{w}', {w}, 'r', '+258841234567', '84000', 'x', 1, 0)`,
  webhook:
    "(uid, workspace_id, url, events, is_enabled, secret, created_at) VALUES ('h{w}', {w}, 'https://x/', '[]', 1, x'00', 0)",
  membership: "VALUES ({w}, (SELECT id FROM user), 'owner', 0)",
  invitation: `(uid, workspace_id, email, role, hash, created_at, expires_at)
    VALUES ('t{w}', {w}, 'ana@example.com', 'member', 'h{w}', 0, 9)`,
  api_request:
    "(uid, workspace_id, key_id, method, path, status, ms, created_at) VALUES ('r{w}', {w}, 1, 'GET', '/', 200, 1, 0)",
  audit: "(uid, workspace_id, actor, action, created_at) VALUES ('a{w}', {w}, 'operator', 'key.created', 0)",
  event: "(uid, workspace_id, type, resource, body, created_at) VALUES ('v{w}', {w}, 'x', 'x', '{}', 0)",
  lane: "(id, workspace_id, destination) VALUES ({w}, {w}, 'example.com')",
  email: `(id, uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient, recipient_address, subject,
    return_path, created_at, status) VALUES ({w}, 'e{w}', {w}, {w}0, 'a', 'a', 'a', 'a', 'a', 'a', 'a', 0, 'queued')`,
  email_queue:
    "(id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at) VALUES ({w}, {w}, {w}, {w}0, 0, 0, 9)",
};
/** Rows that say it by another row. */
const HANGING: Record<string, string> = {
  dkim_key: "VALUES ({w}0, 'pombo1', 'rsa-sha256', 'x', x'00')",
  email_body: "VALUES ({w}, x'00', 1, NULL, 'plain', NULL)",
  email_attachment: "VALUES ({w}, 0, {w}, 'a.pdf', 'application/pdf', NULL, 1, NULL)",
  attachment_piece: "VALUES ({w}, 0, x'00')",
  email_report: "(email_id, number, at, kind) VALUES ({w}, 1, 0, 'delay')",
  attempt: "(email_id, number, started_at, ended_at, outcome) VALUES ({w}, 1, 0, 0, 'deferred')",
};

function start(of: TemporaryDatabase = temporaryDatabase()) {
  const { sqlite } = of.db;
  sqlite.run("INSERT OR IGNORE INTO user (uid, email, name, created_at) VALUES ('p', 'ana@example.com', 'Ana', 0)");
  const clock = fakeClock();
  const forgotten: number[] = [];
  const events: string[] = [];
  const bugs: unknown[] = [];
  const removal = createWorkspacePurge({
    purges: openWorkspacePurgeStore(of.db, {
      sms: { forget: () => undefined },
      attachments: openAttachmentStore(of.db, () => undefined),
    }),
    workspaces: openWorkspaceStore(of.db),
    keys: openKeyStore(of.db),
    domains: openDomainStore(of.db),
    commit: of.committer.commit,
    clock,
    log: { event: (name) => void events.push(name), error: (_, error) => void bugs.push(error) },
    forgetLanes: (_, ids) => void forgotten.push(...ids),
  });
  const count = (table: string) =>
    sqlite.query<{ count: number }, []>(`SELECT COUNT(*) AS count FROM "${table}"`).get()?.count ?? 0;
  const step = async (ms = 20) => {
    clock.advance(ms);
    await turn(4);
  };
  return {
    of,
    sqlite,
    clock,
    removal,
    forgotten,
    events,
    bugs,
    count,
    step,
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

function addWorkspace({ sqlite }: { sqlite: TemporaryDatabase["db"]["sqlite"] }, id: number, isDeleted = false): void {
  sqlite.run(
    `INSERT INTO workspace (id, uid, name, plan, created_at, deleted_at) VALUES (${id}, 'w${id}', 'x', 'launch', 0, ${isDeleted ? 1 : "NULL"})`,
  );
}

function seed({ sqlite }: { sqlite: TemporaryDatabase["db"]["sqlite"] }, workspaceId: number): void {
  for (const [table, row] of Object.entries({ ...ROWS, ...HANGING }))
    sqlite.run(`INSERT INTO ${table} ${row.replaceAll("{w}", String(workspaceId))}`);
}

/** Emails that wait, with a body of so many bytes. */
function addEmails(
  { sqlite }: { sqlite: TemporaryDatabase["db"]["sqlite"] },
  workspaceId: number,
  count: number,
  bytes = 1,
): void {
  sqlite.run(
    `WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ${999 + count})
     INSERT INTO email (id, uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
       recipient_address, subject, return_path, created_at, status)
     SELECT i, 'u' || i, ${workspaceId}, 1, 'a', 'a', 'a', 'a', 'a', 'a', 'a', 0, 'queued' FROM n`,
  );
  const own = `FROM email WHERE workspace_id = ${workspaceId} AND id >= 1000`;
  sqlite.run(`INSERT INTO email_body SELECT id, zeroblob(${bytes}), 1, NULL, 'plain', NULL ${own}`);
  sqlite.run(
    `INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at)
     SELECT id, ${workspaceId}, workspace_id, domain_id, 0, 0, 9 ${own}`,
  );
}

test("every table that says whose its rows are is removed from, and nobody else's rows are", async () => {
  using on = start();
  const owned = on.sqlite
    .query<{ name: string }, []>(
      `SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'workspace_id' WHERE m.type = 'table'`,
    )
    .all()
    .map(({ name }) => name);
  expect(owned.toSorted()).toEqual(Object.keys(ROWS).toSorted());
  for (const id of [1, 2]) {
    addWorkspace(on, id, id === 1);
    seed(on, id);
  }
  on.removal.start();
  for (let i = 0; i < 10; i++) await on.step();
  for (const table of ["workspace", ...Object.keys(ROWS), ...Object.keys(HANGING)])
    expect([table, on.count(table)]).toEqual([table, 1]);
  expect(on.sqlite.query("SELECT id FROM workspace").all()).toEqual([{ id: 2 }]);
  expect(on.sqlite.query("SELECT workspace_id FROM email").all()).toEqual([{ workspace_id: 2 }]);
  expect([on.forgotten, on.events, on.bugs]).toEqual([[1], ["workspace.removed"], []]);
  expect(on.clock.pending).toBe(0);
});

test("a share is at most two hundred emails, or one megabyte of them, with a pause after it", async () => {
  using on = start();
  addWorkspace(on, 1, true);
  addEmails(on, 1, 1_000);
  on.removal.start();
  await turn(4);
  const counts = [on.count("email")];
  // Without the clock nothing goes on.
  await turn(20);
  for (let i = 0; i < 5; i++) {
    await on.step();
    counts.push(on.count("email"));
  }
  expect(counts).toEqual([800, 600, 400, 200, 0, 0]);
  addWorkspace(on, 2, true);
  addEmails(on, 2, 20, 1024 * 1024);
  on.removal.trigger();
  await on.step();
  await on.step();
  expect(on.count("email")).toBeGreaterThanOrEqual(17);
  for (let i = 0; i < 30; i++) await on.step();
  expect([on.count("email"), on.count("email_body"), on.count("workspace")]).toEqual([0, 0, 0]);
});

test("what is being sent stays until its attempt is over, and then nothing of it is left", async () => {
  using on = start();
  addWorkspace(on, 1, true);
  seed(on, 1);
  addEmails(on, 1, 10);
  on.sqlite.run("UPDATE email_queue SET in_flight = 1 WHERE id = 1");
  on.removal.start();
  for (let i = 0; i < 200; i++) await on.step(1_000);
  expect([on.count("email"), on.count("email_queue"), on.count("lane"), on.count("email_total")]).toEqual([1, 1, 1, 1]);
  // Its attempt was put off, and wrote what it had to.
  on.sqlite.run("UPDATE email_queue SET in_flight = 0");
  on.sqlite.run(
    "INSERT INTO attempt (email_id, number, started_at, ended_at, outcome) VALUES (1, 2, 0, 0, 'deferred')",
  );
  for (let i = 0; i < 8; i++) await on.step(1_000);
  for (const table of ["workspace", "email", "attempt", "email_queue", "email_total", "lane"])
    expect([table, on.count(table)]).toEqual([table, 0]);
});

test("trouble with the storage, or a bug, ends nothing: it goes on a minute later", async () => {
  using on = start();
  addWorkspace(on, 1, true);
  addEmails(on, 1, 300);
  on.removal.start();
  await turn(4);
  expect(on.count("email")).toBe(100);
  on.sqlite.run("PRAGMA query_only = ON");
  await on.step();
  on.sqlite.run("PRAGMA query_only = OFF");
  await on.step(59_000);
  expect([on.count("email"), on.bugs.length]).toEqual([100, 0]);
  for (let i = 0; i < 5; i++) await on.step(2_000);
  expect([on.count("email"), on.count("workspace")]).toEqual([0, 0]);
});

test("two that are deleted in a row are both removed, also when the second comes in the middle of the first", async () => {
  using on = start();
  addWorkspace(on, 1, true);
  addEmails(on, 1, 500);
  on.removal.start();
  await turn(2);
  addWorkspace(on, 2, true);
  seed(on, 2);
  on.removal.trigger();
  for (let i = 0; i < 20; i++) await on.step();
  expect([on.count("workspace"), on.count("email"), on.count("suppression")]).toEqual([0, 0, 0]);
});

test("a stop in the middle leaves the rest to the next start", async () => {
  using on = start();
  addWorkspace(on, 1, true);
  seed(on, 1);
  addEmails(on, 1, 500);
  on.removal.start();
  await turn(4);
  void on.removal.stop();
  await turn(4);
  expect([on.clock.pending, on.count("workspace"), on.count("email") > 0]).toEqual([0, 1, true]);
  const next = start(on.of);
  next.removal.start();
  for (let i = 0; i < 10; i++) await next.step();
  expect([on.count("workspace"), on.count("email"), on.count("dkim_key")]).toEqual([0, 0, 0]);
});
