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
import { readReceipt } from "./receipt.ts";
import type { Receipts } from "./receipts.ts";
import type { Route } from "./route-settings.ts";
import type { ReadyWork } from "./segment-read-store.ts";
import type { Item, Writer } from "./writer.ts";

// The links of all routes: what they tell is written in the order in which they tell it, and only then is a place
// in a window free, or a message acknowledged.

export interface LinksParts {
  routes: ReadonlyMap<string, Route>;
  writer: Writer;
  answers: Answers;
  receipts: Receipts;
  /** A subscriber's text. */
  receive: (route: string, message: Inbound, now: number) => void;
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
  link: Link<Flight>;
}

export class Links {
  readonly #parts: LinksParts;
  readonly #open: Open[] = [];
  /** Since when no link of a route is bound; absent: one is. */
  readonly #unboundSince = new Map<string, number>();

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

  states() {
    return this.#open.map(({ route, link }) => ({ route, ...link.state }));
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
    const { dispatcher, answers, steady, unit, lookUp, log } = this.#parts;
    const name = route.config.name;
    // Made before it can tell anything.
    const outlet: Outlet = {
      name: settings.name,
      route,
      get free() {
        return link.free;
      },
      freeWith: (settled) => link.freeWith(settled),
      send: (flights) => {
        for (const { segment, why, reason } of link.send(flights))
          this.#write((now) => answers.unsent(segment, why === "unwritable" ? reason : null, now));
      },
    };
    const link: Link<Flight> = openLink<Flight>({
      settings,
      clock: steady,
      unit,
      log,
      lookUp,
      events: {
        ready: () => dispatcher.offer(outlet),
        answered: (answer) => this.#answered(answer, outlet),
        timedOut: (flight) => this.#write((now) => answers.unanswered(flight, now)),
        lost: (flights) => {
          for (const flight of flights) this.#write((now) => answers.unanswered(flight, now));
        },
        received: (message, acknowledge) => this.#received(name, message, acknowledge),
        bound: () => this.#noteBinds(name),
        unbound: () => this.#noteBinds(name),
      },
    });
    this.#open.push({ route: name, link });
    dispatcher.add(outlet);
  }

  #answered({ segment, status, messageId, settled, isPresent }: Answer<Flight>, outlet: Outlet): void {
    const { answers } = this.#parts;
    const frees = () => (isPresent() ? outlet : null);
    this.#write((now) => answers.answered(segment, { status, messageId }, now), { settled, frees });
  }

  /** `settled`: after the commit. */
  #write(write: (now: number) => ReadyWork[], place?: Pick<Item, "frees"> & { settled: () => void }): void {
    const { writer, dispatcher, clock } = this.#parts;
    let work: ReadyWork[] = [];
    writer.push({
      ...(place?.frees === undefined ? {} : { frees: place.frees }),
      write() {
        work = write(clock.now());
      },
      done() {
        for (const each of work) dispatcher.nudge(each);
        place?.settled();
      },
    });
  }

  #received(route: string, message: Inbound, acknowledge: (status: number) => void): void {
    const { writer, receipts, receive, dispatcher, clock } = this.#parts;
    const receipt = readReceipt(message);
    let work: ReadyWork[] = [];
    writer.push({
      write() {
        const now = clock.now();
        if (receipt === null) receive(route, message, now);
        else work = receipts.take(route, receipt, message, now);
      },
      done() {
        acknowledge(STATUS.ok);
        for (const each of work) dispatcher.nudge(each);
      },
      refuse: () => acknowledge(STATUS.temporaryError),
    });
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
