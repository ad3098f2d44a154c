// SMS: acceptance over the API, the queue of segments, the links to SMSCs, receipts and inbound messages.

import type { Config, Plan } from "../../config/config.ts";
import type { SetBack } from "../../platform/clock-step-watch.ts";
import type { Component, Context } from "../../platform/context.ts";
import { createWalkingPurge, type WalkingPurgeDeps } from "../../platform/db/purge.ts";
import { SkippedRows } from "../../platform/db/skipped-rows.ts";
import type { DiskGuard } from "../../platform/db/disk-guard.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import type { ListPages } from "../../platform/http/pagination.ts";
import type { PauseView } from "../../platform/queue/delivery-pause.ts";
import type { DnsClient } from "../../protocols/dns/client.ts";
import { RefusalWatch } from "../emails/delivery/refusal-watch.ts";
import type { RecordEvent } from "../events/record.ts";
import { SYSTEM_WORKSPACE_ID } from "../../platform/db/schema/schema.ts";
import type { MayReadContent } from "../workspaces/read-content.ts";
import type { AcceptStores } from "./api/accept.ts";
import { createLinkOverview } from "./api/link-overview.ts";
import { linkRoutes, linkTestRoutes } from "./api/operator-routes.ts";
import { smsRoutes } from "./api/routes.ts";
import { createRouting } from "./api/routing.ts";
import { NumberingPlan } from "./encoding/phone-number.ts";
import { CircuitBreaker } from "./gateway/circuit-breaker.ts";
import { Dispatcher, type DispatcherDeps } from "./gateway/dispatch.ts";
import { Backlog, findUnboundRoutes, WaitingCount } from "./gateway/route-health.ts";
import type { LinkListener } from "./gateway/link-event.ts";
import { LinkEventQueue, type LinkEventQueueDeps } from "./gateway/link-event-queue.ts";
import { applyEvent } from "./gateway/link-event-reducer.ts";
import { Links } from "./gateway/links.ts";
import { openRoutes, type Route } from "./gateway/route-settings.ts";
import { SubmitResponses } from "./gateway/submit-responses.ts";
import { Sweeper } from "./gateway/sweep.ts";
import { DuplicateFilter } from "./inbound/duplicate-filter.ts";
import { createSystemSms } from "./system-sms.ts";
import { LinkTests } from "./link-test/link-tests.ts";
import { FailedSmsWrites } from "./queue/failed-writes.ts";
import { MessageClock } from "./queue/message-clock.ts";
import { recoverMessages } from "./queue/recover.ts";
import type { ReadyWork } from "./queue/segment-read-store.ts";
import { InvalidNumbers } from "./receipts/invalid-numbers.ts";
import { Receipts } from "./receipts/process.ts";

/** A stop gives it 30 s for the responses that are missing, and twice 5 s for unbinding and the peer's end. */
export const SMS_GRACE_MS = 41_000;

export interface SmsContext extends Context {
  guard: Context["guard"] & Pick<DiskGuard, "blockedReason">;
  /** A transaction that waits for no others: an SMSC holds its receipts back until the last ones are acknowledged. */
  commitSoon: Commit;
  pause: PauseView;
  /** Of its own: names of SMSCs that no server answers for must not take the places of email's queries. */
  resolver: DnsClient;
  record: RecordEvent;
  findPlan: (workspaceId: number) => Plan;
  pages: ListPages;
  mayReadContent: MayReadContent;
}

export type Sms = ReturnType<typeof createSms>;

/** Nothing begins to act before it is started. Throws StartError. */
export function createSms(context: SmsContext, stores: AcceptStores, config: Config) {
  const { sms } = stores;
  const routes = openRoutes(config.sms.routes);
  const engine = createEngine(context, stores, { config, routes });
  const { links, dispatcher, sweeper, tests, eventQueue, failedWrites } = engine;
  const overview = createLinkOverview({
    routes,
    links,
    store: sms.links,
    isAllShown: config.log.addresses === "full",
  });
  const purges = createPurges({ ...context, commit: context.commitHere, skipped: engine.skipped }, sms, config);
  let isStarted = false;
  const drain = async (graceMs: number): Promise<number> => {
    if (!isStarted) return 0;
    isStarted = false;
    const swept = Promise.all([sweeper, ...purges].map((task) => task.stop()));
    failedWrites.stop();
    tests.stop();
    await dispatcher.stop();
    await links.close(graceMs);
    // What cannot be written now is found at the next start: in flight, its outcome unknown.
    await eventQueue.idle();
    await swept;
    eventQueue.stop();
    return eventQueue.length;
  };
  const component = {
    async start() {
      await engine.recover();
      for (const work of sms.segments.readyWork()) dispatcher.nudge(work);
      links.start(tests);
      tests.start();
      sweeper.start();
      for (const purge of purges) purge.start();
      isStarted = true;
    },
    drain,
    stop: async () => void (await drain(0)),
    issues: (): HealthIssue[] => [
      ...findUnboundRoutes(routes, links, sms.segments, engine.clock.now()),
      ...engine.backlog.issues,
      ...[failedWrites.issue, engine.skipped.issue].filter((issue) => issue !== null),
    ],
  } satisfies Component;
  return {
    ...component,
    numbering: engine.acceptDeps.numbering,
    routes: () => smsRoutes({ ...context, ...engine.acceptDeps }),
    operatorRoutes: () => [linkRoutes({ overview }), linkTestRoutes({ tests, numbering: engine.acceptDeps.numbering })],
    /** There is work for a route's links. */
    nudge: (work: ReadyWork) => dispatcher.nudge(work),
    /** What the operator held may go. */
    release: () => dispatcher.offerAll(),
    sendSystemSms: createSystemSms({ sms, routes, random: context.random, nudge: (work) => dispatcher.nudge(work) }),
    sweep: () => sweeper.sweep(),
    /** The clock was set back; `note` is written with what follows. `isStart`: since the last run. Rejects with StorageError. */
    followSetBack: ({ fromMs, toMs }: SetBack, isStart: boolean, note: () => void): Promise<void> => {
      if (!isStart) return sweeper.followSetBack(note);
      // At a start only the rows hold times from before; memory holds none.
      return context.commitHere(() => {
        sms.segments.moveTimes({ byMs: toMs - fromMs, beforeMs: fromMs, seenForMs: 0 });
        note();
      });
    },
    links,
    figures: () => ({
      links: links.views().map((view) => ({ ...view, isBound: view.state === "bound" })),
      routes: [...routes.keys()].map((route) => {
        return { route, unmatched: engine.receipts.countUnmatched(route), ...engine.waiting.get(route) };
      }),
      ...sms.counted,
    }),
  };
}

