// Where the replica must have what is committed: what an attempt waits for.
import { describe, expect, test } from "bun:test";
import { getErrorMessage } from "../../../../src/platform/errors.ts";
import type { WorkerQueue } from "../../../../src/platform/queue/job.ts";
import type { EmailState } from "../../../../src/modules/emails/queue/store.ts";
import { COMPLETE, MINUTE, SOMEBODYS, until, workshop, type Workshop } from "../../../support/queue/kit.ts";
import { turn } from "../../../support/db/temporary.ts";

/** A worker whose commits are kept when the test says so. */
function start({ hasPointOfNoReturn = true } = {}) {
  const waiting: PromiseWithResolvers<void>[] = [];
  const of: Workshop = workshop({
    change: (options) => {
      const queue: WorkerQueue<EmailState> = { ...options.queue };
      if (!hasPointOfNoReturn) delete queue.markPointOfNoReturn;
      const kept = () => {
        const each = Promise.withResolvers<void>();
        waiting.push(each);
        return each.promise;
      };
      return { ...options, queue, kept };
    },
  });
  return { of, waiting };
}

describe("kept", () => {
  test("a claim that has a point of no return before it does not wait; the point does", async () => {
    const { of, waiting } = start();
    using _ = of;
    await of.worker.start();
    await of.add(1);
    await until(() => of.attempts.length === 1);
    expect(waiting).toHaveLength(0);
    const [attempt] = of.attempts;
    const marked = attempt?.context.markPointOfNoReturn();
    await until(() => waiting.length === 1);
    expect(of.row(1)?.dotAt).not.toBeNull();
    expect(marked === undefined ? "" : Bun.peek.status(marked)).toBe("pending");
    waiting[0]?.resolve();
    await marked;
    attempt?.end(COMPLETE);
    await until(() => of.depth() === 0);
    expect(waiting).toHaveLength(1);
  });

  test("a point of no return that is not kept when pombo stops was none: the attempt is made again", async () => {
    const { of, waiting } = start();
    using _ = of;
    await of.worker.start();
    await of.add(1);
    await until(() => of.attempts.length === 1);
    const [attempt] = of.attempts;
    const marked = attempt?.context.markPointOfNoReturn().catch(getErrorMessage);
    await until(() => waiting.length === 1);
    waiting[0]?.reject(new Error("stopped"));
    expect(await marked).toBe("stopped");
    attempt?.fail(new Error("the dot was not written"));
    await until(() => of.row(1)?.inFlight === false);
    expect(of.row(1)).toMatchObject({ attempts: 1, dotAt: null });
    expect(of.interrupted).toEqual([]);
  });

  test("without a point of no return the claim itself is kept before the attempt begins", async () => {
    const { of, waiting } = start({ hasPointOfNoReturn: false });
    using _ = of;
    await of.worker.start();
    await of.add(1);
    await until(() => waiting.length === 1);
    await turn(5);
    expect([of.row(1)?.inFlight, of.attempts.length]).toEqual([true, 0]);
    waiting[0]?.resolve();
    await until(() => of.attempts.length === 1);
    of.attempts[0]?.end(COMPLETE);
    await until(() => of.depth() === 0);
  });
});

test("the late result of an attempt whose row was freed changes nothing, though the row has its number still", async () => {
  using of = workshop();
  await of.worker.start();
  await of.add(1);
  await until(() => of.attempts.length === 1);
  const { queue } = of;
  const freed = await of.of.committer.commit(() => queue.freeInterrupted({ id: 1, attempts: 1 }, null));
  expect(freed).not.toBeNull();
  const taken = await of.of.committer.commit(() => [
    queue.markPointOfNoReturn?.({ id: 1, attempt: 1 }, of.clock.now()),
    queue.complete({ id: 1, attempt: 1 }),
  ]);
  expect(taken).toEqual([false, false]);
  expect(of.row(1)).toMatchObject({ inFlight: false, dotAt: null });
});

test("a row that nobody has nudged for is found when the guard opens: its caller was told that nobody knows", async () => {
  using of = workshop();
  await of.worker.start();
  of.guard.setBehind("the replica is behind");
  const now = of.clock.now();
  await of.of.committer.commit(() => {
    const laneId = of.queue.laneFor(1, "example.com");
    of.queue.add({ ...SOMEBODYS, id: 1, laneId, nextAt: now, expiresAt: now + MINUTE });
  });
  await turn(5);
  expect(of.attempts).toHaveLength(0);
  of.guard.setBehind(null);
  await until(() => of.attempts.length === 1);
});
