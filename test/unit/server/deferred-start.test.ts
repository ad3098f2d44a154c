import { expect, test } from "bun:test";
import { StorageError } from "../../../src/platform/db/storage-error.ts";
import { DeferredStart } from "../../../src/server/deferred-start.ts";
import { turn } from "../../support/db/temporary.ts";

const FULL = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });

/** A guard whose opening the test calls; steps that fail while they are told to. */
function starting() {
  const waiters = new Set<() => void>();
  const ran: string[] = [];
  const raised: Error[] = [];
  const errors = new Map<string, Error>();
  const events: string[] = [];
  const deferred = new DeferredStart({
    guard: {
      raise: (error) => void raised.push(error),
      whenOpen(run) {
        waiters.add(run);
        return () => waiters.delete(run);
      },
    },
    clock: { now: () => 5, after: () => () => undefined },
    log: { event: (name) => void events.push(name), error: (where) => void events.push(where) },
  });
  const step = (name: string) => async () => {
    await turn();
    const error = errors.get(name);
    if (error !== undefined) throw error;
    ran.push(name);
  };
  return {
    ran,
    raised,
    errors,
    events,
    deferred,
    run: (name: string) => deferred.run(step(name)),
    waiting: () => waiters.size,
    async open() {
      for (const run of waiters) run();
      await turn(10);
    },
  };
}

test("steps run at once and in order where the storage works, and any other error of theirs ends the start", async () => {
  const on = starting();
  await on.run("a");
  await on.run("b");
  on.errors.set("c", new Error("the port is taken"));
  expect(on.run("c")).rejects.toThrow("the port is taken");
  await turn(3);
  expect([on.ran, on.waiting(), on.raised]).toEqual([["a", "b"], 0, []]);
});

test("from a storage error on steps wait, and run in their order once the guard opens; those that ran do not run again", async () => {
  const on = starting();
  await on.run("a");
  on.errors.set("b", new StorageError(FULL));
  await on.run("b");
  await on.run("c");
  expect([on.ran, on.raised.length]).toEqual([["a"], 1]);
  await on.open();
  expect([on.ran, on.raised.length]).toEqual([["a"], 2]);
  on.errors.clear();
  await on.open();
  expect([on.ran, on.events, on.waiting()]).toEqual([["a", "b", "c"], ["pombo.begun"], 0]);
});

test("a step that waited and then fails is an issue, and those behind it do not run", async () => {
  const on = starting();
  on.errors.set("a", new StorageError(FULL));
  await on.run("a");
  await on.run("b");
  on.errors.set("a", new Error("The replica is another instance's."));
  await on.open();
  expect(on.deferred.issue).toMatchObject({ component: "worker", since: 5 });
  expect(on.deferred.issue?.reason).toContain("The replica is another instance's. Restart pombo.");
  expect([on.ran, on.events, on.waiting()]).toEqual([[], ["late start"], 0]);
});

test("after a stop nothing begins any more", async () => {
  const on = starting();
  on.errors.set("a", new StorageError(FULL));
  await on.run("a");
  on.errors.clear();
  await on.deferred.stop();
  await on.open();
  expect([on.ran, on.waiting()]).toEqual([[], 0]);
});
