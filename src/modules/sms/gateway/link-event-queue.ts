// All events of the links are written in the order in which they came, many in one transaction: a response before its
// receipt. While nothing can be written, received messages are refused, so that the SMSC sends them again; what became
// of our own submits waits in its place. An event that an internal error keeps from being written holds up no other.

import type { Context } from "../../../platform/context.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import { STATUS } from "../../../protocols/smpp/pdu/status.ts";
import type { FailedSmsWrites } from "../queue/failed-writes.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { DispatchTarget, LinkEvent } from "./link-event.ts";
import type { Links } from "./links.ts";
import type { Submission } from "./submission.ts";
import type { ReadyWork } from "../queue/segment-read-store.ts";

const MAX_EVENTS = 200;
/** After a storage error that the guard does not know of. */
const RETRY_MS = 1_000;
/** Events that wait: above the first number nothing more is read from the links, below the second it is again. */
const TOO_MANY = 2_000;
const FEW_AGAIN = 500;

export interface LinkEventQueueDeps extends Pick<Context, "commit" | "kept" | "guard" | "clock" | "log"> {
  /** Inside a transaction: writes an event, or that the outcome of a submit is unknown; the work that follows. */
  reducer: {
    apply(event: LinkEvent, now: number): ReadyWork[];
    markUncertain(submission: Submission, now: number): ReadyWork[];
  };
  dispatcher: Pick<Dispatcher, "nudge" | "offer" | "claimAlongside" | "forgetAlongside">;
  failedWrites: Pick<FailedSmsWrites, "reportError" | "keepSegment">;
  links: Pick<Links, "pauseReading">;
}

interface Entry {
  readonly event: LinkEvent;
  /** What follows from it, by its last write. */
  work: ReadyWork[];
}

export class LinkEventQueue {
  readonly #deps: LinkEventQueueDeps;
  readonly #forget: () => void;
  #entries: Entry[] = [];
  #isFlushing = false;
  #isReadingPaused = false;
  #cancel: (() => void) | null = null;
  readonly #idle: (() => void)[] = [];

  constructor(deps: LinkEventQueueDeps) {
    this.#deps = deps;
    this.#forget = deps.guard.whenOpen(() => this.#flushIn(0));
  }

  get length(): number {
    return this.#entries.length;
  }

