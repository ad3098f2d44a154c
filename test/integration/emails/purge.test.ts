import { expect, test } from "bun:test";
import { openContentStore } from "../../../src/modules/emails/content/store.ts";
import type { Commit } from "../../../src/platform/db/group-commit.ts";
import { createWalkingPurge, PURGE_EVERY_MS, walkBatch } from "../../../src/platform/db/purge.ts";
import { SkippedRows } from "../../../src/platform/db/skipped-rows.ts";
import { temporaryDatabase, turn } from "../../support/db/temporary.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = PURGE_EVERY_MS;
/** Longer than the pause between two batches. */
const PAUSE_MS = 50;

function start() {
  const temporary = temporaryDatabase();
  const { db, committer } = temporary;
  const clock = fakeClock(NOON);
  const bugs: unknown[] = [];
  let failures = 0;
  const contents = openContentStore(db, () => undefined);
  const context = {
    commit: ((run) =>
      failures-- > 0
        ? committer.commit(() => {
            run();
            throw new Error("rolled back");
          })
        : committer.commit(run)) as Commit,
    clock,
    steady: clock,
    log: { event: () => undefined, error: (_: string, error: unknown) => void bugs.push(error) },
  };
  const skipped = new SkippedRows({ ...context, component: "database" });
  const purge = createWalkingPurge({ ...context, skipped }, "contents", contents, () => clock.now() - 30 * DAY_MS);
  purge.start();
  const insertEmail = db.sqlite.query(
    `INSERT INTO email (uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
       recipient_address, subject, return_path, created_at, status, ended_at)
     VALUES (?, 1, 1, 'a', 'a', 'a', 'b', 'b', 's', 'r', ?, ?, ?) RETURNING id`,
  );
  const insertBody = db.sqlite.query(
    "INSERT INTO email_body (email_id, content, html_bytes, encoding) VALUES (?, X'61', 1, 'plain')",
  );
  return {
    clock,
    bugs,
    stop: () => purge.stop(),
    run: (statement: string) => db.sqlite.run(statement),
    issue: () => skipped.issue,
    fail: (times: number) => (failures = times),
    /** Emails accepted, and final, so long before noon; not final: null. */
    fill: (count: number, acceptedMs: number, finalMs: number | null) =>
      db.sqlite.transaction(() => {
        for (let n = 0; n < count; n += 1) {
          const status = finalMs === null ? "queued" : "delivered";
          const endedAt = finalMs === null ? null : NOON - finalMs;
          const row = insertEmail.get(Bun.randomUUIDv7(), NOON - acceptedMs, status, endedAt) as { id: number };
          insertBody.run(row.id);
        }
      })(),
    left: () => db.sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM email_body").get()?.n,
    emails: () => db.sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM email").get()?.n,
    async pass(ms: number) {
      clock.advance(ms);
      for (let n = 0; n < 80; n += 1) {
        await turn();
        clock.advance(PAUSE_MS);
      }
    },
    [Symbol.dispose]: () => temporary[Symbol.dispose](),
  };
}

test("what has been final for so long loses its content in shares; what has not, and the emails, stay", async () => {
  using on = start();
  on.fill(900, 40 * DAY_MS, 39 * DAY_MS);
  // Accepted long ago and under way still, more than a share of them: they stand in nobody's way.
  on.fill(500, 35 * DAY_MS, null);
  on.fill(300, 35 * DAY_MS, 31 * DAY_MS);
  on.fill(50, 35 * DAY_MS, 29 * DAY_MS);
  on.fill(70, DAY_MS, DAY_MS);
  await on.pass(EVERY_MS);
  expect([on.left(), on.emails(), on.bugs]).toEqual([500 + 50 + 70, 1_820, []]);
  await on.pass(DAY_MS + EVERY_MS);
  expect(on.left()).toBe(500 + 70);
});

test("a batch whose commit fails is looked at again, not passed by", async () => {
  using on = start();
  on.fill(450, 40 * DAY_MS, 39 * DAY_MS);
  on.fail(1);
  await on.pass(EVERY_MS);
  expect([on.left(), on.bugs]).toEqual([0, []]);
});

test("a row that cannot be removed stays, is logged once and is an issue; all others of its batch are removed", async () => {
  using on = start();
  on.fill(100, 40 * DAY_MS, 39 * DAY_MS);
  on.run(
    "CREATE TRIGGER poison BEFORE DELETE ON email_body WHEN OLD.email_id = 33 BEGIN SELECT RAISE(ABORT, 'poisoned'); END",
  );
  for (let pass = 0; pass < 3; pass += 1) await on.pass(EVERY_MS);
  expect([on.left(), on.bugs.length]).toEqual([1, 1]);
  expect(on.issue()?.reason).toContain("one row of its database (the first: contents 33;");
  on.run("DROP TRIGGER poison");
  await on.pass(EVERY_MS);
  expect(on.left()).toBe(0);
  on.clock.advance(2 * 60 * 60_000);
  expect(on.issue()).toBeNull();
});

test("a stop ends it, also one that comes while a share is being removed", async () => {
  using on = start();
  on.clock.advance(EVERY_MS);
  await on.stop();
  await turn(3);
  expect(on.clock.pending).toBe(0);
});

test("an email without its content is shown as before, with html and text null", async () => {
  await using pombo = await startInstance();
  const { body: sent } = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  const path = `/api/v1/emails/${sent.data.id}`;
  await waitUntil(
    "it is delivered",
    10_000,
    async () => (await pombo.workspace.call("GET", path)).body.data.status === "delivered",
  );
  const before = (await pombo.workspace.call("GET", path)).body.data;
  expect(before.text).toBeString();
  const contents = openContentStore(pombo.app.db, () => undefined);
  await pombo.app.committer.commit(() => walkBatch(contents, { after: 0, limit: 100, notBefore: Date.now() + DAY_MS }));
  const after = await pombo.workspace.call("GET", path);
  expect([after.status, after.body.data]).toEqual([200, { ...before, html: null, text: null }]);
  expect((await pombo.workspace.call("GET", `${path}/events`)).status).toBe(200);
});
