// A budget for the bytes of request bodies that are in memory at once.

import type { Clock } from "../../clock.ts";
import { AppError } from "../../errors.ts";
import { Shares } from "../../shares.ts";

// A body draws bytes as they come, and gives them back when its request is answered. While a workspace's share of the
// pool lasts nobody waits. A body that finds no room waits in its workspace's line; the workspaces' lines take turns at
// the seat, beside the pool, in which one body at a time grows to its full size: one body always gets on. For small ones
// there is a reserve: a workspace's large bodies do not keep its other mail waiting.

const KIB = 1024;
const MIB = 1024 * KIB;

/** A body waits this long for room before it is refused. */
export const ROOM_WAIT_MS = 15_000;
/** While others wait for the seat, the body in it must have come within this time. */
export const SEAT_READING_MS = 5_000;
/** An owner whose body did not is behind all others for this long: the turns of three such outlast a wait for room. */
const BEHIND_MS = 60_000;
/** Bun holds about as many bytes of a waiting body before it stops reading the connection; measured: 1.7 MB. */
const HELD_BY_BUN = MIB;
/** Collecting takes some 20 ms. */
const WORTH_COLLECTING = 4 * MIB;
/** What a request was made of is in use for this long after its answer. */
const CLEARING_MS = 5;
const MIN_WAITING = 16 * MIB;
const MAX_WAITING = 32 * MIB;

/** Memory of a pombo without any body. */
const BASE_BYTES = 96 * MIB;
/** While it is parsed, compressed and stored a body takes up to this many times its bytes; measured: 4 to 7. */
const WORK_FACTOR = 8;
const MIN_POOL = 4 * MIB;
const MAX_POOL = 64 * MIB;

/** No body is larger than a machine or cgroup of `memoryBytes` bears, whatever the configuration allows. */
export function getLargestBody(memoryBytes: number): number {
  return Math.floor(Math.max(MIB, (memoryBytes - BASE_BYTES) / WORK_FACTOR));
}

/** The pool: half of the memory is for bodies, of which the largest, `seatBytes`, has its own. */
export function getPoolBytes(memoryBytes: number, seatBytes: number): number {
  const pool = (memoryBytes - BASE_BYTES) / 2 / WORK_FACTOR - seatBytes;
  return Math.floor(Math.min(MAX_POOL, Math.max(MIN_POOL, pool)));
}

/** Bytes of the reserve for small bodies, each of which comes whole. */
export const RESERVE_BYTES = 2 * MIB;
const SMALL_BYTES = 64 * KIB;

/** One body's share. */
export type BodyAccount = Pick<Account, "draw" | "finishReading" | "finishParsing" | "whenEvicted" | "release">;

export type BodyBudget = ReturnType<typeof createBodyBudget>;

/** `collect` collects garbage: what the last large body left must be gone before the next one comes. */
export function createBodyBudget(
  poolBytes: number,
  clock: Clock,
  collect: () => void = () => undefined,
  reserveBytes = 0,
) {
  const room = new Room({ poolBytes, reserveBytes }, clock, collect);
  return { open: (owner: string): BodyAccount => new Account(owner, room, clock) };
}

/** The pool, the seat, and the bodies that wait for them. */
class Room {
  readonly pool: Shares;
  readonly reserve: Shares;
  readonly waiting: Shares;
  readonly lines = new Lines();
  /** Owners whose body came too slowly for the seat, and until when others go first. */
  readonly #slow = new Map<string, number>();
  readonly #clock: Clock;
  readonly #collect: () => void;
  #seated: Account | null = null;
  /** The garbage of the body that was in the seat is not collected yet. */
  #isClearing = false;
  /** Bytes of bodies that were in the seat since garbage was last collected. */
  #garbageBytes = 0;
  #cancelEviction: (() => void) | null = null;

  constructor(
    { poolBytes, reserveBytes }: { poolBytes: number; reserveBytes: number },
    clock: Clock,
    collect: () => void,
  ) {
    this.#collect = collect;
    this.pool = new Shares(poolBytes);
    this.reserve = new Shares(reserveBytes);
    this.waiting = new Shares(Math.min(MAX_WAITING, Math.max(MIN_WAITING, poolBytes)));
    this.#clock = clock;
  }

