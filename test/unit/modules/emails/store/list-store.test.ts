import { describe, expect, test } from "bun:test";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { type Db, openDatabase } from "../../../../../src/platform/db/open.ts";
import { type EmailFilter, openEmailLists } from "../../../../../src/modules/emails/store/list-store.ts";
import { EMAIL_STATUSES } from "../../../../../src/modules/emails/api/schema.ts";

const WORKSPACE = { workspaceId: 1, domainId: null };
const ANY: EmailFilter = { status: null, to: null, from: null, tag: null, group: null };
const PAGE = { limit: 20, offset: 0 };

interface Lists extends Disposable {
  db: Db;
  list: ReturnType<typeof openEmailLists>["list"];
  /** Makes the emails `first` to `last`, each a millisecond after the one before; SQL expressions over `i`. */
  plant(first: number, last: number, how?: { [column in "domain" | "to" | "sender" | "status"]?: string }): void;
  /** The numbers of a page's emails. */
  numbers(...question: Parameters<Lists["list"]>): number[];
}

function lists(log: (sql: string) => void = () => undefined): Lists {
  const db = openDatabase(":memory:");
  const { list } = openEmailLists(drizzle(db.sqlite, { logger: { logQuery: log } }));
  return {
    db,
    list,
    plant(
      first,
      last,
      { domain = "1", to = "'a@example.com'", sender = "'loja@loja.test'", status = "'delivered'" } = {},
    ) {
      db.sqlite.run(
        `INSERT INTO email (id, uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
           recipient_address, subject, return_path, created_at, status)
         WITH RECURSIVE n(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${last})
         SELECT i, i, 1, ${domain}, '', ${sender}, '', '', ${to}, '', '', i, ${status} FROM n`,
      );
      recount(db);
    },
    numbers: (...question) => list(...question).emails.map(({ email }) => Number(email.uid)),
    [Symbol.dispose]: () => db.close(),
  };
}

/** Makes the totals what they would be. */
function recount(db: Db): void {
  db.sqlite.run("DELETE FROM email_total");
  db.sqlite.run(
    `INSERT INTO email_total
     SELECT e.workspace_id, e.domain_id, iif(q.attempts > q.in_flight, 'delivery_delayed', e.status), COUNT(*)
     FROM email e LEFT JOIN email_queue q ON q.id = e.id GROUP BY 1, 2, 3`,
  );
}

/** last, last - 1, … first */
function down(last: number, first: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => last - index);
}