  push(event: LinkEvent): void {
    // A submit was committed as in flight before it was written.
    if (event.kind === "submitted") return;
    if (event.kind === "received" && this.#deps.guard.failure !== null) return refuse(event);
    if (event.kind === "unsent" || event.kind === "lost") event.link.returned += 1;
    this.#entries.push({ event, work: [] });
    this.#pauseReading();
    // While some are written others gather; what could not be written is tried again in its time.
    if (this.#cancel === null) this.#flushIn(0);
  }

  /** Resolves when nothing waits any more, or nothing can be written. */
  idle(): Promise<void> {
    if (this.#entries.length === 0 && !this.#isFlushing) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  stop(): void {
    this.#forget();
    this.#cancel?.();
  }

  #flushIn(inMs: number): void {
    if (this.#isFlushing || this.#entries.length === 0) return;
    if (inMs === 0) {
      this.#cancel?.();
      this.#cancel = null;
      return void this.#flush();
    }
    this.#cancel ??= this.#deps.clock.after(inMs, () => {
      this.#cancel = null;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const { commit, dispatcher, kept } = this.#deps;
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    let taken: Entry[] = [];
    let waitMs = 0;
    let handOver = () => {};
    try {
      // What comes before the transaction begins is in it.
      await commit(() => {
        taken = this.#entries.slice(0, MAX_EVENTS);
        for (const entry of taken) this.#apply(entry);
        // Where a claim waits until it is kept, the next responses do not wait for it.
        if (kept === undefined) handOver = dispatcher.claimAlongside(countFreed(taken));
      });
      this.#entries.splice(0, taken.length);
      for (const entry of taken) this.#finish(entry);
      this.#try(handOver);
    } catch (error) {
      dispatcher.forgetAlongside();
      if (isStorageError(error)) {
        this.#refuseReceived();
        waitMs = RETRY_MS;
      } else await this.#writeApart(taken);
    }
    this.#isFlushing = false;
    this.#pauseReading();
    if (this.#entries.length > 0) this.#flushIn(waitMs);
    if (this.#entries.length === 0 || waitMs === RETRY_MS) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #apply(entry: Entry): void {
    entry.work = this.#deps.reducer.apply(entry.event, this.#deps.clock.now());
  }

  /** One of them failed: each gets a transaction of its own, where a failure is an internal error. */
  async #writeApart(entries: Entry[]): Promise<void> {
    for (const entry of entries) {
      let failure: { error: unknown } | null = null;
      try {
        await this.#deps.commit(() => this.#apply(entry));
      } catch (error) {
        // The others come again in their order.
        if (isStorageError(error)) return this.#refuseReceived();
        failure = { error };
      }
      this.#entries.splice(this.#entries.indexOf(entry), 1);
      if (failure === null) this.#finish(entry);
      else await this.#giveUp(entry, failure.error);
    }
  }

  /** It cannot be written. Its place is given back all the same. */
  async #giveUp(entry: Entry, error: unknown): Promise<void> {
    const { event } = entry;
    entry.work = [];
    if ("submission" in event) await this.#markUncertain(entry, event.submission, error);
    else this.#deps.log.error("sms link event", error);
    if (event.kind === "received") refuse(event);
    else this.#finish(entry);
  }

  /** What became of it is unknown, then; where that cannot be written either, both are tried again later. */
  async #markUncertain(entry: Entry, submission: Submission, error: unknown): Promise<void> {
    const { failedWrites, reducer, commit, clock } = this.#deps;
    const { messageId, seqs } = submission;
    const segment = { messageId, seq: seqs[0] ?? 1 };
    failedWrites.reportError("sms link event", error, segment);
    const markUncertain = () => commit(() => void (entry.work = reducer.markUncertain(submission, clock.now())));
    await markUncertain().catch(() => {
      failedWrites.keepSegment(segment, async () => {
        await commit(() => this.#apply(entry)).catch(markUncertain);
        this.#nudge(entry);
      });
    });
  }

  /** It is durable. */
  #finish(entry: Entry): void {
    this.#try(() => {
      const { event } = entry;
      this.#nudge(entry);
      if (event.kind === "responded") event.settle();
      else if (event.kind === "received") this.#whenKept(() => event.acknowledge(STATUS.ok));
      else if (event.kind === "unsent" || event.kind === "lost") {
        event.link.returned -= 1;
        if (event.link.returned === 0) this.#deps.dispatcher.offer(event.link);
      }
    });
  }

  /** One that is not acknowledged when pombo stops is sent again. */
  #whenKept(acknowledge: () => void): void {
    const { kept } = this.#deps;
    if (kept === undefined) return acknowledge();
    void kept().then(
      () => this.#try(acknowledge),
      () => undefined,
    );
  }

  #nudge(entry: Entry): void {
    if (entry.work.length === 0) return;
    for (const work of entry.work.splice(0)) this.#deps.dispatcher.nudge(work);
  }

  /** What fails after the commit must not be written again. */
  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#deps.log.error("sms link event", error);
    }
  }

  /** The SMSC sends them again. */
  #refuseReceived(): void {
    const kept: Entry[] = [];
    for (const entry of this.#entries) {
      if (entry.event.kind === "received") refuse(entry.event);
      else kept.push(entry);
    }
    this.#entries = kept;
  }

  #pauseReading(): void {
    const isPaused = this.#entries.length > (this.#isReadingPaused ? FEW_AGAIN : TOO_MANY);
    if (isPaused === this.#isReadingPaused) return;
    this.#isReadingPaused = isPaused;
    this.#deps.links.pauseReading(isPaused);
  }
}

function refuse({ acknowledge }: Extract<LinkEvent, { kind: "received" }>): void {
  acknowledge(STATUS.temporaryError);
}

/** Places of the present windows that these give back, by link. */
function countFreed(entries: Entry[]): Map<DispatchTarget, number> {
  const freed = new Map<DispatchTarget, number>();
  for (const { event } of entries)
    if (event.kind === "responded" && event.isPresent()) freed.set(event.link, (freed.get(event.link) ?? 0) + 1);
  return freed;
}
