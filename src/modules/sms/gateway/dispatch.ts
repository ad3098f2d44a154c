// Claims segments for links with room in their windows, and hands them over once they are committed as in flight:
// a crash never leaves more uncertain than was claimed, and nothing is written that is not claimed.

import type { Context } from "../../../platform/context.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { PauseView } from "../../../platform/queue/delivery-pause.ts";
import { FairScheduler } from "../../../platform/queue/fair-scheduler.ts";
import { ReadyQueue, type Waiting } from "../queue/ready-work.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { DispatchTarget } from "./link-event.ts";
import { buildSubmissions, type Submission, type SubmissionDeps } from "./submission.ts";
import type { ReadyWork, SegmentRow } from "../queue/segment-read-store.ts";

export interface DispatcherDeps extends SubmissionDeps, Pick<Context, "commit" | "kept" | "guard" | "clock"> {
  links: { readonly open: readonly DispatchTarget[] };
  breaker: Pick<CircuitBreaker, "allowance">;
  /** Whether nothing of a workspace may be sent: the operator holds its queue, or it is deleted. */
  isHeld: (workspaceId: number) => boolean;
  pause?: PauseView;
  /** Takes a claimed submission that is not sent; needed where claims wait for `kept`. */
  giveBack?: (link: DispatchTarget, submission: Submission) => void;
}

/** Work after a claim of it: when the database says that more is due; null: none is. */
interface Seen {
  version: number;
  nextAt: number | null;
  /** More is due, and belongs to other links. */
  isElsewhere: boolean;
}

interface Claimed {
  submissions: Submission[];
  seen: Map<Waiting, Seen>;
}

/** After so much it is looked at again whether what belongs to other links still does, or a claim works. */
const LATER_MS = 1_000;
/** A message that cannot be claimed is tried again after so much. */
const PUT_OFF_MS = 60_000;
/** A claim that waited longer for the replica is made anew. */
const MAX_KEEPING_MS = 5_000;
/** The longest timer there is. */
const MAX_TIMER_MS = 2_147_483_647;