describe("an address with more than 10,000 emails", () => {
  const filter = { ...ANY, to: "a@example.com" };

  test("has its newest 10,000 listed and counted, and the count says that there are more", () => {
    using on = lists();
    on.plant(1, 10_005);
    for (const asked of [filter, { ...ANY, from: "loja@loja.test" }, { ...filter, from: "loja@loja.test" }]) {
      expect(on.list(WORKSPACE, asked, PAGE)).toMatchObject({ total: 10_000, isMinimum: true });
      expect(on.numbers(WORKSPACE, asked, PAGE)).toEqual(down(10_005, 9_986));
      // The last page of thirty holds what is left of the 10,000, and after it there is nothing.
      expect(on.numbers(WORKSPACE, asked, { limit: 30, offset: 9_990 })).toEqual(down(15, 6));
      for (const offset of [10_000, 10_020, 1e11]) {
        expect(on.list(WORKSPACE, asked, { limit: 20, offset })).toEqual({
          emails: [],
          total: 10_000,
          isMinimum: true,
        });
      }
    }
  });

  test("has them looked through for a status, and older ones of it are not found", () => {
    using on = lists();
    on.plant(1, 10_010, { status: "iif(i <= 30, 'bounced', 'delivered')" });
    const bounced = on.list(WORKSPACE, { ...filter, status: "bounced" }, PAGE);
    expect(bounced).toMatchObject({ total: 20, isMinimum: true });
    expect(on.numbers(WORKSPACE, { ...filter, status: "bounced" }, PAGE)).toEqual(down(30, 11));
    expect(on.list(WORKSPACE, { ...filter, status: "failed" }, PAGE)).toEqual({
      emails: [],
      total: 0,
      isMinimum: true,
    });
    const delivered = on.list(WORKSPACE, { ...filter, status: "delivered" }, PAGE);
    expect(delivered).toMatchObject({ total: 9_980, isMinimum: true });
  });

  test("is read by the other address when that one has fewer", () => {
    using on = lists();
    on.plant(1, 10_010, { sender: "iif(i <= 3, 'rare@loja.test', 'loja@loja.test')" });
    const asked = { ...filter, from: "rare@loja.test" };
    expect(on.list(WORKSPACE, asked, PAGE)).toMatchObject({ total: 3, isMinimum: false });
    expect(on.numbers(WORKSPACE, asked, PAGE)).toEqual([3, 2, 1]);
  });

  test("is counted whole within a domain that has no more", () => {
    using on = lists();
    on.plant(1, 10_010, { domain: "iif(i <= 5, 2, 1)" });
    expect(on.list({ workspaceId: 1, domainId: 2 }, filter, PAGE)).toMatchObject({ total: 5, isMinimum: false });
    expect(on.numbers({ workspaceId: 1, domainId: 2 }, filter, PAGE)).toEqual([5, 4, 3, 2, 1]);
    expect(on.list({ workspaceId: 1, domainId: 1 }, filter, PAGE)).toMatchObject({ total: 10_000, isMinimum: true });
    expect(on.numbers({ workspaceId: 1, domainId: 1 }, filter, PAGE)).toEqual(down(10_010, 9_991));
  });
});

test("a tag is listed as an address is, with the other filters; a group whatever its size", () => {
  using on = lists();
  on.plant(1, 200, { to: "iif(i <= 20, 'rare@example.com', 'a@example.com')" });
  on.db.sqlite.run("UPDATE email SET tag = iif(id % 5 = 0, 'rare', 'receipt') WHERE id <= 30 OR id > 40");
  on.db.sqlite.run("UPDATE email SET tag = 'receipt' WHERE id > 100");
  on.db.sqlite.run("UPDATE email SET group_id = 3 WHERE id IN (3, 4, 9)");
  expect(on.list(WORKSPACE, { ...ANY, tag: "receipt" }, PAGE)).toMatchObject({ total: 172, isMinimum: false });
  expect(on.numbers(WORKSPACE, { ...ANY, tag: "rare" }, { limit: 4, offset: 12 })).toEqual([30, 25, 20, 15]);
  expect(on.numbers(WORKSPACE, { ...ANY, tag: "rare", to: "rare@example.com" }, PAGE)).toEqual([20, 15, 10, 5]);
  expect(on.numbers(WORKSPACE, { ...ANY, tag: "none" }, PAGE)).toEqual([]);
  expect(on.numbers(WORKSPACE, { ...ANY, group: "3" }, PAGE)).toEqual([9, 4, 3]);
  expect(on.numbers(WORKSPACE, { ...ANY, group: "3", tag: "receipt" }, { limit: 1, offset: 1 })).toEqual([4]);
  expect(on.list(WORKSPACE, { ...ANY, group: "4" }, PAGE)).toEqual({ emails: [], total: 0, isMinimum: false });
  expect(on.numbers({ workspaceId: 2, domainId: null }, { ...ANY, group: "3" }, PAGE)).toEqual([]);
  expect(on.numbers({ workspaceId: 1, domainId: 2 }, { ...ANY, group: "3" }, PAGE)).toEqual([]);
  // Each with the public id of its group's first.
  const { emails } = on.list(WORKSPACE, { ...ANY, to: "rare@example.com" }, { limit: 2, offset: 16 });
  expect(emails.map(({ email, groupUid }) => [email.uid, groupUid])).toEqual([
    ["4", "3"],
    ["3", "3"],
  ]);
});

