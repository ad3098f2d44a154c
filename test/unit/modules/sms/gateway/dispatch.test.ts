import { expect, test } from "bun:test";
import type { Clock } from "../../../../../src/platform/clock.ts";
import { Dispatcher } from "../../../../../src/modules/sms/gateway/dispatch.ts";
import type { DispatchTarget } from "../../../../../src/modules/sms/gateway/link-event.ts";
import type { Submission } from "../../../../../src/modules/sms/gateway/submission.ts";
import { openRoutes } from "../../../../../src/modules/sms/gateway/route-settings.ts";
import { defaultSmsRoute } from "../../../../../src/config/config.ts";
import { openSuppressionStore } from "../../../../../src/modules/suppressions/store.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { addMessage, addWorkspace, openLedger } from "../../../../support/sms/rows.ts";

/** It goes on by a millisecond whenever it is read, so that what was not due at one look is at the next. */
function restlessClock(from: number): Clock & { fire: () => void; pending: () => number } {
  let now = from;
  const timers = new Set<() => void>();
  return {
    now: () => now++,
    after(_delayMs, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
    fire() {
      for (const run of [...timers]) if (timers.delete(run)) run();
    },
    pending: () => timers.size,
  };
}

test("a segment that falls due while a link looks for it is not left waiting for good", async () => {
  using of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const clock = restlessClock(1_000);
  const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
  if (route === undefined) throw new Error("no route");
  const open: DispatchTarget[] = [];
  const dispatcher = new Dispatcher({
    sms: ledger,
    links: { open },
    breaker: { allowance: () => Infinity },
    suppressions: openSuppressionStore(of.db, new Uint8Array(32)),
    isHeld: () => false,
    commit: of.committer.commit,
    guard: { failure: null, whenOpen: () => () => undefined },
    clock,
    log: { event: () => undefined, error: (_where, error) => expect(error).toBeUndefined() },
  });
  const { promise: sent, resolve } = Promise.withResolvers<Submission[]>();
  const outlet: DispatchTarget = { name: "a", route, free: 1, freeWith: () => 1, send: resolve, returned: 0 };
  open.push(outlet);
  // Due one millisecond after the link looks, and before anything else is asked of the clock.
  await of.committer.commit(() => addMessage(ledger, 1, { segment: { nextAt: 1_001 } }));
  dispatcher.nudge({ route: "vodacom", priority: "transactional", workspaceId: 1, nextAt: 1_001 });
  await Promise.resolve();
  expect(clock.pending()).toBe(1);
  clock.fire();
  expect(await sent).toHaveLength(1);
  await dispatcher.stop();
});

/** A dispatcher over a database, whose clock can be set back, and a link that notes what it is handed. */
function start() {
  const bugs: unknown[] = [];
  const of = temporaryDatabase();
  const ledger = openLedger(of.db);
  const steady = fakeClock(1_000);
  let behindMs = 0;
  const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
  if (route === undefined) throw new Error("no route");
  const open: DispatchTarget[] = [];
  const dispatcher = new Dispatcher({
    sms: ledger,
    links: { open },
    breaker: { allowance: () => Infinity },
    suppressions: openSuppressionStore(of.db, new Uint8Array(32)),
    isHeld: () => false,
    commit: of.committer.commit,
    guard: { failure: null, whenOpen: () => () => undefined },
    clock: { now: () => steady.now() - behindMs, after: (delayMs, run) => steady.after(delayMs, run) },
    log: { event: () => undefined, error: (_where, error) => void bugs.push(error) },
  });
  const sent: [messageId: number, seqs: number[]][] = [];
  const send = (flights: Submission[]) =>
    void sent.push(...flights.map(({ messageId, seqs }) => [messageId, seqs] as [number, number[]]));
  const outlet: DispatchTarget = { name: "a", route, free: 10, freeWith: () => 10, send, returned: 0 };
  open.push(outlet);
  return {
    of,
    ledger,
    dispatcher,
    outlet,
    bugs,
    sent,
    steady,
    commit: of.committer.commit,
    setBack: (ms: number) => void (behindMs += ms),
    /** Whatever was begun is done. */
    async rest() {
      for (let turn = 0; turn < 4; turn += 1) await of.committer.commit(() => undefined);
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.stop();
      of[Symbol.dispose]();
      expect(bugs).toEqual([]);
    },
  };
}

const WORK = { route: "vodacom", priority: "transactional", workspaceId: 1 } as const;
const CLAIM = { ...WORK, link: "a", leaseEpoch: 1_000, now: 0, limit: 1 };

test("a link goes on asking for what belongs to another one when the clock is set back", async () => {
  await using on = start();
  // Of another link, which is away.
  await on.commit(() => {
    addMessage(on.ledger, 2);
    on.ledger.segments.claim({ ...CLAIM, link: "b" });
  });
  on.dispatcher.nudge({ ...WORK, nextAt: 0 });
  await on.rest();
  expect(on.sent).toEqual([]);
  const later = await on.commit(() => addMessage(on.ledger, 1, { segment: { nextAt: 3_000 } }));
  on.setBack(400);
  for (let second = 0; second < 5; second += 1) {
    on.steady.advance(1_000);
    await on.rest();
  }
  expect(on.sent).toEqual([[later, [1]]]);
});

test("the parts behind one that is refused in the same transaction are not claimed", async () => {
  await using on = start();
  const id = await on.commit(() => {
    addWorkspace(on.ledger, 10);
    return addMessage(on.ledger, 2);
  });
  const [first] = await on.commit(() => on.ledger.segments.claim(CLAIM));
  if (first === undefined) throw new Error("nothing was claimed");
  on.dispatcher.nudge({ ...WORK, nextAt: 0 });
  const said = {
    providerStatus: "ESME_RINVDSTADR",
    providerCode: null,
    category: "invalid_destination",
    reason: null,
  } as const;
  void on.commit(() => on.ledger.segments.end(first, { state: "failed", now: 1_000 }, said));
  await on.rest();
  expect(on.sent).toEqual([]);
  expect(on.ledger.segments.listByMessage(id).map(({ state, credit }) => [state, credit])).toEqual([
    ["failed", "refunded"],
    ["failed", "refunded"],
  ]);
});

test("what was claimed for a link is handed over though another link fails to take its own", async () => {
  await using on = start();
  const failing: DispatchTarget = {
    ...on.outlet,
    name: "b",
    freeWith: () => 1,
    send() {
      throw new Error("no link");
    },
  };
  await on.commit(() => {
    addWorkspace(on.ledger, 10);
    addMessage(on.ledger, 1);
  });
  const other = await on.commit(() => addMessage(on.ledger, 1, { segment: { nextAt: 1 } }));
  const freed = new Map([
    [failing, 1],
    [on.outlet, 1],
  ]);
  const handOver = await on.commit(() => {
    on.dispatcher.nudge({ ...WORK, nextAt: 0 });
    return on.dispatcher.claimAlongside(freed);
  });
  handOver();
  expect(on.sent).toEqual([[other, [1]]]);
  expect(on.bugs.splice(0)).toMatchObject([{ message: "no link" }]);
});

test("of texts that are claimed together the one that a bug keeps from it is found and put off; the others go, in their order", async () => {
  await using on = start();
  const ids = await on.commit(() => {
    addWorkspace(on.ledger, 20);
    return Array.from({ length: 6 }, (_, i) => addMessage(on.ledger, 1, { segment: { nextAt: i } }));
  });
  const [poisoned] = ids.splice(3, 1);
  // Where they are settled, before the COMMIT.
  on.of.db.sqlite.run(`CREATE TRIGGER poison BEFORE UPDATE OF status ON sms_message WHEN NEW.id = ${poisoned}
    BEGIN SELECT RAISE(ABORT, 'poisoned'); END`);
  on.dispatcher.nudge({ ...WORK, nextAt: 0 });
  for (let second = 0; second < 3; second += 1) {
    await on.rest();
    await on.rest();
    await on.rest();
    on.steady.advance(1_000);
  }
  expect(on.sent).toEqual(ids.map((id) => [id, [1]]));
  expect(on.ledger.segments.listByMessage(poisoned ?? 0)).toMatchObject([{ state: "ready", attempts: 0 }]);
  // All together, then it alone.
  expect(on.bugs.splice(0)).toHaveLength(2);
  on.of.db.sqlite.run("DROP TRIGGER poison");
  for (let second = 0; second < 62; second += 1) {
    on.steady.advance(1_000);
    await on.rest();
  }
  expect(on.sent.at(-1)).toEqual([poisoned ?? 0, [1]]);
});
