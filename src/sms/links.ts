import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { type Link, type LinkEvents, openLink } from "../smpp/link.ts";
import type { Answer } from "../smpp/outbox.ts";
import type { Inbound } from "../smpp/pdu.ts";
import type { LinkSettings } from "../smpp/settings.ts";
import { STATUS } from "../smpp/status.ts";
import type { Answers } from "./answers.ts";
import type { Dispatcher, Outlet } from "./dispatch.ts";
import type { Flight } from "./flight.ts";
import type { Health } from "./health.ts";
import { readReceipt } from "./receipt.ts";
import type { Receipts } from "./receipts.ts";
import type { Repeats } from "./repeats.ts";
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
  /** A subscriber's text; maybe one that came before. */
  receive: (route: string, message: Inbound, now: number) => void;
  repeats: Pick<Repeats, "isRepeat">;
  dispatcher: Dispatcher;
  health: Health;
  /** Of stored times. */
  clock: Clock;
  /** Of spans. */
  steady: Clock;
  unit: () => number;
  lookUp: (host: string) => Promise<string[]>;
  log: Log;
}

interface Open {
  name: string;
  route: string;
  link: Link<Flight>;
  /** Since when it cannot send; null: it can. */
  unboundSince: number | null;
}

export class Links {
  readonly #parts: LinksParts;
  readonly #open: Open[] = [];

  constructor(parts: LinksParts) {
    this.#parts = parts;
  }

  /** Connects all of them. */
  start(): void {
    for (const route of this.#parts.routes.values()) for (const settings of route.links) this.#start(route, settings);
  }

  /** How long no link of a route could send, ms; 0: one can. */
  unboundMs(route: string): number {
    return Math.min(Infinity, ...this.#of(route).map((each) => this.#unboundMsOf(each)));
  }

  /** The same of one link; Infinity: it is not in the configuration. */
  linkUnboundMs(name: string): number {
    const open = this.#open.find((each) => each.name === name);
    return open === undefined ? Infinity : this.#unboundMsOf(open);
  }

  #unboundMsOf({ unboundSince }: Open): number {
    return unboundSince === null ? 0 : this.#parts.steady.now() - unboundSince;
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
    const { dispatcher, answers, health, steady, unit, lookUp, log } = this.#parts;
    const name = route.config.name;
    // Made before it can tell anything.
    const outlet: Outlet = {
      name: settings.name,
      route,
      get free() {
        return Math.min(link.free, health.allowance(name));
      },
      freeWith: (settled) => link.freeWith(settled),
      send: (flights) => {
        health.sent(name, flights.length);
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
        received: (message, acknowledge, origin) => this.#received(name, message, acknowledge, origin),
        bound: () => this.#noteBinds(open),
        unbound: () => this.#noteBinds(open),
      },
    });
    const open: Open = { name: settings.name, route: name, link, unboundSince: steady.now() };
    this.#open.push(open);
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

  #received(...[route, message, acknowledge, origin]: [string, ...Parameters<LinkEvents<Flight>["received"]>]): void {
    const { writer, receipts, receive, repeats, dispatcher, clock } = this.#parts;
    const receipt = readReceipt(message);
    let work: ReadyWork[] = [];
    writer.push({
      write() {
        const now = clock.now();
        if (receipt !== null) work = receipts.take(route, receipt, message, now);
        else if (!repeats.isRepeat(route, message, origin)) receive(route, message, now);
      },
      done() {
        acknowledge(STATUS.ok);
        for (const each of work) dispatcher.nudge(each);
      },
      refuse: () => acknowledge(STATUS.temporaryError),
    });
  }

  /** Asked in a moment: the link's own state follows what it tells. */
  #noteBinds(open: Open): void {
    queueMicrotask(() => {
      if (open.link.isSending) open.unboundSince = null;
      else open.unboundSince ??= this.#parts.steady.now();
    });
  }
}
