// Deliveries by hand, while something else of the same event goes on: what was answered 202 is done.
import { expect, setDefaultTimeout, test } from "bun:test";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { DAY, NOON, SECOND, startCalled } from "../../support/api/webhook-kit.ts";

setDefaultTimeout(20_000);

const OK = () => new Response(null, { status: 204 });
const BROKEN = () => new Response(null, { status: 500 });

/** An event whose first call failed and whose second one is under way, held by the receiver until `answer` is called. */
async function startUnderWay() {
  const receiver = startReceiver();
  receiver.answer = BROKEN;
  const on = await startCalled(receiver);
  const { workspace } = on.pombo;
  // What the start of the instance has told is not looked at.
  await on.advance(SECOND);
  const since = new Date(NOON + SECOND).toISOString();
  await workspace.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
  await receiver.until(() => receiver.calls.length === 1);
  await on.idle();
  const held = Promise.withResolvers<Response>();
  receiver.answer = () => held.promise;
  await on.advance(6 * SECOND);
  await receiver.until(() => receiver.calls.length === 2);
  const [first] = await on.deliveries();
  return {
    ...on,
    receiver,
    replay: () => workspace.call("POST", `${on.path}/deliveries/${first.id}/replay`),
    recover: () => workspace.call("POST", `${on.path}/recover`, { body: { since } }),
    /** Ends the call that is under way; those that follow succeed. */
    answer(ending: () => Response) {
      receiver.answer = OK;
      held.resolve(ending());
    },
    attempts: async () => (await on.deliveries()).map(({ attempt }: { attempt: number }) => attempt),
    async [Symbol.asyncDispose]() {
      held.resolve(OK());
      await on[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

test("a replay that is asked for while the event is on its way follows when that call has ended, well or not", async () => {
  for (const first of [OK, BROKEN]) {
    await using on = await startUnderWay();
    expect((await on.replay()).status).toBe(202);
    // Twice asked is one call more.
    expect((await on.replay()).status).toBe(202);
    on.answer(first);
    await on.receiver.until(() => on.receiver.calls.length === 3);
    await on.idle();
    // A fresh one: with all its attempts.
    expect(await on.attempts()).toEqual([1, 2, 1]);
    expect(new Set(on.receiver.calls.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    await on.advance(DAY);
    await on.idle();
    expect(on.receiver.calls).toHaveLength(3);
  }
});

test("the delivery that ended shows that another call follows at once", async () => {
  await using on = await startUnderWay();
  await on.replay();
  on.receiver.answer = () => Promise.withResolvers<Response>().promise;
  on.answer(BROKEN);
  await on.receiver.until(() => on.receiver.calls.length === 3);
  await on.idle();
  const [, second] = await on.deliveries();
  expect([second.attempt, second.nextAttemptAt]).toEqual([2, second.failedAt]);
});

test("a recovery leaves a call under way alone, and has it made again only if it fails", async () => {
  {
    await using on = await startUnderWay();
    expect((await on.recover()).body).toEqual({ data: { queued: 1 } });
    on.answer(OK);
    await on.idle();
    await on.advance(DAY);
    await on.idle();
    expect(await on.attempts()).toEqual([2, 1]);
  }
  await using on = await startUnderWay();
  expect((await on.recover()).body).toEqual({ data: { queued: 1 } });
  on.answer(BROKEN);
  await on.receiver.until(() => on.receiver.calls.length === 3);
  await on.idle();
  expect(await on.attempts()).toEqual([1, 2, 1]);
});

test("a replay asked for while a call was under way is made after a crash in that call", async () => {
  await using on = await startUnderWay();
  const { sqlite } = on.pombo.app.db;
  await on.replay();
  // As a crash leaves the row, at an attempt that would otherwise wait for its hours.
  on.answer(OK);
  await on.idle();
  const calls = on.receiver.calls.length;
  sqlite.run(
    `INSERT INTO webhook_job (webhook_id, event_id, next_at, attempts, in_flight, again)
     SELECT (SELECT id FROM webhook), (SELECT MAX(id) FROM event), ${NOON}, 7, 1, 'always'`,
  );
  await on.restart();
  await on.receiver.until(() => on.receiver.calls.length === calls + 1);
  await on.idle();
  expect((await on.attempts())[0]).toBe(1);
  expect(on.pombo.app.db.sqlite.query("SELECT * FROM webhook_job").all()).toEqual([]);
});

test("of two recoveries at once of one webhook the second begins when the first has ended", async () => {
  await using receiver = startReceiver();
  await using on = await startCalled(receiver);
  const { workspace, app } = on.pombo;
  // Twelve shares of what it never got: it takes its time.
  app.db.sqlite.run(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
     INSERT INTO event (uid, workspace_id, type, resource, body, created_at)
     SELECT 'e' || i, (SELECT workspace_id FROM webhook), 'email.sent', 'r' || i, '{}', ${NOON - DAY} + i FROM n`,
  );
  receiver.answer = () => new Response(null, { status: 500 });
  const recoverSince = (ms: number) =>
    workspace.call("POST", `${on.path}/recover`, { body: { since: new Date(ms).toISOString() } });
  // Those that come meanwhile wait for its end, and are one: from the earliest of their times.
  const answers = await Promise.all([NOON - DAY, NOON, NOON - DAY + 1_000].map(recoverSince));
  const counts = answers.map(({ status, body }) => [status, body.data?.queued]);
  const of = app.db.sqlite
    .query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM event WHERE created_at >= ${NOON - DAY + 1_000}`)
    .get();
  expect(counts[0]?.[1]).toBeGreaterThanOrEqual(6_000);
  expect(counts.slice(1)).toEqual([
    [202, of?.n],
    [202, of?.n],
  ]);
});

test("what happens to emails while pombo has turned a webhook off is brought by a recovery, and not what its owner missed", async () => {
  await using receiver = startReceiver();
  receiver.answer = () => new Response(null, { status: 410 });
  await using on = await startCalled(receiver);
  const { workspace } = on.pombo;
  const send = async () => {
    const { body } = await workspace.call("POST", "/api/v1/emails", { body: on.pombo.email() });
    await on.pombo.app.worker.idle();
    return body.data.id as string;
  };
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.idle();
  await on.advance(SECOND);
  const missed = await send();
  await on.idle();
  expect(on.pombo.app.db.sqlite.query("SELECT * FROM webhook_job").all()).toEqual([]);
  await workspace.call("PATCH", on.path, { body: { enabled: false } });
  const unkept = await send();
  await workspace.call("PATCH", on.path, { body: { enabled: true } });
  receiver.answer = OK;
  receiver.calls.length = 0;
  const since = new Date(NOON + SECOND).toISOString();
  expect((await workspace.call("POST", `${on.path}/recover`, { body: { since } })).body.data.queued).toBe(2);
  await on.idle();
  expect(receiver.calls.map(({ event }) => [event.type, event.data.id])).toEqual([
    ["email.queued", missed],
    ["email.delivered", missed],
  ]);
  expect(receiver.calls.some(({ body }) => body.includes(unkept))).toBe(false);
});