  isSeated(account: Account): boolean {
    return this.#seated === account;
  }

  /** Admits those that can be given room now; then one to the seat, when it is free. */
  serve(): void {
    const { lines } = this;
    for (const waiter of lines.heads()) if (waiter.account.takeFromPool(waiter.bytes)) lines.remove(waiter).admit();
    const isSlow = (owner: string) => (this.#slow.get(owner) ?? -Infinity) > this.#clock.now();
    const next = this.#seated === null && !this.#isClearing ? lines.next(isSlow) : null;
    if (next !== null) {
      this.#seated = next.account;
      lines.remove(next).admit();
    }
    this.hurry();
  }

  leaveSeat(bytes: number): void {
    this.#seated = null;
    this.#stopHurrying();
    this.#garbageBytes += bytes;
    if (this.#garbageBytes < WORTH_COLLECTING) return;
    this.#isClearing = true;
    this.#clock.after(CLEARING_MS, () => {
      this.#isClearing = false;
      this.collect();
      this.serve();
    });
  }

  collect(): void {
    this.#garbageBytes = 0;
    this.#collect();
  }

  setBehind(owner: string): void {
    const now = this.#clock.now();
    for (const [each, until] of this.#slow) if (until <= now) this.#slow.delete(each);
    this.#slow.set(owner, now + BEHIND_MS);
  }

  forgive(owner: string): void {
    this.#slow.delete(owner);
  }

  /** The body in the seat has limited time while others wait for it. */
  hurry(): void {
    const holder = this.#seated;
    if (holder === null || !holder.isReading || this.lines.isEmpty) return this.#stopHurrying();
    this.#cancelEviction ??= this.#clock.after(SEAT_READING_MS, () => {
      this.#cancelEviction = null;
      if (this.#seated === holder) holder.evict();
    });
  }

  #stopHurrying(): void {
    this.#cancelEviction?.();
    this.#cancelEviction = null;
  }
}

class Account {
  readonly #owner: string;
  readonly #room: Room;
  readonly #clock: Clock;
  #evicted: ((why: AppError) => void) | null = null;
  /** In all, and of these from the pool and from the reserve. */
  #bytes = 0;
  #drawn = 0;
  #reserved = 0;
  /** What it leaves for a collection; null: it was not parsed. */
  #garbage: number | null = null;
  #waiting: Waiter | null = null;
  isReading = true;

  constructor(owner: string, room: Room, clock: Clock) {
    this.#owner = owner;
    this.#room = room;
    this.#clock = clock;
  }

  /** Calls `evicted` when the body comes too slowly while others wait for its seat. */
  whenEvicted(evicted: (why: AppError) => void): void {
    this.#evicted = evicted;
  }

