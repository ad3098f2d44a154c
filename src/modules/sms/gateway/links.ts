import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import { type Link, type LinkEvents, openLink } from "../../../protocols/smpp/link.ts";
import type { Answer } from "../../../protocols/smpp/submit-queue.ts";
import type { Inbound } from "../../../protocols/smpp/pdu/pdu.ts";
import type { LinkSettings } from "../../../protocols/smpp/settings.ts";
import { STATUS } from "../../../protocols/smpp/pdu/status.ts";
import type { SubmitResponses } from "./submit-responses.ts";
import type { Dispatcher, DispatchTarget } from "./dispatch.ts";
import type { Submission } from "./submission.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { type LinkTestObserver, isOfGuest, type OfferedReceipt, type Probe } from "../link-test/probe.ts";
import type { LinkEvent, LinkSight, SeenPdu } from "./link-status.ts";
import { LinkWatch } from "./link-status.ts";
import { readReceipt } from "../receipts/parse.ts";
import type { Receipts } from "../receipts/process.ts";
import type { DuplicateFilter } from "../inbound/duplicate-filter.ts";
import type { Route } from "./route-settings.ts";
import type { ReadyWork } from "../queue/segment-read-store.ts";
import type { QueuedLinkEvent, LinkEventQueue } from "./link-event-queue.ts";

// The links of all routes: what they tell is written in the order in which they tell it, and only then is a place
// in a window free, or a message acknowledged.

export interface LinksDeps {
  routes: ReadonlyMap<string, Route>;
  writer: LinkEventQueue;
  answers: SubmitResponses;
  receipts: Receipts;
  /** A subscriber's text; the work that it makes. */
  receive: (route: string, message: Inbound, now: number) => ReadyWork[];
  /** Knows one that came before. */
  repeats: Pick<DuplicateFilter, "isRepeat">;
  /** Inside a transaction: what happened to a link is kept. */
  note: (link: string, event: LinkEvent, now: number) => void;
  /** Whether a receipt is one of a text that is in no database, or is kept until that is known. */
  offerReceipt: (offered: OfferedReceipt) => boolean;
  dispatcher: Dispatcher;
  health: CircuitBreaker;
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
  settings: LinkSettings;
  link: Link<Submission | Probe>;
  watch: LinkWatch;
  /** Since when it cannot send; null: it can. */
  unboundSince: number | null;
}

/** What is written is what became of a flight; `settled`: its place is free, once that is durable. */
interface Fate extends Pick<QueuedLinkEvent, "frees"> {
  flight?: Submission;
  settled?: () => void;
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
  readonly #deps: LinksDeps;
  readonly #open: Open[] = [];
  /** Who tries a link at the moment. */
  #guest: LinkTestObserver | null = null;

  constructor(deps: LinksDeps) {
    this.#deps = deps;
  }

  /** Connects all of them. */
  start(): void {
    for (const route of this.#deps.routes.values()) for (const settings of route.links) this.#start(route, settings);
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
    return unboundSince === null ? 0 : this.#deps.steady.now() - unboundSince;
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
  invite(guest: LinkTestObserver | null): void {
    this.#guest = guest;
    if (guest === null) return;
    const own = this.#open.find(({ settings }) => settings.name === guest.link);
    if (own !== undefined) this.#serve(guest, own.link);
  }

  /** Waits for the answers that are missing, unbinds, closes; after `graceMs` it just closes. */
  async close(graceMs: number): Promise<void> {
    const cancel = this.#deps.steady.after(graceMs, () => {
      for (const { link } of this.#open) link.reconnect("the time to stop is over");
    });
    await Promise.all(this.#open.map(({ link }) => link.close()));
    cancel();
  }

  #of(route: string): Open[] {
    return this.#open.filter((each) => each.route === route);
  }

  #start(route: Route, settings: LinkSettings): void {
    const { dispatcher, answers, health, clock, steady, unit, lookUp, log } = this.#deps;
    const name = route.config.name;
    const watch = new LinkWatch(route, clock);
    // What came back without an answer is written down before anything more is claimed: a part must not overtake the
    // one before it, nor more be in doubt after a crash than a window.
    let returned = 0;
    const written = () => {
      returned -= 1;
      if (returned === 0) dispatcher.offer(outlet);
    };
    const allowance = () => (returned > 0 ? 0 : health.allowance(name));
    // Made before it can tell anything.
    const outlet: DispatchTarget = {
      name: settings.name,
      route,
      get free() {
        return Math.min(link.free, allowance());
      },
      // Places that are filled at once are none for a guest, who goes first.
      freeWith: (settled) => (this.#isAwaited(settings.name) ? 0 : Math.min(link.freeWith(settled), allowance())),
      send: (flights) => {
        const unsent = link.send(flights);
        health.sent(name, flights.length - unsent.length);
        for (const { segment, why, reason } of unsent)
          if (!isOfGuest(segment)) {
            returned += 1;
            const fault = why === "unwritable" ? reason : null;
            this.#write((now) => answers.unsent(segment, fault, now), { flight: segment, settled: written });
          }
      },
    };
    const link: Link<Submission | Probe> = openLink<Submission | Probe>({
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
        answered: (answer) => this.#answered(answer, outlet, watch),
        timedOut: (segment) => this.#unanswered(segment, "unanswered", watch),
        lost(segments) {
          returned += segments.length;
          for (const each of segments) lost(each);
        },
        received: (...given) => this.#received({ route: name, watch }, ...given),
        seen: (direction, pdu) => watch.seen(direction, pdu),
        throttled: (slowed) => this.#note(settings.name, watch.throttled(slowed)),
        bound: (role) => {
          this.#note(settings.name, watch.bound(role));
          this.#noteBinds(open);
        },
        unbound: (end) => {
          this.#note(settings.name, watch.unbound(end));
          this.#noteBinds(open);
        },
      },
    });
    const lost = (segment: Submission | Probe) => this.#unanswered(segment, "lost", watch, written);
    const { name: linkName } = settings;
    const open: Open = { name: linkName, route: name, settings, link, watch, unboundSince: steady.now() };
    this.#open.push(open);
    dispatcher.add(outlet);
  }

