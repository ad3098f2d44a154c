// The search of the list against a model that reads all rows.

import { expect, test } from "bun:test";
import { type Db, openDatabase } from "../../../../../src/platform/db/open.ts";
import { type EmailSearch, openEmailSearch } from "../../../../../src/modules/emails/list/search-store.ts";
import type { EmailScope } from "../../../../../src/modules/emails/store/list-store.ts";
import { EMAIL_STATUSES, type EmailStatus } from "../../../../../src/modules/emails/api/schema.ts";
import type { Position } from "../../../../../src/platform/http/pagination.ts";
import { seeded } from "../../../../support/db/temporary.ts";

const ANY: EmailSearch = {
  ...{ status: null, to: null, from: null, tag: null, group: null },
  ...{ since: null, until: null, category: null, subject: null },
};

const SUBJECTS = ["O seu recibo", "ÚLTIMA promoção", "última Promoc\u0327ão", "Encomenda 100%_*", ""];
const CATEGORIES = ["policy", "mailbox_full"];
const WAITING = ["queued", "sending", "delivery_delayed", "scheduled"];
const ROWS = 400;

interface Row extends Position {
  workspaceId: number;
  domainId: number;
  to: string;
  from: string;
  tag: string | null;
  groupId: number | null;
  subject: string;
  status: EmailStatus;
  category: string | null;
}

function makeRows(random: () => number): Row[] {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  let createdAt = 1_000;
  return Array.from({ length: ROWS }, (_, index) => {
    // Many share a millisecond.
    if (random() < 0.3) createdAt += 1 + Math.floor(random() * 20);
    const status = pick(EMAIL_STATUSES);
    const workspaceId = pick([1, 1, 1, 2]);
    return {
      id: index + 1,
      createdAt,
      workspaceId,
      // A domain is of one workspace.
      domainId: workspaceId === 1 ? pick([1, 1, 2]) : 3,
      to: pick(["a@example.com", "b@example.com"]),
      from: pick(["loja@loja.test", "caixa@loja.test"]),
      tag: pick([null, "receipt", "news"]),
      groupId: index > 50 && index < 60 ? 52 : null,
      subject: pick(SUBJECTS),
      status,
      category: status === "bounced" || status === "failed" ? pick(CATEGORIES) : null,
    };
  });
}

function plant({ sqlite }: Db, rows: Row[]): void {
  const insert = sqlite.prepare(
    `INSERT INTO email (id, uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient, recipient_address,
       subject, tag, group_id, return_path, created_at, status, bounce)
     VALUES (?1, ?1, ?2, ?3, '', ?4, '', '', ?5, ?6, ?7, ?8, '', ?9, ?10, ?11)`,
  );
  const queue = sqlite.prepare(
    `INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, send_at, expires_at, attempts, in_flight)
     VALUES (?1, 1, ?2, ?3, ?4, 9e12, ?5, 9e12, ?6, ?7)`,
  );
  sqlite.transaction(() => {
    for (const row of rows) {
      const { id, workspaceId, domainId, status } = row;
      const isWaiting = WAITING.includes(status);
      const stored = isWaiting ? "queued" : status;
      const bounce = row.category === null ? null : JSON.stringify({ category: row.category });
      insert.run(
        ...[
          id,
          workspaceId,
          domainId,
          row.from,
          row.to,
          row.subject,
          row.tag,
          row.groupId,
          row.createdAt,
          stored,
          bounce,
        ],
      );
      if (!isWaiting) continue;
      const sendAt = status === "scheduled" ? 1 : null;
      const attempts = status === "delivery_delayed" || status === "sending" ? 1 : 0;
      queue.run(...[id, workspaceId, domainId, row.createdAt, sendAt, attempts, status === "sending" ? 1 : 0]);
    }
  })();
}

function model(rows: Row[], { workspaceId, domainId }: EmailScope, search: EmailSearch): number[] {
  const fold = (words: string) => words.normalize("NFC").toLowerCase();
  return rows
    .filter(
      (row) =>
        row.workspaceId === workspaceId &&
        (domainId === null || row.domainId === domainId) &&
        (search.status === null || row.status === search.status) &&
        (search.to === null || row.to === search.to) &&
        (search.from === null || row.from === search.from) &&
        (search.tag === null || row.tag === search.tag) &&
        (search.group === null || row.groupId === Number(search.group)) &&
        (search.since === null || row.createdAt >= search.since) &&
        (search.until === null || row.createdAt < search.until) &&
        (search.category === null || row.category === search.category) &&
        (search.subject === null || fold(row.subject).includes(fold(search.subject))),
    )
    .map(({ id }) => id)
    .toReversed();
}

/** What a client finds that goes on until the end. */
function walk(
  { look }: ReturnType<typeof openEmailSearch>,
  [scope, search]: [EmailScope, EmailSearch],
  { limit, lookAt }: { limit: number; lookAt: number },
): number[] {
  const found: number[] = [];
  let before: Position | null = null;
  for (let looks = 0; looks <= ROWS; looks += 1) {
    const { found: page, end }: ReturnType<typeof look> = look(scope, search, { before, limit: limit + 1, lookAt });
    const shown = page.slice(0, limit);
    found.push(...shown.map(({ id }) => id));
    before = (page.length > limit ? shown.at(-1) : end) ?? null;
    if (before === null) return found;
  }
  throw new Error("it never ends");
}

