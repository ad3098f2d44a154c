import { describe, expect, test } from "bun:test";
import { AppError } from "../../../../../src/platform/errors.ts";
import {
  type BodyAccount,
  createBodyBudget,
  getLargestBody,
  getPoolBytes,
  ROOM_WAIT_MS,
  SEAT_READING_MS,
} from "../../../../../src/platform/http/body/budget.ts";
import { memoryWithin } from "../../../../../src/platform/memory-limit.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const POOL = 1_000;
const MIB = 1024 * 1024;

function start(pool = POOL) {
  const clock = fakeClock();
  return { clock, budget: createBodyBudget(pool, clock) };
}

/** What became of a draw so far: "at once", "waits", "admitted" or the code of its refusal. */
function watch(drawn: Promise<void> | null): { state: string } {
  const seen = { state: drawn === null ? "at once" : "waits" };
  drawn?.then(
    () => (seen.state = "admitted"),
    (error: unknown) => (seen.state = error instanceof AppError ? error.code : String(error)),
  );
  return seen;
}

const draw = (account: BodyAccount, bytes: number, left = bytes) => watch(account.draw(bytes, left));

function watchEviction(account: BodyAccount): { state: string } {
  const seen = { state: "waits" };
  account.whenEvicted((why) => (seen.state = why.code));
  return seen;
}

/** Lets promises settle. */
const settle = async () => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
};

describe("room for bodies", () => {
  test("nobody waits while a workspace holds no more than it leaves free", () => {
    const { budget } = start();
    expect(draw(budget.open("a"), 500).state).toBe("at once");
    expect(draw(budget.open("b"), 250).state).toBe("at once");
    expect(draw(budget.open("c"), 125).state).toBe("at once");
  });

  test("what was given back is there again, once", () => {
    const { budget } = start();
    const first = budget.open("a");
    expect(draw(first, 500).state).toBe("at once");
    first.release();
    first.release();
    expect(draw(budget.open("a"), 500).state).toBe("at once");
    expect(draw(budget.open("b"), 400).state).toBe("waits");
  });

  test("a body that finds no room gets the seat, and grows there as long as it is", async () => {
    const { budget } = start();
    const large = budget.open("a");
    const first = draw(large, 900);
    await settle();
    expect([first.state, draw(large, 5_000).state]).toEqual(["admitted", "at once"]);
    // The pool is untouched by it.
    expect(draw(budget.open("b"), 500).state).toBe("at once");
  });

  test("the seat goes round the workspaces, in the order of each one's line", async () => {
    const { budget } = start();
    const order: string[] = [];
    const want = (owner: string, name: string) => {
      const account = budget.open(owner);
      void account.draw(2_000, 2_000)?.then(() => {
        order.push(name);
        setImmediate(() => account.release());
      });
    };
    for (const name of ["a1", "a2", "a3"]) want("a", name);
    for (const name of ["b1", "b2"]) want("b", name);
    want("c", "c1");
    while (order.length < 6) await new Promise<void>((next) => setImmediate(next));
    expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  });

  test("a small body passes the others' lines, and waits in its own workspace's", async () => {
    const { budget } = start();
    expect(draw(budget.open("a"), 500).state).toBe("at once");
    const [seated, waiting] = [budget.open("a"), budget.open("a")];
    const states = [draw(seated, 10), draw(waiting, 10)];
    await settle();
    expect(states.map(({ state }) => state)).toEqual(["admitted", "waits"]);
    expect(draw(budget.open("b"), 10).state).toBe("at once");
    expect(draw(budget.open("a"), 1).state).toBe("waits");
  });

  test("small bodies pass their workspace's own line while there is a reserve, half of which is one workspace's", () => {
    const reserve = 256 * 1024;
    const budget = createBodyBudget(1_000, fakeClock(), undefined, reserve);
    // One in the seat, one behind it.
    for (const account of [budget.open("a"), budget.open("a")]) expect(draw(account, 2_000, 5_000).state).toBe("waits");
    const small = [1, 2, 3].map(() => budget.open("a"));
    expect(small.map((account) => draw(account, reserve / 4).state)).toEqual(["at once", "at once", "waits"]);
    expect(draw(budget.open("a"), 10, 2_000).state).toBe("waits");
    expect(draw(budget.open("b"), reserve / 4).state).toBe("at once");
    for (const account of small) account.release();
    small[0]?.release();
    expect([1, 2].map(() => draw(budget.open("a"), reserve / 8).state)).toEqual(["at once", "at once"]);
  });

  test("those that wait get what others give back, without the seat", async () => {
    const { budget } = start();
    const [held, seated, small] = [budget.open("a"), budget.open("a"), budget.open("a")];
    draw(held, 500);
    draw(seated, 2_000);
    const waiting = draw(small, 10);
    held.release();
    await settle();
    expect(waiting.state).toBe("admitted");
  });

  test("waiting ends after a while, and leaves nothing behind", async () => {
    const { budget, clock } = start();
    const seated = budget.open("a");
    draw(seated, 2_000);
    seated.finishReading();
    const late = draw(budget.open("b"), 2_000);
    clock.advance(ROOM_WAIT_MS - 1);
    await settle();
    expect(late.state).toBe("waits");
    clock.advance(1);
    await settle();
    expect(late.state).toBe("UNAVAILABLE");
    expect(clock.pending).toBe(0);
    seated.release();
    const next = draw(budget.open("c"), 2_000);
    await settle();
    expect(next.state).toBe("admitted");
  });

  test("a body that goes away while it waits gives its place back", async () => {
    const { budget, clock } = start();
    const [seated, gone] = [budget.open("a"), budget.open("b")];
    draw(seated, 2_000);
    draw(gone, 2_000);
    gone.release();
    seated.release();
    expect(clock.pending).toBe(0);
    const next = draw(budget.open("c"), 2_000);
    await settle();
    expect(next.state).toBe("admitted");
  });

  test("the waiting room has shares too: who fills it is refused at once, others wait", () => {
    const { budget } = start(4 * MIB);
    draw(budget.open("a"), 3 * MIB);
    const states = Array.from({ length: 10 }, () => draw(budget.open("a"), 3 * MIB, 20 * MIB));
    const other = draw(budget.open("b"), 3 * MIB);
    return settle().then(() => {
      expect(states.filter(({ state }) => state === "waits").length).toBe(8);
      expect(states.at(-1)?.state).toBe("UNAVAILABLE");
      expect(other.state).toBe("waits");
    });
  });

  test("who comes slowly leaves the seat when others wait for it, and not before", async () => {
    const { budget, clock } = start();
    const slow = budget.open("a");
    const evicted = watchEviction(slow);
    draw(slow, 2_000);
    clock.advance(10 * SEAT_READING_MS);
    await settle();
    expect(evicted.state).toBe("waits");
    const next = draw(budget.open("b"), 2_000);
    clock.advance(SEAT_READING_MS);
    await settle();
    expect([evicted.state, next.state]).toEqual(["UNAVAILABLE", "waits"]);
    slow.release();
    await settle();
    expect(next.state).toBe("admitted");
  });

  test("three workspaces whose bodies come slowly do not keep a fourth from the seat", async () => {
    const { budget, clock } = start();
    // Each has two bodies open at any time, and begins another for each that is refused or cut off.
    const begin = (owner: string) => {
      const account = budget.open(owner);
      const over = () => {
        account.release();
        queueMicrotask(() => begin(owner));
      };
      account.whenEvicted(over);
      account.draw(1_500, 1_500)?.catch(over);
    };
    for (const owner of ["a", "b", "c", "a", "b", "c"]) begin(owner);
    const states: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const account = budget.open("fourth");
      const drawn = draw(account, 1_500);
      for (let ms = 0; drawn.state === "waits"; ms += 100) {
        expect(ms).toBeLessThanOrEqual(ROOM_WAIT_MS);
        clock.advance(100);
        await settle();
      }
      states.push(drawn.state);
      account.finishReading();
      account.release();
      clock.advance(7_000);
      await settle();
    }
    // They have their turn first once, until they have shown how slow they are.
    expect(states.slice(1)).toEqual(Array.from({ length: 5 }, () => "admitted"));
  });

  test("who came too slowly is behind the others until it comes whole", async () => {
    const { budget, clock } = start();
    const slow = budget.open("a");
    slow.whenEvicted(() => slow.release());
    draw(slow, 2_000);
    const again = { account: budget.open("a"), drawn: draw(budget.open("b"), 1) };
    const first = draw(again.account, 2_000);
    const other = draw(budget.open("c"), 2_000);
    expect([first.state, other.state]).toEqual(["waits", "waits"]);
    clock.advance(SEAT_READING_MS);
    await settle();
    expect([first.state, other.state]).toEqual(["waits", "admitted"]);
  });

  test("the seat is free when what was in it is gone", async () => {
    const clock = fakeClock();
    let collected = 0;
    const budget = createBodyBudget(POOL, clock, () => (collected += 1));
    const large = budget.open("a");
    draw(large, 8 * MIB);
    const next = draw(budget.open("b"), 8 * MIB);
    large.finishReading();
    large.finishParsing();
    expect(collected).toBe(1);
    large.release();
    await settle();
    expect([collected, next.state]).toEqual([1, "waits"]);
    clock.advance(5);
    await settle();
    expect([collected, next.state]).toEqual([2, "admitted"]);
  });

  test("who has come whole keeps the seat until its answer", async () => {
    const { budget, clock } = start();
    const whole = budget.open("a");
    const evicted = watchEviction(whole);
    draw(whole, 2_000);
    draw(budget.open("b"), 2_000);
    whole.finishReading();
    clock.advance(SEAT_READING_MS * 2);
    await settle();
    expect(evicted.state).toBe("waits");
  });
});

