import type { OperatorDeps } from "./api-routes.ts";
import type { Environment } from "../platform/environment.ts";
import type { Clock } from "../platform/clock.ts";
import type { SetBack } from "../platform/clock-step-watch.ts";
import type { Config } from "../config/config.ts";
import type { Committer } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { DnsClient } from "../protocols/dns/client.ts";
import { RefusalWatch } from "../modules/emails/delivery/mass-refusals.ts";
import type { RecordEvent } from "../modules/events/record.ts";
import type { PauseView } from "../platform/queue/delivery-pause.ts";
import { SubmitResponses } from "../modules/sms/gateway/submit-responses.ts";
import { Backlog } from "../modules/sms/queue/backlog.ts";
import { Dispatcher } from "../modules/sms/gateway/dispatch.ts";
import { CircuitBreaker } from "../modules/sms/gateway/circuit-breaker.ts";
import { answerHelp, type HelpDeps } from "../modules/sms/inbound/help.ts";
import { InvalidNumbers } from "../modules/sms/receipts/invalid-numbers.ts";
import { linkOverview } from "../modules/sms/api/link-overview.ts";
import { Links } from "../modules/sms/gateway/links.ts";
import { type ReceiverDeps, receiveText } from "../modules/sms/inbound/receive.ts";
import { Receipts } from "../modules/sms/receipts/process.ts";
import { DuplicateFilter } from "../modules/sms/inbound/duplicate-filter.ts";
import { recoverTexts } from "../modules/sms/queue/recover.ts";
import { openRoutes, type Route } from "../modules/sms/gateway/route-settings.ts";
import { routingOf } from "../modules/sms/api/routing.ts";
import type { ReadyWork } from "../modules/sms/queue/segment-read-store.ts";
import { troublesOf } from "../modules/sms/gateway/health-issues.ts";
import { WaitingCount } from "../modules/sms/queue/waiting-count.ts";
import { LinkTests } from "../modules/sms/link-test/link-tests.ts";
import { Sweeper } from "../modules/sms/gateway/sweep.ts";
import { MessageClock } from "../modules/sms/queue/message-clock.ts";
import { FailedSmsWrites } from "../modules/sms/queue/failed-writes.ts";
import { LinkEventQueue } from "../modules/sms/gateway/link-event-queue.ts";
import type { TextFigures } from "./metrics/sms.ts";
import { planFinder, type SmsStores, type Stores } from "./stores.ts";
import type { HealthIssue } from "../platform/health-issue.ts";

// The texting half of the composition root: routes and their links, the dispatcher that feeds them, the line of
// what they tell, and what time brings about.

export interface SmsGatewayDeps {
  config: Config;
  environment: Environment;
  stores: Stores;
  committer: Committer;
  guard: DiskGuard;
  pause: PauseView;
  /** Of its own: SMSCs whose names nobody answers for must not take the places of the mail's look-ups. */
  resolver: DnsClient;
  record: RecordEvent;
}

/** What a stop gives it: 30 s for the answers that are missing, and twice 5 s for unbinding and the peer's end. */
export const SMS_GATEWAY_GRACE_MS = 41_000;

export interface SmsGateway {
  /** There is work for a route's links. */
  nudge(work: ReadyWork): void;
  /** What the operator held may go. */
  release(): void;
  /** Recovers what the last run left, and connects. */
  start(): Promise<void>;
  /** Claims nothing more, waits for answers up to `graceMs`, unbinds, writes all that is known; how much could not be. */
  stop(graceMs: number): Promise<number>;
  /** The clock was set back; `note` is written with what follows. `isStart`: since the last run. Rejects with StorageError. */
  followSetBack(step: SetBack, isStart: boolean, note: () => void): Promise<void>;
  /** Looks at once for what is overdue. */
  sweep(): Promise<void>;
  links: Pick<Links, "views">;
  /** For the metrics. */
  figures(): TextFigures;
  /** Routes that are away while texts wait for them, or get more than they send. */
  issues(): HealthIssue[];
  operator: OperatorDeps["sms"];
}

