import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { Log } from "../log.ts";
import type { Answers } from "./answers.ts";
import { finishText, type ReceiverParts } from "./receive.ts";
import type { Receipts } from "./receipts.ts";
import { isLast } from "./receipt.ts";
import type { openOrphanStore } from "./orphan-store.ts";
import type { Route } from "./route-settings.ts";
import type { ReadyWork } from "./segment-read-store.ts";
import type { SegmentStore } from "./segment-store.ts";
import type { MessageStore } from "./store.ts";
import type { WorkStore } from "./work-store.ts";

// What time alone brings about: texts whose time to be sent is over, answers and receipts that are not waited for any
// longer, received texts that stay incomplete, receipts that fit nothing, and routes that are away for too long.

const EVERY_MS = 1_000;
const CLEAN_EVERY_MS = 10 * 60_000;
/** Of each kind, in one transaction. */
const SHARE = 500;
const PARTS_MS = 30 * 60_000;
const ORPHANS_MS = 72 * 3_600_000;
const UNOWNED_MS = 30 * 86_400_000;

export interface SweeperParts {
  sms: {
    segments: SegmentStore;
    messages: MessageStore;
    work: WorkStore;
    orphans: ReturnType<typeof openOrphanStore>;
  };
  routes: ReadonlyMap<string, Route>;
  answers: Answers;
  receipts: Receipts;
  receiver: ReceiverParts;
  receiptGraceMs: number;
  /** How long no link of a route has been bound; 0: one is. */
  unboundMs: (route: string) => number;
  nudge: (work: ReadyWork) => void;
  commit: Commit;
  clock: Clock;
  log: Log;
}

export class Sweeper {
  readonly #parts: SweeperParts;
  #cancel: () => void = () => undefined;
  #isStopped = false;
  #cleanAt = 0;

  constructor(parts: SweeperParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#cancel = this.#parts.clock.after(EVERY_MS, () => {
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
    const { commit, log, nudge, receipts, clock } = this.#parts;
    const steps = [
      () => this.#expire(),
      () => this.#giveUp(),
      () => this.#decide(),
      () => this.#finishTexts(),
      ...[...this.#parts.routes.keys()].map((route) => () => this.#standIn(route)),
      ...this.#cleaning(),
    ];
    try {
      for (const step of steps) {
        if (this.#isStopped) return;
        for (const work of await commit(step)) nudge(work);
      }
      if (clock.now() >= this.#cleanAt) {
        this.#cleanAt = clock.now() + CLEAN_EVERY_MS;
        receipts.recount();
      }
    } catch (error) {
      // The guard tells of trouble with the storage.
      if (!isStorageError(error)) log.bug("sms sweep", error);
    }
  }

  /** Texts that were not sent in their time. */
  #expire(): ReadyWork[] {
    const { sms, clock, routes, unboundMs } = this.#parts;
    const now = clock.now();
    const ids = (["queued", "sending"] as const).flatMap((status) => sms.messages.expired(status, now, SHARE));
    for (const id of ids) {
      const rows = sms.segments.of(id);
      const said = rows.find(({ category }) => category !== null);
      const route = rows[0]?.route ?? "";
      const isAway = rows.every(({ attempts }) => attempts === 0) && (!routes.has(route) || unboundMs(route) > 0);
      const { providerStatus = null, providerCode = null } = said ?? {};
      const category = said?.category ?? (isAway ? "provider_unavailable" : "expired");
      sms.segments.endReady(id, { state: "expired", now }, { providerStatus, providerCode, category, reason: null });
    }
    return [];
  }

  /** Receipts that did not come. */
  #giveUp(): ReadyWork[] {
    const { sms, clock, routes, receiptGraceMs } = this.#parts;
    const now = clock.now();
    for (const id of sms.messages.expired("sent", now - receiptGraceMs, SHARE)) {
      for (const row of sms.segments.of(id)) {
        const isOpen = row.overdue === null && (row.receiptState === null || !isLast(row.receiptState));
        const status = routes.get(row.route)?.config.overdue ?? "sent";
        if (isOpen) sms.segments.overdue(row, { status, now });
      }
    }
    return [];
  }

  /** Answers that did not come. */
  #decide(): ReadyWork[] {
    const { sms, clock, answers } = this.#parts;
    const now = clock.now();
    return sms.segments.unknownDue(now, SHARE).flatMap((row) => answers.decide(row, now));
  }

  #finishTexts(): ReadyWork[] {
    const { clock, receiver } = this.#parts;
    const now = clock.now();
    return receiver.sms.inbound
      .waitingSince(now - PARTS_MS, SHARE)
      .flatMap((key) => finishText(key, { isOver: true, now }, receiver));
  }

  /** Texts of a route that is away go by the next that is not. */
  #standIn(name: string): ReadyWork[] {
    const { sms, routes, unboundMs } = this.#parts;
    const { config } = routes.get(name) ?? {};
    if (config === undefined || config.failover.length === 0 || unboundMs(name) < config.failoverAfterMs) return [];
    const to = config.failover.find((each) => routes.has(each) && unboundMs(each) === 0);
    if (to === undefined) return [];
    return sms.work.unsent(name, SHARE).flatMap((id) => {
      const [row] = sms.segments.of(id);
      if (row === undefined || sms.segments.moveReady(id, { route: to, isRefused: false }) === 0) return [];
      return [{ route: to, priority: row.priority, workspaceId: row.workspaceId, nextAt: row.nextAt }];
    });
  }

  /** Now and then. */
  #cleaning(): (() => ReadyWork[])[] {
    const { sms, clock, receiver } = this.#parts;
    const now = clock.now();
    if (now < this.#cleanAt) return [];
    return [
      () => (sms.orphans.purge(now - ORPHANS_MS), []),
      () => (receiver.sms.inbound.purgeUnowned(now - UNOWNED_MS), []),
    ];
  }
}
