// The operator's tests of links, one at a time. They stand between the links and their listener: the submits and receipts
// of a test never reach the queue. A new test ends the one before.

import type { Context } from "../../../platform/context.ts";
import { AppError } from "../../../platform/errors.ts";
import { newId } from "../../../platform/uuid.ts";
import { STATUS } from "../../../protocols/smpp/pdu/status.ts";
import { noRoute } from "../api/accept.ts";
import type { Routing } from "../api/routing.ts";
import { isSameNumber } from "../encoding/phone-number.ts";
import { sourceAddress } from "../encoding/source-address.ts";
import type { DispatchTarget, LinkEvent, LinkListener, ReceivedEvent } from "../gateway/link-event.ts";
import type { LinkError } from "../gateway/link-status.ts";
import type { Links, RouteLink } from "../gateway/links.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { Submission } from "../gateway/submission.ts";
import type { ReferenceStore } from "../queue/message-store.ts";
import { candidateKeys, idKey } from "../receipts/message-id.ts";
import { LinkTest } from "./link-test.ts";
import { buildTestSubmits } from "./messages.ts";

export interface LinkTestsDeps extends Pick<Context, "commit" | "clock" | "steady" | "random" | "log"> {
  routes: ReadonlyMap<string, Route>;
  routing: Routing;
  references: Pick<ReferenceStore, "next">;
  links: Links;
  /** Receives every other event. */
  listener: LinkListener;
}

export interface LinkTestRequest {
  /** In E.164. */
  to: string;
  from: string;
  /** Null: the one that the number goes by. */
  route: string | null;
  /** Null: the first that is bound, or the first. */
  link: string | null;
  waitMs: number;
}

/** A submit of a test that is over: its receipts are still taken. Among those of customers they would fit nothing, or the wrong one. */
interface FinishedSubmit {
  route: string;
  key: string;
  to: string;
}

/** So many of them are known. */
const MAX_PAST = 1_000;

export class LinkTests implements LinkListener {
  readonly #deps: LinkTestsDeps;
  #isRunning = false;
  #current: LinkTest | null = null;
  readonly #owners = new WeakMap<Submission, LinkTest>();
  readonly #past: FinishedSubmit[] = [];

  constructor(deps: LinkTestsDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isRunning = true;
  }

  stop(): void {
    this.#isRunning = false;
    this.#current?.finish("stopped");
  }

  /** The last one; null: none was made since the start. */
  get current(): LinkTest | null {
    return this.#current;
  }

  /** Throws AppError. */
  async begin({ to, from, route: routeName, link, waitMs }: LinkTestRequest): Promise<LinkTest> {
    this.#assertRunning();
    const { routes, routing, references, commit, clock, steady, random, log } = this.#deps;
    const name = routeName ?? routing.find(to)?.name;
    if (name === undefined) throw noRoute(to);
    const route = routes.get(name);
    if (route === undefined) throw notConfigured("route", name, [...routes.keys()]);
    const linkName = this.#chooseLink(route, link);
    if (sourceAddress(from) === null) throw noSender(from);
    const reference = await commit(() => references.next(to));
    const umr = Math.floor(random.unit() * 0x10000);
    const submits = buildTestSubmits({ to, from }, route, { now: clock.now(), reference, umr });
    this.#current?.finish("stopped");
    const test = new LinkTest({
      id: newId(clock.now(), random),
      link: linkName,
      route,
      to,
      submits,
      waitMs,
      clock,
      steady,
      getView: () => this.#find(linkName)?.view ?? null,
      onEnd: (ended) => this.#ended(ended),
      pass: (event) => this.#deps.listener.emit(event),
    });
    for (const { submission } of submits) this.#owners.set(submission, test);
    log.event("sms.link_test_started", { route: name, link: linkName });
    this.#current = test;
    test.start();
    if (test.end !== null) return test;
    const own = this.#find(linkName);
    if (own !== undefined) {
      own.reservedFor = test;
      this.#sendWaiting(own);
    }
    return test;
  }

