// The sending half of a link: what may be written now (window, rate, a peer that reads), what is written and answered.
// The owner of the segments is asked for more when there is room, commits them as in flight, and hands them over; it gets
// each response, and says when that is committed.

import { Rate } from "./rate.ts";
import type { SmppSession } from "./session/session.ts";
import type { RawResponse } from "./session/events.ts";
import type { LinkContext, LinkSettings } from "./settings.ts";
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

/** Not written: the segment may be sent elsewhere or later, but for one that cannot be written at all. */
export interface Unsent<S> {
  segment: S;
  why: "not_bound" | "no_room" | "unwritable";
  /** For people. */
  reason: string;
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
  /** It is about to be written, as these bytes. */
  writing?(segment: S, pdu: Buffer): void;
  /** The SMSC said that we are too fast, and the link slowed down. */
  throttled?(slowed: Slowed): void;
}

export interface SubmitQueueOptions<S> extends Pick<LinkContext, "settings" | "clock" | "log"> {
  events: SubmitEvents<S>;
}

/** A window less than half empty is refilled after so much, so that claims come in batches. */
const REFILL_MS = 2;
const TELL_EVERY_MS = 60_000;
/** What the SMSC answers when it and we do not agree on the state of the session. */
const OUT_OF_STEP: readonly number[] = [STATUS.invalidLength, STATUS.invalidCommand, STATUS.wrongBindState];

export class SubmitQueue<S extends Segment> {
  readonly #settings: LinkSettings;
  readonly #clock: LinkContext["clock"];
  readonly #log: LinkContext["log"];
  readonly #events: SubmitEvents<S>;
  readonly #rate: Rate;
  #session: SmppSession | null = null;
  #window: Window<S>;
  #isStopped = false;
  #isOffering = false;
  #cancelOffer: (() => void) | null = null;
  #toldThrottledAt = -Infinity;

  constructor({ settings, clock, log, events }: SubmitQueueOptions<S>) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#events = events;
    this.#rate = new Rate(settings.ratePerSecond, clock.now());
    this.#window = new Window(settings.window);
  }

  /** How many may be sent now. */
  get free(): number {
    if (!this.#isOpen) return 0;
    return Math.max(0, Math.min(this.#window.free, this.#rate.available(this.#clock.now())));
  }

  /** How many, once so many places are given back; 0 while less than half of the window would be free. */
  freeWith(settled: number): number {
    const free = Math.min(this.#window.size, this.#window.free + settled);
    if (!this.#isOpen || free * 2 < this.#window.size) return 0;
    return Math.max(0, Math.min(free, this.#rate.available(this.#clock.now())));
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
    this.#window = new Window(this.#settings.window);
    this.offer();
  }

  /** Its session is over. */
  end(reason: string): void {
    this.#session = null;
    this.#withdraw();
    const segments = this.#window.abandon();
    this.#window = new Window(this.#settings.window);
    if (segments.length > 0) this.#events.lost(segments, reason);
  }

  /** Nothing more is sent; answers are still taken. */
  stop(): void {
    this.#isStopped = true;
    this.#withdraw();
  }

  /** Nothing is sent until then. */
  pauseFor(ms: number): void {
    this.#rate.pauseUntil(this.#clock.now() + ms);
    this.offer();
  }

  /** Writes what there is room for, in order. @returns the others */
  send(segments: readonly S[]): Unsent<S>[] {
    const session = this.#session;
    const unsent: Unsent<S>[] = [];
    const requests: Buffer[] = [];
    if (!this.#isOpen || session === null) {
      return segments.map((segment) => ({ segment, why: "not_bound", reason: "the link is not bound" }));
    }
    const now = this.#clock.now();
    let { free } = this;
    for (const segment of segments) {
      if (free < 1) {
        unsent.push({ segment, why: "no_room", reason: "more than was asked for" });
        continue;
      }
      const sequence = session.nextSequence();
      try {
        const request = encodeSubmit(sequence, segment.submit);
        this.#events.writing?.(segment, request);
        requests.push(request);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        unsent.push({ segment, why: "unwritable", reason });
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
    const now = this.#clock.now();
    if (this.#rate.responded(raw.status, sentAt, now)) this.#tellThrottled(raw.status, now);
    const settle = () => {
      if (window.settle(sequence) && window === this.#window) this.offer();
    };
    this.#events.responded({ segment, isLate, ...raw, settle, isPresent: () => window === this.#window });
    if (OUT_OF_STEP.includes(raw.status)) session.destroy(`a submit was answered with ${hex(raw.status)}`);
  }

  /** When the next answer will be overdue, in ms. */
  get deadline(): number {
    return this.#session === null ? Infinity : this.#window.deadline(this.#settings.responseTimeoutMs);
  }

  /** Tells of those whose answer is overdue. */
  due(now: number): void {
    if (this.#session === null || this.deadline > now) return;
    for (const segment of this.#window.expire(now, this.#settings.responseTimeoutMs)) this.#events.timedOut(segment);
    if (this.#window.isHopeless) this.#session.destroy("submits are not answered");
  }

  /** Asks for more: at once when half of the window is free, else in a moment, or when the rate allows it. */
  offer(): void {
    if (!this.#isOpen || this.#window.free < 1 || this.#isOffering) return;
    const now = this.#clock.now();
    const isHalfEmpty = this.#window.free * 2 >= this.#window.size;
    if (this.free > 0 && isHalfEmpty) {
      this.#withdraw();
      this.#isOffering = true;
      // Once, after all that are settled by one commit.
      queueMicrotask(() => this.#offerNow());
      return;
    }
    const inMs = this.free > 0 ? REFILL_MS : Math.max(REFILL_MS, this.#rate.readyAt(now) - now);
    this.#cancelOffer ??= this.#clock.after(inMs, () => this.#offerNow());
  }

  #offerNow(): void {
    this.#isOffering = false;
    this.#cancelOffer = null;
    const { free } = this;
    if (free > 0) this.#events.ready(free);
    else this.offer();
  }

  #withdraw(): void {
    this.#cancelOffer?.();
    this.#cancelOffer = null;
  }

  /** At its limit a link slows down every few seconds: that is reported once a minute. */
  #tellThrottled(status: number, now: number): void {
    const isNews = now - this.#toldThrottledAt >= TELL_EVERY_MS;
    const { perSecond: ratePerSecond } = this.#rate;
    this.#events.throttled?.({ ratePerSecond, isNews });
    if (!isNews) return;
    this.#toldThrottledAt = now;
    this.#log.event("smpp.throttled", { link: this.#settings.name, status: hex(status), ratePerSecond });
  }
}
