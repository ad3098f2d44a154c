import type { Commit } from "../../../platform/db/group-commit.ts";
import type { AfterCommit } from "../../../platform/db/after-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Log } from "../../../platform/log.ts";
import type { SubmitResponses } from "./submit-responses.ts";
import type { Backlog } from "../queue/backlog.ts";
import { finishText, type ReceiverDeps } from "../inbound/receive.ts";
import type { Receipts } from "../receipts/process.ts";
import type { DuplicateFilter } from "../inbound/duplicate-filter.ts";
import { isLast } from "../receipts/parse.ts";
import type { openOrphanStore } from "../receipts/orphan-store.ts";
import type { Route } from "./route-settings.ts";
import type { SeenStore } from "../inbound/duplicate-store.ts";
import type { Dispatcher } from "./dispatch.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { Links } from "./links.ts";
import type { ReadyWork, SegmentRow } from "../queue/segment-read-store.ts";
import type { SegmentStore } from "../queue/segment-store.ts";
import type { MessageStore } from "../queue/message-store.ts";
import type { Jump, MessageClock } from "../queue/message-clock.ts";
import { dueDoubts } from "./resolve-uncertain.ts";
import type { Share, FailedSmsWrites } from "../queue/failed-writes.ts";
import type { WorkStore } from "../queue/work-store.ts";

// What time alone brings about: texts whose time to be sent is over, answers and receipts that are not waited for any
// longer, received texts that stay incomplete, receipts that fit nothing, and routes that are away for too long.

const EVERY_MS = 1_000;
const CLEAN_EVERY_MS = 10 * 60_000;
/** Transactions of one clean-up, each kind: more than can have come since the last one. */
const CLEAN_SHARES = 200;
const FREE_EVERY_MS = 10_000;
/** Of each kind, in one transaction. */
const SHARE = 500;
const PARTS_MS = 30 * 60_000;
const ORPHANS_MS = 72 * 3_600_000;
const UNOWNED_MS = 30 * 86_400_000;

/** A text, by its first part. */
type FirstPart = Pick<SegmentRow, "messageId" | "seq">;
const firstPart = (messageId: number): FirstPart => ({ messageId, seq: 1 });

export interface SweeperDeps {
  sms: {
    segments: SegmentStore;
    messages: MessageStore;
    work: WorkStore;
    orphans: ReturnType<typeof openOrphanStore>;
    seen: SeenStore;
    facts: Pick<AfterCommit, "run">;
  };
  routes: ReadonlyMap<string, Route>;
  answers: SubmitResponses;
  receipts: Receipts;
  receiver: ReceiverDeps;
  repeats: DuplicateFilter;
  receiptGraceMs: number;
  links: Pick<Links, "unboundMs" | "linkUnboundMs">;
  health: Pick<CircuitBreaker, "isOpen">;
  dispatcher: Pick<Dispatcher, "forgetTimers">;
  backlog: Pick<Backlog, "look">;
  nudge: (work: ReadyWork) => void;
  unwritten: Pick<FailedSmsWrites, "run">;
  commit: Commit;
  clock: MessageClock;
  log: Log;
}

export class Sweeper {
  readonly #deps: SweeperDeps;
  #cancel: () => void = () => undefined;
  #isStopped = false;
  #cleanedAt: number | undefined;
  readonly #freedAt = new Map<string, number>();

