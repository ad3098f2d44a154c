import { walkBatch } from "../../../../src/platform/db/purge.ts";
import { expect, test } from "bun:test";
import type { Plan } from "../../../../src/config/config.ts";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { openContentStore } from "../../../../src/modules/emails/content/store.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { takeStorage } from "../../../../src/modules/plans/quota.ts";
import { openUsageStore } from "../../../../src/modules/plans/store.ts";
import { seeded, temporaryDatabase, turn } from "../../../support/db/temporary.ts";

// What is counted as stored is what is stored, whatever was refused, rolled back, removed or committed together.

const LIMITS = [-1, 4_000, 20_000];

test("the counter of each workspace is the sum of its contents", async () => {
  const random = seeded(20261122);
  const upTo = (most: number) => Math.floor(random() * most);
  using temporary = temporaryDatabase();
  const { db, file, committer } = temporary;
  const { sqlite } = db;
  const usage = openUsageStore(db);
  const contents = openContentStore(db, (workspaceId, bytes) => usage.giveStorageBack(workspaceId, bytes));
  const insertEmail = sqlite.query<{ id: number }, [string, number, number]>(
    `INSERT INTO email (uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
       recipient_address, subject, return_path, created_at, status, ended_at)
     VALUES (?, ?, 1, 'a', 'a', 'a', 'b', 'b', 's', 'r', 0, 'delivered', ?) RETURNING id`,
  );
  const insertBody = sqlite.query(
    "INSERT INTO email_body (email_id, content, html_bytes, encoding) VALUES (?, ZEROBLOB(?), 1, 'plain')",
  );
  const stored = (workspaceId: number, from = sqlite) =>
    from
      .query<{ n: number }, [number]>(
        "SELECT COALESCE(SUM(LENGTH(content)), 0) AS n FROM email_body JOIN email ON id = email_id WHERE workspace_id = ?",
      )
      .get(workspaceId)?.n ?? 0;
  let refused = 0;
  const send = (workspaceId: number, bytes: number, isLost: boolean) => () => {
    const limit = LIMITS[workspaceId] ?? 0;
    const before = stored(workspaceId);
    try {
      takeStorage({ workspaceId, plan: { storage: limit } as Plan, bytes }, usage);
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).code).toBe("PLAN_LIMIT_REACHED");
      expect(before + bytes).toBeGreaterThan(limit);
      refused += 1;
      throw error;
    }
    if (limit >= 0) expect(before + bytes).toBeLessThanOrEqual(limit);
    const email = insertEmail.get(crypto.randomUUID(), workspaceId, upTo(1_000));
    insertBody.run(email?.id ?? 0, bytes);
    if (isLost) throw new Error("rolled back");
  };
  for (let round = 0; round < 120; round++) {
    const closures = Array.from({ length: 1 + upTo(8) }, () =>
      random() < 0.2
        ? () => void walkBatch(contents, { after: 0, limit: 200, notBefore: upTo(1_100) })
        : send(upTo(LIMITS.length), upTo(3_000), random() < 0.2),
    );
    await Promise.allSettled(closures.map((closure) => committer.commit(closure)));
    await turn();
    for (const workspaceId of LIMITS.keys()) expect(usage.storedBytes(workspaceId)).toBe(stored(workspaceId));
  }
  expect(refused).toBeGreaterThan(20);
  // As another process finds it after a kill: the counters are in the transactions of what they count.
  const copy = openDatabase(file);
  const read = openUsageStore(copy);
  for (const workspaceId of LIMITS.keys()) expect(read.storedBytes(workspaceId)).toBe(stored(workspaceId, copy.sqlite));
  copy.close();
});
