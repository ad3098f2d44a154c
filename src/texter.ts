import type { Edges } from "./app.ts";
import type { Config } from "./config.ts";
import type { Committer } from "./db/commit.ts";
import type { DiskGuard } from "./db/guard.ts";
import type { DnsClient } from "./dns/client.ts";
import type { PauseView } from "./queue/pause.ts";
import { Answers } from "./sms/answers.ts";
import { Dispatcher } from "./sms/dispatch.ts";
import { Links } from "./sms/links.ts";
import { type ReceiverParts, receiveText } from "./sms/receive.ts";
import { Receipts } from "./sms/receipts.ts";
import { recoverTexts } from "./sms/recover.ts";
import { openRoutes } from "./sms/route-settings.ts";
import { routingOf } from "./sms/routing.ts";
import type { ReadyWork } from "./sms/segment-read-store.ts";
import { Sweeper } from "./sms/sweep.ts";
import { Writer } from "./sms/writer.ts";
import type { Stores } from "./stores.ts";

// The texting half of the composition root: routes and their links, the dispatcher that feeds them, the line of
// what they tell, and what time brings about.

export interface TexterParts {
  config: Config;
  edges: Edges;
  stores: Stores;
  committer: Committer;
  guard: DiskGuard;
  pause: PauseView;
  /** Of its own: SMSCs whose names nobody answers for must not take the places of the mail's look-ups. */
  resolver: DnsClient;
}

export interface Texter {
  /** There is work for a route's links. */
  nudge(work: ReadyWork): void;
  /** Recovers what the last run left, and connects. */
  start(): Promise<void>;
  /** Claims nothing more, waits for answers up to `graceMs`, unbinds, writes all that is known. */
  stop(graceMs: number): Promise<void>;
  /** Looks at once for what is overdue. */
  sweep(): Promise<void>;
  links: Pick<Links, "states">;
}

/** Builds what sends and receives texts; nothing begins to act before it is started. Throws StartError. */
export function buildTexter({ config, edges, stores, committer, guard, pause: paused, resolver }: TexterParts): Texter {
  const { clock, random, log } = edges;
  const { commit } = committer;
  const { sms, suppressions, senderIds } = stores;
  const routes = openRoutes(config.sms.routes);
  const { unknownWaitMs, receiptGraceMs } = config.sms;
  const receipts = new Receipts({ sms, routes });
  const pause = (route: string, ms: number) => links.pause(route, ms);
  const answers = new Answers({ sms, routes, receipts, unknownWaitMs, log, pause });
  const receiver: ReceiverParts = { sms, senderIds, suppressions, routes, random };
  const dispatcher = new Dispatcher({ sms, suppressions, commit, guard, pause: paused, clock, log });
  const writer = new Writer({ commit, guard, clock, log, pressed: (isPressed) => links.press(isPressed) });
  const links: Links = new Links({
    routes,
    writer,
    answers,
    receipts,
    receive: (route, message, now) => receiveText(route, message, now, receiver),
    dispatcher,
    clock,
    steady: edges.steady ?? clock,
    unit: () => random.unit(),
    lookUp: addressesBy(resolver),
    log,
  });
  const nudge = (work: ReadyWork) => dispatcher.nudge(work);
  const unboundMs = (route: string) => links.unboundMs(route);
  const own = { sms, routes, answers, receipts, receiver, receiptGraceMs };
  const sweeper = new Sweeper({ ...own, unboundMs, nudge, commit, clock, log });
  let isStarted = false;
  return {
    nudge,
    async start() {
      const routing = routingOf(config.sms.routes);
      await recoverTexts({ sms, routes, routing, answers, commit, now: () => clock.now(), log });
      for (const work of sms.segments.readyWork()) dispatcher.nudge(work);
      links.start();
      sweeper.start();
      isStarted = true;
    },
    async stop(graceMs) {
      if (!isStarted) return;
      isStarted = false;
      sweeper.stop();
      await dispatcher.stop();
      await links.close(graceMs);
      // What cannot be written now is found at the next start: in flight, its outcome unknown.
      await writer.idle();
      writer.stop();
    },
    sweep: () => sweeper.sweep(),
    links,
  };
}

function addressesBy(resolver: DnsClient) {
  return async (host: string): Promise<string[]> => {
    const found = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
    return found.flatMap((each) => (each.kind === "found" ? each.records : []));
  };
}
