import { expect, test } from "bun:test";
import { turn } from "../../../support/db/temporary.ts";
import { supervised } from "./supervised.ts";

const MIB = 1024 * 1024;
const STOP_MS = 35_000;

test("a daemon that ends is started again, later each time, and at once after it ran well", async () => {
  const { begin, supervisor, done, children, pass, clock } = supervised();
  await begin();
  const waits: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    const before = clock.now();
    children.at(-1)?.end(1);
    await turn(3);
    while (children.length === round + 1) await pass(500, 500);
    waits.push((clock.now() - before) / 1_000);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  await pass(61_000, 2_000);
  children.at(-1)?.end(null);
  await turn(3);
  const count = children.length;
  await pass(1_000);
  expect(children.length).toBe(count + 1);
  expect(supervisor.status.restarts).toBe(9);
  expect(done.filter((each) => each === "leave")).toHaveLength(1);
});

test("a daemon that does not answer for a minute is ended by force and started again", async () => {
  const { begin, supervisor, done, pass, answers, at } = supervised();
  await begin();
  answers();
  await pass(10_000);
  expect(supervisor.status.isRunning).toBe(true);
  at.state = null;
  await pass(55_000);
  expect(done).not.toContain("SIGKILL");
  await pass(15_000);
  expect(done.slice(-2)).toEqual(["SIGKILL", "spawn"]);
});

test("while no daemon answers, a log of 256 MiB is brought in here; when one does, it is left to it", async () => {
  const { begin, supervisor, done, pass, answers, at, children, events } = supervised();
  await begin();
  answers();
  await pass(6_000);
  at.walBytes = 300 * MIB;
  await pass(10_000);
  // Its own to bring in, however large.
  expect(done).toEqual(["leave", "spawn"]);
  at.state = null;
  at.walBytes = 255 * MIB;
  children.at(-1)?.end(1);
  await pass(10_000);
  expect(done).not.toContain("take");
  at.walBytes = 257 * MIB;
  await pass(5_000);
  expect(done.filter((each) => each === "take")).toHaveLength(1);
  expect(supervisor.status.checkpointsBy).toBe("pombo");
  expect(events.filter((each) => each.startsWith("replication.checkpoints"))[0]).toContain('"by":"pombo"');
  await pass(20_000);
  expect(done.filter((each) => each === "take")).toHaveLength(1);
  answers();
  await pass(5_000);
  expect(done.at(-1)).toBe("leave");
  expect(supervisor.status.checkpointsBy).toBe("litestream");
});

test("what was not copied for five minutes is trouble that keeps nobody from sending", async () => {
  const { begin, supervisor, pass, answers, at, clock } = supervised();
  await begin();
  answers();
  await pass(2_000);
  const last = clock.now() - 2_000;
  expect(supervisor.issue).toBeNull();
  at.state = { lastSyncAt: last, transaction: 9, fault: null, isAtIt: false };
  await pass(290_000, 5_000);
  expect(supervisor.issue).toBeNull();
  await pass(20_000, 5_000);
  expect(supervisor.issue).toMatchObject({ component: "replication", since: last, isAdvisory: true });
  expect(supervisor.issue?.reason).toContain("Nothing was replicated for 5 minutes");
  answers();
  await pass(5_000);
  expect(supervisor.issue).toBeNull();
});

test("a clock that is set on or back is no lag and hides none", async () => {
  for (const stepMs of [3_600_000, -3_600_000]) {
    const { begin, supervisor, pass, answers, at, events } = supervised();
    await begin();
    answers();
    await pass(10_000);
    at.setOnMs = stepMs;
    expect(supervisor.issue).toBeNull();
    expect(supervisor.status.lagMs).toBeLessThanOrEqual(10_000);
    await pass(310_000, 5_000);
    expect(supervisor.issue?.reason).toContain("Nothing was replicated for 5 minutes");
    answers();
    await pass(5_000);
    expect([supervisor.issue, supervisor.status.lastSyncAt]).toEqual([null, at.state?.lastSyncAt ?? 0]);
    expect(events.filter((each) => each.includes("hangs"))).toEqual([]);
  }
});

test("what was not copied when the clock was set back is not missed in the replica", async () => {
  const { begin, pass, answers, at, events } = supervised();
  await begin();
  answers();
  await pass(10_000);
  at.setOnMs = -24 * 3_600_000;
  at.state = { ...at.state!, transaction: 9 };
  await pass(295_000, 5_000);
  expect(events.join()).not.toContain("not_restorable");
});

test("a stop has everything copied before the daemon is asked to end", async () => {
  const { begin, supervisor, done, pass, answers, events } = supervised();
  await begin();
  answers();
  await pass(6_000);
  await supervisor.stop(STOP_MS);
  expect(done).toEqual(["leave", "spawn", "sync main", "sync owner", "SIGTERM"]);
  expect(events.at(-1)).toContain('"isComplete":true');
  await pass(60_000, 10_000);
  expect(done).toHaveLength(5);
});