test("an address with exactly 10,000 emails is counted exactly", () => {
  using on = lists();
  on.plant(1, 10_000);
  expect(on.list(WORKSPACE, { ...ANY, to: "a@example.com" }, PAGE)).toMatchObject({ total: 10_000, isMinimum: false });
});

test("a small domain's emails of a status are found among many others of it", () => {
  using on = lists();
  on.plant(1, 3_000, { domain: "iif(i % 300 = 0, 2, 1)", status: "iif(i % 600 = 0, 'bounced', 'delivered')" });
  const scope = { workspaceId: 1, domainId: 2 };
  expect(on.list(scope, { ...ANY, status: "delivered" }, PAGE)).toMatchObject({ total: 5, isMinimum: false });
  expect(on.numbers(scope, { ...ANY, status: "delivered" }, PAGE)).toEqual([2700, 2100, 1500, 900, 300]);
  expect(on.numbers(scope, { ...ANY, status: "delivered" }, { limit: 2, offset: 4 })).toEqual([300]);
  expect(on.numbers(scope, { ...ANY, status: "delivered" }, { limit: 2, offset: 6 })).toEqual([]);
  expect(on.numbers(scope, { ...ANY, status: "bounced" }, PAGE)).toEqual([3000, 2400, 1800, 1200, 600]);
});

test("a small domain's waiting emails are found among many others that wait", () => {
  using on = lists();
  on.plant(1, 3_000, { domain: "iif(i % 300 = 0, 2, 1)", status: "iif(i % 900 = 0, 'delivered', 'queued')" });
  on.db.sqlite.run(
    `INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at, attempts)
     SELECT id, 1, 1, domain_id, created_at, 0, 0, id <> 300 FROM email WHERE status = 'queued'`,
  );
  recount(on.db);
  const scope = { workspaceId: 1, domainId: 2 };
  expect(on.list(scope, { ...ANY, status: "delivery_delayed" }, PAGE)).toMatchObject({ total: 6, isMinimum: false });
  expect(on.numbers(scope, { ...ANY, status: "delivery_delayed" }, PAGE)).toEqual([3000, 2400, 2100, 1500, 1200, 600]);
  expect(on.numbers(scope, { ...ANY, status: "delivery_delayed" }, { limit: 2, offset: 4 })).toEqual([1200, 600]);
  expect(on.numbers(scope, { ...ANY, status: "queued" }, PAGE)).toEqual([300]);
});

test("pages are newest first when the clock was set back, and of one moment the later email is first", () => {
  using on = lists();
  on.plant(1, 8);
  on.db.sqlite.run("UPDATE email SET created_at = 3 WHERE id >= 5");
  expect(on.numbers(WORKSPACE, ANY, PAGE)).toEqual([4, 8, 7, 6, 5, 3, 2, 1]);
  for (const limit of [1, 3, 5]) {
    const pages = down(8, 1).map((_, page) => on.numbers(WORKSPACE, ANY, { limit, offset: page * limit }));
    expect(pages.flat()).toEqual([4, 8, 7, 6, 5, 3, 2, 1]);
  }
});

const RECIPIENTS = ["a@example.com", "rare@example.com"];
const SENDERS = ["loja@loja.test", "rare@loja.test"];

/** Every way to ask, at both ends of the list. */
function askEverything(on: Lists): void {
  const addresses = [null, ...RECIPIENTS].flatMap((to) => [null, ...SENDERS].map((from) => ({ to, from })));
  const filters = [
    ...EMAIL_STATUSES.map((status) => ({ ...ANY, status })),
    ...addresses.map((address) => ({ ...ANY, ...address })),
    { ...ANY, status: "delivery_delayed" as const, to: "rare@example.com" },
    { ...ANY, tag: "receipt" },
    { ...ANY, tag: "receipt", status: "bounced" as const },
    { ...ANY, group: "5" },
  ];
  for (const scope of [WORKSPACE, { workspaceId: 1, domainId: 1 }, { workspaceId: 1, domainId: 2 }]) {
    for (const filter of filters) {
      const { total } = on.list(scope, filter, PAGE);
      on.list(scope, filter, { limit: 20, offset: total - 1 });
    }
  }
}

