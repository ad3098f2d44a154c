import { describe, expect, test } from "bun:test";
import { Slots } from "../../../src/platform/slots.ts";
import { seeded, turn } from "../../support/db/temporary.ts";

const NEVER = new AbortController().signal;

type Release = () => void;

/** Takes `count` slots that are free now. */
async function occupy(slots: Slots, site: string, count = 1): Promise<Release[]> {
  const taken = await Promise.all(Array.from({ length: count }, () => slots.take(site, NEVER)));
  return taken.map((release) => {
    if (release === null) throw new Error("aborted");
    return release;
  });
}

/** Takers in the order in which they are served. */
function queueUp(slots: Slots, names: string[], served: string[]): Release[] {
  const releases: Release[] = [];
  for (const name of names) {
    void slots.take(name.charAt(0), NEVER).then((release) => {
      served.push(name);
      if (release !== null) releases.push(release);
    });
  }
  return releases;
}

describe("a session slot", () => {
  test("is given at once while the site and the total have room", async () => {
    const slots = new Slots({ perSite: () => 2, total: 3 });
    await occupy(slots, "a", 2);
    await occupy(slots, "b");
  });

  test("of a full site is waited for in the order of coming", async () => {
    const slots = new Slots({ perSite: () => 1, total: 10 });
    const [held] = await occupy(slots, "a");
    const served: string[] = [];
    const releases = queueUp(slots, ["a1", "a2", "a3"], served);
    await turn();
    expect(served).toEqual([]);
    held!();
    await turn();
    expect(served).toEqual(["a1"]);
    releases[0]!();
    await turn();
    expect(served).toEqual(["a1", "a2"]);
  });

  test("of a full site is not waited for by other sites", async () => {
    const slots = new Slots({ perSite: () => 1, total: 10 });
    await occupy(slots, "a");
    queueUp(slots, ["a1", "a2", "a3"], []);
    await occupy(slots, "b");
  });

  test("goes to the sites in turn where the total is full, so that a long line holds up its own site only", async () => {
    const slots = new Slots({ perSite: () => 10, total: 1 });
    const [held] = await occupy(slots, "a");
    const served: string[] = [];
    const releases = queueUp(slots, ["a1", "a2", "a3", "b1", "b2", "c1"], served);
    held!();
    for (let i = 0; i < 6; i++) {
      await turn();
      releases[i]?.();
    }
    expect(served).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("passes over a site that is at its own limit when the total has room again", async () => {
    const slots = new Slots({ perSite: () => 1, total: 2 });
    await occupy(slots, "a");
    const [b] = await occupy(slots, "b");
    const served: string[] = [];
    queueUp(slots, ["a1", "c1"], served);
    b!();
    await turn();
    expect(served).toEqual(["c1"]);
  });

  test("given back twice counts once", async () => {
    const slots = new Slots({ perSite: () => 1, total: 1 });
    const [held] = await occupy(slots, "a");
    held!();
    held!();
    await occupy(slots, "a");
    let isServed = false;
    void slots.take("a", NEVER).then(() => (isServed = true));
    await turn();
    expect(isServed).toBe(false);
  });
});

describe("who gives up waiting", () => {
  test("gets null, and is passed over", async () => {
    const slots = new Slots({ perSite: () => 1, total: 1 });
    const [held] = await occupy(slots, "a");
    const given = new AbortController();
    const gone = slots.take("a", given.signal);
    const served: string[] = [];
    queueUp(slots, ["a1"], served);
    given.abort();
    expect(await gone).toBeNull();
    held!();
    await turn();
    expect(served).toEqual(["a1"]);
  });

  test("before asking gets null, even where there is room", async () => {
    const slots = new Slots({ perSite: () => 1, total: 1 });
    const given = new AbortController();
    given.abort();
    expect(await slots.take("a", given.signal)).toBeNull();
    await occupy(slots, "a");
  });

  test("after being served keeps the slot until it is given back", async () => {
    const slots = new Slots({ perSite: () => 1, total: 1 });
    const [held] = await occupy(slots, "a");
    const given = new AbortController();
    const promise = slots.take("a", given.signal);
    held!();
    given.abort();
    const release = await promise;
    expect(release).not.toBeNull();
    const served: string[] = [];
    queueUp(slots, ["a1"], served);
    await turn();
    expect(served).toEqual([]);
    release!();
    await turn();
    expect(served).toEqual(["a1"]);
  });

  test("all at once, at a stop, leaves the slots right", async () => {
    const slots = new Slots({ perSite: () => 2, total: 3 });
    const held = [...(await occupy(slots, "a", 2)), ...(await occupy(slots, "b"))];
    const stop = new AbortController();
    const waiting = ["a", "b", "c", "a", "d"].flatMap((site) =>
      Array.from({ length: 50 }, () => slots.take(site, stop.signal)),
    );
    stop.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([null]));
    for (const release of held) release();
    await occupy(slots, "a", 2);
    await occupy(slots, "z");
  });
});

/** Who waits and who holds a slot, kept beside the slots themselves. */
interface Taker {
  site: string;
  number: number;
  state: "waiting" | "open" | "over";
  release: Release | null;
  abort: AbortController;
}

class Crowd {
  readonly takers: Taker[] = [];
  readonly #slots: Slots;
  readonly #limits: { perSite: number; total: number };
  /** Numbers served out of their order within a site. */
  outOfOrder = 0;

  constructor(limits: { perSite: number; total: number }) {
    this.#limits = limits;
    this.#slots = new Slots({ perSite: () => limits.perSite, total: limits.total });
  }

  come(site: string): void {
    const taker: Taker = {
      site,
      number: this.takers.length,
      state: "waiting",
      release: null,
      abort: new AbortController(),
    };
    this.takers.push(taker);
    void this.#slots.take(site, taker.abort.signal).then((release) => {
      taker.state = release === null ? "over" : "open";
      taker.release = release;
      const isPassed = this.in("waiting").some((other) => other.site === site && other.number < taker.number);
      if (release !== null && isPassed) this.outOfOrder += 1;
    });
  }

  in(state: Taker["state"]): Taker[] {
    return this.takers.filter((taker) => taker.state === state);
  }

  leave(taker: Taker): void {
    taker.release?.();
    taker.state = "over";
  }

  /** Within the limits, and nobody waits who could be served: no wake-up was lost. */
  check(): void {
    const open = this.in("open");
    const ofSite = (site: string) => open.filter((taker) => taker.site === site).length;
    expect(open.length).toBeLessThanOrEqual(this.#limits.total);
    for (const taker of open) expect(ofSite(taker.site)).toBeLessThanOrEqual(this.#limits.perSite);
    const idle = this.in("waiting").filter(
      (taker) => open.length < this.#limits.total && ofSite(taker.site) < this.#limits.perSite,
    );
    expect(idle.map(({ site, number }) => ({ site, number }))).toEqual([]);
  }
}

describe("through thousands of random takers, leavers and quitters", () => {
  for (const [seed, perSite, total] of [
    [1, 1, 1],
    [2, 2, 3],
    [3, 3, 5],
    [4, 5, 4],
    [5, 2, 50],
  ] as const) {
    test(`the limits hold, the order holds, and nobody waits beside a free slot (${perSite} of ${total}, seed ${seed})`, async () => {
      const random = seeded(seed);
      const crowd = new Crowd({ perSite, total });
      for (let step = 0; step < 600; step++) {
        for (let burst = Math.floor(random() * 4); burst > 0; burst--) {
          const kind = random();
          const open = crowd.in("open");
          const waiting = crowd.in("waiting");
          if (kind < 0.45) crowd.come("abcdef".charAt(Math.floor(random() * 6)));
          else if (kind < 0.85 && open.length > 0) crowd.leave(open[Math.floor(random() * open.length)]!);
          else if (waiting.length > 0) waiting[Math.floor(random() * waiting.length)]!.abort.abort();
        }
        await turn();
        crowd.check();
      }
      for (let open = crowd.in("open"); open.length > 0; open = crowd.in("open")) {
        for (const taker of open) crowd.leave(taker);
        await turn();
        crowd.check();
      }
      expect(crowd.in("waiting")).toEqual([]);
      expect(crowd.outOfOrder).toBe(0);
    });
  }
});
