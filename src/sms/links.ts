import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { type Link, openLink } from "../smpp/link.ts";
import type { Answer } from "../smpp/outbox.ts";
import type { Inbound } from "../smpp/pdu.ts";
import type { LinkSettings } from "../smpp/settings.ts";
import { STATUS } from "../smpp/status.ts";
import type { Answers } from "./answers.ts";
import type { Dispatcher, Outlet } from "./dispatch.ts";
import type { Flight } from "./flight.ts";
import { type Guest, isOfGuest, type OfferedReceipt, type Probe } from "./guest.ts";
import type { LinkEvent, LinkSight, SeenPdu } from "./link-watch.ts";
import { LinkWatch } from "./link-watch.ts";
import { readReceipt } from "./receipt.ts";
import type { Receipts } from "./receipts.ts";
import type { Route } from "./route-settings.ts";
import type { ReadyWork } from "./segment-read-store.ts";
import type { Writer } from "./writer.ts";

// The links of all routes: what they tell is written in the order in which they tell it, and only then is a place
// in a window free, or a message acknowledged.

export interface LinksParts {
  routes: ReadonlyMap<string, Route>;
  writer: Writer;
  answers: Answers;
  receipts: Receipts;
  /** A subscriber's text; the work that it makes. */
  receive: (route: string, message: Inbound, now: number) => ReadyWork[];
  /** Inside a transaction: what happened to a link is kept. */
  note: (link: string, event: LinkEvent, now: number) => void;
  /** Whether a receipt is one of a text that is in no database, or is kept until that is known. */
  offerReceipt: (offered: OfferedReceipt) => boolean;
  dispatcher: Dispatcher;
  /** Of stored times. */
  clock: Clock;
  /** Of spans. */
  steady: Clock;
  unit: () => number;
  lookUp: (host: string) => Promise<string[]>;
  log: Log;
}

interface Open {
  route: string;
  settings: LinkSettings;
  link: Link<Flight | Probe>;
  watch: LinkWatch;
}

/** A link as operators see it. */
export interface LinkView extends LinkSight {
  route: string;
  name: string;
  window: number;
  inUse: number;
  ratePerSecond: number;
}

export class Links {
  readonly #parts: LinksParts;
  readonly #open: Open[] = [];
  /** Since when no link of a route is bound; absent: one is. */
  readonly #unboundSince = new Map<string, number>();
  /** Who tries a link at the moment. */
  #guest: Guest | null = null;

  constructor(parts: LinksParts) {
    this.#parts = parts;
  }

  /** Connects all of them. */
  start(): void {
    const now = this.#parts.steady.now();
    for (const [name, route] of this.#parts.routes) {
      this.#unboundSince.set(name, now);
      for (const settings of route.links) this.#start(route, settings);
    }
  }

  /** How long no link of a route has been bound, ms; 0: one is. */
  unboundMs(route: string): number {
    const since = this.#unboundSince.get(route);
    return since === undefined ? 0 : this.#parts.steady.now() - since;
  }

