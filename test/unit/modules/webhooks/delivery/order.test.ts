import { expect, test } from "bun:test";
import { freeInterrupted } from "../../../../../src/platform/queue/recover.ts";
import { openWebhookJobStore } from "../../../../../src/modules/webhooks/delivery/job-store.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

// Events of one resource are called in their order, also where the process was killed in the middle. Two
// calls are under way, the second of which waits for the first, and a third waits in the queue.

const WEBHOOK = 1;
const RETRY_MS = 5_000;

function seeded() {
  const temporary = temporaryDatabase();
  const clock = fakeClock();
  const jobs = openWebhookJobStore(temporary.db);
  temporary.db.sqlite.run(
    `INSERT INTO webhook (id, uid, workspace_id, url, events, is_enabled, secret, created_at)
     VALUES (${WEBHOOK}, 'w', 1, 'https://example.com/', '["*"]', 1, x'00', 0)`,
  );
  let events = 0;
  const happen = () => {
    const id = ++events;
    temporary.db.sqlite.run(
      `INSERT INTO event (id, uid, workspace_id, type, resource, body, created_at)
       VALUES (${id}, 'e${id}', 1, 'email.sent', 'an email', '{}', ${clock.now()})`,
    );
    jobs.add({ webhookId: WEBHOOK, eventId: id, nextAt: clock.now(), again: "always" });
  };
  const claim = (limit: number): string[] => {
    const now = clock.now();
    const claimed = jobs.queue.claim({ laneId: WEBHOOK, now, limit, retryAt: () => now + RETRY_MS });
    return claimed.map(({ id }) => jobs.findCall(id)?.event.uid ?? "");
  };
  /** The next start; `spread`: the chances that it draws. */
  const restart = (spread: number[]) =>
    freeInterrupted({
      queue: jobs.queue,
      handler: {},
      commit: temporary.committer.commit,
      clock,
      random: { unit: () => spread.shift() ?? 0, bytes: () => new Uint8Array() },
      log: { event: () => undefined, error: (_where, error) => void bugs.push(error) },
      failed: { keep: () => undefined, has: () => false, getName: String },
      freed: () => undefined,
    });
  const bugs: unknown[] = [];
  return { clock, happen, claim, restart, bugs, [Symbol.dispose]: () => temporary[Symbol.dispose]() };
}

test("after a kill the first calls of a resource are made in the order of its events", async () => {
  using on = seeded();
  for (let event = 0; event < 3; event += 1) {
    on.happen();
    on.clock.advance(1);
  }
  expect(on.claim(2)).toEqual(["e1", "e2"]);
  const heads = await on.restart([0.9, 0.1]);
  // At once: the third is due, and would come first.
  expect(heads.map(({ dueAt }) => dueAt <= on.clock.now())).toEqual([true]);
  expect(on.claim(1)).toEqual(["e1"]);
  expect(on.claim(10)).toEqual(["e2", "e3"]);
  expect(on.bugs).toEqual([]);
});

test("events of one millisecond, and of a second kill, keep their order too", async () => {
  using on = seeded();
  for (let event = 0; event < 3; event += 1) on.happen();
  expect(on.claim(2)).toEqual(["e1", "e2"]);
  await on.restart([0.9, 0.1]);
  on.happen();
  expect(on.claim(3)).toEqual(["e1", "e2", "e3"]);
  await on.restart([0.9, 0.5, 0.1]);
  expect(on.claim(10)).toEqual(["e1", "e2", "e3", "e4"]);
  expect(on.bugs).toEqual([]);
});

test("a call that was cut off for the third time keeps its delay: it may be what kills the process", async () => {
  using on = seeded();
  on.happen();
  for (let round = 0; round < 3; round += 1) {
    expect(on.claim(1)).toEqual(["e1"]);
    await on.restart([0]);
  }
  expect(on.claim(1)).toEqual([]);
  on.clock.advance(RETRY_MS);
  expect(on.claim(1)).toEqual(["e1"]);
});