/** Ids from an index that holds all that is asked of it, the rows of one page, or the reading of at most 10,000. */
const PLANS = [
  /^SEARCH email USING COVERING INDEX email_\w+ \([^;]*$/,
  /^SEARCH email USING COVERING INDEX email_newest_of_domain [^;]*; CORRELATED SCALAR SUBQUERY 1; SEARCH email_queue USING INTEGER PRIMARY KEY [^;]*$/,
  // Of a table with a virtual column SQLite calls no index covering; it reads this one alone all the same.
  /^SEARCH email_queue USING INDEX email_queue_state \(workspace_id=\? AND state=\?\)$/,
  /^SEARCH email_total USING PRIMARY KEY \(workspace_id=\?( AND domain_id=\?)?\)$/,
  /^SEARCH email USING INTEGER PRIMARY KEY \(rowid=\?\); SEARCH email_queue USING INTEGER PRIMARY KEY /,
  /^SEARCH email USING INDEX email_of_group \(group_id=\?\); SCALAR SUBQUERY 1; SEARCH head USING [^;]* \(uid=\?\); CORRELATED SCALAR SUBQUERY 2; SEARCH email_queue USING INTEGER PRIMARY KEY /,
  /^SEARCH email USING INDEX email_(to|from|tagged|newest_of_domain) [^;]*; CORRELATED SCALAR SUBQUERY 1; SEARCH email_queue USING INTEGER PRIMARY KEY /,
];

test("no way to ask scans a table or sorts, with or without the statistics of ANALYZE", () => {
  const asked = new Set<string>();
  using on = lists((statement) => asked.add(statement));
  // Emails and queue rows of every status, of two domains, a large one and a small one.
  on.plant(1, 20_500, {
    domain: "iif(i % 501 = 0, 2, 1)",
    to: "iif(i % 40 = 1, 'rare@example.com', 'a@example.com')",
    sender: "iif(i % 40 = 2, 'rare@loja.test', 'loja@loja.test')",
    status:
      "CASE i % 5 WHEN 0 THEN 'queued' WHEN 1 THEN 'delivered' WHEN 2 THEN 'bounced' WHEN 3 THEN 'sent' ELSE 'failed' END",
  });
  on.db.sqlite.run(
    `INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at, attempts, in_flight)
     SELECT id, 1, 1, domain_id, created_at, 0, 0, id / 5 % 3, id = 2505 FROM email WHERE status = 'queued'`,
  );
  on.db.sqlite.run("UPDATE email SET tag = 'receipt' WHERE id % 50 = 1");
  on.db.sqlite.run("UPDATE email SET group_id = 5 WHERE id BETWEEN 5 AND 9");
  recount(on.db);
  for (const analyze of [false, true]) {
    if (analyze) on.db.sqlite.run("ANALYZE");
    asked.clear();
    askEverything(on);
    // Two totals and two counts of what runs; eleven ranges from two ends; four of them read; an end and a count of
    // each address and of the tag; a group; the rows.
    expect(asked.size).toBe(4 + 22 + 4 + 6 + 1 + 1);
    for (const statement of asked) {
      const found = plan(on, statement);
      expect([statement, found, PLANS.filter((one) => one.test(found)).length]).toEqual([statement, found, 1]);
      expect(found).not.toMatch(/\bSCAN\b|TEMP B-TREE/);
    }
  }
});

function plan(on: Lists, statement: string): string {
  return on.db.sqlite
    .query<{ detail: string }, null[]>(`EXPLAIN QUERY PLAN ${statement}`)
    .all(...Array.from({ length: statement.split("?").length - 1 }, () => null))
    .map(({ detail }) => detail)
    .join("; ");
}
