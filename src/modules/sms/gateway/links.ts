// The SMPP links of all routes: each one's window and status, and what comes over it as events.

import type { Context } from "../../../platform/context.ts";
import { Link, type LinkEvents } from "../../../protocols/smpp/link.ts";
import { STATUS } from "../../../protocols/smpp/pdu/status.ts";
import type { LinkSettings } from "../../../protocols/smpp/settings.ts";
import { readReceipt } from "../receipts/parse.ts";
import type { DispatchTarget, LinkListener } from "./link-event.ts";
import { type LinkChange, type LinkSnapshot, LinkStatus } from "./link-status.ts";
import type { Route } from "./route-settings.ts";
import type { Submission } from "./submission.ts";

export interface LinksDeps extends Pick<Context, "clock" | "steady" | "random" | "log"> {
  routes: ReadonlyMap<string, Route>;
  /** The addresses of a host's name. */
  lookUp: (host: string) => Promise<string[]>;
}

export interface LinkView extends LinkSnapshot {
  route: string;
  name: string;
  window: number;
  inUse: number;
  ratePerSecond: number;
}

/** One link of a route. It connects at once, and emits nothing before the next turn. */
export class RouteLink implements DispatchTarget {
  readonly route: Route;
  readonly status: LinkStatus;
  returned = 0;
  /** The link test whose submits go first; null: none runs. */
  reservedFor: { readonly isWaiting: boolean } | null = null;
  readonly #settings: LinkSettings;
  readonly #steady: LinksDeps["steady"];
  readonly #listener: LinkListener;
  readonly connection: Link<Submission>;
  /** Since when it cannot send; null: it can. */
  #unboundSince: number | null;

  constructor(route: Route, settings: LinkSettings, deps: LinksDeps, listener: LinkListener) {
    const { clock, steady, random, lookUp, log } = deps;
    this.route = route;
    this.status = new LinkStatus(route, clock);
    this.#settings = settings;
    this.#steady = steady;
    this.#listener = listener;
    this.#unboundSince = steady.now();
    const unit = () => random.unit();
    this.connection = new Link({ settings, clock: steady, unit, log, lookUp, events: this.#events() });
    this.connection.start();
  }

  get name(): string {
    return this.#settings.name;
  }

  get free(): number {
    return this.returned > 0 ? 0 : this.connection.free;
  }

  /** If a claim refilled places at once, none would be left for a link test. */
  freeWith(settled: number): number {
    return this.returned > 0 || this.reservedFor?.isWaiting === true ? 0 : this.connection.freeWith(settled);
  }

  send(submissions: Submission[]): void {
    for (const { segment: submission, reason } of this.connection.send(submissions))
      this.#listener.emit({ kind: "unsent", link: this, submission, reason: reason });
  }

  /** How long it could not send, ms; 0: it can. */
  get unboundMs(): number {
    return this.#unboundSince === null ? 0 : this.#steady.now() - this.#unboundSince;
  }

  get view(): LinkView {
    const { window, taken, ratePerSecond } = this.connection.state;
    const route = this.route.config.name;
    return { route, name: this.name, window, inUse: taken, ratePerSecond, ...this.status.sight(this.connection.state) };
  }

  #events(): LinkEvents<Submission> {
    const { status } = this;
    const emit: LinkListener["emit"] = (event) => this.#listener.emit(event);
    return {
      ready: () => this.#listener.ready(this),
      writing: (submission, pdu) => emit({ kind: "submitted", link: this, submission, pdu }),
      responded: ({ segment: submission, status: code, messageId, bytes: pdu, settle: free, isPresent }) => {
        const settle = () => {
          status.responded(code);
          free();
        };
        emit({ kind: "responded", link: this, submission, status: code, messageId, pdu, settle, isPresent });
      },
      timedOut: (submission) => {
        status.uncertain("unanswered");
        emit({ kind: "timed_out", link: this, submission });
      },
      lost: (submissions) => {
        for (const submission of submissions) {
          status.uncertain("lost");
          emit({ kind: "lost", link: this, submission });
        }
      },
      received: (message, answer, origin) => {
        const receipt = readReceipt(message);
        const acknowledge = (code: number) => {
          if (code === STATUS.ok) status.received(receipt?.state ?? null);
          answer(code);
        };
        emit({ kind: "received", link: this, message, receipt, origin, acknowledge });
      },
      seen: (direction, pdu) => status.seen(direction, pdu),
      throttled: (slowed) => this.#changed(status.throttled(slowed)),
      bound: (role) => this.#changed(status.bound(role)),
      unbound: (end) => this.#changed(status.unbound(end)),
    };
  }

  /** Null: nothing worth keeping. */
  #changed(change: LinkChange | null): void {
    // The link's own state changes after its event.
    queueMicrotask(() => {
      if (this.connection.isSending) this.#unboundSince = null;
      else this.#unboundSince ??= this.#steady.now();
    });
    if (change !== null) this.#listener.emit({ kind: "changed", link: this, change });
  }
}

export class Links {
  readonly #deps: LinksDeps;
  readonly #open: RouteLink[] = [];

  constructor(deps: LinksDeps) {
    this.#deps = deps;
  }

  /** Connects all of them. */
  start(listener: LinkListener): void {
    for (const route of this.#deps.routes.values())
      for (const settings of route.links) this.#open.push(new RouteLink(route, settings, this.#deps, listener));
  }

  /** None before the start. */
  get open(): readonly RouteLink[] {
    return this.#open;
  }

  find(name: string): RouteLink | undefined {
    return this.#open.find((link) => link.name === name);
  }

  /** How long no link of a route could send, ms; 0: one can. */
  unboundMs(route: string): number {
    return Math.min(Infinity, ...this.#open.filter((link) => isOn(route, link)).map((link) => link.unboundMs));
  }

  /** The same of one link; Infinity: it is not in the configuration. */
  linkUnboundMs(name: string): number {
    return this.find(name)?.unboundMs ?? Infinity;
  }

  pause(route: string, ms: number): void {
    for (const link of this.#open) if (isOn(route, link)) link.connection.pauseFor(ms);
  }

  pauseReading(isPaused: boolean): void {
    for (const { connection } of this.#open)
      if (isPaused) connection.pauseReading();
      else connection.resumeReading();
  }

  views(): LinkView[] {
    return this.#open.map(({ view }) => view);
  }

  /** Waits for the responses that are missing, unbinds, closes; after `graceMs` it just closes. */
  async close(graceMs: number): Promise<void> {
    const cancel = this.#deps.steady.after(graceMs, () => {
      for (const { connection } of this.#open) connection.reconnect("the time to stop is over");
    });
    await Promise.all(this.#open.map(({ connection }) => connection.close()));
    cancel();
  }
}

function isOn(route: string, link: RouteLink): boolean {
  return link.route.config.name === route;
}
