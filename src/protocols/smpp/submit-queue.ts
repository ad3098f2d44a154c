// The sending half of a link: what may be written now (window, rate, a peer that reads), what is written and answered.
// The owner of the segments is asked for more when there is room, commits them as in flight, and hands them over; it gets
// each response, and says when that is committed.

import { Rate } from "./rate.ts";
import type { SmppSession } from "./session/session.ts";
import type { RawResponse } from "./session/events.ts";
import type { LinkContext } from "./settings.ts";
import { hex, STATUS } from "./pdu/status.ts";
import { encodeSubmit, type SubmitSm } from "./pdu/submit-sm.ts";
import { Window } from "./window.ts";

/** Whatever its owner knows a segment by, and what is sent. */
export interface Segment {
  readonly submit: SubmitSm;
}

export interface SubmitResponse<S> extends RawResponse {
  segment: S;
  /** It had timed out before. */
  isLate: boolean;
  /** To be called when what it means is committed: its place in the window is free then, and not before. */
  settle: () => void;
  /** Whether `settle` will give a place of the present session back: an older one's are gone with it. */
  isPresent: () => boolean;
}

/** Not written. `reason`: why it never can be; null: it may be sent elsewhere or later. */
export interface Unsent<S> {
  segment: S;
  reason: string | null;
}

export interface Slowed {
  ratePerSecond: number;
  /** The last one was more than a minute ago. */
  isNews: boolean;
}

export interface SubmitEvents<S> {
  /** `free` segments may be sent now. */
  ready(free: number): void;
  responded(answer: SubmitResponse<S>): void;
  /** No answer in time: its outcome is unknown, until one comes late. */
  timedOut(segment: S): void;
  /** The connection is gone: submits without a response that had not timed out. Their outcome is unknown. */
  lost(segments: S[], reason: string): void;
  writing?(segment: S, pdu: Buffer): void;
  /** The SMSC said that we are too fast, and the link slowed down. */
  throttled?(slowed: Slowed): void;
}

export interface SubmitQueueOptions<S> extends Pick<LinkContext, "settings" | "clock" | "log"> {
  events: SubmitEvents<S>;
}

/** A window less than half empty is refilled after so much, so that claims come in batches. */
const REFILL_MS = 2;
const LOG_EVERY_MS = 60_000;
/** What the SMSC answers when it and we do not agree on the state of the session. */
const OUT_OF_STEP: readonly number[] = [STATUS.invalidLength, STATUS.invalidCommand, STATUS.wrongBindState];

export class SubmitQueue<S extends Segment> {
  readonly #options: SubmitQueueOptions<S>;
  readonly #rate: Rate;
  #session: SmppSession | null = null;
  #window: Window<S>;
  #isStopped = false;
  #isOffering = false;
  #cancelOffer: (() => void) | null = null;
  #throttledAt = -Infinity;

  constructor(options: SubmitQueueOptions<S>) {
    const { settings, clock } = options;
    this.#options = options;
    this.#rate = new Rate(settings.ratePerSecond, clock.now());
    this.#window = new Window(settings.window);
  }

