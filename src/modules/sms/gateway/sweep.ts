// Handles everything that only the passing of time causes: messages whose lifetime is over, responses and receipts that are not waited for
// any longer, received messages that stay incomplete, and routes that are away for too long.

import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Context } from "../../../platform/context.ts";
import type { SkippedRows, Sweep } from "../../../platform/db/skipped-rows.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { DuplicateFilter } from "../inbound/duplicate-filter.ts";
import type { InboundDeps } from "../inbound/help.ts";
import { finishMessage } from "../inbound/receive.ts";
import type { FailedSmsWrites, SegmentBatch } from "../queue/failed-writes.ts";
import type { Jump, MessageClock } from "../queue/message-clock.ts";
import { toReadyWork, type ReadyWork, type SegmentRow } from "../queue/segment-read-store.ts";
import { hasLastWord } from "../queue/status.ts";
import type { Receipts } from "../receipts/process.ts";
import type { SmsStores } from "../stores.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { Links } from "./links.ts";
import { buildUncertainBatch } from "./resolve-uncertain.ts";
import type { Backlog } from "./route-health.ts";
import type { Route } from "./route-settings.ts";
import type { SubmitResponses } from "./submit-responses.ts";

const EVERY_MS = 1_000;
const CLEAN_EVERY_MS = 10 * 60_000;
/** Transactions of one clean-up, each kind: more than can have come since the last one. */
const CLEAN_BATCHES = 200;
const UNPIN_EVERY_MS = 10_000;
/** Parts of messages received, looked at in one transaction. */
const BATCH = 500;
/** A message received has at the most so many. */
const MAX_PARTS = 255;
const PARTS_MS = 30 * 60_000;
const ORPHANS_MS = 72 * 3_600_000;
const UNOWNED_MS = 30 * 86_400_000;

type WorkSweep<T> = Omit<Sweep<T>, "act"> & { act: (row: T) => ReadyWork[] };
type FirstPart = Pick<SegmentRow, "messageId" | "seq">;
const toFirstPart = (messageId: number): FirstPart => ({ messageId, seq: 1 });

export interface SweeperDeps extends Pick<Context, "commit" | "log"> {
  clock: MessageClock;
  sms: SmsStores;
  routes: ReadonlyMap<string, Route>;
  responses: SubmitResponses;
  receipts: Receipts;
  inbound: InboundDeps;
  duplicates: DuplicateFilter;
  links: Pick<Links, "unboundMs" | "linkUnboundMs">;
  breaker: Pick<CircuitBreaker, "isOpen">;
  dispatcher: Pick<Dispatcher, "nudge" | "forgetTimers">;
  backlog: Pick<Backlog, "look">;
  failedWrites: Pick<FailedSmsWrites, "run">;
  skipped: Pick<SkippedRows, "run">;
  receiptGraceMs: number;
}

export class Sweeper {
  readonly #deps: SweeperDeps;
  readonly #task: BackgroundTask;
  #isStopped = false;
  #cleanedAt: number | undefined;
  readonly #unpinnedAt = new Map<string, number>();

  constructor(deps: SweeperDeps) {
    this.#deps = deps;
    const run = async () => {
      await this.sweep();
      return EVERY_MS;
    };
    this.#task = new BackgroundTask({ name: "sms sweep", run, clock: deps.clock, log: deps.log });
  }

  start(): void {
    this.#task.start(EVERY_MS);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#task.stop();
  }

