import { describe, expect, test } from "bun:test";
import { startInstance } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { openEmailRetentionStore } from "../../../src/modules/emails/store/retention-store.ts";
import { openEmailStore } from "../../../src/modules/emails/store/store.ts";
import { openUsageStore } from "../../../src/modules/plans/store.ts";
import { walkBatch } from "../../../src/platform/db/purge.ts";
import { temporaryDatabase } from "../../support/db/temporary.ts";

const DAY_MS = 24 * 60 * 60_000;
const TABLES = ["email", "attempt", "email_report", "email_body"];

/** A generator of numbers below `limit` that is the same at each run. */
function createDice(seed: number) {
  let state = seed;
  return (limit: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * limit);
  };
}

function withoutStorage(usage: Record<string, unknown>) {
  const { storageBytes, ...rest } = usage;
  expect(storageBytes).toBeGreaterThan(0);
  return rest;
}

describe("records older than the retention", () => {
  test.each([1, 2, 3, 4, 5])("go with all that belongs to them, and the totals stay right (history %i)", (seed) => {
    using on = temporaryDatabase();
    const { sqlite } = on.db;
    const dice = createDice(seed);
    const totals = new Map<string, number>();
    let stored = 0;
    const retention = openEmailRetentionStore(on.db, {
      addTotal: ({ workspaceId, domainId, status }, amount) => {
        const key = `${workspaceId}/${domainId}/${status}`;
        totals.set(key, (totals.get(key) ?? 0) + amount);
      },
      giveStorageBack: (_, bytes) => void (stored -= bytes),
    });
    const statuses = ["delivered", "bounced", "failed", "sent"] as const;
    sqlite.transaction(() => {
      for (let n = 0; n < 700; n += 1) {
        const createdAt = n * 1_000;
        const status = dice(10) === 0 ? "queued" : (statuses[dice(4)] ?? "sent");
        const endedAt = status === "queued" ? null : createdAt + dice(100_000);
        const [workspaceId, domainId] = [1 + dice(2), 1 + dice(3)];
        const { id } = sqlite
          .query(
            `INSERT INTO email (uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
               recipient_address, subject, return_path, created_at, status, ended_at)
             VALUES (?, ?, ?, 'a', 'a', 'a', 'b', 'b', 's', 'r', ?, ?, ?) RETURNING id`,
          )
          .get(Bun.randomUUIDv7(), workspaceId, domainId, createdAt, status, endedAt) as { id: number };
        for (let number = 1; number <= dice(4); number += 1)
          sqlite
            .query(
              "INSERT INTO attempt (email_id, number, started_at, ended_at, outcome) VALUES (?, ?, 1, 2, 'deferred')",
            )
            .run(id, number);
        if (dice(2) === 0) {
          const bytes = dice(50);
          stored += bytes;
          sqlite
            .query("INSERT INTO email_body (email_id, content, html_bytes, encoding) VALUES (?, ?, 1, 'plain')")
            .run(id, new Uint8Array(bytes));
        }
        const key = `${workspaceId}/${domainId}/${status}`;
        totals.set(key, (totals.get(key) ?? 0) + 1);
      }
    })();
    for (const notBefore of [100_000, 350_000, 353_000, 10_000_000]) {
      for (let after: number | null = 0; after !== null;)
        after = walkBatch(retention, { after, limit: 100, notBefore });
      // By brute force: each row that is there, and none that is not.
      expect(sqlite.query("SELECT COUNT(*) AS count FROM email WHERE ended_at < ?").get(notBefore)).toEqual({
        count: 0,
      });
      for (const table of TABLES.slice(1))
        expect(
          sqlite.query(`SELECT COUNT(*) AS count FROM ${table} WHERE email_id NOT IN (SELECT id FROM email)`).get(),
        ).toEqual({ count: 0 });
      const counted = sqlite
        .query(
          "SELECT workspace_id || '/' || domain_id || '/' || status AS key, COUNT(*) AS count FROM email GROUP BY 1",
        )
        .all() as { key: string; count: number }[];
      const left = [...totals].filter(([, count]) => count !== 0).toSorted();
      expect(left).toEqual(counted.map(({ key, count }) => [key, count] as [string, number]).toSorted());
      expect(sqlite.query("SELECT COALESCE(SUM(LENGTH(content)), 0) AS bytes FROM email_body").get()).toEqual({
        bytes: stored,
      });
    }
    // What waits is never removed, however old it is.
    const waiting = sqlite.query("SELECT COUNT(*) AS count FROM email").get() as { count: number };
    expect(waiting.count).toBeGreaterThan(0);
    expect(sqlite.query("SELECT COUNT(*) AS count FROM email WHERE ended_at IS NOT NULL").get()).toEqual({ count: 0 });
  });

  test("are gone from the list, its total and the storage that is used; usage still counts them", async () => {
    await using pombo = await startInstance();
    const { workspace } = pombo;
    for (let n = 0; n < 3; n += 1) await workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    const list = async () => (await workspace.call("GET", "/api/v1/emails?include=status")).body;
    await waitUntil("all are delivered", 10_000, async () =>
      (await list()).data.every(({ status }: { status: string }) => status === "delivered"),
    );
    const usage = async () => (await workspace.call("GET", "/api/v1/workspace/usage")).body.data.usage;
    const before = await usage();
    const { db, committer } = pombo.app;
    // As time does: two of them were sent long ago.
    db.sqlite.run("UPDATE email SET created_at = created_at - ?, ended_at = ended_at - ? WHERE id <= 2", [
      500 * DAY_MS,
      500 * DAY_MS,
    ]);
    const [emails, usageStore] = [openEmailStore(db), openUsageStore(db)];
    const retention = openEmailRetentionStore(db, {
      addTotal: (key, amount) => emails.addTotal(key, amount),
      giveStorageBack: (workspaceId, bytes) => usageStore.giveStorageBack(workspaceId, bytes),
    });
    await committer.commit(() => walkBatch(retention, { after: 0, limit: 100, notBefore: Date.now() - 400 * DAY_MS }));
    const after = await list();
    expect([after.data.length, after.meta.total]).toEqual([1, 1]);
    const { storageBytes, ...left } = await usage();
    expect(left).toEqual(withoutStorage(before));
    expect(storageBytes).toBe(before.storageBytes / 3);
  });
});