  pause(route: string, ms: number): void {
    for (const { link } of this.#of(route)) link.pauseFor(ms);
  }

  /** Whether they read what comes. */
  press(isPressed: boolean): void {
    for (const { link } of this.#open) {
      if (isPressed) link.pauseReading();
      else link.resumeReading();
    }
  }

  /** None before the start. */
  views(): LinkView[] {
    return this.#open.map(({ route, settings, link, watch }) => {
      const { window, taken, ratePerSecond } = link.state;
      return { route, name: settings.name, window, inUse: taken, ratePerSecond, ...watch.sight(link.state) };
    });
  }

  /** The last PDUs of a link, the newest first. */
  pdusOf(name: string): SeenPdu[] {
    return this.#open.find(({ settings }) => settings.name === name)?.watch.pdus ?? [];
  }

  /** From now on these texts of nobody's go first over their link, and their receipts are theirs; null: none. */
  invite(guest: Guest | null): void {
    this.#guest = guest;
    if (guest === null) return;
    const own = this.#open.find(({ settings }) => settings.name === guest.link);
    if (own !== undefined) this.#serve(guest, own.link);
  }

  /** Waits for the answers that are missing, unbinds, closes; after `graceMs` it just closes. */
  async close(graceMs: number): Promise<void> {
    const cancel = this.#parts.steady.after(graceMs, () => {
      for (const { link } of this.#open) link.reconnect("the time to stop is over");
    });
    await Promise.all(this.#open.map(({ link }) => link.close()));
    cancel();
  }

  #of(route: string): Open[] {
    return this.#open.filter((each) => each.route === route);
  }

  #start(route: Route, settings: LinkSettings): void {
    const { dispatcher, answers, clock, steady, unit, lookUp, log } = this.#parts;
    const name = route.config.name;
    const watch = new LinkWatch(route, clock);
    // Made before it can tell anything.
    const outlet: Outlet = {
      name: settings.name,
      route,
      get free() {
        return link.free;
      },
      send: (flights) => {
        for (const { segment, why, reason } of link.send(flights))
          if (!isOfGuest(segment))
            this.#write((now) => answers.unsent(segment, why === "unwritable" ? reason : null, now));
      },
    };
    const link: Link<Flight | Probe> = openLink<Flight | Probe>({
      settings,
      clock: steady,
      unit,
      log,
      lookUp,
      events: {
        ready: () => {
          if (this.#guest?.link === settings.name) this.#serve(this.#guest, link);
          dispatcher.offer(outlet);
        },
        writing: (segment, pdu) => (isOfGuest(segment) ? segment.guest.written(segment, pdu) : undefined),
        answered: (answer) => this.#answered(answer, watch),
        timedOut: (segment) => this.#unanswered(segment, "unanswered", watch),
        lost(segments) {
          for (const each of segments) unanswered(each);
        },
        received: (message, acknowledge) => this.#received({ route: name, watch }, message, acknowledge),
        seen: (direction, pdu) => watch.seen(direction, pdu),
        throttled: (_, ratePerSecond) => this.#note(settings.name, watch.throttled(ratePerSecond)),
        bound: (role) => {
          this.#note(settings.name, watch.bound(role));
          this.#noteBinds(name);
        },
        unbound: (end) => {
          this.#note(settings.name, watch.unbound(end));
          this.#noteBinds(name);
        },
      },
    });
    const unanswered = (segment: Flight | Probe) => this.#unanswered(segment, "lost", watch);
    this.#open.push({ route: name, settings, link, watch });
    dispatcher.add(outlet);
  }

  /** As far as there is room; what is not sent is the guest's to offer again. */
  #serve(guest: Guest, link: Link<Flight | Probe>): void {
    const probes = guest.take(link.free);
    if (probes.length === 0) return;
    for (const { segment, why, reason } of link.send(probes))
      if (isOfGuest(segment)) guest.unsent(segment, why === "unwritable" ? reason : null);
  }

  #answered({ segment, status, messageId, bytes, settled }: Answer<Flight | Probe>, watch: LinkWatch): void {
    const { answers } = this.#parts;
    if (isOfGuest(segment)) {
      watch.answered(status);
      segment.guest.answered(segment, { status, messageId, bytes });
      return settled();
    }
    const done = () => {
      watch.answered(status);
      settled();
    };
    this.#write((now) => answers.answered(segment, { status, messageId }, now), done);
  }

  #unanswered(segment: Flight | Probe, outcome: "unanswered" | "lost", watch: LinkWatch): void {
    const { answers } = this.#parts;
    watch.unknown(outcome);
    if (isOfGuest(segment)) segment.guest.unanswered(segment, outcome);
    else this.#write((now) => answers.unanswered(segment, now));
  }

  /** What happened to a link; null: nothing worth keeping. */
  #note(link: string, event: LinkEvent | null): void {
    if (event === null) return;
    const { note } = this.#parts;
    this.#write((now) => {
      note(link, event, now);
      return [];
    });
    this.#guest?.linkChanged(link);
  }

  /** `done`: after the commit. */
  #write(write: (now: number) => ReadyWork[], done?: () => void): void {
    const { writer, dispatcher, clock } = this.#parts;
    let work: ReadyWork[] = [];
    writer.push({
      write() {
        work = write(clock.now());
      },
      done() {
        for (const each of work) dispatcher.nudge(each);
        done?.();
      },
    });
  }

  #received(
    { route, watch }: Pick<Open, "watch"> & { route: string },
    message: Inbound,
    acknowledge: (status: number) => void,
  ): void {
    const { writer, receipts, receive, dispatcher, clock } = this.#parts;
    const receipt = readReceipt(message);
    const pass = () => {
      let work: ReadyWork[] = [];
      writer.push({
        write() {
          const now = clock.now();
          work = receipt === null ? receive(route, message, now) : receipts.take(route, receipt, message, now);
        },
        done() {
          watch.told(receipt?.state ?? null);
          acknowledge(STATUS.ok);
          for (const each of work) dispatcher.nudge(each);
        },
        refuse: () => acknowledge(STATUS.temporaryError),
      });
    };
    if (receipt === null) return pass();
    // What is a guest's is in no database, and needs no commit.
    const taken = () => {
      watch.told(receipt.state);
      acknowledge(STATUS.ok);
    };
    if (!this.#parts.offerReceipt({ route, receipt, message, taken, pass })) pass();
  }

  /** A receiver alone sends nothing. */
  #noteBinds(route: string): void {
    // Asked in a moment: the link's own state follows what it tells.
    queueMicrotask(() => {
      const isBound = this.#of(route).some(({ link }) => link.state.state === "bound" || link.state.state === "partly");
      if (isBound) this.#unboundSince.delete(route);
      else if (!this.#unboundSince.has(route)) this.#unboundSince.set(route, this.#parts.steady.now());
    });
  }
}
