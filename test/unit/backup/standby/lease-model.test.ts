// Several machines and one record, with virtual clocks: no two of them hold the lease at the same time, whatever the
// network and the machines do. Steady clocks run up to a tenth too fast or too slow; machines stop for a while and go on; requests are late,
// lost on the way there or on the way back, and may arrive after their sender has given them up.
import { expect, test } from "bun:test";
import type { FoundLease, LeaseRecord } from "../../../../src/backup/standby/lease.ts";
import { LeaseHolder } from "../../../../src/backup/standby/lease-holder.ts";
import type { LeaseObject } from "../../../../src/backup/standby/lease-object.ts";
import type { Clock } from "../../../../src/platform/clock.ts";
import { seeded, turn } from "../../../support/db/temporary.ts";

const LEASE_MS = 9_000;
const NODES = 3;
const SEEDS = 12;
const EVENTS = 20_000;
const REQUEST_LIMIT_MS = LEASE_MS / 6;

/** True time, ms, and what happens at which. */
class World {
  now = 0;
  readonly random: () => number;
  readonly events = new Set<{ at: number; run: () => void }>();
  stored: FoundLease | null = null;
  versions = 0;

  constructor(seed: number) {
    this.random = seeded(seed);
  }

  at(at: number, run: () => void): () => void {
    const event = { at, run };
    this.events.add(event);
    return () => void this.events.delete(event);
  }

  /** The next thing happens. */
  async step(): Promise<void> {
    let first: { at: number; run: () => void } | null = null;
    for (const event of this.events) if (first === null || event.at < first.at) first = event;
    if (first === null) return;
    this.events.delete(first);
    this.now = Math.max(this.now, first.at);
    first.run();
    await turn(1);
  }
}

/** A machine: its clock, its stops, and the process on it. */
class Machine {
  readonly #world: World;
  readonly #rate: number;
  readonly #offset: number;
  #stoppedUntil = 0;
  #life = 0;
  #nonces: readonly string[] = [];
  holder: LeaseHolder;
  lost = 0;

  readonly name: string;

  constructor(world: World, name: string) {
    this.name = name;
    this.#world = world;
    this.#rate = 0.9 + 0.2 * world.random();
    this.#offset = 1e6 * world.random();
    this.holder = this.#start();
  }

  get steadyNow(): number {
    return this.#offset + this.#world.now * this.#rate;
  }

  get isStopped(): boolean {
    return this.#world.now < this.#stoppedUntil;
  }

  stop(forMs: number): void {
    this.#stoppedUntil = Math.max(this.#stoppedUntil, this.#world.now + forMs);
  }

  /** kill -9 and a new start. */
  restart(): void {
    this.holder.end();
    this.holder = this.#start();
  }

  #start(): LeaseHolder {
    this.#life += 1;
    const life = this.#life;
    const world = this.#world;
    /** Of this process, and not while the machine is stopped. */
    const whenAwake = (at: number, run: () => void) =>
      world.at(at, () => {
        if (life !== this.#life) return;
        if (this.isStopped) whenAwake(this.#stoppedUntil, run);
        else run();
      });
    const steady: Clock = {
      now: () => this.steadyNow,
      after: (ms, run) => whenAwake(world.now + ms / this.#rate, run),
    };
    const request = <T>(act: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        whenAwake(world.now + REQUEST_LIMIT_MS / this.#rate, () => reject(new Error("no answer")));
        if (world.random() < 0.08) return; // it never arrives
        const delayMs = world.random() < 0.1 ? 4_000 * world.random() : 40 * world.random();
        world.at(world.now + delayMs, () => {
          const answer = act();
          if (world.random() < 0.08) return; // the answer is lost
          whenAwake(world.now + 40 * world.random(), () => resolve(answer));
        });
      });
    const object: LeaseObject = {
      read: () => request(() => world.stored),
      write: (record: LeaseRecord, over: string | null) =>
        request(() => {
          if ((world.stored?.etag ?? null) !== over) return { kind: "conflict" as const };
          world.versions += 1;
          world.stored = { etag: String(world.versions), record };
          return { kind: "written" as const, etag: world.stored.etag };
        }),
    };
    let nonces = 0;
    const holder = new LeaseHolder({
      leaseMs: LEASE_MS,
      object,
      self: { node: this.name, host: this.name, keyCheck: "k" },
      nonces: this.#nonces,
      remember: (sent) => (this.#nonces = sent),
      newNonce: () => `${this.name}-${life}-${(nonces += 1)}`,
      steady,
      clock: { now: () => world.now },
      log: { event: () => undefined },
    });
    const look = async () => {
      let waitMs = LEASE_MS / 6;
      try {
        const found = await holder.tryToTake(() => true);
        if ("taken" in found) {
          holder.keep(() => {
            this.lost += 1;
            if (life === this.#life) this.restart();
          });
          void holder.confirm(`${this.name}-${life}`);
          return;
        }
        waitMs = found.waitMs;
      } catch {
        // It is tried again.
      }
      steady.after(waitMs, () => void look());
    };
    steady.after(1_000 * world.random(), () => void look());
    return holder;
  }
}

for (let seed = 1; seed <= SEEDS; seed += 1)
  test(`no two machines hold the lease (seed ${seed})`, async () => {
    const world = new World(seed);
    const machines = Array.from({ length: NODES }, (_, index) => new Machine(world, `m${index}`));
    const terms = new Map<number, string>();
    const held: Record<string, number> = {};
    for (let count = 0; count < EVENTS; count += 1) {
      await world.step();
      const holders = machines.filter(({ holder }) => holder.isHeld);
      expect(holders.length).toBeLessThan(2);
      for (const { name, holder } of holders) {
        held[name] = (held[name] ?? 0) + 1;
        // A term is one machine's.
        expect(terms.get(holder.term ?? 0) ?? name).toBe(name);
        terms.set(holder.term ?? 0, name);
      }
      const machine = machines[Math.floor(world.random() * NODES)];
      if (world.random() < 0.01) machine?.stop(4 * LEASE_MS * world.random());
      if (world.random() < 0.005) machine?.restart();
      if (world.random() < 0.003 && machine?.holder.isHeld === true && !machine.isStopped) {
        void machine.holder.release().catch(() => undefined);
        machine.restart();
      }
    }
    // It went from one to the other, and was held for most of the time.
    expect(terms.size).toBeGreaterThan(3);
    expect(Object.keys(held).length).toBe(NODES);
  });