/** Builds what sends and receives texts; nothing begins to act before it is started. Throws StartError. */
export function createSmsGateway(deps: SmsGatewayDeps): SmsGateway {
  const { config, environment, stores, committer, guard, pause: paused, resolver, record } = deps;
  const { random, log } = environment;
  const steady = environment.steady ?? environment.clock;
  const clock = new MessageClock(environment.clock, steady);
  const { commit } = committer;
  const { sms, suppressions } = stores;
  const routes = openRoutes(config.sms.routes);
  const { lostResponseWaitMs, receiptGraceMs } = config.sms;
  const isThere = (workspaceId: number) => stores.workspaces.byId(workspaceId) !== undefined;
  const numbers = new InvalidNumbers({ refusals: new RefusalWatch(), suppressions, isThere, commit, log });
  const receipts = new Receipts({ sms, routes, ended: (word) => numbers.told(word) });
  const pause = (route: string, ms: number) => links.pause(route, ms);
  const health = new CircuitBreaker({ routes, steady, log, pause });
  const answers = new SubmitResponses({ sms, routes, receipts, health, lostResponseWaitMs, log, pause });
  const receiver = receiverOf({ config, stores, routes, random, log, record });
  const repeats = new DuplicateFilter({ seen: sms.seen, clock, steady });
  // Of a deleted workspace nothing may go, nor what was held of it.
  const isHeld = (workspaceId: number) => stores.workspaces.byId(workspaceId)?.isHeld ?? true;
  const dispatcher = new Dispatcher({ sms, suppressions, isHeld, commit, guard, pause: paused, clock, log });
  const nudge = (work: ReadyWork) => dispatcher.nudge(work);
  const unwritten = new FailedSmsWrites({ messages: sms.messages, commit, clock: environment.clock, log, nudge });
  const writer = new LinkEventQueue({
    // The SMSC holds its receipts back until the last ones are acknowledged.
    commit: committer.commitSoon,
    guard,
    clock,
    log,
    unwritten,
    pressed: (isPressed) => links.press(isPressed),
    freeing: (freed) => dispatcher.claimAlongside(freed),
  });
  const links: Links = new Links({
    routes,
    writer,
    answers,
    receipts,
    receive: (route, message, now) => receiveText(route, message, now, receiver),
    repeats,
    note: (link, { kind, detail }, createdAt) => sms.links.note({ link, kind, detail, createdAt }),
    offerReceipt: (offered) => trials.offer(offered),
    dispatcher,
    health,
    clock,
    steady,
    unit: () => random.unit(),
    lookUp: addressesBy(resolver),
    log,
  });
  const routing = routingOf(config.sms.routes);
  const trying = { routes, routing, references: sms.references, links: () => links };
  const trials = new LinkTests({ ...trying, commit, clock, steady, random, log });
  const overview = linkOverview({ routes, links, store: sms.links, isAllShown: config.log.addresses === "full" });
  const waiting = new WaitingCount(sms, clock);
  const backlog = new Backlog({ routes, waiting, links, isPaused: () => paused.isPaused, clock, steady });
  const swept = { sms, routes, answers, receipts, receiver, receiptGraceMs, links, health, repeats, dispatcher };
  const sweeper = new Sweeper({ ...swept, backlog, nudge, unwritten, commit, clock, log });
  const now = () => clock.now();
  const recover = () => recoverTexts({ sms, routes, routing, answers, commit, now, log, unwritten });
  return {
    nudge,
    release: () => dispatcher.release(),
    ...lifeOf({ recover, sms, dispatcher, links, trials, sweeper, writer, unwritten }),
    sweep: () => sweeper.sweep(),
    followSetBack: (step, isStart, note) =>
      isStart ? commit(() => moveTimes(sms, step, note)) : sweeper.followSetBack(note),
    links,
    ...figuresOf({ routes, links, receipts, sms, clock, waiting, backlog, unwritten }),
    operator: { overview, trials, prefixes: config.sms.prefixes },
  };
}