export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #ready: ReadyQueue;
  readonly #claiming = new Map<DispatchTarget, Promise<boolean>>();
  /** Links that a transaction under way claims for alongside: their places are taken, and not yet given to the segments. */
  readonly #alongside = new Set<DispatchTarget>();
  readonly #timers = new Map<string, { at: number; cancel: () => void }>();
  /** Timers of links that look again for what other links had, or that failed to claim. */
  readonly #later = new Map<DispatchTarget, () => void>();
  readonly #nudged = new Set<string>();
  /** Links that claim one at a time, and how often: among their last claims was a message that an internal error keeps from being claimed. */
  readonly #careful = new Map<DispatchTarget, number>();
  readonly #forget: () => void;
  #lease = 0;
  #isStopped = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#ready = new ReadyQueue(deps.isHeld);
    // With what was committed while it was closed, and whose callers were told that nobody knows.
    const forgetGuard = deps.guard.whenOpen(() => {
      for (const work of deps.sms.segments.readyWork()) this.nudge(work);
      this.offerAll();
    });
    const forgetPause = deps.pause?.whenResumed(() => this.offerAll());
    this.#forget = () => {
      forgetGuard();
      forgetPause?.();
    };
  }

  /** There is work; after the commit that made it. */
  nudge(work: ReadyWork): void {
    this.#ready.note(work);
    if (this.#nudged.size === 0) queueMicrotask(() => this.#offerNudged());
    this.#nudged.add(work.route);
  }

  /** Sending goes on: every link is offered what waits. */
  offerAll(): void {
    for (const link of this.#deps.links.open) this.offer(link);
  }

  offer(link: DispatchTarget): void {
    if (this.#isStopped || this.#claiming.has(link) || this.#alongside.has(link)) return;
    if (this.#countAllowed(link, link.free) < 1 || !this.#mayClaim) return;
    const route = link.route.config.name;
    const now = this.#deps.clock.now();
    if (this.#ready.due(route, link.name, now).length === 0) return this.#wakeAt(link, now);
    const claiming = this.#claim(link);
    this.#claiming.set(link, claiming);
    void claiming.then((isDone) => {
      this.#claiming.delete(link);
      // Work that came meanwhile was not offered.
      if (isDone) this.offer(link);
      else this.#offerLater(link);
    });
  }

  /**
   * Inside a transaction that will free places of links: claims into them in the same one, which saves one. What it
   * returns is called after the commit, when the places are given back. One transaction at a time; it may run again.
   */
  claimAlongside(freed: ReadonlyMap<DispatchTarget, number>): () => void {
    const claims: { link: DispatchTarget; claimed: Claimed }[] = [];
    this.#alongside.clear();
    if (!this.#mayClaim) return () => undefined;
    for (const [link, settled] of freed) {
      // Its own claim is in this transaction or the next, and counts the same places.
      if (this.#isStopped || this.#claiming.has(link) || this.#careful.has(link)) continue;
      const free = this.#countAllowed(link, link.freeWith(settled));
      if (free < 1) continue;
      claims.push({ link, claimed: this.#claimNow(link, free) });
      this.#alongside.add(link);
    }
    return () => {
      this.#alongside.clear();
      for (const { link, claimed } of claims) {
        try {
          this.#handOver(link, claimed);
        } catch (error) {
          // The others' submissions would be in flight for good.
          this.#deps.log.error("sms claim", error, { link: link.name });
        }
        // Work that came meanwhile was not offered.
        this.offer(link);
      }
    };
  }

  /** The transaction that claimed alongside was rolled back. */
  forgetAlongside(): void {
    this.#alongside.clear();
    this.offerAll();
  }

  /** The clock jumped, so that the times of its timers are wrong. The caller nudges all work anew. */
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
    for (const link of this.#deps.links.open) if (routes.has(link.route.config.name)) this.offer(link);
  }

  /** Sets the timer for the first of a route's work, none of which is due at `now`: with a later time it might be due, and get no timer. */
  #wakeAt(link: DispatchTarget, now: number): void {
    const route = link.route.config.name;
    const at = this.#ready.nextAt(route);
    const known = this.#timers.get(route);
    // It belongs to other links. The clock may have been set back since it was asked for.
    if (at <= now && !this.#later.has(link)) this.#offerLater(link);
    if (at === Infinity || at <= now || (known !== undefined && known.at <= at)) return;
    known?.cancel();
    const cancel = this.#deps.clock.after(Math.min(at - now, MAX_TIMER_MS), () => {
      this.#timers.delete(route);
      for (const each of this.#deps.links.open) if (each.route.config.name === route) this.offer(each);
    });
    this.#timers.set(route, { at, cancel });
  }

  /** @returns false: it failed */
  async #claim(link: DispatchTarget): Promise<boolean> {
    const careful = this.#careful.get(link);
    const tried: SegmentRow[] = [];
    try {
      const claimed = await this.#deps.commit(() => {
        tried.length = 0;
        const free = this.#countAllowed(link, link.free);
        return this.#claimNow(link, careful === undefined ? free : Math.min(1, free), tried);
      });
      if (!(await this.#areKept(link, claimed))) return false;
      this.#handOver(link, claimed);
      if (careful === 1) this.#careful.delete(link);
      else if (careful !== undefined) this.#careful.set(link, careful - 1);
      return true;
    } catch (error) {
      // The guard reports storage errors, and calls when they are over.
      if (!isStorageError(error)) await this.#narrow(link, tried, error);
      return false;
    }
  }

  /** False: they were given back. A claim that is old is not sent: its message may have expired, or be suppressed by now. */
  async #areKept(link: DispatchTarget, { submissions }: Claimed): Promise<boolean> {
    const { kept, clock, giveBack } = this.#deps;
    if (kept === undefined) return true;
    const startedAt = clock.now();
    const isKept = await kept().then(
      () => true,
      () => false,
    );
    if (isKept && clock.now() - startedAt < MAX_KEEPING_MS) return true;
    for (const submission of submissions) giveBack?.(link, submission);
    return false;
  }

  /** One of these messages cannot be claimed: the next claims are of one each, until the failing one is found. It waits, and the others go on. */
  async #narrow(link: DispatchTarget, tried: SegmentRow[], cause: unknown): Promise<void> {
    const { sms, clock, commit, log } = this.#deps;
    const [messageId, ...others] = new Set(tried.map((row) => row.messageId));
    if (messageId === undefined || others.length > 0) {
      log.error("sms claim", cause, { link: link.name });
      if (others.length > 0) this.#careful.set(link, tried.length);
      return;
    }
    this.#careful.delete(link);
    try {
      log.error("sms claim", cause, { link: link.name, id: sms.messages.byId(messageId)?.uid ?? messageId });
      await commit(() => sms.segments.delayReady(messageId, clock.now() + PUT_OFF_MS));
    } catch (error) {
      if (!isStorageError(error)) log.error("sms claim", error, { link: link.name });
    }
  }

  /** After the commit. */
  #handOver(link: DispatchTarget, { submissions, seen }: Claimed): void {
    for (const [work, { version, nextAt }] of seen) this.#ready.correct(work, version, nextAt);
    this.#bar(link, seen);
    if (submissions.length > 0) link.send(submissions);
  }

  /** What is due belongs to other links: this one asks for it again in a while. */
  #bar(link: DispatchTarget, seen: Claimed["seen"]): void {
    const elsewhere = [...seen].filter(([, { isElsewhere }]) => isElsewhere);
    if (elsewhere.length === 0) return;
    const until = this.#deps.clock.now() + LATER_MS;
    for (const [work] of elsewhere) this.#ready.bar(work, link.name, until);
    this.#offerLater(link);
  }

  #offerLater(link: DispatchTarget): void {
    if (this.#isStopped) return;
    this.#later.get(link)?.();
    const cancel = this.#deps.clock.after(LATER_MS, () => {
      this.#later.delete(link);
      this.offer(link);
    });
    this.#later.set(link, cancel);
  }

  /** How many of a link's places may be filled. */
  #countAllowed(link: DispatchTarget, free: number): number {
    return Math.min(free, this.#deps.breaker.allowance(link.route.config.name));
  }

  /** Inside the transaction. `tried`: takes what it claims, also where it throws then. */
  #claimNow(link: DispatchTarget, places: number, tried?: SegmentRow[]): Claimed {
    const { clock, sms } = this.#deps;
    const now = clock.now();
    const route = link.route.config.name;
    // A part that was refused in the same transaction ends the parts behind it.
    sms.segments.settleNow();
    const claim = { route, link: link.name, leaseEpoch: ++this.#lease, now };
    const claimed: Claimed = { submissions: [], seen: new Map() };
    let free = this.#isStopped ? 0 : places;
    for (const works of this.#ready.due(route, link.name, now)) {
      const turns = new FairScheduler<Waiting>(() => false, "equal");
      for (const work of works) turns.enqueue(work);
      for (;;) {
        const turn = free > 0 ? turns.take(free, () => free) : null;
        if (turn === null) break;
        const { item: work, room } = turn;
        const { priority, workspaceId } = work;
        const rows = sms.segments.claim({ ...claim, priority, workspaceId, limit: room });
        tried?.push(...rows);
        const submissions = buildSubmissions(rows, link.route, claim, this.#deps);
        claimed.submissions.push(...submissions);
        free -= submissions.length;
        turns.releasePlaces(workspaceId, room - submissions.length);
        if (rows.length === room) turns.enqueue(work);
        const nextAt = sms.segments.nextAt({ route, priority, workspaceId });
        // What only another link may send does not make this one ask again and again.
        const isElsewhere = rows.length < room && nextAt !== null && nextAt <= now;
        // The last look counts, and decides whose turn is last.
        claimed.seen.delete(work);
        claimed.seen.set(work, { version: work.version, nextAt, isElsewhere });
      }
    }
    return claimed;
  }
}
