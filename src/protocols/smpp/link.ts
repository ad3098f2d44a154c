// A link to an SMSC, as an ESME: one bind, or a transmitter and a receiver, kept up for ever.
//
// It has a window, a rate, and limits on every wait, and knows no database. Its user commits a segment as in flight before
// `send`, calls `settle` after the commit of a response, and acknowledges a message after its commit. So a crash at any moment
// leaves no more than one window uncertain. Each segment ends by exactly one of the events `responded`, `timedOut` and `lost`;
// one that timed out may be responded to late.

import { listRoles, type Role } from "./session/bind.ts";
import { PersistentSession, type Unbound } from "./persistent-session.ts";
import { SubmitQueue, type SubmitEvents, type Segment, type Unsent } from "./submit-queue.ts";
import type { Inbound } from "./pdu/pdu.ts";
import type { SmppSession } from "./session/session.ts";
import type { Direction, Origin } from "./session/events.ts";
import { assertSettings, type LinkContext } from "./settings.ts";
import { STATUS } from "./pdu/status.ts";

export interface LinkEvents<S> extends SubmitEvents<S> {
  /** `acknowledge`: 0 once it is committed, 0x64 when it could not be; only the first call counts. */
  received(message: Inbound, acknowledge: (status: number) => void, origin: Origin): void;
  /** Submits and messages with their answers, both ways, as they are on the wire. */
  seen?(direction: Direction, pdu: Buffer): void;
  bound?(role: Role): void;
  unbound?(end: Unbound): void;
}

export interface LinkOptions<S> extends LinkContext {
  events: LinkEvents<S>;
}

export interface LinkState {
  /** `partly`: one of a pair. */
  state: "bound" | "partly" | "unbound" | "closed";
  window: number;
  taken: number;
  ratePerSecond: number;
  /** Of the last session that ended, or could not be made; null: none has. */
  lastEnd: Unbound | null;
}

export class Link<S extends Segment> {
  readonly #options: LinkOptions<S>;
  readonly #submits: SubmitQueue<S>;
  readonly #sessions: PersistentSession[];
  #epoch = 0;
  #isReadingPaused = false;
  #lastEnd: Unbound | null = null;
  #closing: Promise<void> | null = null;
  #look: (() => void) | null = null;

  /** Throws on settings that could never bind. */
  constructor(options: LinkOptions<S>) {
    assertSettings(options.settings);
    this.#options = options;
    this.#submits = new SubmitQueue({ ...options, events: this.#watchEvents(options.events) });
    this.#sessions = listRoles(options.settings.bindMode).map((role) => this.#keep(role));
  }

  get free(): number {
    return this.#submits.free;
  }

  /** How many, once so many places are given back; 0 while less than half of the window would be free. */
  freeWith(settled: number): number {
    return this.#submits.freeWith(settled);
  }

  /** Rises with every session that sends: later responses to an older one change nothing. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether a session that sends is bound. */
  get isSending(): boolean {
    return this.#sessions.some(({ isBound, role }) => isBound && role !== "receiver");
  }

  get state(): LinkState {
    const bound = this.#sessions.filter(({ isBound }) => isBound).length;
    const open = bound === this.#sessions.length ? "bound" : bound > 0 ? "partly" : "unbound";
    return {
      state: this.#closing !== null && bound === 0 ? "closed" : open,
      window: this.#options.settings.window,
      taken: this.#submits.taken,
      ratePerSecond: this.#submits.ratePerSecond,
      lastEnd: this.#lastEnd,
    };
  }

  start(): void {
    for (const kept of this.#sessions) kept.start();
  }

  /** Writes segments that are committed as in flight, in order, as far as there is room. @returns those not written */
  send(segments: readonly S[]): Unsent<S>[] {
    return this.#submits.send(segments);
  }

  pauseFor(ms: number): void {
    this.#submits.pauseFor(ms);
  }

  /** Reads nothing more, enquire_link neither: for moments, when more comes than can be committed. */
  pauseReading(): void {
    this.#isReadingPaused = true;
    for (const { session, isBound } of this.#sessions) if (isBound) session?.pauseReading();
  }

  resumeReading(): void {
    this.#isReadingPaused = false;
    for (const { session } of this.#sessions) session?.resumeReading();
  }

  /** Ends the connections at once; they are made anew. */
  reconnect(reason: string): void {
    for (const { session } of this.#sessions) session?.destroy(reason);
  }

  /** Sends nothing more, waits for the answers that are missing, unbinds, closes. Resolves in any case. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    this.#submits.stop();
    await this.#until(() => this.#submits.taken === 0, this.#options.settings.drainMs);
    for (const kept of this.#sessions) {
      kept.stop();
      kept.session?.unbind();
    }
    // Each of its steps has a limit of its own.
    await this.#until(() => this.#sessions.every(({ session }) => session === null), Infinity);
  }

  /** Resolves when it holds, looked at whenever something has happened, or when the time is up. */
  #until(holds: () => boolean, limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel?.();
        this.#look = null;
        resolve();
      };
      const cancel = limitMs === Infinity ? null : this.#options.clock.after(limitMs, end);
      this.#look = () => (holds() ? end() : undefined);
      this.#look();
    });
  }

  #keep(role: Role): PersistentSession {
    const { events } = this.#options;
    const isSender = role !== "receiver";
    const kept: PersistentSession = new PersistentSession({
      ...this.#options,
      role,
      events: {
        closing: () => undefined,
        responded: (sequence, answer) => {
          if (kept.session !== null) this.#submits.responded(kept.session, sequence, answer);
        },
        received: (message, acknowledge, origin) => this.#receive(message, acknowledge, origin),
        drained: () => this.#submits.offer(),
        seen: (direction, pdu) => events.seen?.(direction, pdu),
        deadline: () => (isSender ? this.#submits.deadline : Infinity),
        due: (now) => (isSender ? this.#submits.due(now) : undefined),
      },
      bound: (session) => this.#bound(role, session),
      unbound: (end) => {
        this.#lastEnd = end;
        if (isSender) this.#submits.end(end.reason);
        events.unbound?.(end);
        this.#look?.();
      },
    });
    return kept;
  }

  #bound(role: Role, session: SmppSession): void {
    this.#options.events.bound?.(role);
    if (this.#isReadingPaused) session.pauseReading();
    if (role === "receiver") return;
    this.#epoch += 1;
    this.#submits.begin(session);
  }

  /** The handler may throw: then it is not committed, and should come again. */
  #receive(message: Inbound, acknowledge: (status: number) => void, origin: Origin): void {
    const { events, log, settings } = this.#options;
    try {
      events.received(message, acknowledge, origin);
    } catch (error) {
      log.error("smpp received", error, { link: settings.name });
      acknowledge(STATUS.temporaryError);
    }
  }

  /** `close` looks at the window when a place is given back. */
  #watchEvents(events: LinkEvents<S>): SubmitEvents<S> {
    return {
      ...events,
      writing(segment, pdu) {
        events.seen?.("out", pdu);
        events.writing?.(segment, pdu);
      },
      responded: ({ settle, ...answer }) =>
        events.responded({
          ...answer,
          settle: () => {
            settle();
            this.#look?.();
          },
        }),
    };
  }
}
