// A circuit breaker for each route, by the SMSC's last responses.
// Once half of them are errors of its own, messages go by the routes that stand in for it: the circuit is open. After a
// pause a few are sent by it, and their responses decide.

import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import { findStatusRule } from "../../../protocols/smpp/submit-outcome.ts";
import type { StatusRule } from "../../../protocols/smpp/pdu/status-table.ts";
import type { LinkEvent } from "./link-event.ts";
import type { Links } from "./links.ts";
import type { Route } from "./route-settings.ts";

/** Of the last answers, and so many errors among them. */
const ANSWERS = 100;
const ERRORS = 50;
/** The first pause; each trial that fails doubles it, up to the most. */
const PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 300_000;
/** So many good answers in a row close it. */
const PROBES = 3;
/** A trial without a decision is begun anew. */
const TRIAL_MS = 60_000;
/** Full queues are frequent when they are over a fifth of so many last answers. */
const RECENT = 50;
const FREQUENT_SHARE = 0.2;

const ERROR_CATEGORIES: readonly unknown[] = ["provider_error", "provider_unavailable", "provider_auth"];

type Kind = "good" | "full" | "error";

interface Circuit {
  pauseMs: number;
  /** Nothing is sent before. */
  untilMs: number;
  /** Of the trial that followed. */
  sent: number;
  good: number;
}

export interface CircuitBreakerDeps {
  routes: ReadonlyMap<string, Pick<Route, "config">>;
  /** Of spans. */
  steady: Pick<Clock, "now">;
  log: Log;
  links: Pick<Links, "pause">;
}

export class CircuitBreaker {
  readonly #deps: CircuitBreakerDeps;
  readonly #answers = new Map<string, Kind[]>();
  /** Of routes whose circuit is open. */
  readonly #open = new Map<string, Circuit>();

  constructor(deps: CircuitBreakerDeps) {
    this.#deps = deps;
  }

  /** Outside of transactions, which may be run again: what an event of a link says of its SMSC. */
  observe(event: LinkEvent): void {
    const { name } = event.link.route.config;
    if (event.kind === "submitted") this.sent(name, 1);
    else if (event.kind === "responded") this.responded(name, findStatusRule(event.status, event.link.route.statuses));
    else if (event.kind === "timed_out" || event.kind === "lost") this.timedOut(name);
  }

  responded(route: string, { category, pausesRoute }: Pick<StatusRule, "category" | "pausesRoute">): void {
    const isError = ERROR_CATEGORIES.includes(category);
    const circuit = this.#open.get(route);
    if (circuit !== undefined) return this.#tried(route, circuit, !isError);
    const answers = this.#getAnswers(route);
    answers.push(isError ? "error" : pausesRoute === "when_frequent" ? "full" : "good");
    if (answers.length > ANSWERS) answers.shift();
    if (isError && answers.filter((kind) => kind === "error").length >= ERRORS) this.#break(route, PAUSE_MS);
  }

  timedOut(route: string): void {
    const circuit = this.#open.get(route);
    if (circuit !== undefined) this.#tried(route, circuit, false);
  }

  sent(route: string, count: number): void {
    const circuit = this.#open.get(route);
    if (circuit !== undefined) circuit.sent += count;
  }

  /** How many may be sent. */
  allowance(route: string): number {
    const circuit = this.#open.get(route);
    if (circuit === undefined) return Infinity;
    const since = this.#deps.steady.now() - circuit.untilMs;
    if (since > TRIAL_MS) Object.assign(circuit, { untilMs: this.#deps.steady.now(), sent: 0, good: 0 });
    return since < 0 ? 0 : Math.max(0, PROBES - circuit.sent);
  }

  isOpen(route: string): boolean {
    return this.#open.has(route);
  }

  /** Whether full queues are frequent among its last answers; they are counted anew after it. */
  isMostlyFull(route: string): boolean {
    const answers = this.#getAnswers(route);
    if (answers.slice(-RECENT).filter((kind) => kind === "full").length <= RECENT * FREQUENT_SHARE) return false;
    answers.length = 0;
    return true;
  }

  #getAnswers(route: string): Kind[] {
    const known = this.#answers.get(route) ?? [];
    this.#answers.set(route, known);
    return known;
  }

  #break(route: string, pauseMs: number): void {
    const { routes, steady, log, links } = this.#deps;
    // Where nothing stands in, an SMSC that errs is better than none.
    if ((routes.get(route)?.config.failover.length ?? 0) === 0) return;
    this.#open.set(route, { pauseMs, untilMs: steady.now() + pauseMs, sent: 0, good: 0 });
    this.#getAnswers(route).length = 0;
    log.event("sms.circuit_open", { route, pauseS: pauseMs / 1_000 }, "warn");
    // They ask for more then.
    links.pause(route, pauseMs);
  }

  /** What was on its way when it opened says nothing new. */
  #tried(route: string, circuit: Circuit, isGood: boolean): void {
    if (circuit.sent === 0 || this.#deps.steady.now() < circuit.untilMs) return;
    if (!isGood) return this.#break(route, Math.min(MAX_PAUSE_MS, circuit.pauseMs * 2));
    circuit.good += 1;
    if (circuit.good < PROBES) return;
    this.#open.delete(route);
    // Those of its links that had no part in the trial ask for more as well.
    this.#deps.links.pause(route, 0);
    this.#deps.log.event("sms.circuit_closed", { route });
  }
}