  /** How many may be sent now. */
  get free(): number {
    if (!this.#isOpen) return 0;
    return Math.max(0, Math.min(this.#window.free, this.#rate.available(this.#options.clock.now())));
  }

  /** How many, once so many places are given back; 0 while less than half of the window would be free. */
  freeWith(settled: number): number {
    const free = Math.min(this.#window.size, this.#window.free + settled);
    if (!this.#isOpen || free * 2 < this.#window.size) return 0;
    return Math.max(0, Math.min(free, this.#rate.available(this.#options.clock.now())));
  }

  /** Places of the window in use. */
  get taken(): number {
    return this.#window.taken;
  }

  get ratePerSecond(): number {
    return this.#rate.perSecond;
  }

  get #isOpen(): boolean {
    return !this.#isStopped && this.#session?.isReady === true;
  }

  /** A new session is bound: a new window. */
  begin(session: SmppSession): void {
    this.#session = session;
    this.#window = new Window(this.#options.settings.window);
    this.offer();
  }

  /** Its session is over. */
  end(reason: string): void {
    this.#session = null;
    this.#withdraw();
    const segments = this.#window.abandon();
    this.#window = new Window(this.#options.settings.window);
    if (segments.length > 0) this.#options.events.lost(segments, reason);
  }

  /** Nothing more is sent; answers are still taken. */
  stop(): void {
    this.#isStopped = true;
    this.#withdraw();
  }

  /** Nothing is sent until then. */
  pauseFor(ms: number): void {
    this.#rate.pauseUntil(this.#options.clock.now() + ms);
    this.offer();
  }

  /** Writes what there is room for, in order. @returns the others */
  send(segments: readonly S[]): Unsent<S>[] {
    const session = this.#session;
    const unsent: Unsent<S>[] = [];
    const requests: Buffer[] = [];
    if (!this.#isOpen || session === null) return segments.map((segment) => ({ segment, reason: null }));
    const now = this.#options.clock.now();
    let { free } = this;
    for (const segment of segments) {
      if (free < 1) {
        unsent.push({ segment, reason: null });
        continue;
      }
      const sequence = session.nextSequence();
      try {
        const request = encodeSubmit(sequence, segment.submit);
        this.#options.events.writing?.(segment, request);
        requests.push(request);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        unsent.push({ segment, reason });
        continue;
      }
      this.#window.add(sequence, segment, now);
      free -= 1;
    }
    this.#rate.take(requests.length, now);
    if (requests.length > 0) session.submit(requests);
    if (free === 0) this.offer();
    return unsent;
  }

  /** What `session` was answered under this number. */
  responded(session: SmppSession, sequence: number, raw: RawResponse): void {
    if (session !== this.#session) return;
    const window = this.#window;
    const answer = window.answer(sequence);
    if (answer.kind === "stray") return session.noteUnexpected(raw.isNack ? "generic_nack" : "submit_sm_resp");
    const { segment, sentAt, isLate } = answer;
    const now = this.#options.clock.now();
    if (this.#rate.responded(raw.status, sentAt, now)) this.#reportThrottled(raw.status, now);
    const settle = () => {
      if (window.settle(sequence) && window === this.#window) this.offer();
    };
    this.#options.events.responded({ segment, isLate, ...raw, settle, isPresent: () => window === this.#window });
    if (OUT_OF_STEP.includes(raw.status)) session.destroy(`a submit was answered with ${hex(raw.status)}`);
  }

  /** When the next answer will be overdue, in ms. */
  get deadline(): number {
    return this.#session === null ? Infinity : this.#window.deadline(this.#options.settings.responseTimeoutMs);
  }

  /** Tells of those whose answer is overdue. */
  due(now: number): void {
    if (this.#session === null || this.deadline > now) return;
    for (const segment of this.#window.expire(now, this.#options.settings.responseTimeoutMs))
      this.#options.events.timedOut(segment);
    if (this.#window.isHopeless) this.#session.destroy("submits are not answered");
  }

  /** Asks for more: at once when half of the window is free, else in a moment, or when the rate allows it. */
  offer(): void {
    if (!this.#isOpen || this.#window.free < 1 || this.#isOffering) return;
    const now = this.#options.clock.now();
    const isHalfEmpty = this.#window.free * 2 >= this.#window.size;
    if (this.free > 0 && isHalfEmpty) {
      this.#withdraw();
      this.#isOffering = true;
      // Once, after all that are settled by one commit.
      queueMicrotask(() => this.#offerNow());
      return;
    }
    const inMs = this.free > 0 ? REFILL_MS : Math.max(REFILL_MS, this.#rate.readyAt(now) - now);
    this.#cancelOffer ??= this.#options.clock.after(inMs, () => this.#offerNow());
  }

  #offerNow(): void {
    this.#isOffering = false;
    this.#cancelOffer = null;
    const { free } = this;
    if (free > 0) this.#options.events.ready(free);
    else this.offer();
  }

  #withdraw(): void {
    this.#cancelOffer?.();
    this.#cancelOffer = null;
  }

  /** At its limit a link slows down every few seconds: that is reported once a minute. */
  #reportThrottled(status: number, now: number): void {
    const isNews = now - this.#throttledAt >= LOG_EVERY_MS;
    const { perSecond: ratePerSecond } = this.#rate;
    this.#options.events.throttled?.({ ratePerSecond, isNews });
    if (!isNews) return;
    this.#throttledAt = now;
    this.#options.log.event("smpp.throttled", {
      link: this.#options.settings.name,
      status: hex(status),
      ratePerSecond,
    });
  }
}
