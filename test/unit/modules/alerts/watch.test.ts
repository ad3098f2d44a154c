import { describe, expect, test } from "bun:test";
import type { Trouble } from "../../../../src/modules/alerts/trouble.ts";
import { type SeenRow, type Told, TroubleWatch } from "../../../../src/modules/alerts/watch.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 5, 30, 12);

const DISK: Trouble = { id: "disk", level: "warning", what: "The disk fills.", step: "Make room." };

/** A watch that is asked every fifteen seconds, as the notifier does. */
function startWatch(options: { isKept?: boolean } = {}) {
  let told: Told[] = [];
  let seen: readonly SeenRow[] = [];
  let at = 0;
  let shiftMs = 0;
  const moment = () => ({ now: NOON + at + shiftMs, steadyMs: at });
  let watch = new TroubleWatch(told, seen, moment());
  const said: string[] = [];
  const kit = {
    said,
    /** What is told: `kind id`, with the minutes since noon. */
    pass(ms: number, troubles: (atMs: number) => readonly Trouble[]) {
      for (const end = at + ms; at < end; at += 15 * SECOND) {
        const decision = watch.look(troubles(at), moment());
        if (options.isKept === false) continue;
        watch.accept(decision);
        told = [
          ...told.filter(({ id }) => !decision.removed.includes(id) && !decision.put.some((row) => row.id === id)),
          ...decision.put,
        ];
        seen = decision.seen ?? seen;
        for (const { kind, id } of decision.notices) said.push(`${kind} ${id} ${Math.round(at / MINUTE)}`);
      }
    },
    /** `downMs`: nothing runs for so long. */
    restart(downMs = 0) {
      at += downMs;
      watch = new TroubleWatch(told, seen, moment());
    },
    shiftClock: (ms: number) => void (shiftMs += ms),
    rows: () => told,
    seen: () => seen,
  };
  // The grace after a start is over.
  kit.pass(20 * MINUTE, () => []);
  at = 0;
  watch = new TroubleWatch([], [], { now: NOON, steadyMs: -HOUR });
  return kit;
}

const there = () => [DISK];
const gone = () => [];

describe("a trouble", () => {
  test("is told after two minutes, and its end after two minutes without it", () => {
    const { pass, said } = startWatch();
    pass(HOUR, there);
    expect(said).toEqual(["began disk 2"]);
    pass(HOUR, gone);
    expect(said).toEqual(["began disk 2", "ended disk 62"]);
  });

  test("of less than two minutes is a hiccup, also when it comes each hour", () => {
    const { pass, said } = startWatch();
    pass(DAY, (at) => (at % HOUR < 90 * SECOND ? [DISK] : []));
    expect(said).toEqual([]);
  });

  test("that comes and goes each minute is one all the same", () => {
    const { pass, said } = startWatch();
    pass(HOUR, (at) => (at % (2 * MINUTE) < MINUTE ? [DISK] : []));
    expect(said).toEqual([expect.stringMatching(/^began disk [45]$/)]);
  });

  test("that comes and goes all day is told a handful of times", () => {
    const { pass, said } = startWatch();
    pass(DAY, (at) => (at % (20 * MINUTE) < 10 * MINUTE ? [DISK] : []));
    expect(said.length).toBeLessThan(8);
    expect(said.length).toBeGreaterThan(3);
  });

  test("that lasts is told again each day, and not in between", () => {
    const { pass, said } = startWatch();
    pass(3 * DAY + HOUR, there);
    expect(said).toEqual(["began disk 2", "reminded disk 1442", "reminded disk 2882", "reminded disk 4322"]);
  });

  test("that becomes a problem is told at once, and one that becomes less is not", () => {
    const { pass, said, rows } = startWatch();
    pass(10 * MINUTE, there);
    pass(10 * MINUTE, () => [{ ...DISK, level: "problem" }]);
    pass(10 * MINUTE, there);
    expect(said).toEqual(["began disk 2", "worsened disk 10"]);
    expect(rows()).toMatchObject([{ level: "problem" }]);
  });

  test("is told once over a restart, and does not end because the new process does not see it yet", () => {
    const { pass, said, restart } = startWatch();
    pass(10 * MINUTE, there);
    restart();
    pass(10 * MINUTE, gone);
    pass(10 * MINUTE, there);
    expect(said).toEqual(["began disk 2"]);
    restart();
    pass(20 * MINUTE, gone);
    expect(said).toEqual(["began disk 2", "ended disk 45"]);
  });

  test("is told again as long as it could not be written that it was", () => {
    const watch = new TroubleWatch([], [], { now: NOON, steadyMs: 0 });
    const look = (steadyMs: number) => watch.look([DISK], { now: NOON + steadyMs, steadyMs });
    look(0);
    expect(look(2 * MINUTE).notices).toHaveLength(1);
    const decision = look(3 * MINUTE);
    expect(decision.notices).toHaveLength(1);
    watch.accept(decision);
    expect(look(4 * MINUTE).notices).toEqual([]);
  });

  test("of several with the same name counts as the worst", () => {
    const watch = new TroubleWatch([], [], { now: NOON, steadyMs: 0 });
    const both = [{ ...DISK, level: "problem" as const }, DISK];
    watch.look(both, { now: NOON, steadyMs: 0 });
    const { notices } = watch.look(both.toReversed(), { now: NOON + 2 * MINUTE, steadyMs: 2 * MINUTE });
    expect(notices).toMatchObject([{ id: "disk", level: "problem" }]);
  });
});

