import { expect, test } from "bun:test";
import { openDeliveryStore } from "../../../../../src/modules/webhooks/delivery/delivery-store.ts";
import { openWebhookJobStore } from "../../../../../src/modules/webhooks/delivery/job-store.ts";
import { createDeletedWebhookSweep } from "../../../../../src/modules/webhooks/delivery/clean-up.ts";
import { openWebhookStore } from "../../../../../src/modules/webhooks/store.ts";
import { type TemporaryDatabase, temporaryDatabase, turn } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const MUCH = 2_300;

/** Webhooks 1 and 2 of workspaces 1 and 2, with `MUCH` jobs and deliveries each. */
function seed({ db }: TemporaryDatabase): void {
  for (const id of [1, 2]) {
    db.sqlite.run(
      `INSERT INTO webhook (id, uid, workspace_id, url, events, is_enabled, secret, created_at)
       VALUES (${id}, 'w${id}', ${id}, 'https://example.com/', '["*"]', 1, x'00', 0)`,
    );
    const rows = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MUCH})`;
    db.sqlite.run(
      `${rows} INSERT INTO webhook_job (webhook_id, event_id, next_at, in_flight) SELECT ${id}, i, 0, i % 2 FROM n`,
    );
    db.sqlite.run(
      `${rows} INSERT INTO webhook_delivery (uid, webhook_id, event_id, event_uid, event_type, attempt, created_at, failed_at, duration_ms)
       SELECT '${id} ' || i, ${id}, i, 'e', 'email.sent', 1, 0, 1, 0 FROM n`,
    );
  }
}

function begin(temporary: TemporaryDatabase) {
  const { db, committer } = temporary;
  const clock = fakeClock();
  const removed: number[] = [];
  const bugs: unknown[] = [];
  const webhooks = openWebhookStore(db);
  const removal = createDeletedWebhookSweep({
    webhooks,
    jobs: openWebhookJobStore(db),
    deliveries: openDeliveryStore(db),
    commit: committer.commit,
    clock,
    log: { event: () => undefined, error: (_where, error) => void bugs.push(error) },
    removed: (id) => void removed.push(id),
  });
  const counts = () =>
    ["webhook", "webhook_job", "webhook_delivery", "webhook_gone"].map(
      (table) => db.sqlite.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n,
    );
  const step = async () => {
    await turn(4);
    clock.advance(20);
    await turn(4);
  };
  return { webhooks, removal, counts, step, clock, removed, bugs, commit: committer.commit };
}

test("a deleted webhook's calls and deliveries go a share at a time, and another's stay", async () => {
  using temporary = temporaryDatabase();
  seed(temporary);
  const on = begin(temporary);
  on.removal.start();
  await turn(4);
  await on.commit(() => on.webhooks.delete({ id: 1, workspaceId: 1 }));
  on.removal.trigger();
  // The answer's transaction took one row.
  expect(on.counts()).toEqual([1, 2 * MUCH, 2 * MUCH, 1]);
  await turn(4);
  expect(on.counts()).toEqual([1, 2 * MUCH - 500, 2 * MUCH - 500, 1]);
  await turn(10);
  expect(on.counts()[1]).toBe(2 * MUCH - 500);
  for (let steps = 0; steps < 5; steps += 1) await on.step();
  expect(on.counts()).toEqual([1, MUCH, MUCH, 0]);
  expect([on.removed, on.bugs, on.clock.pending]).toEqual([[1], [], 0]);
  await on.removal.stop();
});

test("what a process left that ended in the middle is removed at the next start, a workspace's webhooks too", async () => {
  using temporary = temporaryDatabase();
  seed(temporary);
  const first = begin(temporary);
  // Before the start, as a command does it while no instance runs.
  await first.commit(() => first.webhooks.deleteOfWorkspace(2));
  first.removal.trigger();
  await turn(4);
  expect(first.counts()).toEqual([1, 2 * MUCH, 2 * MUCH, 1]);
  first.removal.start();
  await turn(4);
  await first.removal.stop();
  expect(first.clock.pending).toBe(0);
  const second = begin(temporary);
  second.removal.start();
  for (let steps = 0; steps < 7; steps += 1) await second.step();
  expect(second.counts()).toEqual([1, MUCH, MUCH, 0]);
  await second.removal.stop();
});

test("a deletion in the transaction of a look that found nothing is not forgotten", async () => {
  using temporary = temporaryDatabase();
  seed(temporary);
  const on = begin(temporary);
  on.removal.start();
  // Of the same turn as the look of the start, and after it.
  await on.commit(() => on.webhooks.delete({ id: 1, workspaceId: 1 }));
  on.removal.trigger();
  for (let steps = 0; steps < 7; steps += 1) await on.step();
  expect(on.counts()).toEqual([1, MUCH, MUCH, 0]);
  await on.removal.stop();
});