function createPurges(deps: WalkingPurgeDeps, { retention }: AcceptStores["sms"], { records }: Config) {
  const oldest = () => deps.clock.now() - records.retentionMs;
  return [
    createWalkingPurge(deps, "sms records", retention.messages, oldest),
    createWalkingPurge(deps, "received sms", retention.inbound, oldest),
  ];
}

/** What sends and receives. Each object knows only those before it; the links get their listener at the start. */
function createEngine(
  context: SmsContext,
  stores: AcceptStores,
  { config, routes }: { config: Config; routes: ReadonlyMap<string, Route> },
) {
  const { steady, random, log, guard, pause, resolver, record, findPlan, kept } = context;
  // Claims and acknowledgements wait by themselves until what they commit is kept; the rest a crash may undo.
  const commit = context.commitHere;
  const { sms, suppressions, workspaces } = stores;
  const { lostResponseWaitMs, receiptGraceMs, helpText } = config.sms;
  const numbering = new NumberingPlan(config.sms.prefixes);
  const clock = new MessageClock(context.clock, steady);
  const routing = createRouting(config.sms.routes);
  const { otpLifetimeMs: otp, transactionalLifetimeMs: transactional, bulkLifetimeMs: bulk } = config.sms;
  const settings = { lifetimesMs: { otp, transactional, bulk }, keepAnswersMs: config.idempotency.retentionMs };
  const links = new Links({ routes, clock, steady, random, log, lookUp: (host) => lookUp(resolver, host) });
  const breaker = new CircuitBreaker({ routes, steady, log, links });
  const isThere = (workspaceId: number) => workspaces.byId(workspaceId) !== undefined;
  const numbers = new InvalidNumbers({ refusals: new RefusalWatch(), suppressions, isThere, commit, log });
  const receipts = new Receipts({ sms, routes, numbering, onLastWord: (word) => numbers.note(word) });
  const responses = new SubmitResponses({ sms, routes, receipts, breaker, links, lostResponseWaitMs, log });
  const duplicates = new DuplicateFilter({ duplicates: sms.duplicates, clock, steady });
  const inbound = { ...stores, routes, random, log, record, findPlan, helpText, numbering, settings };
  const reduced = { responses, receipts, inbound, duplicates, history: sms.links };
  const reducer: LinkEventQueueDeps["reducer"] = {
    apply: (event, now) => applyEvent(event, now, reduced),
    markUncertain: (submission, now) => responses.handleLostResponse(submission, now),
  };
  // Nothing of a deleted workspace may go, nor what was held of it.
  const isHeld = (workspaceId: number) =>
    workspaceId !== SYSTEM_WORKSPACE_ID && (workspaces.byId(workspaceId)?.isHeld ?? true);
  const giveBack: DispatcherDeps["giveBack"] = (link, submission) =>
    eventQueue.push({ kind: "unsent", link, submission, reason: null });
  const sending = { sms, suppressions, links, breaker, isHeld, commit, kept, giveBack };
  const dispatcher = new Dispatcher({ ...sending, guard, pause, clock, log });
  const nudge = (work: ReadyWork) => dispatcher.nudge(work);
  const failedWrites = new FailedSmsWrites({ messages: sms.messages, commit, clock: context.clock, log, nudge });
  const skipped = new SkippedRows({ commit, clock: context.clock, log, component: "sms" });
  const queued = { reducer, dispatcher, failedWrites, links, guard, clock, log };
  const eventQueue = new LinkEventQueue({ ...queued, commit: context.commitSoon, kept });
  const listener: LinkListener = {
    ready: (link) => dispatcher.offer(link),
    emit(event) {
      breaker.observe(event);
      eventQueue.push(event);
    },
  };
  const tested = { routes, routing, references: sms.references, links, listener };
  const tests = new LinkTests({ ...tested, commit: context.commit, clock, steady, random, log });
  const waiting = new WaitingCount(sms, clock);
  const backlog = new Backlog({ routes, waiting, links, isPaused: () => pause.isPaused, clock, steady });
  const swept = { sms, routes, responses, receipts, inbound, duplicates, links, breaker, dispatcher, backlog };
  const sweeper = new Sweeper({ ...swept, failedWrites, skipped, receiptGraceMs, commit, clock, log });
  return {
    clock,
    links,
    dispatcher,
    sweeper,
    tests,
    eventQueue,
    failedWrites,
    skipped,
    receipts,
    waiting,
    backlog,
    acceptDeps: { ...inbound, commit: context.commit, guard, clock: context.clock, routing, nudge },
    recover: () => recoverMessages({ sms, routes, routing, responses, commit, clock, log, failedWrites, skipped }),
  };
}

async function lookUp(resolver: DnsClient, host: string): Promise<string[]> {
  const found = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
  return found.flatMap((each) => (each.kind === "found" ? each.records : []));
}