  /** Whether a guest has something to send by the link. */
  #isAwaited(link: string): boolean {
    return this.#guest?.link === link && this.#guest.take(1).length > 0;
  }

  /** As far as there is room; what is not sent is the guest's to offer again. */
  #serve(guest: LinkTestObserver, link: Link<Submission | Probe>): void {
    const probes = guest.take(link.free);
    if (probes.length === 0) return;
    for (const { segment, why, reason } of link.send(probes))
      if (isOfGuest(segment)) guest.unsent(segment, why === "unwritable" ? reason : null);
  }

  #answered(answer: Answer<Submission | Probe>, outlet: DispatchTarget, watch: LinkWatch): void {
    const { segment, status, messageId, bytes, isPresent } = answer;
    const { answers } = this.#deps;
    if (isOfGuest(segment)) {
      watch.answered(status);
      segment.guest.answered(segment, { status, messageId, bytes });
      return answer.settled();
    }
    const settled = () => {
      watch.answered(status);
      answer.settled();
    };
    const frees = () => (isPresent() ? outlet : null);
    answers.heard(segment.route, status);
    this.#write((now) => answers.answered(segment, { status, messageId }, now), { flight: segment, settled, frees });
  }

  #unanswered(
    segment: Submission | Probe,
    outcome: "unanswered" | "lost",
    watch: LinkWatch,
    written: () => void = () => undefined,
  ): void {
    const { answers } = this.#deps;
    watch.unknown(outcome);
    if (isOfGuest(segment)) {
      segment.guest.unanswered(segment, outcome);
      return written();
    }
    answers.heard(segment.route, null);
    this.#write((now) => answers.unanswered(segment, now), { flight: segment, settled: written });
  }

  /** What happened to a link; null: nothing worth keeping. */
  #note(link: string, event: LinkEvent | null): void {
    if (event === null) return;
    const { note } = this.#deps;
    this.#write((now) => {
      note(link, event, now);
      return [];
    });
    this.#guest?.linkChanged(link);
  }

  #write(write: (now: number) => ReadyWork[], { flight, frees, settled }: Fate = {}): void {
    const { writer, dispatcher, clock, answers } = this.#deps;
    let work: ReadyWork[] = [];
    let free = settled;
    writer.push({
      flight,
      frees,
      write() {
        work = write(clock.now());
      },
      doubt() {
        if (flight !== undefined) work = answers.unanswered(flight, clock.now());
      },
      done() {
        for (const each of work.splice(0)) dispatcher.nudge(each);
        free?.();
        free = undefined;
      },
    });
  }

  #received(
    { route, watch }: Pick<Open, "watch" | "route">,
    ...[message, acknowledge, origin]: Parameters<LinkEvents<Submission | Probe>["received"]>
  ): void {
    const { writer, receipts, receive, repeats, dispatcher, clock } = this.#deps;
    const receipt = readReceipt(message);
    const pass = () => {
      let work: ReadyWork[] = [];
      writer.push({
        write() {
          const now = clock.now();
          if (receipt !== null) work = receipts.take(route, receipt, message, now);
          else work = repeats.isRepeat(route, message, origin) ? [] : receive(route, message, now);
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
    if (!this.#deps.offerReceipt({ route, receipt, message, taken, pass })) pass();
  }

  /** Asked in a moment: the link's own state follows what it tells. */
  #noteBinds(open: Open): void {
    queueMicrotask(() => {
      if (open.link.isSending) open.unboundSince = null;
      else open.unboundSince ??= this.#deps.steady.now();
    });
  }
}