/** At a start nobody has a time of before in memory: the rows are all. */
function moveTimes(sms: Stores["sms"], { fromMs, toMs }: SetBack, note: () => void): void {
  sms.work.moveTimes({ byMs: toMs - fromMs, beforeMs: fromMs, seenForMs: 0 });
  note();
}

/** In the order in which the parts may begin to act, and end. */
function lifeOf(of: {
  recover: () => Promise<void>;
  sms: SmsStores;
  dispatcher: Dispatcher;
  links: Links;
  trials: LinkTests;
  sweeper: Sweeper;
  writer: LinkEventQueue;
  unwritten: FailedSmsWrites;
}): Pick<SmsGateway, "start" | "stop"> {
  const { recover, sms, dispatcher, links, trials, sweeper, writer, unwritten } = of;
  let isStarted = false;
  return {
    async start() {
      await recover();
      for (const work of sms.segments.readyWork()) dispatcher.nudge(work);
      links.start();
      trials.start();
      sweeper.start();
      isStarted = true;
    },
    async stop(graceMs) {
      if (!isStarted) return 0;
      isStarted = false;
      sweeper.stop();
      unwritten.stop();
      trials.stop();
      await dispatcher.stop();
      await links.close(graceMs);
      // What cannot be written now is found at the next start: in flight, its outcome unknown.
      await writer.idle();
      writer.stop();
      return writer.length;
    },
  };
}

/** What is done with a subscriber's text. */
function receiverOf(
  of: Pick<SmsGatewayDeps, "config" | "stores" | "record"> & Pick<HelpDeps, "routes" | "random" | "log">,
): ReceiverDeps {
  const { routes, random } = of;
  const { sms, senderIds, suppressions } = of.stores;
  const help = helpPartsOf(of);
  return { sms, senderIds, suppressions, routes, random, answerHelp: (asked) => answerHelp(asked, help) };
}

function helpPartsOf(of: Parameters<typeof receiverOf>[0]): HelpDeps {
  const { config, stores, ...rest } = of;
  const { helpText, prefixes } = config.sms;
  const { otpLifetimeMs: otp, transactionalLifetimeMs: transactional, bulkLifetimeMs: bulk } = config.sms;
  const settings = { lifetimesMs: { otp, transactional, bulk }, keepAnswersMs: config.idempotency.retentionMs };
  return { ...stores, ...rest, helpText, prefixes, settings, planOf: planFinder(config, stores) };
}

/** What operators' programs are told. */
function figuresOf(of: {
  routes: ReadonlyMap<string, Route>;
  links: Links;
  receipts: Receipts;
  sms: SmsStores;
  clock: Clock;
  waiting: WaitingCount;
  backlog: Pick<Backlog, "issues">;
  unwritten: Pick<FailedSmsWrites, "issue">;
}): Pick<SmsGateway, "figures" | "issues"> {
  const { routes, links, receipts, sms, clock, waiting, backlog, unwritten } = of;
  const look = {
    unboundMs: (route: string) => links.unboundMs(route),
    hasWaiting: (route: string) => sms.work.hasWaiting(route),
    views: () => links.views(),
  };
  return {
    figures: () => ({
      links: links.views().map((view) => ({ ...view, isBound: view.state === "bound" })),
      routes: [...routes.keys()].map((route) => {
        return { route, unmatched: receipts.unmatched(route), ...waiting.of(route) };
      }),
      ...sms.counted,
    }),
    issues: () => [...troublesOf(routes, clock.now(), look), ...backlog.issues, ...[unwritten.issue ?? []].flat()],
  };
}

function addressesBy(resolver: DnsClient) {
  return async (host: string): Promise<string[]> => {
    const found = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
    return found.flatMap((each) => (each.kind === "found" ? each.records : []));
  };
}
