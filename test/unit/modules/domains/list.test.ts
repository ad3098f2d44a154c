import { expect, test } from "bun:test";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { type Db, openDatabase } from "../../../../src/platform/db/open.ts";
import { type DomainStore, openDomainStore } from "../../../../src/modules/domains/store.ts";
import { createListPages } from "../../../../src/platform/http/pagination.ts";
import { seeded } from "../../../support/db/temporary.ts";

const PAGES = createListPages(new Uint8Array(32).fill(7));

interface Registry extends Disposable {
  db: Db;
  domains: DomainStore;
  register(name: string, createdAt: number, workspaceId?: number): void;
}

function registry(log: (sql: string) => void = () => undefined): Registry {
  const db = openDatabase(":memory:");
  for (const id of [1, 2])
    db.sqlite.run("INSERT INTO workspace (id, uid, name, plan, created_at) VALUES (?, ?, '', '', 0)", [id, `w${id}`]);
  const domains = openDomainStore({ ...db, orm: drizzle(db.sqlite, { logger: { logQuery: log } }) });
  return {
    db,
    domains,
    register: (name, createdAt, workspaceId = 1) =>
      void domains.insert({ uid: crypto.randomUUID(), workspaceId, name, status: "pending", createdAt }),
    [Symbol.dispose]: () => db.close(),
  };
}

interface Page {
  names: string[];
  next: string | null;
}

/** As the route reads a page. */
function pageAfter(on: Registry, cursor: string | null, limit: number): Page {
  const { data, meta } = PAGES.list(
    { limit: `${limit}`, ...(cursor === null ? {} : { cursor }) },
    "domains",
    (before, most) => on.domains.list(1, before, most),
    ({ name }) => name,
  );
  return { names: data, next: meta.next_cursor };
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`cursors lead past every domain that stays exactly once, whatever comes and goes meanwhile (seed ${seed})`, () => {
    using on = registry();
    const random = seeded(seed);
    const chance = (below: number) => Math.floor(random() * below);
    let now = 1_000;
    let made = 0;
    const present = () => on.domains.list(1, null, 1_000).map(({ name }) => name);
    const register = () => {
      // Several in a moment, and the clock set back now and then.
      now += chance(6) - (random() < 0.1 ? 20 : 0);
      on.register(`d${made++}.test`, now, random() < 0.8 ? 1 : 2);
    };
    const remove = (name: string | undefined) => {
      const row = name === undefined ? undefined : on.domains.byName(1, name);
      if (row !== undefined) on.domains.delete(row.id);
    };

    for (let walk = 0; walk < 30; walk++) {
      for (let count = chance(40); count > 0; count--) register();
      const limit = 1 + chance(7);
      const before = present();
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page = pageAfter(on, cursor, limit);
        seen.push(...page.names);
        cursor = page.next;
        if (random() < 0.5) register();
        // Of them the very one that the cursor points at.
        if (random() < 0.4) remove(page.names.at(-1));
        if (random() < 0.4) remove(present()[chance(20)]);
      } while (cursor !== null);
      const after = present();
      const stayed = before.filter((name) => after.includes(name));
      expect(seen.filter((name) => stayed.includes(name))).toEqual(stayed);
      expect(new Set(seen).size).toBe(seen.length);
    }
    expect(made).toBeGreaterThan(300);
  });
}

test("a page is read from the index that has the list's order, first or not", () => {
  const statements: string[] = [];
  using on = registry((statement) => statements.push(statement));
  for (let number = 0; number < 50; number++) on.register(`d${number}.test`, number);
  for (const analyze of [false, true]) {
    if (analyze) on.db.sqlite.run("ANALYZE");
    statements.length = 0;
    const { next } = pageAfter(on, null, 20);
    pageAfter(on, next, 20);
    expect(statements).toHaveLength(2);
    for (const statement of statements) {
      const plan = on.db.sqlite.query<{ detail: string }, null[]>(`EXPLAIN QUERY PLAN ${statement}`);
      expect(plan.all(null, null, null, null).map(({ detail }) => detail)).toEqual([
        "SEARCH domain USING INDEX domain_newest (workspace_id=? AND created_at<?)",
      ]);
    }
  }
});
