import { expect, test } from "bun:test";
import { openWebhookJobStore } from "../../../../../src/modules/webhooks/delivery/job-store.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";

const WEBHOOK = 1;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const CALLED = 1_000 * HOUR;

/** A call that failed at CALLED and waits for its second, a quarter of an hour. */
function seeded() {
  const temporary = temporaryDatabase();
  const { sqlite } = temporary.db;
  sqlite.run(
    `INSERT INTO event (id, uid, workspace_id, type, resource, body, created_at)
     VALUES (1, 'e1', 1, 'email.sent', 'an email', '{}', ${CALLED})`,
  );
  const { queue, add } = openWebhookJobStore(temporary.db);
  add({ webhookId: WEBHOOK, eventId: 1, nextAt: CALLED, again: "always" });
  const call = (now: number) => {
    const [job] = queue.claim({ laneId: WEBHOOK, now, limit: 1, retryAt: () => now + HOUR });
    if (job === undefined) throw new Error("nothing is due");
    // It is noted in the transaction that ends the call.
    sqlite.run(
      `INSERT INTO webhook_delivery (uid, webhook_id, event_id, event_uid, event_type, attempt, created_at, failed_at, duration_ms)
       VALUES ('d${now}', ${WEBHOOK}, 1, 'e1', 'email.sent', 1, ${now}, ${now}, 1)`,
    );
    queue.retry(job, { nextAt: now + 15 * MINUTE, state: null });
  };
  return {
    call,
    bringNear: (now: number) => void queue.rescheduleBatch(0, now),
    nextAt: () => queue.findHead(WEBHOOK)?.dueAt,
    [Symbol.dispose]: () => temporary[Symbol.dispose](),
  };
}

test("a call keeps its wait, also when the clock is followed again, or set back once more", () => {
  using on = seeded();
  on.call(CALLED);
  for (const now of [CALLED - HOUR, CALLED - HOUR, CALLED - HOUR + 5_000, CALLED - 2 * HOUR]) {
    on.bringNear(now);
    expect(on.nextAt()).toBe(Math.min(now, CALLED - HOUR) + 15 * MINUTE);
  }
});

test("and so does one that was made after the clock had been set back", () => {
  using on = seeded();
  on.call(CALLED);
  on.bringNear(CALLED - HOUR);
  on.call(CALLED - 45 * MINUTE);
  on.bringNear(CALLED - 46 * MINUTE);
  expect(on.nextAt()).toBe(CALLED - 46 * MINUTE + 15 * MINUTE);
});

test("one that was never made is due at once", () => {
  using on = seeded();
  for (const now of [CALLED - HOUR, CALLED - 2 * HOUR]) {
    on.bringNear(now);
    expect(on.nextAt()).toBe(now);
  }
});
