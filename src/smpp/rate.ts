/**
 * How fast a link may send: a token bucket whose rate gives way when the SMSC says so. Told that it is
 * throttled (0x58), or that its queue is full (0x14) in more than a fifth of its last answers, it halves its
 * rate, down to one a second, and pauses for a second; what was on its way meanwhile says the same thing and
 * counts once. After that it gains 5 % every ten seconds without a complaint, up to what is configured.
 */
import { STATUS } from "./status.ts";

const MIN_RATE = 1;
const CUT = 0.5;
const PAUSE_MS = 1_000;
const GAIN = 1.05;
const GAIN_EVERY_MS = 10_000;
/** What a link that was idle may send at once, in seconds of its rate: less than one window of most. */
const BURST_S = 0.1;
/** Sleepers are woken for so much at once, since each waking is a transaction. */
const BATCH_S = 0.01;
const ANSWERS_LOOKED_AT = 50;
const MAX_FULL_SHARE = 0.2;

export class Rate {
  readonly #configured: number;
  #perSecond: number;
  #tokens: number;
  #countedAt: number;
  #gainAt = Infinity;
  #pausedUntil = -Infinity;
  /** Whether each of the last answers said that the queue is full. */
  readonly #areFull: boolean[] = [];

  /** `perSecond`: as configured, at least 1. `now`: ms of a clock that does not jump. */
  constructor(perSecond: number, now: number) {
    this.#configured = perSecond;
    this.#perSecond = perSecond;
    this.#tokens = this.#capacity;
    this.#countedAt = now;
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

  /** What a submit was answered. True when it slowed us down just now. */
  answered(status: number, now: number): boolean {
    this.#areFull.push(status === STATUS.queueFull);
    if (this.#areFull.length > ANSWERS_LOOKED_AT) this.#areFull.shift();
    const isComplaint = status === STATUS.throttled || (status === STATUS.queueFull && this.#isMostlyFull);
    if (!isComplaint) return false;
    this.#gainAt = now + GAIN_EVERY_MS;
    if (now < this.#pausedUntil) return false;
    this.#count(now);
    this.#perSecond = Math.max(MIN_RATE, this.#perSecond * CUT);
    this.#tokens = Math.min(this.#tokens, this.#capacity);
    this.pauseUntil(now + PAUSE_MS);
    return true;
  }

  /** One refusal among three answers says nothing yet: the share is of all that are looked at. */
  get #isMostlyFull(): boolean {
    return this.#areFull.filter(Boolean).length > ANSWERS_LOOKED_AT * MAX_FULL_SHARE;
  }

  #count(now: number): void {
    while (this.#gainAt <= now) {
      this.#perSecond = Math.min(this.#configured, this.#perSecond * GAIN);
      this.#gainAt = this.#perSecond < this.#configured ? this.#gainAt + GAIN_EVERY_MS : Infinity;
    }
    const gained = (Math.max(0, now - this.#countedAt) / 1_000) * this.#perSecond;
    this.#countedAt = Math.max(this.#countedAt, now);
    this.#tokens = Math.min(this.#capacity, this.#tokens + gained);
  }
}
