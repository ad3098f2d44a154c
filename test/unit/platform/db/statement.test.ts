import { expect, test } from "bun:test";
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import type { Orm } from "../../../../src/platform/db/orm.ts";
import { emailBodies, emailQueue, emails } from "../../../../src/platform/db/schema/schema.ts";
import { prepare, prepareAtOnce } from "../../../../src/platform/db/statement.ts";

// What our prepared queries give must be what drizzle's own give: the same queries, asked both ways.

function start() {
  const db = openDatabase(":memory:");
  db.sqlite.run(
    `INSERT INTO email (uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient, recipient_address, subject, return_path, created_at, status, possible_duplicate)
     VALUES ('u1', 1, 1, 's', 's', 'd', 'r', 'r', 'Olá', 'p', 5, 'queued', 1), ('u2', 1, 1, 's', 's', 'd', 'r', 'r', 'x', 'p', 6, 'queued', 0)`,
  );
  db.sqlite.run("INSERT INTO email_body (email_id, content, html_bytes, encoding) VALUES (1, X'0102', 2, 'plain')");
  db.sqlite.run(
    "INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at, in_flight) VALUES (2, 1, 1, 1, 6, 1, 2, 1)",
  );
  return db;
}

test("rows of one table come as drizzle's, booleans and null included", () => {
  const db = start();
  const query = (orm: Orm) =>
    orm
      .select()
      .from(emails)
      .where(eq(emails.uid, sql.placeholder("uid")));
  const [ours, theirs] = [prepare(query(db.orm)), query(drizzle(db.sqlite)).prepare()];
  for (const uid of ["u1", "u2", "u3"]) expect(ours.get({ uid })).toEqual(theirs.get({ uid }));
  expect(ours.all({ uid: "u1" })).toEqual(theirs.all({ uid: "u1" }));
  expect(ours.get({ uid: "u1" })?.possibleDuplicate).toBe(true);
  db.close();
});

test("joined rows come as drizzle's: what a left join did not find is null", () => {
  const db = start();
  const query = (orm: Orm) =>
    orm
      .select({ email: emails, body: emailBodies, queue: emailQueue })
      .from(emails)
      .leftJoin(emailBodies, eq(emailBodies.emailId, emails.id))
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
      .where(eq(emails.id, sql.placeholder("id")));
  const [ours, theirs] = [prepare(query(db.orm)), query(drizzle(db.sqlite)).prepare()];
  for (const id of [1, 2, 3]) expect(ours.get({ id })).toEqual(theirs.get({ id }));
  const found = ours.get({ id: 1 });
  expect(found?.queue).toBeNull();
  expect(Buffer.isBuffer(found?.body?.content)).toBe(true);
  db.close();
});

test("named fields and expressions come as drizzle's", () => {
  const db = start();
  const query = (orm: Orm) =>
    orm
      .select({ id: emails.id, twice: sql<number>`${emails.createdAt} * 2`, row: { isInFlight: emailQueue.inFlight } })
      .from(emails)
      .leftJoin(emailQueue, eq(emailQueue.id, emails.id));
  expect(prepare(query(db.orm)).all({})).toEqual(query(drizzle(db.sqlite)).prepare().all({}));
  db.close();
});

test("a write tells what it did, and values are encoded as drizzle does", () => {
  const db = start();
  const update = prepare(
    db.orm
      .update(emailQueue)
      .set({ inFlight: sql`${sql.placeholder("inFlight")}` })
      .where(eq(emailQueue.id, sql.placeholder("id"))),
  );
  expect(update.run({ inFlight: 0, id: 2 }).changes).toBe(1);
  expect(update.run({ inFlight: 0, id: 99 }).changes).toBe(0);
  const insert = prepare(
    db.orm.insert(emailQueue).values({
      id: sql.placeholder("id"),
      laneId: 1,
      workspaceId: 1,
      domainId: 1,
      createdAt: 6,
      nextAt: 1,
      expiresAt: 1,
      inFlight: sql.placeholder("inFlight"),
    }),
  );
  expect(insert.run({ id: 7, inFlight: true }).lastInsertRowid).toBe(7);
  expect(db.sqlite.query("SELECT in_flight FROM email_queue WHERE id = 7").get()).toEqual({ in_flight: 1 });
  db.close();
});

test("a value that was forgotten is a bug that says which", () => {
  const db = start();
  const query = prepare(
    db.orm
      .select()
      .from(emails)
      .where(eq(emails.uid, sql.placeholder("uid"))),
  );
  expect(() => query.get({})).toThrow("uid");
  db.close();
});

test("a statement is prepared when it is first asked; at once where all are to be found to fit", () => {
  const db = start();
  const make = () => prepare(db.orm.select({ id: sql<number>`no_such_column` }).from(emails));
  expect(() => make().all()).toThrow("no_such_column");
  make();
  {
    using _all = prepareAtOnce();
    expect(make).toThrow("no_such_column");
  }
  make();
  db.close();
});
