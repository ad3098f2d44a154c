import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { AppError } from "../../../platform/errors.ts";
import { newId } from "../../../platform/uuid.ts";
import type { Log } from "../../../platform/log.ts";
import type { Random } from "../../../platform/random.ts";
import { noRoute } from "../api/accept.ts";
import type { OfferedReceipt } from "./probe.ts";
import type { Links } from "../gateway/links.ts";
import { isSameNumber } from "../encoding/phone-number.ts";
import { candidateKeys, idKey } from "../receipts/message-id.ts";
import type { ReferenceStore } from "../queue/reference-store.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { Routing } from "../api/routing.ts";
import { sourceAddress } from "../encoding/source-address.ts";
import { LinkTest } from "./link-test.ts";
import { trialSubmits } from "./messages.ts";

// The operator's trials of links, one at a time: a new one ends the one before. Receipts of a trial that is over are
// still taken: among those of customers' texts they would fit nothing, or, worse, the wrong one.

export interface LinkTestsDeps {
  routes: ReadonlyMap<string, Route>;
  routing: Routing;
  references: Pick<ReferenceStore, "next">;
  links: () => Pick<Links, "views" | "invite">;
  commit: Commit;
  clock: Clock;
  steady: Clock;
  random: Random;
  log: Log;
}

export interface TrialRequest {
  /** In E.164. */
  to: string;
  from: string;
  /** Null: the one that the number goes by. */
  route: string | null;
  /** Null: the first that is bound, or the first. */
  link: string | null;
  waitMs: number;
}

interface Past {
  route: string;
  key: string;
  to: string;
}

/** Texts of trials that are over whose receipts are known. */
const MAX_PAST = 1_000;

export class LinkTests {
  readonly #deps: LinkTestsDeps;
  #isRunning = false;
  #current: LinkTest | null = null;
  readonly #past: Past[] = [];

  constructor(deps: LinkTestsDeps) {
    this.#deps = deps;
  }

  /** From now on there are links. */
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
  async begin({ to, from, route: routeName, link, waitMs }: TrialRequest): Promise<LinkTest> {
    this.#assertRunning();
    const { routes, routing, references, commit, clock, steady, random, log } = this.#deps;
    const name = routeName ?? routing.find(to)?.name;
    if (name === undefined) throw noRoute(to);
    const route = routes.get(name);
    if (route === undefined) throw unknown("route", name, [...routes.keys()]);
    const linkName = this.#chooseLink(route, link);
    if (sourceAddress(from) === null) throw noSender(from);
    const reference = await commit(() => references.next(to));
    const umr = Math.floor(random.unit() * 0x10000);
    const submits = trialSubmits({ to, from }, route, { now: clock.now(), reference, umr });
    this.#current?.finish("stopped");
    const trial: LinkTest = new LinkTest({
      id: newId(clock.now(), random),
      link: linkName,
      route,
      to,
      submits,
      waitMs,
      clock,
      steady,
      view: () => this.#viewOf(linkName),
      ended: () => {
        this.#remember(trial);
        if (this.#current === trial) this.#deps.links().invite(null);
        log.event("sms.link_test_ended", { route: name, link: linkName, why: trial.end });
      },
    });
    log.event("sms.link_test_started", { route: name, link: linkName });
    this.#current = trial;
    trial.start();
    if (trial.end === null) this.#deps.links().invite(trial);
    return trial;
  }

  /** What is known of the link of a trial. */
  viewOf(trial: LinkTest) {
    return this.#viewOf(trial.link);
  }

  /** True: it is taken, or held until it is known whose it is. */
  offer(offered: OfferedReceipt): boolean {
    if (this.#current?.offer(offered) === true) return true;
    if (this.#past.length === 0 || offered.receipt.id === null) return false;
    const keys = candidateKeys(offered.receipt.id).map(({ key }) => key);
    const { source, destination } = offered.message;
    const isPast = this.#past.some(
      ({ route, key, to }) =>
        route === offered.route &&
        keys.includes(key) &&
        [source, destination].some(({ address }) => isSameNumber(address, to)),
    );
    if (isPast) offered.taken();
    return isPast;
  }

  #remember(trial: LinkTest): void {
    const { name } = trial.route.config;
    for (const { messageId } of trial.tried) {
      const key = idKey(messageId ?? "");
      if (key !== null) this.#past.push({ route: name, key, to: trial.to });
    }
    this.#past.splice(0, Math.max(0, this.#past.length - MAX_PAST));
  }

  #viewOf(link: string | null) {
    return (
      this.#deps
        .links()
        .views()
        .find(({ name }) => name === link) ?? null
    );
  }

  #chooseLink(route: Route, wanted: string | null): string | null {
    const names = route.links.map(({ name }) => name);
    if (wanted !== null && !names.includes(wanted)) throw unknown("link", wanted, names);
    const bound = names.find((name) => this.#viewOf(name)?.state === "bound");
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

function unknown(field: "route" | "link", name: string, names: string[]): AppError {
  const hint = names.length === 0 ? "There is none." : `There is ${names.map((each) => `"${each}"`).join(", ")}.`;
  return new AppError("VALIDATION_ERROR", `There is no ${field} "${name}"`, { field, hint });
}

function noSender(from: string): AppError {
  return new AppError("VALIDATION_ERROR", `"${from}" is no sender id`, {
    field: "from",
    hint: "Give the name or number that the network has registered: at most 11 letters, digits and spaces, or a number.",
  });
}