  takeFromPool(bytes: number): boolean {
    if (!this.#room.pool.take(this.#owner, bytes)) return false;
    this.#drawn += bytes;
    return true;
  }

  #takeFromReserve(bytes: number): boolean {
    if (bytes > SMALL_BYTES || !this.#room.reserve.take(this.#owner, bytes)) return false;
    this.#reserved += bytes;
    return true;
  }

  /**
   * Takes room for `bytes` more, of which the body has `left` bytes to come: null when there is room, otherwise a
   * promise of it, rejected with UNAVAILABLE when there is none in time.
   */
  draw(bytes: number, left: number): Promise<void> | null {
    const { lines } = this.#room;
    this.#bytes += bytes;
    if (this.#room.isSeated(this) || (!lines.has(this.#owner) && this.takeFromPool(bytes))) return null;
    if (bytes === left && this.#takeFromReserve(bytes)) return null;
    return this.#waitFor(bytes, Math.min(left, HELD_BY_BUN));
  }

  #waitFor(bytes: number, heldMeanwhile: number): Promise<void> {
    const { waiting, lines } = this.#room;
    if (!waiting.take(this.#owner, heldMeanwhile)) return Promise.reject(noRoom());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#waiting = null;
      cancel();
      waiting.giveBack(this.#owner, heldMeanwhile);
    };
    const admit = () => {
      leave();
      resolve();
    };
    const waiter: Waiter = { account: this, owner: this.#owner, bytes, admit, leave };
    const cancel = this.#clock.after(ROOM_WAIT_MS, () => {
      lines.remove(waiter).leave();
      reject(noRoom());
      this.#room.hurry();
    });
    this.#waiting = waiter;
    lines.add(waiter);
    this.#room.serve();
    return promise;
  }

  /** The body has come whole. */
  finishReading(): void {
    this.isReading = false;
    if (!this.#room.isSeated(this)) return;
    this.#room.forgive(this.#owner);
    this.#room.hurry();
  }

  /** It was parsed: its text is garbage, but for `leftBytes`, which were not decoded and are freed with the answer. */
  finishParsing(leftBytes = 0): void {
    this.#garbage = this.#bytes - leftBytes;
    if (this.#room.isSeated(this) && this.#garbage >= WORTH_COLLECTING) this.#room.collect();
  }

  evict(): void {
    this.#room.setBehind(this.#owner);
    this.#evicted?.(
      new AppError("UNAVAILABLE", "This body came too slowly while other requests waited for memory", {
        retryAfterS: RETRY_S,
        hint: "Send less in one request, or over a faster connection.",
      }),
    );
  }

  /** Gives everything back; may be called twice. */
  release(): void {
    if (this.#waiting !== null) this.#room.lines.remove(this.#waiting).leave();
    this.#room.pool.giveBack(this.#owner, this.#drawn);
    this.#drawn = 0;
    this.#room.reserve.giveBack(this.#owner, this.#reserved);
    this.#reserved = 0;
    if (this.#room.isSeated(this)) this.#room.leaveSeat(this.#garbage ?? this.#bytes);
    if (!this.#room.lines.isEmpty) this.#room.serve();
  }
}

const RETRY_S = 5;

function noRoom(): AppError {
  return new AppError("UNAVAILABLE", "Too many bytes of requests at once", {
    retryAfterS: RETRY_S,
    hint: `Send it again in ${RETRY_S} seconds, and fewer large requests at once.`,
  });
}

interface Waiter {
  account: Account;
  owner: string;
  bytes: number;
  /** Lets it go on. */
  admit(): void;
  /** It waits no more. */
  leave(): void;
}

/** A line for each owner; the owners take turns. */
class Lines {
  readonly #byOwner = new Map<string, Set<Waiter>>();

  get isEmpty(): boolean {
    return this.#byOwner.size === 0;
  }

  has(owner: string): boolean {
    return this.#byOwner.has(owner);
  }

  add(waiter: Waiter): void {
    const line = this.#byOwner.get(waiter.owner);
    if (line === undefined) this.#byOwner.set(waiter.owner, new Set([waiter]));
    else line.add(waiter);
  }

  remove(waiter: Waiter): Waiter {
    const line = this.#byOwner.get(waiter.owner);
    line?.delete(waiter);
    if (line?.size === 0) this.#byOwner.delete(waiter.owner);
    return waiter;
  }

  /** The first of each owner, and those behind it as they become first. */
  *heads(): Generator<Waiter> {
    for (const line of this.#byOwner.values()) {
      for (const waiter of line) {
        yield waiter;
        // It still waits: nobody of its line passes it.
        if (line.has(waiter)) break;
      }
    }
  }

  /** The first of the owner whose turn it is, which then is the last's to come; those that are behind come after all others. */
  next(isBehind: (owner: string) => boolean): Waiter | null {
    const owners = [...this.#byOwner.keys()];
    const owner = owners.find((each) => !isBehind(each)) ?? owners[0];
    const line = owner === undefined ? undefined : this.#byOwner.get(owner);
    if (owner === undefined || line === undefined) return null;
    this.#byOwner.delete(owner);
    this.#byOwner.set(owner, line);
    const [first] = line;
    return first ?? null;
  }
}