  /** What is wrong with the link of a test; null: nothing. */
  findError({ deps: { link } }: LinkTest): LinkError | null {
    return this.#find(link)?.view.error ?? null;
  }

  /** The submits of a test go first. */
  ready(link: DispatchTarget): void {
    if (this.#current?.deps.link === link.name) this.#sendWaiting(link);
    this.#deps.listener.ready(link);
  }

  emit(event: LinkEvent): void {
    // None since the start: the usual case, and on the path of every message.
    if (this.#current === null) return this.#deps.listener.emit(event);
    if (event.kind === "received") {
      if (!this.#takes(event)) this.#deps.listener.emit(event);
      return;
    }
    const test = "submission" in event ? this.#owners.get(event.submission) : undefined;
    if (test === undefined || event.kind === "changed") {
      this.#deps.listener.emit(event);
      if (event.kind === "changed" && this.#current.deps.link === event.link.name) this.#current.linkChanged();
      return;
    }
    test.apply(event);
    // It is in no database, and needs no commit.
    if (event.kind === "responded") event.settle();
  }

  #takes(event: ReceivedEvent): boolean {
    const { receipt, message, link, acknowledge } = event;
    if (receipt === null) return false;
    if (this.#current?.offer(event, receipt) === true) return true;
    if (this.#past.length === 0 || receipt.id === null) return false;
    const keys = candidateKeys(receipt.id).map(({ key }) => key);
    const { name } = link.route.config;
    const isPast = this.#past.some(
      ({ route, key, to }) =>
        route === name &&
        keys.includes(key) &&
        [message.source, message.destination].some(({ address }) => isSameNumber(address, to)),
    );
    if (isPast) acknowledge(STATUS.ok);
    return isPast;
  }

  #sendWaiting(link: DispatchTarget): void {
    const submissions = this.#current?.takeWaiting(link.free) ?? [];
    if (submissions.length > 0) link.send(submissions);
  }

  #ended(test: LinkTest): void {
    const { to, link: name } = test.deps;
    const route = test.deps.route.config.name;
    for (const { messageId } of test.results) {
      const key = idKey(messageId ?? "");
      if (key !== null) this.#past.push({ route, key, to });
    }
    this.#past.splice(0, Math.max(0, this.#past.length - MAX_PAST));
    const link = this.#find(name);
    if (link?.reservedFor === test) link.reservedFor = null;
    this.#deps.log.event("sms.link_test_ended", { route, link: name, why: test.end });
  }

  #find(link: string | null): RouteLink | undefined {
    return link === null ? undefined : this.#deps.links.find(link);
  }

  #chooseLink(route: Route, wanted: string | null): string | null {
    const names = route.links.map(({ name }) => name);
    if (wanted !== null && !names.includes(wanted)) throw notConfigured("link", wanted, names);
    const bound = names.find((name) => this.#find(name)?.view.state === "bound");
    return wanted ?? bound ?? names[0] ?? null;
  }

  #assertRunning(): void {
    if (this.#isRunning) return;
    throw new AppError("UNAVAILABLE", "No instance runs here, so there are no links", {
      hint: "Start it (pombo serve), then try again.",
      retryAfterS: 5,
    });
  }
}

function notConfigured(field: "route" | "link", name: string, names: string[]): AppError {
  const hint = names.length === 0 ? "There is none." : `There is ${names.map((each) => `"${each}"`).join(", ")}.`;
  return new AppError("VALIDATION_ERROR", `There is no ${field} "${name}"`, { field, hint });
}

function noSender(from: string): AppError {
  return new AppError("VALIDATION_ERROR", `"${from}" is no sender id`, {
    field: "from",
    hint: "Give the name or number that the network has registered: at most 11 letters, digits and spaces, or a number.",
  });
}
