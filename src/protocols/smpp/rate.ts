// How fast a link may send: a token bucket whose rate follows what the SMSC takes. Pure.
//
// Additive increase, multiplicative decrease. A segment that it takes adds a little to the rate, so that a full second's
// worth adds a thirtieth of it, whatever the rate is (as in Scalable TCP: Kelly, 2003). The rate falls when more than a
// twentieth of the responses complain, since some SMSCs throttle one in a hundred whatever we do (BBR tolerates some loss
// for the same reason): by half, but not below what was taken in the last minute, and once a round trip, since what was
// sent before tells of the rate before.

import { STATUS } from "./pdu/status.ts";

const MIN_RATE = 1;
const CUT = 0.5;
/** Segments a second, for each that is taken. */
const GAIN = 1 / 30;
/** Shares are of about so many answers, the latest counting most. */
const ANSWERS_LOOKED_AT = 100;
/** 0x58, which is about us. */
const MAX_THROTTLED = 0.05;
/** 0x14, which may be about one destination's queue. */
const MAX_FULL = 0.2;
const MINUTE_MS = 60_000;
/** What an idle link may send at once, in seconds of its rate: less than one window of most. */
const BURST_S = 0.1;
/** Sleepers are woken for so much at once, since each waking is a transaction. */
const BATCH_S = 0.01;

export class Rate {
  readonly #configured: number;
  #perSecond: number;
  #tokens: number;
  #countedAt: number;
  #pausedUntil = -Infinity;
  #cutAt = -Infinity;
  /** Shares of the answers to what was sent since the last cut. */
  #throttled = 0;
  #full = 0;
  /** Segments taken since then, a minute ago at most. */
  #taken = 0;
  #takenSince: number;

  /** `perSecond`: as configured, at least 1. `now`: ms of a clock that does not jump. */
  constructor(perSecond: number, now: number) {
    this.#configured = perSecond;
    this.#perSecond = perSecond;
    this.#tokens = this.#capacity;
    this.#countedAt = now;
    this.#takenSince = now;
  }

  /** Segments a second, at this moment. */
  get perSecond(): number {
    return this.#perSecond;
  }

  get #capacity(): number {
    return Math.max(1, this.#perSecond * BURST_S);
  }

  /** How many may be sent now. */
  available(now: number): number {
    this.#count(now);
    return now < this.#pausedUntil ? 0 : Math.floor(this.#tokens);
  }

  take(count: number, now: number): void {
    this.#count(now);
    this.#tokens -= count;
  }

  /** When it is worth asking again, while none are available. */
  readyAt(now: number): number {
    this.#count(now);
    const wanted = Math.min(this.#capacity, Math.max(1, this.#perSecond * BATCH_S));
    // A whole ms more, so that rounding wakes nobody for nothing.
    const inMs = this.#tokens >= 1 ? 0 : Math.ceil(((wanted - this.#tokens) / this.#perSecond) * 1_000);
    return Math.max(this.#pausedUntil, now + inMs);
  }

  /** Nothing is sent until then. */
  pauseUntil(at: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, at);
  }

  /** What a submit of `sentAt` was answered. True when it slowed us down just now. */
  responded(status: number, sentAt: number, now: number): boolean {
    if (status === STATUS.ok) this.#grow(now);
    if (sentAt <= this.#cutAt) return false;
    this.#throttled = moved(this.#throttled, status === STATUS.throttled);
    this.#full = moved(this.#full, status === STATUS.queueFull);
    const isTooFast =
      (status === STATUS.throttled && this.#throttled > MAX_THROTTLED) ||
      (status === STATUS.queueFull && this.#full > MAX_FULL);
    if (!isTooFast) return false;
    this.#count(now);
    const before = this.#perSecond;
    this.#perSecond = Math.max(MIN_RATE, before * CUT, Math.min(before, this.#takenPerSecond(now)));
    this.#tokens = Math.min(this.#tokens, this.#capacity);
    this.#cutAt = now;
    this.#throttled = 0;
    this.#full = 0;
    return this.#perSecond < before;
  }

  #grow(now: number): void {
    this.#count(now);
    this.#perSecond = Math.min(this.#configured, this.#perSecond + GAIN);
    this.#forgetTaken(now);
    this.#taken += 1;
  }

  #takenPerSecond(now: number): number {
    this.#forgetTaken(now);
    return this.#taken / Math.max(1, (now - this.#takenSince) / 1_000);
  }

  /** After a minute the older half of what is counted. */
  #forgetTaken(now: number): void {
    while (now - this.#takenSince > MINUTE_MS) {
      this.#taken /= 2;
      this.#takenSince += MINUTE_MS / 2;
    }
  }

  #count(now: number): void {
    const gained = (Math.max(0, now - this.#countedAt) / 1_000) * this.#perSecond;
    this.#countedAt = Math.max(this.#countedAt, now);
    this.#tokens = Math.min(this.#capacity, this.#tokens + gained);
  }
}

/** The fraction after one more response. */
function moved(share: number, isOne: boolean): number {
  return share + ((isOne ? 1 : 0) - share) / ANSWERS_LOOKED_AT;
}
