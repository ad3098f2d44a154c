import { describe, expect, test } from "bun:test";
import { ReplicaBarrier } from "../../../src/backup/replica-barrier.ts";
import type { Commit } from "../../../src/platform/db/group-commit.ts";
import { getErrorMessage } from "../../../src/platform/errors.ts";
import { NotReplicatedError } from "../../../src/platform/db/storage-error.ts";
import { turn } from "../../support/db/temporary.ts";
import { fakeClock } from "../../support/fakes/clock.ts";

/** A barrier whose syncs the test ends; `told`: what it says of being behind. */
function start({ isAttached = true } = {}) {
  const clock = fakeClock();
  const told: (string | null)[] = [];
  const syncs: ((isDone: boolean) => void)[] = [];
  const barrier = new ReplicaBarrier({ steady: clock, behind: (reason) => void told.push(reason) });
  const attach = () => barrier.attach(() => new Promise((resolve) => void syncs.push(resolve)));
  if (isAttached) attach();
  const settled: string[] = [];
  const wait = (name: string) =>
    void barrier.kept().then(
      () => settled.push(name),
      (error: unknown) => settled.push(`${name}: ${getErrorMessage(error)}`),
    );
  const end = async (isDone: boolean) => {
    syncs.shift()?.(isDone);
    await turn(3);
  };
  const advance = async (ms: number) => {
    clock.advance(ms);
    await turn(3);
  };
  return { barrier, clock, told, syncs, settled, attach, wait, end, advance };
}

describe("what waits for the replica", () => {
  test("one sync serves all that came before it; what comes meanwhile waits for the next", async () => {
    const { wait, end, syncs, settled } = start();
    wait("a");
    expect(syncs).toHaveLength(1);
    wait("b");
    wait("c");
    await end(true);
    expect([settled, syncs.length]).toEqual([["a"], 1]);
    await end(true);
    expect([settled, syncs.length]).toEqual([["a", "b", "c"], 0]);
  });

  test("a sync that failed is repeated, and settles nothing", async () => {
    const { wait, end, advance, settled, syncs } = start();
    wait("a");
    await end(false);
    expect([settled, syncs.length]).toEqual([[], 0]);
    await advance(200);
    await end(true);
    expect(settled).toEqual(["a"]);
  });

  test("before replication has begun it waits, and is asked for as soon as that has", async () => {
    const { wait, end, attach, advance, settled } = start({ isAttached: false });
    wait("a");
    await advance(1_000);
    attach();
    await turn(3);
    await end(true);
    expect(settled).toEqual(["a"]);
  });

  test("after 5 s it is told that the replica is behind, and when it has caught up", async () => {
    const { wait, end, advance, told } = start();
    wait("a");
    await advance(4_999);
    expect(told).toEqual([]);
    await advance(1);
    expect(told).toEqual([expect.stringContaining("more than 5 s behind")]);
    await end(true);
    expect(told).toEqual([expect.any(String), null]);
    wait("b");
    await end(true);
    expect(told).toHaveLength(2);
  });

  test("before replication has begun nobody is told that it is behind: what begins it may wait for that", async () => {
    const { wait, advance, attach, told, end } = start({ isAttached: false });
    wait("a");
    await advance(12_000);
    expect(told).toEqual([]);
    attach();
    await turn(3);
    await advance(5_000);
    expect(told).toEqual([expect.stringContaining("behind")]);
    await end(true);
    expect(told).toHaveLength(2);
  });

  test("all that waits hears that pombo stops, and what comes later too", async () => {
    const { barrier, wait, settled } = start();
    wait("a");
    wait("b");
    barrier.close();
    wait("c");
    await turn(3);
    expect(settled).toEqual(["a", "b", "c"].map((name) => `${name}: pombo stopped before the replica had it`));
  });
});

describe("a commit that is kept", () => {
  const commitHere: Commit = async (work) => work();

  test("has the value of its work, once the replica has it", async () => {
    const { barrier, end } = start();
    const value = barrier.wrap(commitHere)(() => 7);
    expect(Bun.peek.status(value)).toBe("pending");
    await turn(3);
    expect(Bun.peek.status(value)).toBe("pending");
    await end(true);
    expect(await value).toBe(7);
  });

  test("what its work throws is thrown at once: nothing was written", async () => {
    const { barrier, syncs } = start();
    const thrown = barrier.wrap(commitHere)(() => {
      throw new RangeError("no room");
    });
    expect(await thrown.catch(getErrorMessage)).toBe("no room");
    expect(syncs).toHaveLength(0);
  });

  test("after 30 s it is told that nobody knows; who needs not be answered waits on", async () => {
    const { barrier, wait, advance, end, settled } = start();
    const answer = barrier
      .wrap(commitHere)(() => 7)
      .catch((error: unknown) => error);
    await turn(3);
    wait("a");
    await advance(30_000);
    const error = await answer;
    expect(error).toBeInstanceOf(NotReplicatedError);
    expect((error as NotReplicatedError).isUnknown).toBe(true);
    expect(settled).toEqual([]);
    await end(true);
    await end(true);
    expect(settled).toEqual(["a"]);
  });

  test("leaves no timer behind", async () => {
    const { barrier, clock, end } = start();
    const value = barrier.wrap(commitHere)(() => 7);
    await turn(3);
    await end(true);
    await value;
    expect(clock.pending).toBe(0);
  });
});
