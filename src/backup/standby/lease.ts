// The lease: a small record beside the replica, which of several machines writes. Pure: times come in, decisions go out.
//
// Clocks of two machines are never compared. The holder counts from the moment before its last write that succeeded; a
// candidate from the moment after it saw the record change last, and waits longer than the holder may go on. So it is
// enough that each steady clock runs at most an eighth too fast or too slow.

export interface LeaseRecord {
  /** One more at each takeover. */
  term: number;
  /** The node that holds it, and the name of its machine. */
  node: string;
  host: string;
  /** Equal for nodes with the same instance key. */
  keyCheck: string;
  /** The lineage that has all that was promised; empty: none was begun yet. */
  lineage: string;
  /** Its holder has given it up, with all that it promised in the lineage: it may be taken at once. */
  isReleased: boolean;
  /** Another with each write, so that a writer knows its own again where the answer was lost. */
  nonce: string;
}

/** The record as it was read, and what names this very version of it. */
export interface FoundLease {
  etag: string;
  record: LeaseRecord;
}

/** A share of the lease: the holder stops this much before its end, a candidate begins this much after it. */
const MARGIN = 1 / 8;

/** The lease as a candidate sees it. */
export class LeaseWatch {
  readonly #leaseMs: number;
  #found: FoundLease | null = null;
  #since = 0;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** `readAt`: when it was read, after the answer, ms of a steady clock. */
  observe(found: FoundLease | null, readAt: number): void {
    if (found === null || found.etag !== this.#found?.etag) this.#since = readAt;
    this.#found = found;
  }

  get found(): FoundLease | null {
    return this.#found;
  }

  /** For how long it may not be taken yet, ms; 0: it may. Whoever has written this very record takes it at once. */
  waitMs(ownNonces: readonly string[], now: number): number {
    const record = this.#found?.record;
    if (record === undefined || record.isReleased || ownNonces.includes(record.nonce)) return 0;
    return Math.max(0, this.#since + this.#leaseMs * (1 + MARGIN) - now);
  }
}

/** The lease as its holder sees it. */
export class HeldLease {
  readonly #leaseMs: number;
  #found: FoundLease;
  #until: number;
  #wallAt: number;

  /** `startedAt`: before the write was sent, ms of a steady clock; `wallAt`: the same by the wall clock. */
  constructor(leaseMs: number, found: FoundLease, startedAt: number, wallAt: number) {
    this.#leaseMs = leaseMs;
    this.#found = found;
    this.#until = this.#findEnd(startedAt);
    this.#wallAt = wallAt;
  }

  get found(): FoundLease {
    return this.#found;
  }

  /** Until when it is held by the steady clock. */
  get until(): number {
    return this.#until;
  }

  renewed(found: FoundLease, startedAt: number, wallAt: number): void {
    this.#found = found;
    this.#until = this.#findEnd(startedAt);
    this.#wallAt = wallAt;
  }

  /** A machine that was suspended shows it by its wall clock only: its steady clock stood still. */
  isHeld(now: number, wallNow: number): boolean {
    return now < this.#until && wallNow - this.#wallAt < this.#leaseMs;
  }

  #findEnd(startedAt: number): number {
    return startedAt + this.#leaseMs * (1 - MARGIN);
  }
}