for (const seed of [1, 2, 3]) {
  test(`every combination of filters finds what it should, whatever is looked at in one go (seed ${seed})`, () => {
    const random = seeded(seed);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    using db = openDisposable();
    const rows = makeRows(random);
    plant(db.db, rows);
    const search = openEmailSearch(db.db);
    const last = rows.at(-1)?.createdAt ?? 0;
    const sometimes = <T>(values: readonly T[], share: number): T | null => (random() < share ? pick(values) : null);
    for (let round = 0; round < 250; round += 1) {
      const scope = { workspaceId: 1, domainId: sometimes([1, 2], 0.3) };
      const time = () => 1_000 + Math.floor(random() * (last - 990));
      const asked: EmailSearch = {
        status: sometimes(EMAIL_STATUSES, 0.3),
        to: sometimes(["a@example.com", "nobody@example.com", "b@example.com"], 0.2),
        from: sometimes(["loja@loja.test", "caixa@loja.test"], 0.2),
        tag: sometimes(["receipt", "news"], 0.2),
        group: sometimes(["52"], 0.05),
        since: random() < 0.3 ? time() : null,
        until: random() < 0.3 ? time() : null,
        category: sometimes([...CATEGORIES, "spam_block"], 0.3),
        subject: sometimes(["recibo", "ÚLTIMA PROMOÇÃO", "%_*", "promoc\u0327", "nothing", "e"], 0.4),
      };
      const window = { limit: pick([1, 7, 1_000]), lookAt: pick([1, 2, 10, 100, 10_000]) };
      const found = walk(search, [scope, asked], window);
      expect([asked, window, found]).toEqual([asked, window, model(rows, scope, asked)]);
    }
  });
}

test("a look ends where so many were looked at, and says so only if there are more", () => {
  using db = openDisposable();
  const row = { workspaceId: 1, domainId: 1, to: "a@example.com", from: "loja@loja.test", tag: null, groupId: null };
  const rows = Array.from({ length: 20 }, (_, index) => ({
    ...({ ...row, subject: index < 5 ? "old" : "new", status: "delivered", category: null } as const),
    ...{ id: index + 1, createdAt: 1_000 + index },
  }));
  plant(db.db, rows);
  const { look } = openEmailSearch(db.db);
  const at = (lookAt: number, before: Position | null = null) =>
    look({ workspaceId: 1, domainId: null }, { ...ANY, subject: "OLD" }, { before, limit: 50, lookAt });
  expect(at(20)).toMatchObject({ end: null });
  expect(at(20).found.map(({ id }) => id)).toEqual([5, 4, 3, 2, 1]);
  const first = at(15);
  expect(first.found).toEqual([]);
  expect(at(15, first.end).found.map(({ id }) => id)).toEqual([5, 4, 3, 2, 1]);
  expect(at(19).end).not.toBeNull();
});

test("each way walks its own index, within the bounds of time", () => {
  using db = openDisposable();
  const { sqlite } = db.db;
  const asked: string[] = [];
  const prepare = sqlite.prepare.bind(sqlite);
  sqlite.prepare = (text: string) => {
    asked.push(text);
    return prepare(text);
  };
  const { look } = openEmailSearch(db.db);
  const findPlan = (search: Partial<EmailSearch>, domainId: number | null = null) => {
    asked.length = 0;
    look({ workspaceId: 1, domainId }, { ...ANY, ...search }, { before: null, limit: 1 });
    const details = asked.flatMap((text) => prepare<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`).all());
    const walks = details.map(({ detail }) => /^SEARCH email USING (?:COVERING )?INDEX (.*)$/.exec(detail)?.[1] ?? "");
    return [...new Set(walks.filter((each) => each !== ""))];
  };
  const bounds = "created_at>? AND created_at<?";
  expect(findPlan({})).toEqual([`email_newest (workspace_id=? AND ${bounds})`]);
  expect(findPlan({}, 1)).toEqual([`email_newest_of_domain (domain_id=? AND ${bounds})`]);
  expect(findPlan({ status: "failed" })).toEqual([`email_by_status (workspace_id=? AND status=? AND ${bounds})`]);
  expect(findPlan({ to: "a" })).toEqual([`email_to (workspace_id=? AND recipient_address=? AND ${bounds})`]);
  expect(findPlan({ from: "a" })).toEqual([`email_from (workspace_id=? AND sender_address=? AND ${bounds})`]);
  expect(findPlan({ tag: "a" })).toEqual([`email_tagged (workspace_id=? AND tag=? AND ${bounds})`]);
  expect(findPlan({ group: "a" })).toEqual(["email_of_group (group_id=?)"]);
});

function openDisposable(): Disposable & { db: Db } {
  const db = openDatabase(":memory:");
  return { db, [Symbol.dispose]: () => db.close() };
}