  constructor(deps: SweeperDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#cancel = this.#deps.clock.after(EVERY_MS, () => {
      void this.sweep().then(() => {
        if (!this.#isStopped) this.start();
      });
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Once over everything. */
  async sweep(): Promise<void> {
    const { commit, log, nudge, receipts, clock, unwritten } = this.#deps;
    const step = (act: () => ReadyWork[]) => async () => {
      for (const work of await commit(act)) nudge(work);
    };
    const steps = [
      // One backwards is followed when all follow it: followSetBack.
      () => (clock.jump === null || clock.jump.byMs < 0 ? null : this.#follow(clock.jump, () => undefined)),
      () => unwritten.run(this.#expired("queued")),
      () => unwritten.run(this.#expired("sending")),
      () => unwritten.run(this.#overdue()),
      // Answers that did not come.
      () => unwritten.run(dueDoubts(clock.now(), this.#deps)),
      step(() => this.#finishTexts()),
      ...[...this.#deps.routes.keys()].flatMap((route) => [
        step(() => this.#standIn(route)),
        step(() => this.#freePinned(route)),
      ]),
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
        // The guard tells of trouble with the storage.
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
    const { sms, clock, log, commit, nudge, dispatcher } = this.#deps;
    await commit(() => {
      sms.work.moveTimes(jump);
      note();
    });
    clock.follow(jump);
    dispatcher.forgetTimers();
    log.event("sms.clock_jumped", { byS: Math.round(jump.byMs / 1_000) }, "warn");
    for (const work of sms.segments.readyWork()) nudge(work);
  }

  /** Texts that were not sent in their time. */
  #expired(status: "queued" | "sending"): Share<FirstPart> {
    const { sms, clock } = this.#deps;
    const now = clock.now();
    return {
      where: "sms expire",
      find: (limit) => sms.messages.expired(status, now, limit).map(firstPart),
      act: ({ messageId }) => {
        const rows = sms.segments.of(messageId);
        const said = rows.find(({ category }) => category !== null);
        const { providerStatus = null, providerCode = null } = said ?? {};
        const category = said?.category ?? (rows.some((row) => this.#isAway(row)) ? "provider_unavailable" : "expired");
        const words = { providerStatus, providerCode, category, reason: null };
        sms.segments.endReady(messageId, { state: "expired", now }, words);
        return [];
      },
    };
  }

  /** Whether nobody is there to send it. */
  #isAway({ state, route, parts, link }: SegmentRow): boolean {
    const { routes, links } = this.#deps;
    if (state !== "ready") return false;
    return (
      !routes.has(route) || links.unboundMs(route) > 0 || (parts > 1 && link !== null && links.linkUnboundMs(link) > 0)
    );
  }

  /** Receipts that did not come. */
  #overdue(): Share<FirstPart> {
    const { sms, clock, routes, receiptGraceMs } = this.#deps;
    const now = clock.now();
    return {
      where: "sms overdue",
      find: (limit) => sms.messages.expired("sent", now - receiptGraceMs, limit).map(firstPart),
      act({ messageId }) {
        for (const row of sms.segments.of(messageId)) {
          const isOpen = row.overdue === null && (row.receiptState === null || !isLast(row.receiptState));
          const status = routes.get(row.route)?.config.missingReceiptStatus ?? "sent";
          if (isOpen) sms.segments.overdue(row, { status, now });
        }
        return [];
      },
    };
  }

  #finishTexts(): ReadyWork[] {
    const { clock, receiver } = this.#deps;
    const now = clock.now();
    return receiver.sms.inbound
      .waitingSince(now - PARTS_MS, SHARE)
      .flatMap((key) => finishText(key, { isOver: true, now }, receiver));
  }

  /** Texts of a route that is away, or errs, go by the next that is and does not. */
  #standIn(name: string): ReadyWork[] {
    const { sms, routes, links, health } = this.#deps;
    const { config } = routes.get(name) ?? {};
    if (config === undefined || config.failover.length === 0) return [];
    if (links.unboundMs(name) < config.failoverAfterMs && !health.isOpen(name)) return [];
    const to = config.failover.find((each) => routes.has(each) && links.unboundMs(each) === 0 && !health.isOpen(each));
    if (to === undefined) return [];
    return sms.work.unsent(name, SHARE).flatMap((id) => {
      const [row] = sms.segments.of(id);
      if (row === undefined || sms.segments.moveReady(id, { route: to, isRefused: false }) === 0) return [];
      return [{ route: to, priority: row.priority, workspaceId: row.workspaceId, nextAt: row.nextAt }];
    });
  }

  /**
   * Texts of several parts belong to the link that had the first of them. Where that link is away and nothing of the
   * text has gone out, any other may have it; where a part has, it waits: one text goes one way.
   */
  #freePinned(name: string): ReadyWork[] {
    const { sms, routes, links, clock } = this.#deps;
    const route = routes.get(name);
    if (route === undefined || route.links.length < 2 || links.unboundMs(name) > 0) return [];
    const away = route.links
      .map((link) => link.name)
      .filter((link) => links.linkUnboundMs(link) >= route.config.failoverAfterMs);
    if (away.length === 0 || !isTime(this.#freedAt.get(name), FREE_EVERY_MS, clock.now())) return [];
    // Only once they are: what is rolled back is run again.
    sms.facts.run(() => void this.#freedAt.set(name, clock.now()));
    return sms.work.free(name, away);
  }

  /** Now and then. */
  async #clean(): Promise<void> {
    const { sms, clock, receiver, repeats, commit } = this.#deps;
    const now = clock.now();
    repeats.forget();
    await commit(() => sms.seen.purge(repeats.oldest));
    for (const purge of [
      () => sms.orphans.purge(now - ORPHANS_MS),
      () => receiver.sms.inbound.purgeUnowned(now - UNOWNED_MS),
    ])
      for (let share = 0; share < CLEAN_SHARES; share += 1) {
        const isMore = !this.#isStopped && (await commit(purge));
        if (!isMore) break;
      }
  }
}

/** Of what is done now and then, and was done last at `lastAt`: a time that lies ahead is one of before the clock was set back. */
function isTime(lastAt: number | undefined, everyMs: number, now: number): boolean {
  return lastAt === undefined || now < lastAt || now >= lastAt + everyMs;
}
