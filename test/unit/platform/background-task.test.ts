import { expect, test } from "bun:test";
import { BackgroundTask } from "../../../src/platform/background-task.ts";
import { StorageError } from "../../../src/platform/db/storage-error.ts";
import { turn } from "../../support/db/temporary.ts";
import { fakeClock } from "../../support/fakes/clock.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

type Run = (stopping: AbortSignal, count: number) => Promise<number | null> | number | null;

/** A task whose runs are counted; `run` is given the number of the run, from 1. */
function taskWith(run: Run) {
  const clock = fakeClock();
  const errors: { where: string; error: unknown }[] = [];
  const state = { runs: 0, now: 0, most: 0 };
  const task = new BackgroundTask({
    name: "sweep",
    clock,
    log: { error: (where, error) => void errors.push({ where, error }) },
    async run(stopping) {
      state.runs += 1;
      state.now += 1;
      state.most = Math.max(state.most, state.now);
      try {
        return await run(stopping, state.runs);
      } finally {
        state.now -= 1;
      }
    },
  });
  const advance = async (ms: number) => {
    await turn();
    clock.advance(ms);
    await turn(2);
  };
  return { task, clock, errors, state, advance };
}

test("before start nothing runs, whatever triggers it", async () => {
  const on = taskWith(() => null);
  on.task.trigger();
  await on.advance(DAY);
  expect([on.state.runs, on.clock.pending]).toEqual([0, 0]);
  on.task.start();
  await turn();
  expect(on.state.runs).toBe(1);
});

test("each run says when the next is due, and null waits for a trigger", async () => {
  const on = taskWith((_, count) => (count < 3 ? 1_000 : null));
  on.task.start(500);
  const seen: number[] = [];
  for (const ms of [499, 1, 999, 1, 1_000, DAY]) {
    await on.advance(ms);
    seen.push(on.state.runs);
  }
  expect([seen, on.clock.pending]).toEqual([[0, 1, 1, 2, 3, 3], 0]);
  on.task.trigger();
  await turn();
  expect(on.state.runs).toBe(4);
});

test("a trigger comes before the planned run and takes its place", async () => {
  const on = taskWith(() => 1_000);
  on.task.start();
  await turn();
  await on.advance(600);
  on.task.trigger();
  await on.advance(600);
  expect([on.state.runs, on.clock.pending]).toEqual([2, 1]);
  await on.advance(400);
  expect(on.state.runs).toBe(3);
});

test("triggers while a run is under way lead to one more after it, and never to two at once", async () => {
  const gates = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  const on = taskWith((_, count) => gates[count - 1]?.promise ?? null);
  on.task.start();
  for (let i = 0; i < 5; i++) on.task.trigger();
  await on.advance(DAY);
  expect(on.state.runs).toBe(1);
  gates[0]?.resolve(null);
  await turn();
  expect(on.state.runs).toBe(2);
  gates[1]?.resolve(null);
  await on.task.idle();
  expect([on.state.runs, on.state.most]).toEqual([2, 1]);
});

test("a run that triggers its own task before it waits for anything runs once more, after it", async () => {
  const on = taskWith((_, count) => {
    if (count === 1) on.task.trigger();
    return null;
  });
  on.task.start();
  await on.task.idle();
  expect([on.state.runs, on.state.most]).toEqual([2, 1]);
});

test("after a storage error the next run comes a minute later, and nothing is logged", async () => {
  const on = taskWith((_, count) => {
    if (count === 1) throw new StorageError(new Error("disk full"));
    return null;
  });
  on.task.start();
  await on.advance(MINUTE - 1);
  expect(on.state.runs).toBe(1);
  await on.advance(1);
  expect([on.state.runs, on.errors, on.clock.pending]).toEqual([2, [], 0]);
});

test("an internal error is logged by the task's name, and the run is repeated a minute later", async () => {
  const fault = new Error("no");
  const on = taskWith((_, count) => (count === 1 ? Promise.reject(fault) : null));
  on.task.start();
  await on.advance(MINUTE);
  expect([on.state.runs, on.errors]).toEqual([2, [{ where: "sweep", error: fault }]]);
});

test("a stop aborts the signal, waits for the run under way and lets no other begin", async () => {
  const gate = Promise.withResolvers<number>();
  let signal: AbortSignal | null = null;
  const on = taskWith((stopping) => {
    signal = stopping;
    return gate.promise;
  });
  on.task.start();
  on.task.trigger();
  await turn();
  expect(signal).toMatchObject({ aborted: false });
  let isStopped = false;
  const stopped = on.task.stop().then(() => (isStopped = true));
  await turn(3);
  expect([isStopped, signal]).toMatchObject([false, { aborted: true }]);
  gate.resolve(1_000);
  await stopped;
  on.task.trigger();
  on.task.start();
  await on.advance(DAY);
  expect([on.state.runs, on.clock.pending]).toEqual([1, 0]);
});

test("a stop ends the wait for a planned run, and may come before the start and twice", async () => {
  const on = taskWith(() => 1_000);
  on.task.start();
  await turn();
  await on.task.stop();
  await on.task.stop();
  const never = taskWith(() => 1_000);
  await never.task.stop();
  never.task.start(10);
  await never.advance(DAY);
  expect([on.state.runs, on.clock.pending, never.state.runs, never.clock.pending]).toEqual([1, 0, 0, 0]);
});

test("a delay of months is not cut to nothing by the timer's limit", async () => {
  const delays: number[] = [];
  const clock = fakeClock();
  const task = new BackgroundTask({
    name: "sweep",
    clock: {
      after(delayMs, run) {
        delays.push(delayMs);
        return clock.after(delayMs, run);
      },
    },
    log: { error: () => undefined },
    run: () => 100 * DAY,
  });
  task.start();
  await turn();
  expect(delays).toEqual([2 ** 31 - 1]);
  await task.stop();
});
