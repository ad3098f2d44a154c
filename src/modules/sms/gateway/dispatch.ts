import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { PauseView } from "../../../platform/queue/delivery-pause.ts";
import { type ClaimedDeps, flightsOf } from "./claimed.ts";
import type { Submission } from "./submission.ts";
import { ReadyWorks, type Waiting } from "../queue/ready-work.ts";
import type { Route } from "./route-settings.ts";
import type { ReadyWork, SegmentRow } from "../queue/segment-read-store.ts";

// Claims segments for links with room in their window, and hands them over once they are committed as in flight:
// what a crash leaves in doubt is never more than was claimed, and nothing is written that is not claimed.

/** A link as the dispatcher sees it. */
export interface DispatchTarget {
  name: string;
  route: Route;
  readonly free: number;
  /** How many once so many of its places are given back; 0 where that is not worth a claim. */
  freeWith(settled: number): number;
  /** Takes what is committed. */
  send(flights: Submission[]): void;
}

export interface DispatcherDeps extends ClaimedDeps {
  /** Whether the operator holds what a workspace has waiting. */
  isHeld: (workspaceId: number) => boolean;
  commit: Commit;
  guard: { failure: string | null; whenOpen(run: () => void): () => void };
  pause?: PauseView;
  clock: Clock;
}

interface Claimed {
  flights: Submission[];
  /** What the database says of the work after the claim. */
  seen: { work: Waiting; version: number; nextAt: number | null; isElsewhere: boolean }[];
}