test("a stop while no daemon runs starts one for what is left", async () => {
  const { begin, supervisor, done, pass, answers, children } = supervised();
  await begin();
  children.at(-1)?.end(1);
  await turn(3);
  answers();
  await supervisor.stop(STOP_MS);
  expect(done).toEqual(["leave", "spawn", "spawn", "sync main", "sync owner", "SIGTERM"]);
  await pass(5_000);
  expect(children).toHaveLength(2);
});

test("a daemon that ends of itself during a stop, as when all processes are signalled, is followed by one more", async () => {
  const { begin, supervisor, done, pass, answers, at, children, events } = supervised();
  await begin();
  answers();
  await pass(6_000);
  at.whileSyncing = () => {
    at.whileSyncing = () => undefined;
    children.at(-1)?.end(0);
  };
  await supervisor.stop(STOP_MS);
  expect(done.slice(2)).toEqual(["sync main", "sync owner", "spawn", "sync main", "sync owner", "SIGTERM"]);
  expect(events.at(-1)).toContain('"isComplete":true');
});

test("a daemon that does not end is ended by force, and what is missing is said", async () => {
  const { begin, supervisor, done, pass, answers, at, events } = supervised();
  await begin();
  answers();
  await pass(6_000);
  at.canSync = false;
  at.obeys = false;
  const stopped = supervisor.stop(STOP_MS);
  await pass(20_000);
  await stopped;
  expect(done.slice(-2)).toEqual(["SIGTERM", "SIGKILL"]);
  expect(events.at(-1)).toContain('"isComplete":false');
});

test("what the daemon says comes into the log, but no more than twenty lines a minute", async () => {
  const { begin, pass, children, events } = supervised();
  await begin();
  const [child] = children;
  child?.say('{"time":"x","level":"WARN","msg":"sync error","db":"pombo.db","error":"disk full"}');
  for (let at = 0; at < 50; at += 1) child?.say("panic: something else");
  const said = () => events.filter((each) => each.startsWith("replication.output"));
  expect(said()).toHaveLength(20);
  expect(said()[0]).toContain("pombo.db: sync error: disk full");
  await pass(61_000, 1_000);
  child?.say("again");
  expect(said().slice(20).join()).toContain("31 more lines");
});

test("of a daemon that does not answer the status and the trouble tell what it said last, until it answers", async () => {
  const { begin, supervisor, pass, children, answers, at } = supervised();
  await begin();
  expect(supervisor.status.fault).toBeNull();
  const error = "operation error S3: get credentials: no EC2 IMDS role found, request to EC2 IMDS failed";
  children.at(-1)?.say(JSON.stringify({ level: "ERROR", msg: "sync error", error }));
  expect(supervisor.status).toMatchObject({ isRunning: false, fault: expect.stringContaining(`sync error: ${error}`) });
  expect(supervisor.status.fault).toStartWith(
    "no S3 key is set ([replication] access_key_id and secret_access_key_file)",
  );
  children.at(-1)?.say("x".repeat(2_000));
  expect(supervisor.status.fault).toHaveLength(500);
  children.at(-1)?.say("out of memory");
  children.at(-1)?.end(2);
  await pass(301_000, 5_000);
  expect(supervisor.issue?.reason).toContain("the daemon does not run (out of memory)");
  answers();
  await pass(5_000);
  at.state = null;
  await pass(5_000);
  expect(supervisor.status).toMatchObject({ isRunning: false, fault: null });
});

test("no daemon runs before what must be done first is done; it is tried again, and told", async () => {
  const { begin, supervisor, done, events, pass, answers, at } = supervised();
  at.waitsFor = "the replica cannot be seen";
  await begin();
  await pass(6 * 60_000);
  expect(done).not.toContain("spawn");
  expect(events.filter((each) => each.startsWith("replication.waits")).length).toBeGreaterThan(5);
  expect(supervisor.status).toMatchObject({ isRunning: false, restarts: 0, fault: "the replica cannot be seen" });
  expect(supervisor.issue?.reason).toContain("the daemon does not run (the replica cannot be seen)");
  at.waitsFor = null;
  await pass(61_000);
  expect(done.filter((each) => each === "spawn")).toHaveLength(1);
  answers();
  await pass(6_000);
  expect(supervisor.status).toMatchObject({ isRunning: true, fault: null });
});

test("a stop while nothing is prepared starts no daemon and does not wait for one", async () => {
  const { begin, supervisor, done, events, at } = supervised();
  at.waitsFor = "the replica cannot be seen";
  await begin();
  await supervisor.stop(STOP_MS);
  expect(done).not.toContain("spawn");
  expect(events.at(-1)).toContain('"isComplete":false');
});

