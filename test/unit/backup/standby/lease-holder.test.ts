// The holder of a lease, where the service or the disk does something else than it should.
import { expect, test } from "bun:test";
import type { FoundLease, LeaseRecord } from "../../../../src/backup/standby/lease.ts";
import { LeaseHolder } from "../../../../src/backup/standby/lease-holder.ts";
import type { LeaseObject, Written } from "../../../../src/backup/standby/lease-object.ts";
import { turn } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const LEASE_MS = 9_000;

async function start() {
  const clock = fakeClock();
  const at = {
    stored: null as FoundLease | null,
    versions: 0,
    /** Instead of the next write. */
    next: null as (() => Promise<Written>) | null,
    isDiskFull: false,
  };
  const put = (record: LeaseRecord): Written => {
    at.versions += 1;
    at.stored = { etag: String(at.versions), record };
    return { kind: "written", etag: at.stored.etag };
  };
  const object: LeaseObject = {
    read: () => Promise.resolve(at.stored),
    write(record, over) {
      const { next } = at;
      at.next = null;
      if (next !== null) return next();
      return Promise.resolve((at.stored?.etag ?? null) === over ? put(record) : { kind: "conflict" });
    },
  };
  const events: string[] = [];
  const lost: string[] = [];
  let nonces = 0;
  const holder = new LeaseHolder({
    leaseMs: LEASE_MS,
    object,
    self: { node: "a", host: "a", keyCheck: "k" },
    nonces: [],
    remember: () => {
      if (at.isDiskFull) throw new Error("ENOSPC");
    },
    newNonce: () => `a${(nonces += 1)}`,
    steady: clock,
    clock,
    log: { event: (name) => void events.push(name) },
  });
  await holder.tryToTake(() => true);
  holder.keep((reason) => void lost.push(reason));
  const advance = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      await turn(2);
    }
  };
  return { at, holder, events, lost, advance, put };
}

test("it is renewed, and held, for as long as the service answers", async () => {
  const { holder, lost, advance } = await start();
  await advance(10 * LEASE_MS);
  expect([holder.isHeld, lost]).toEqual([true, []]);
  expect(await holder.confirm("l")).toBe(true);
});

test("a write that the service took for one of two at the same moment is tried again", async () => {
  const { at, holder, lost, advance, events } = await start();
  at.next = () => Promise.resolve({ kind: "conflict" });
  await advance(2 * LEASE_MS);
  expect([holder.isHeld, lost, events]).toEqual([true, [], ["standby.not_renewed"]]);
});

test("a write whose answer was lost is recognized", async () => {
  const { at, holder, lost, advance, put } = await start();
  const record = at.stored?.record as LeaseRecord;
  at.next = () => {
    // With the nonce of the write that is under way.
    put({ ...record, nonce: "a2" });
    return Promise.reject(new Error("no answer"));
  };
  await advance(2 * LEASE_MS);
  expect([holder.isHeld, lost]).toEqual([true, []]);
});

test("a record of another ends it at once, and nothing is confirmed from then on", async () => {
  const { at, holder, lost, advance, put } = await start();
  put({ ...(at.stored?.record as LeaseRecord), node: "b", nonce: "b1" });
  await advance(LEASE_MS / 2);
  expect(lost).toEqual(["another machine has taken the lease"]);
  expect([holder.isHeld, await holder.confirm("l")]).toEqual([false, false]);
});

test("a service that does not answer ends it after seven eighths", async () => {
  const { at, holder, lost, advance } = await start();
  const away = (): Promise<Written> => {
    at.next = away;
    return Promise.reject(new Error("away"));
  };
  at.next = away;
  await advance(LEASE_MS * 0.8);
  expect([holder.isHeld, lost]).toEqual([true, []]);
  await advance(LEASE_MS * 0.1);
  expect([holder.isHeld, lost.length]).toEqual([false, 1]);
});

test("a full disk does not end it", async () => {
  const { at, holder, lost, advance, events } = await start();
  at.isDiskFull = true;
  await advance(3 * LEASE_MS);
  expect([holder.isHeld, lost]).toEqual([true, []]);
  expect(events).toContain("standby.unwritten");
});