describe("a process that is started again", () => {
  for (const [name, upMs, downMs] of [
    ["each minute", MINUTE, 10 * SECOND],
    ["after each look", 15 * SECOND, SECOND],
    ["each minute, with pauses of five", MINUTE, 5 * MINUTE],
  ] as const)
    test(`${name} goes on counting, and tells once what lasts`, () => {
      const { pass, said, restart, seen } = startWatch();
      for (let run = 0; run < 20; run += 1) {
        pass(upMs, there);
        restart(downMs);
      }
      expect(said).toEqual([expect.stringMatching(/^began disk /)]);
      expect(seen()).toEqual([]);
    });

  test("after each look, with a row of long before, goes on counting all the same", () => {
    const { pass, said, restart } = startWatch();
    pass(15 * SECOND, there);
    restart(20 * MINUTE);
    for (let run = 0; run < 40; run += 1) {
      pass(15 * SECOND, there);
      restart(SECOND);
    }
    expect(said).toEqual([expect.stringMatching(/^began disk /)]);
  });

  test("tells nothing of a trouble that was there for less than two minutes in all", () => {
    const { pass, said, restart, seen } = startWatch();
    pass(MINUTE, there);
    restart(20 * SECOND);
    pass(15 * SECOND, there);
    restart(5 * SECOND);
    pass(10 * MINUTE, gone);
    expect([said, seen()]).toEqual([[], []]);
  });

  test("tells nothing of what is there at each start and gone soon after", () => {
    const { pass, said, restart } = startWatch();
    for (let run = 0; run < 50; run += 1) {
      pass(15 * SECOND, there);
      pass(MINUTE, gone);
      restart(10 * SECOND);
    }
    expect(said).toEqual([]);
  });

  test("forgets what was seen before a long time, or before the clock was set back", () => {
    for (const stepMs of [HOUR, -HOUR]) {
      const { pass, said, restart, shiftClock } = startWatch();
      pass(1.5 * MINUTE, there);
      shiftClock(stepMs);
      restart();
      pass(1.5 * MINUTE, there);
      expect(said).toEqual([]);
    }
  });
});

test("a steady clock with fractions of milliseconds leaves whole ones", () => {
  const watch = new TroubleWatch([], [], { now: NOON, steadyMs: 0.125 });
  const look = (steadyMs: number) => watch.look([DISK], { now: NOON + Math.round(steadyMs), steadyMs });
  const { seen } = look(0.25);
  const { put, notices } = look(2 * MINUTE + 0.375);
  const times = [...(seen ?? []).map(({ lastAt }) => lastAt), ...put.map(({ beganAt }) => beganAt)];
  expect([seen?.length, put.length, notices.length, ...times.map(Number.isInteger)]).toEqual([1, 1, 1, true, true]);
});

test("a clock that is set back by years makes no silence of years", () => {
  const { pass, said, shiftClock } = startWatch();
  pass(10 * MINUTE, there);
  shiftClock(-400 * DAY);
  pass(DAY + HOUR, there);
  expect(said).toEqual(["began disk 2", "reminded disk 1450"]);
});

test("a clock that jumps forward ends nothing and begins nothing", () => {
  const { pass, said, shiftClock } = startWatch();
  pass(MINUTE, there);
  shiftClock(HOUR);
  pass(30 * SECOND, there);
  expect(said).toEqual([]);
});

test("what a source cannot say now stays as it was", () => {
  const watch = new TroubleWatch([], [], { now: NOON, steadyMs: -HOUR });
  const look = (troubles: Trouble[], steadyMs: number, isUnsure = false) => {
    const decision = watch.look(troubles, { now: NOON + steadyMs, steadyMs }, () => isUnsure);
    watch.accept(decision);
    return decision.notices.map(({ kind }) => kind);
  };
  look([DISK], 0);
  expect(look([DISK], 2 * MINUTE)).toEqual(["began"]);
  expect(look([], HOUR, true)).toEqual([]);
  look([], HOUR + MINUTE);
  expect(look([], HOUR + 4 * MINUTE)).toEqual(["ended"]);
});

test("an end is forgotten after a day, and with it how often it came back", () => {
  const { pass, rows } = startWatch();
  pass(5 * MINUTE, there);
  pass(HOUR, gone);
  expect(rows()).toMatchObject([{ id: "disk", returns: 1 }]);
  pass(DAY, gone);
  expect(rows()).toEqual([]);
});
