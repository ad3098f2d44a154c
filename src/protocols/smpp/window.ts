// The submits of one session without a committed response: never more than the window's size. Pure.
// So a crash or a lost connection leaves no more uncertain.
//
// A slot's life: waiting → answered → free; waiting → late (no response in time, the outcome is unknown) → answered → free.
// A response does not free its slot, the commit of it does: until then a crash would forget it. Late ones are kept for the
// session's life, since a late response still says what happened.

interface Waiting<S> {
  segment: S;
  sentAt: number;
}

export type Answered<S> =
  /** `sentAt`: when it was written; -Infinity of a late one, which is too old to count. */
  | { kind: "answered"; segment: S; sentAt: number; isLate: boolean }
  /** A sequence number that we did not send, or whose answer has come already. */
  | { kind: "stray" };

/** So many without an answer in a row, and the session is taken for dead. */
const MAX_TIMEOUTS_IN_A_ROW = 3;

export class Window<S> {
  readonly size: number;
  /** By sequence number; the first is the oldest. */
  readonly #waiting = new Map<number, Waiting<S>>();
  readonly #late = new Map<number, S>();
  readonly #answered = new Set<number>();
  #timeoutsInARow = 0;

  constructor(size: number) {
    this.size = size;
  }

  get free(): number {
    return this.size - this.taken;
  }

  get taken(): number {
    return this.#waiting.size + this.#late.size + this.#answered.size;
  }

  /** `at`: when it was written, in the clock's ms; never before an earlier one's. */
  add(sequence: number, segment: S, at: number): void {
    if (this.free < 1) throw new Error("the window is full");
    this.#waiting.set(sequence, { segment, sentAt: at });
  }

  /** The slot stays taken until `settle`. */
  answer(sequence: number): Answered<S> {
    const waiting = this.#waiting.get(sequence);
    const late = this.#late.get(sequence);
    const segment = waiting === undefined ? late : waiting.segment;
    if (segment === undefined) return { kind: "stray" };
    this.#waiting.delete(sequence);
    this.#late.delete(sequence);
    this.#answered.add(sequence);
    this.#timeoutsInARow = 0;
    return { kind: "answered", segment, sentAt: waiting?.sentAt ?? -Infinity, isLate: waiting === undefined };
  }

  /** What the answer means is committed. False: it was already. */
  settle(sequence: number): boolean {
    return this.#answered.delete(sequence);
  }

  /** When the oldest that waits will have waited for `limitMs`; Infinity when none does. */
  deadline(limitMs: number): number {
    for (const { sentAt } of this.#waiting.values()) return sentAt + limitMs;
    return Infinity;
  }

  /** Those that have waited for `limitMs` become late, and are returned in the order they were sent. */
  expire(now: number, limitMs: number): S[] {
    const expired: S[] = [];
    for (const [sequence, { segment, sentAt }] of this.#waiting) {
      if (sentAt + limitMs > now) break;
      this.#waiting.delete(sequence);
      this.#late.set(sequence, segment);
      this.#timeoutsInARow += 1;
      expired.push(segment);
    }
    return expired;
  }

  /** Too much is late for the session to be of use. */
  get isHopeless(): boolean {
    return this.#timeoutsInARow >= MAX_TIMEOUTS_IN_A_ROW || this.#late.size * 2 >= this.size;
  }

  /** The session is over: those still waiting, in the order they were sent. The late ones timed out before. */
  abandon(): S[] {
    const segments = [...this.#waiting.values()].map(({ segment }) => segment);
    this.#waiting.clear();
    return segments;
  }
}

/** SMPP 3.4 §3.2: ours rise from 1; the upper half is not for us. */
const MAX_SEQUENCE = 0x7fffffff;

export function nextSequence(previous: number): number {
  return previous >= MAX_SEQUENCE ? 1 : previous + 1;
}