test("the pool follows the memory: the largest body comes first", () => {
  const pools = [256, 512, 1024, 2048, 4096, 65_536].map((mib) => Math.round(getPoolBytes(mib * MIB, 32 * MIB) / MIB));
  expect(pools).toEqual([4, 4, 26, 64, 64, 64]);
  expect([96, 128, 256, 512].map((mib) => getLargestBody(mib * MIB) / MIB)).toEqual([1, 4, 20, 52]);
});

describe("memory", () => {
  const files = (contents: Record<string, string>) => (path: string) => contents[path] ?? null;

  test.each([
    ["without cgroups", {}, 8_000],
    [
      "of the unit, version 2",
      {
        "/proc/self/cgroup": "0::/system.slice/pombo.service\n",
        "/sys/fs/cgroup/system.slice/pombo.service/memory.max": "500\n",
      },
      500,
    ],
    ["without a limit", { "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n" }, 8_000],
    [
      "of a slice above",
      {
        "/proc/self/cgroup": "0::/a/b\n",
        "/sys/fs/cgroup/a/b/memory.max": "700\n",
        "/sys/fs/cgroup/a/memory.max": "600\n",
      },
      600,
    ],
    ["of a container, version 2", { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "400" }, 400],
    [
      "of a container, version 1",
      {
        "/proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "300\n",
      },
      300,
    ],
    [
      "more than the machine's",
      { "/proc/self/cgroup": "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n" },
      8_000,
    ],
  ])("%s", (_, contents, expected) => {
    expect(memoryWithin(8_000, files(contents))).toBe(expected);
  });
});