test("a stop that is late already gives each step less, and none less than a second", async () => {
  for (const [limitMs, expected] of [
    [35_000, 10_000],
    [16_000, 10_000],
    [10_000, 4_000],
    [2_000, 1_000],
  ] as const) {
    const { begin, supervisor, answers, limits, clock, done, at } = supervised();
    await begin();
    answers();
    at.obeys = false;
    const startedAt = clock.now();
    const stopped = supervisor.stop(limitMs);
    while (!done.includes("SIGKILL")) {
      await turn(3);
      clock.advance(500);
    }
    await stopped;
    expect([limits[0], clock.now() - startedAt]).toEqual([expected, expect.any(Number)]);
    expect(clock.now() - startedAt).toBeLessThanOrEqual(Math.min(limitMs, 18_000) + 500);
  }
});

test("a stop beside a daemon that hangs asks it once whether it is there, not again and again", async () => {
  const { begin, supervisor, clock, done, at } = supervised();
  await begin();
  Object.assign(at, { answersAfterMs: 5_000, obeys: false, canSync: false });
  const startedAt = clock.now();
  const stopped = supervisor.stop(28_000);
  while (!done.includes("SIGKILL")) {
    await turn(3);
    clock.advance(500);
  }
  await stopped;
  expect(clock.now() - startedAt).toBeLessThanOrEqual(28_000);
});

test("a daemon whose last step here is damaged or gone is ended, and the next one begins a new lineage, once", async () => {
  for (const damage of [
    { transaction: null, fault: "verify: EOF", isGone: false },
    { transaction: 7, fault: "no such file", isGone: true },
  ]) {
    const { begin, done, children, pass, answers, at, clock, renewals } = supervised();
    await begin();
    answers();
    await pass(2_000);
    const { isGone, ...seen } = damage;
    at.hasStep = !isGone;
    at.state = { lastSyncAt: clock.now(), isAtIt: false, ...seen };
    // One answer may be a moment's.
    await pass(5_000);
    expect(done).not.toContain("SIGKILL");
    await pass(5_000);
    at.hasStep = true;
    answers();
    await pass(6_000);
    expect(done.slice(1)).toEqual(["spawn", "SIGKILL", "spawn"]);
    expect(renewals).toEqual([null, "its last step here is damaged or gone"]);
    children[1]?.end(1);
    await pass(4_000);
    expect(renewals).toEqual([null, "its last step here is damaged or gone", null]);
  }
});

test("a daemon that cannot read the database has copied nothing, whatever it says, and the log is brought in here", async () => {
  const { begin, supervisor, clock, done, pass, at, renewals } = supervised();
  await begin();
  at.walBytes = 300 * MIB;
  at.state = { lastSyncAt: clock.now(), transaction: 7, fault: "a page cannot be read", isAtIt: false };
  await pass(10_000);
  expect(supervisor.status).toMatchObject({ lastSyncAt: null, checkpointsBy: "pombo" });
  for (let minute = 0; minute < 6; minute += 1) {
    at.state = { lastSyncAt: clock.now(), transaction: 7, fault: "a page cannot be read", isAtIt: false };
    await pass(60_000);
  }
  expect(supervisor.issue?.reason).toContain("a page cannot be read");
  // It may be for want of room, or memory: no new lineage is begun for that.
  expect([done.includes("SIGKILL"), renewals]).toEqual([false, [null]]);
  // At the next try it has forgotten the fault.
  at.state = { lastSyncAt: clock.now(), transaction: 7, fault: null, isAtIt: true };
  await pass(6_000);
  expect(supervisor.status).toMatchObject({ lastSyncAt: null, fault: "a page cannot be read", checkpointsBy: "pombo" });
  at.state = { lastSyncAt: clock.now(), transaction: 8, fault: null, isAtIt: false };
  await pass(6_000);
  expect(supervisor.status).toMatchObject({ lastSyncAt: expect.any(Number), fault: null, checkpointsBy: "litestream" });
});

test("after three daemons that never answered a new lineage is begun; after killed ones it is not", async () => {
  const { begin, children, pass, renewals } = supervised();
  await begin();
  for (let kill = 0; kill < 4; kill += 1) {
    children.at(-1)?.end(null);
    await pass(16_000);
  }
  for (let round = 0; round < 3; round += 1) {
    expect(renewals.every((each) => each === null)).toBe(true);
    children.at(-1)?.end(1);
    await pass(61_000);
  }
  expect(renewals.at(-1)).toBe("3 daemons in a row did not answer");
});

test("a daemon that cannot be started is tried again, and told; a stop meanwhile ends", async () => {
  const { begin, supervisor, done, events, pass, at } = supervised();
  at.cannotStart = true;
  await begin();
  await pass(20_000);
  expect(events.filter((each) => each.includes("ENOENT")).length).toBeGreaterThan(2);
  at.cannotStart = false;
  await pass(61_000);
  expect(done).toContain("spawn");
  const other = supervised();
  other.at.cannotStart = true;
  await other.begin();
  await other.supervisor.stop(STOP_MS);
  expect(other.events.at(-1)).toContain('"isComplete":false');
  expect(supervisor.status.isRunning).toBe(false);
});