export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #outlets: DispatchTarget[] = [];
  readonly #ready: ReadyWorks;
  readonly #claiming = new Map<DispatchTarget, Promise<boolean>>();
  readonly #timers = new Map<string, { at: number; cancel: () => void }>();
  /** Timers of links that look again for what other links had, or that failed to claim. */
  readonly #later = new Map<DispatchTarget, () => void>();
  readonly #nudged = new Set<string>();
  /** Links that claim one at a time, and for how often: among what they claimed is a text that a bug keeps from it. */
  readonly #careful = new Map<DispatchTarget, number>();
  readonly #forget: () => void;
  #lease = 0;
  #isStopped = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#ready = new ReadyWorks(deps.isHeld);
    const forgetGuard = deps.guard.whenOpen(() => this.#offerAll());
    const forgetPause = deps.pause?.whenResumed(() => this.#offerAll());
    this.#forget = () => {
      forgetGuard();
      forgetPause?.();
    };
  }

  add(outlet: DispatchTarget): void {
    this.#outlets.push(outlet);
  }

  /** There is work; after the commit that made it. */
  nudge(work: ReadyWork): void {
    this.#ready.note(work);
    if (this.#nudged.size === 0) queueMicrotask(() => this.#offerNudged());
    this.#nudged.add(work.route);
  }

  /** What was held may go. */
  release(): void {
    this.#offerAll();
  }

  /** The link has room. */
  offer(outlet: DispatchTarget): void {
    if (this.#isStopped || this.#claiming.has(outlet) || outlet.free < 1 || !this.#mayClaim) return;
    const route = outlet.route.config.name;
    const now = this.#deps.clock.now();
    if (this.#ready.due(route, outlet.name, now).length === 0) return this.#wakeAt(outlet, now);
    const claiming = this.#claim(outlet);
    this.#claiming.set(outlet, claiming);
    void claiming.then((isDone) => {
      this.#claiming.delete(outlet);
      // Work that came meanwhile was not offered.
      if (isDone) this.offer(outlet);
      else this.#offerLater(outlet);
    });
  }

  /**
   * Inside a transaction that will free places of links: claims into them in the same one, which saves one. What it
   * returns is called after the commit, when the places are given back.
   */
  claimAlongside(freed: ReadonlyMap<DispatchTarget, number>): () => void {
    const claims: { outlet: DispatchTarget; claimed: Claimed }[] = [];
    if (!this.#mayClaim) return () => undefined;
    for (const [outlet, settled] of freed) {
      // Its own claim is in this transaction or the next, and counts the same places.
      if (this.#isStopped || this.#claiming.has(outlet) || this.#careful.has(outlet)) continue;
      const free = outlet.freeWith(settled);
      if (free < 1) continue;
      claims.push({ outlet, claimed: this.#claimNow(outlet, free) });
    }
    return () => {
      for (const { outlet, claimed } of claims) {
        try {
          this.#handOver(outlet, claimed);
        } catch (error) {
          // The others' flights would be in flight for good.
          this.#deps.log.error("sms claim", error, { link: outlet.name });
        }
      }
    };
  }

  /** Times by which it would look again are no times any more: the clock jumped. Work is to be told of anew. */
  forgetTimers(): void {
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  /** Claims nothing more; resolves when what was being claimed has been handed over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#forget();
    this.forgetTimers();
    for (const cancel of this.#later.values()) cancel();
    await Promise.all(this.#claiming.values());
  }

  get #mayClaim(): boolean {
    const { guard, pause } = this.#deps;
    return guard.failure === null && pause?.isPaused !== true;
  }

  #offerNudged(): void {
    const routes = new Set(this.#nudged);
    this.#nudged.clear();
    for (const outlet of this.#outlets) if (routes.has(outlet.route.config.name)) this.offer(outlet);
  }

  #offerAll(): void {
    for (const outlet of this.#outlets) this.offer(outlet);
  }

  /** When the first of a route's work is due, of which at `now` none is: a later look might find it due, and set no timer. */
  #wakeAt(outlet: DispatchTarget, now: number): void {
    const route = outlet.route.config.name;
    const at = this.#ready.nextAt(route);
    const known = this.#timers.get(route);
    // It belongs to other links. The clock may have been set back since it was asked for.
    if (at <= now && !this.#later.has(outlet)) this.#offerLater(outlet);
    if (at === Infinity || at <= now || (known !== undefined && known.at <= at)) return;
    known?.cancel();
    const cancel = this.#deps.clock.after(Math.min(at - now, MAX_TIMER_MS), () => {
      this.#timers.delete(route);
      for (const each of this.#outlets) if (each.route.config.name === route) this.offer(each);
    });
    this.#timers.set(route, { at, cancel });
  }

  /** @returns false: it failed */
  async #claim(outlet: DispatchTarget): Promise<boolean> {
    const careful = this.#careful.get(outlet);
    const tried: SegmentRow[] = [];
    try {
      const claimed = await this.#deps.commit(() => {
        tried.length = 0;
        return this.#claimNow(outlet, careful === undefined ? outlet.free : Math.min(1, outlet.free), tried);
      });
      this.#handOver(outlet, claimed);
      if (careful === 1) this.#careful.delete(outlet);
      else if (careful !== undefined) this.#careful.set(outlet, careful - 1);
      return true;
    } catch (error) {
      // Of trouble with the storage the guard tells, and when it is over.
      if (!isStorageError(error)) await this.#narrow(outlet, tried, error);
      return false;
    }
  }

  /** One of these texts cannot be claimed: the next claims are of one each, and the one that is alone waits, as all others go on. */
  async #narrow(outlet: DispatchTarget, tried: SegmentRow[], bug: unknown): Promise<void> {
    const { sms, clock, commit, log } = this.#deps;
    const [text, ...others] = new Set(tried.map(({ messageId }) => messageId));
    if (text === undefined || others.length > 0) {
      log.error("sms claim", bug, { link: outlet.name });
      if (others.length > 0) this.#careful.set(outlet, tried.length);
      return;
    }
    this.#careful.delete(outlet);
    try {
      log.error("sms claim", bug, { link: outlet.name, id: sms.messages.byId(text)?.uid ?? text });
      await commit(() => sms.segments.delayReady(text, clock.now() + PUT_OFF_MS));
    } catch (error) {
      if (!isStorageError(error)) log.error("sms claim", error, { link: outlet.name });
    }
  }

  /** After the commit. */
  #handOver(outlet: DispatchTarget, { flights, seen }: Claimed): void {
    for (const { work, version, nextAt } of seen) this.#ready.correct(work, version, nextAt);
    this.#bar(outlet, seen);
    if (flights.length > 0) outlet.send(flights);
  }

  /** What is due belongs to other links: this one asks for it again in a while. */
  #bar(outlet: DispatchTarget, seen: Claimed["seen"]): void {
    const elsewhere = seen.filter(({ isElsewhere }) => isElsewhere);
    if (elsewhere.length === 0) return;
    const until = this.#deps.clock.now() + LATER_MS;
    for (const { work } of elsewhere) this.#ready.bar(work, outlet.name, until);
    this.#offerLater(outlet);
  }

  #offerLater(outlet: DispatchTarget): void {
    if (this.#isStopped) return;
    this.#later.get(outlet)?.();
    const cancel = this.#deps.clock.after(LATER_MS, () => {
      this.#later.delete(outlet);
      this.offer(outlet);
    });
    this.#later.set(outlet, cancel);
  }

  /** Inside the transaction. `tried`: takes what it claims, also where it throws then. */
  #claimNow(outlet: DispatchTarget, places: number, tried?: SegmentRow[]): Claimed {
    const { clock, sms } = this.#deps;
    const now = clock.now();
    const route = outlet.route.config.name;
    // A part that was refused in the same transaction ends the parts behind it.
    sms.segments.settleNow();
    const claim = { route, link: outlet.name, leaseEpoch: ++this.#lease, now };
    const claimed: Claimed = { flights: [], seen: [] };
    let free = this.#isStopped ? 0 : places;
    for (const works of this.#ready.due(route, outlet.name, now)) {
      let line = works;
      while (free > 0 && line.length > 0) {
        const share = Math.max(1, Math.floor(free / line.length));
        const further: Waiting[] = [];
        for (const work of line) {
          const limit = Math.min(share, free);
          if (limit < 1) break;
          const { priority, workspaceId } = work;
          const rows = sms.segments.claim({ ...claim, priority, workspaceId, limit });
          tried?.push(...rows);
          const flights = flightsOf(rows, outlet.route, claim, this.#deps);
          claimed.flights.push(...flights);
          free -= flights.length;
          if (rows.length === limit) further.push(work);
          claimed.seen = claimed.seen.filter((each) => each.work !== work);
          const nextAt = sms.segments.nextAt({ route, priority, workspaceId });
          // What only another link may send does not make this one ask again and again.
          const isElsewhere = rows.length < limit && nextAt !== null && nextAt <= now;
          claimed.seen.push({ work, version: work.version, nextAt, isElsewhere });
        }
        line = further;
      }
    }
    return claimed;
  }
}

/** After so much it is looked at again whether what belongs to other links still does, or a claim works. */
const LATER_MS = 1_000;
/** A text that cannot be claimed is tried again after so much. */
const PUT_OFF_MS = 60_000;
/** The longest timer there is. */
const MAX_TIMER_MS = 2_147_483_647;