  async sweep(): Promise<void> {
    const { log, receipts, clock, failedWrites } = this.#deps;
    const steps = [
      // One backwards is followed when all follow it: followSetBack.
      () => (clock.jump === null || clock.jump.byMs < 0 ? null : this.#follow(clock.jump, () => undefined)),
      () => failedWrites.run(this.#expired("queued")),
      () => failedWrites.run(this.#expired("sending")),
      () => failedWrites.run(this.#overdue()),
      // Responses that did not come.
      () => failedWrites.run(buildUncertainBatch(clock.now(), this.#deps)),
      () => this.#finishInbound(),
      ...[...this.#deps.routes.keys()].flatMap((route) => [() => this.#failOver(route), () => this.#unpin(route)]),
      () => Promise.resolve(this.#deps.backlog.look()),
      async () => {
        if (!isTime(this.#cleanedAt, CLEAN_EVERY_MS, clock.now())) return;
        await this.#clean();
        this.#cleanedAt = clock.now();
        receipts.recount();
      },
    ];
    for (const each of steps) {
      if (this.#isStopped) return;
      try {
        await each();
      } catch (error) {
        // The guard reports storage errors.
        if (isStorageError(error)) return;
        log.error("sms sweep", error);
      }
    }
  }

  /** The clock was set back; `note` is written with what follows from that. Rejects with StorageError. */
  async followSetBack(note: () => void): Promise<void> {
    const { clock, commit } = this.#deps;
    const { jump } = clock;
    await (jump !== null && jump.byMs < 0 ? this.#follow(jump, note) : commit(note));
  }

  /** The wall clock was put right: the stored times go with it. */
  async #follow(jump: Jump, note: () => void): Promise<void> {
    const { sms, clock, log, commit, dispatcher } = this.#deps;
    await commit(() => {
      sms.segments.moveTimes(jump);
      note();
    });
    clock.follow(jump);
    dispatcher.forgetTimers();
    log.event("sms.clock_jumped", { byS: Math.round(jump.byMs / 1_000) }, "warn");
    for (const work of sms.segments.readyWork()) dispatcher.nudge(work);
  }

  #expired(status: "queued" | "sending"): SegmentBatch<FirstPart> {
    const { sms, clock } = this.#deps;
    const now = clock.now();
    return {
      where: "sms expire",
      find: (limit) => sms.messages.expired(status, now, limit).map(toFirstPart),
      act: ({ messageId }) => {
        const rows = sms.segments.listByMessage(messageId);
        const said = rows.find(({ category }) => category !== null);
        const { providerStatus = null, providerCode = null } = said ?? {};
        const category = said?.category ?? (rows.some((row) => this.#isAway(row)) ? "provider_unavailable" : "expired");
        const words = { providerStatus, providerCode, category, reason: null };
        sms.segments.endReady(messageId, { state: "expired", now }, words);
        return [];
      },
    };
  }

  /** Whether no link is there to send it. */
  #isAway({ state, route, parts, link }: SegmentRow): boolean {
    const { routes, links } = this.#deps;
    if (state !== "ready") return false;
    return (
      !routes.has(route) || links.unboundMs(route) > 0 || (parts > 1 && link !== null && links.linkUnboundMs(link) > 0)
    );
  }

  #overdue(): SegmentBatch<FirstPart> {
    const { sms, clock, routes, receiptGraceMs } = this.#deps;
    const now = clock.now();
    return {
      where: "sms overdue",
      find: (limit) => sms.messages.expired("sent", now - receiptGraceMs, limit).map(toFirstPart),
      act({ messageId }) {
        for (const row of sms.segments.listByMessage(messageId)) {
          const isOpen = row.overdue === null && !hasLastWord(row);
          const status = routes.get(row.route)?.config.missingReceiptStatus ?? "sent";
          if (isOpen) sms.segments.overdue(row, { status, now });
        }
        return [];
      },
    };
  }

  /** A sweep whose rows become work for the links. */
  async #sweepWork<T>(sweep: WorkSweep<T>): Promise<number> {
    const { sms, skipped, dispatcher } = this.#deps;
    const act = (row: T) => {
      const works = sweep.act(row);
      sms.afterCommit.run(() => works.forEach((work) => dispatcher.nudge(work)));
    };
    return await skipped.run({ ...sweep, act });
  }

  async #finishInbound(): Promise<void> {
    const { clock, sms, inbound } = this.#deps;
    const now = clock.now();
    await this.#sweepWork({
      where: "sms inbound parts",
      find: (limit) => sms.inbound.waitingSince(now - PARTS_MS, BATCH + (limit - BATCH) * MAX_PARTS),
      act: (key) => finishMessage(key, { isOver: true, now }, inbound),
      // Without the numbers, which the log may not show.
      getKey: ({ route, scheme, reference, total, source }) =>
        `${route} ${scheme} ${reference}/${total} ${Bun.hash(source).toString(36)}`,
    });
  }

  /** Messages of a route that is away, or errs, go by the next that is bound and does not. */
  async #failOver(name: string): Promise<void> {
    const { sms, routes, links, breaker } = this.#deps;
    const { config } = routes.get(name) ?? {};
    if (config === undefined || config.failover.length === 0) return;
    if (links.unboundMs(name) < config.failoverAfterMs && !breaker.isOpen(name)) return;
    const to = config.failover.find((each) => routes.has(each) && links.unboundMs(each) === 0 && !breaker.isOpen(each));
    if (to === undefined) return;
    await this.#sweepWork({
      where: "sms failover",
      find: (limit) => sms.segments.listUnsent(name, limit),
      act(id) {
        const [row] = sms.segments.listByMessage(id);
        if (row === undefined || sms.segments.moveReady(id, { route: to, isRefused: false }) === 0) return [];
        return [toReadyWork({ ...row, route: to }, row.nextAt)];
      },
      getKey: (id) => id,
    });
  }

  /**
   * Messages of several parts belong to the link that had the first of them. While that link is away and nothing of the
   * message has gone out, any other may have it; once a part has, it waits: one message goes one way.
   */
  async #unpin(name: string): Promise<void> {
    const { sms, routes, links, clock } = this.#deps;
    const route = routes.get(name);
    if (route === undefined || route.links.length < 2 || links.unboundMs(name) > 0) return;
    const away = route.links
      .map((link) => link.name)
      .filter((link) => links.linkUnboundMs(link) >= route.config.failoverAfterMs);
    if (away.length === 0 || !isTime(this.#unpinnedAt.get(name), UNPIN_EVERY_MS, clock.now())) return;
    const unpin: WorkSweep<number> = {
      where: "sms unpin",
      find: (limit) => sms.segments.listPinned(name, away, limit),
      act: (id) => sms.segments.unpin(id),
      getKey: (id) => id,
    };
    while ((await this.#sweepWork(unpin)) > 0 && !this.#isStopped);
    this.#unpinnedAt.set(name, clock.now());
  }

  async #clean(): Promise<void> {
    const { sms, clock, duplicates, commit, skipped } = this.#deps;
    const now = clock.now();
    duplicates.forget();
    await commit(() => sms.duplicates.purge(duplicates.oldest));
    const purges = [
      { where: "sms orphan receipts", store: sms.orphans, notBefore: now - ORPHANS_MS },
      { where: "sms to nobody", store: sms.inbound, notBefore: now - UNOWNED_MS },
    ];
    for (const { where, store, notBefore } of purges) {
      const find = (limit: number) => store.listOld(notBefore, limit);
      const sweep: Sweep<number> = { where, find, act: (id) => store.remove(id), getKey: (id) => id };
      for (let batch = 0; batch < CLEAN_BATCHES; batch += 1)
        if (this.#isStopped || (await skipped.run(sweep)) === 0) break;
    }
  }
}

/** Whether something is due that was done last at `lastAt`: a future time is from before the clock was set back. */
function isTime(lastAt: number | undefined, everyMs: number, now: number): boolean {
  return lastAt === undefined || now < lastAt || now >= lastAt + everyMs;
}
