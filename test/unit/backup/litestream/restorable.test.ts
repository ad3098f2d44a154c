import { expect, test } from "bun:test";
import type { ReplicaState } from "../../../../src/backup/litestream/replica.ts";
import { RestorableCheck } from "../../../../src/backup/litestream/restorable.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { supervised } from "./supervised.ts";

const MINUTE_MS = 60_000;
const well = (transaction: number): ReplicaState => ({ kind: "backup", lineage: "", transaction, at: 0 });

/** A check of a replica that holds what the test says. */
function checked() {
  const clock = fakeClock();
  const events: string[] = [];
  const at = { replica: well(1), looks: 0, transaction: 1, settled: [] as string[], isRenewalDue: true };
  const check = new RestorableCheck({
    inspect() {
      at.looks += 1;
      return Promise.resolve(at.replica);
    },
    isRenewalDue: () => at.isRenewalDue,
    settle(lineage) {
      at.settled.push(lineage);
      return Promise.resolve();
    },
    clock,
    log: { event: (name) => void events.push(name), error: () => undefined },
  });
  const observe = (lastSyncAt: number | null = clock.now()) =>
    check.observe({ lastSyncAt, transaction: at.transaction, fault: null, isAtIt: false });
  /** What was to be done in that time, one look each five seconds. */
  const pass = async (ms: number) => {
    const actions: string[] = [];
    for (let passed = 0; passed < ms; passed += 5_000) {
      clock.advance(5_000);
      const action = await observe();
      if (action !== null) actions.push(action);
    }
    return actions;
  };
  return { check, at, clock, events, pass, observe };
}

test("a replica that is well is listed once a minute", async () => {
  const { check, at, pass } = checked();
  check.startDaemon();
  expect(await pass(10 * MINUTE_MS)).toEqual([]);
  expect(at.looks).toBe(10);
  expect(check.fault).toBeNull();
});

test("an emptied replica is believed the second time; a new lineage is asked for when one may be begun", async () => {
  const { check, at, pass, events } = checked();
  check.startDaemon();
  at.replica = { kind: "empty" };
  expect(await pass(MINUTE_MS)).toEqual([]);
  expect(check.fault).toBeNull();
  expect(await pass(10_000)).toEqual(["it holds no snapshot"]);
  expect(check.fault?.reason).toBe("it holds no snapshot");
  check.startDaemon();
  at.isRenewalDue = false;
  expect(await pass(9 * MINUTE_MS)).toEqual([]);
  at.isRenewalDue = true;
  expect(await pass(10_000)).toEqual(["it holds no snapshot"]);
  at.replica = well(1);
  expect(await pass(MINUTE_MS)).toEqual([]);
  expect(check.fault).toBeNull();
  expect(await pass(10 * MINUTE_MS)).toEqual([]);
  expect(events).toEqual(["replication.not_restorable", "replication.restorable"]);
});

test("a listing that fails once, or a replica out of reach, changes nothing", async () => {
  const { check, at, pass } = checked();
  check.startDaemon();
  at.replica = { kind: "broken", lineage: "", reason: "files are missing in it", transaction: 9 };
  expect(await pass(MINUTE_MS)).toEqual([]);
  at.replica = well(9);
  expect(await pass(MINUTE_MS)).toEqual([]);
  at.replica = { kind: "unreachable", reason: "timeout" };
  expect(await pass(5 * MINUTE_MS)).toEqual([]);
  expect(check.fault).toBeNull();
});

test("a replica that ends before what was copied is not taken for whole", async () => {
  const { check, at, pass } = checked();
  check.startDaemon();
  at.transaction = 20;
  at.replica = well(20);
  expect(await pass(2 * MINUTE_MS)).toEqual([]);
  at.replica = well(15);
  expect(await pass(MINUTE_MS + 10_000)).toEqual(["it ends at transaction 15, though 20 was copied"]);
  expect(check.fault?.reason).toContain("15");
  // What the daemon before has copied says nothing of the one that begins with a whole copy.
  check.startDaemon();
  at.replica = well(3);
  at.transaction = 3;
  await pass(MINUTE_MS);
  expect(check.fault).toBeNull();
});

test("the replica of a new database is not looked at before its first sync, nor is one that was not synced since", async () => {
  const { check, at, clock, observe } = checked();
  check.startDaemon();
  at.replica = { kind: "empty" };
  clock.advance(10 * MINUTE_MS);
  expect(await observe(null)).toBeNull();
  expect(at.looks).toBe(0);
  at.replica = well(5);
  at.transaction = 9;
  const syncedAt = clock.now() - 1;
  for (let minute = 0; minute < 5; minute += 1) {
    expect(await observe(syncedAt)).toBeNull();
    clock.advance(MINUTE_MS);
  }
  expect(check.fault).toBeNull();
});

test("the finding about a daemon that has ended meanwhile says nothing of the next", async () => {
  const clock = fakeClock();
  const { promise, resolve } = Promise.withResolvers<ReplicaState>();
  const check = new RestorableCheck({
    inspect: () => promise,
    settle: () => Promise.resolve(),
    isRenewalDue: () => true,
    clock,
    log: { event: () => undefined, error: () => undefined },
  });
  check.startDaemon();
  clock.advance(2 * MINUTE_MS);
  const waiting = check.observe({ lastSyncAt: clock.now(), transaction: 1, fault: null, isAtIt: false });
  check.startDaemon();
  resolve({ kind: "empty" });
  expect(await waiting).toBeNull();
  expect(check.fault).toBeNull();
});

test("the lineage that was seen whole is settled, and none that was not", async () => {
  const { check, at, pass } = checked();
  check.startDaemon();
  at.replica = { kind: "backup", lineage: "a", transaction: 1, at: 0 };
  await pass(2 * MINUTE_MS);
  at.replica = { kind: "empty" };
  await pass(MINUTE_MS);
  expect(at.settled).toEqual(["a", "a"]);
});

test("a replica that nothing can be restored from: a new lineage is begun, and it is an issue until that is whole", async () => {
  const { begin, at, pass, answers, supervisor, renewals, done, clock } = supervised();
  await begin();
  const live = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      answers();
      await pass(5_000);
    }
  };
  await live(90_000);
  expect([renewals, at.settled]).toEqual([[null], 1]);
  at.replica = { kind: "empty" };
  await live(90_000);
  expect(renewals).toEqual([null, "it holds no snapshot"]);
  expect(done).toContain("SIGKILL");
  expect(supervisor.issue?.reason).toContain("Nothing can be restored from the replica: it holds no snapshot.");
  expect(supervisor.issue?.since).toBeLessThan(clock.now());
  at.replica = { kind: "backup", lineage: "", transaction: 7, at: 0 };
  await live(30_000);
  expect([supervisor.issue, at.settled]).toEqual([null, 2]);
  at.lineagesIssue = { component: "replication", reason: "another writes", since: 0 };
  expect(supervisor.issue?.reason).toBe("another writes");
  await live(10 * 60_000);
  expect(renewals).toHaveLength(2);
});
