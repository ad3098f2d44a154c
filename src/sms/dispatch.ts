import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { Log } from "../log.ts";
import type { PauseView } from "../queue/pause.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import { type Flight, flightOf } from "./flight.ts";
import { ReadyWorks, type Waiting } from "./ready-work.ts";
import type { Route } from "./route-settings.ts";
import type { ReadyWork } from "./segment-read-store.ts";
import type { SegmentRow, SegmentStore, Words } from "./segment-store.ts";
import type { MessageRow, MessageStore } from "./store.ts";
import type { WorkStore } from "./work-store.ts";

// Claims segments for links with room in their window, and hands them over once they are committed as in flight:
// what a crash leaves in doubt is never more than was claimed, and nothing is written that is not claimed.

/** A link as the dispatcher sees it. */
export interface Outlet {
  name: string;
  route: Route;
  readonly free: number;
  /** Takes what is committed. */
  send(flights: Flight[]): void;
}

export interface DispatcherParts {
  sms: { segments: SegmentStore; messages: Pick<MessageStore, "byId">; work: Pick<WorkStore, "claimRest"> };
  suppressions: Pick<SuppressionStore, "reasonForNumber">;
  commit: Commit;
  guard: { failure: string | null; whenOpen(run: () => void): () => void };
  pause?: PauseView;
  clock: Clock;
  log: Log;
}

interface Claimed {
  flights: Flight[];
  /** What the database says of the work after the claim. */
  seen: { work: Waiting; version: number; nextAt: number | null; isElsewhere: boolean }[];
}

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #outlets: Outlet[] = [];
  readonly #ready = new ReadyWorks();
  readonly #claiming = new Map<Outlet, Promise<boolean>>();
  readonly #timers = new Map<string, { at: number; cancel: () => void }>();
  /** Timers of links that look again for what other links had, or that failed to claim. */
  readonly #later = new Map<Outlet, () => void>();
  readonly #nudged = new Set<string>();
  readonly #forget: () => void;
  #lease = 0;
  #isStopped = false;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const forgetGuard = parts.guard.whenOpen(() => this.#offerAll());
    const forgetPause = parts.pause?.whenResumed(() => this.#offerAll());
    this.#forget = () => {
      forgetGuard();
      forgetPause?.();
    };
  }

  add(outlet: Outlet): void {
    this.#outlets.push(outlet);
  }

  /** There is work; after the commit that made it. */
  nudge(work: ReadyWork): void {
    this.#ready.note(work);
    if (this.#nudged.size === 0) queueMicrotask(() => this.#offerNudged());
    this.#nudged.add(work.route);
  }

  /** The link has room. */
  offer(outlet: Outlet): void {
    if (this.#isStopped || this.#claiming.has(outlet) || outlet.free < 1) return;
    if (this.#parts.guard.failure !== null || this.#parts.pause?.isPaused === true) return;
    const route = outlet.route.config.name;
    const now = this.#parts.clock.now();
    if (this.#ready.due(route, outlet.name, now).length === 0) return this.#wakeAt(route);
    const claiming = this.#claim(outlet);
    this.#claiming.set(outlet, claiming);
    void claiming.then((isDone) => {
      this.#claiming.delete(outlet);
      // Work that came meanwhile was not offered.
      if (isDone) this.offer(outlet);
      else this.#offerLater(outlet);
    });
  }

  /** Claims nothing more; resolves when what was being claimed has been handed over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#forget();
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    for (const cancel of this.#later.values()) cancel();
    await Promise.all(this.#claiming.values());
  }

  #offerNudged(): void {
    const routes = new Set(this.#nudged);
    this.#nudged.clear();
    for (const outlet of this.#outlets) if (routes.has(outlet.route.config.name)) this.offer(outlet);
  }

  #offerAll(): void {
    for (const outlet of this.#outlets) this.offer(outlet);
  }

  /** When the first of a route's work is due. */
  #wakeAt(route: string): void {
    if (this.#isStopped) return;
    const at = this.#ready.nextAt(route);
    const now = this.#parts.clock.now();
    const known = this.#timers.get(route);
    if (at === Infinity || at <= now || (known !== undefined && known.at <= at)) return;
    known?.cancel();
    const cancel = this.#parts.clock.after(Math.min(at - now, MAX_TIMER_MS), () => {
      this.#timers.delete(route);
      for (const outlet of this.#outlets) if (outlet.route.config.name === route) this.offer(outlet);
    });
    this.#timers.set(route, { at, cancel });
  }

  /** @returns false: it failed */
  async #claim(outlet: Outlet): Promise<boolean> {
    try {
      const { flights, seen } = await this.#parts.commit(() => this.#claimNow(outlet));
      for (const { work, version, nextAt } of seen) this.#ready.correct(work, version, nextAt);
      this.#bar(outlet, seen);
      if (flights.length > 0) outlet.send(flights);
      return true;
    } catch (error) {
      // Of trouble with the storage the guard tells, and when it is over.
      if (!isStorageError(error)) this.#parts.log.bug("sms claim", error, { link: outlet.name });
      return false;
    }
  }

  /** What is due belongs to other links: this one asks for it again in a while. */
  #bar(outlet: Outlet, seen: Claimed["seen"]): void {
    const elsewhere = seen.filter(({ isElsewhere }) => isElsewhere);
    if (elsewhere.length === 0) return;
    const until = this.#parts.clock.now() + LATER_MS;
    for (const { work } of elsewhere) this.#ready.bar(work, outlet.name, until);
    this.#offerLater(outlet);
  }

  #offerLater(outlet: Outlet): void {
    if (this.#isStopped) return;
    this.#later.get(outlet)?.();
    const cancel = this.#parts.clock.after(LATER_MS, () => {
      this.#later.delete(outlet);
      this.offer(outlet);
    });
    this.#later.set(outlet, cancel);
  }

  /** Inside the transaction. */
  #claimNow(outlet: Outlet): Claimed {
    const { clock, sms } = this.#parts;
    const now = clock.now();
    const route = outlet.route.config.name;
    const claim = { route, link: outlet.name, leaseEpoch: ++this.#lease, now };
    const claimed: Claimed = { flights: [], seen: [] };
    let free = this.#isStopped ? 0 : outlet.free;
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
          const flights = this.#flightsOf(rows, outlet, claim);
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

  #flightsOf(
    rows: SegmentRow[],
    { route }: Outlet,
    claim: { link: string; leaseEpoch: number; now: number },
  ): Flight[] {
    const { sms } = this.#parts;
    const isWhole = route.config.segmentation === "payload";
    const flights: Flight[] = [];
    const done = new Set<number>();
    let message: MessageRow | undefined;
    for (const row of rows) {
      if (done.has(row.messageId)) continue;
      if (message?.id !== row.messageId) message = sms.messages.byId(row.messageId);
      const parts = isWhole && row.parts > 1 ? this.#wholeOf(row, rows, claim) : [row];
      if (isWhole) done.add(row.messageId);
      const why = message === undefined ? GONE : this.#objection(row, message, claim.now);
      if (message === undefined || why !== null) {
        const { state, ...said } = why ?? GONE;
        for (const part of parts) sms.segments.end(part, { state, now: claim.now }, said);
        continue;
      }
      try {
        flights.push(flightOf(parts, message, route, claim.now));
      } catch (error) {
        const said = { ...SILENT, category: "internal_error" } as const;
        for (const part of parts) sms.segments.end(part, { state: "failed", now: claim.now }, said);
        this.#parts.log.bug("sms submit", error, { message: row.messageId, seq: row.seq });
      }
    }
    return flights;
  }

  /** All parts of a text, those that the claim left among them. */
  #wholeOf(row: SegmentRow, rows: SegmentRow[], claim: { link: string; leaseEpoch: number; now: number }) {
    const claimed = rows.filter(({ messageId }) => messageId === row.messageId);
    const rest = this.#parts.sms.work.claimRest(row.messageId, claim);
    return [...claimed, ...rest].toSorted((a, b) => a.seq - b.seq);
  }

  /** Why a segment is not to be sent any more. */
  #objection(row: SegmentRow, message: MessageRow, now: number): (Words & { state: "failed" | "expired" }) | null {
    const { providerStatus, providerCode, reason, category } = row;
    if (message.expiresAt <= now)
      return { providerStatus, providerCode, reason, category: category ?? "expired", state: "expired" };
    // What was begun is ended: half a text helps nobody.
    if (row.seq > 1) return null;
    const suppressed = this.#parts.suppressions.reasonForNumber(row.workspaceId, message.recipient);
    return suppressed === null ? null : { ...SILENT, category: "opted_out", state: "failed" };
  }
}

const SILENT: Words = { providerStatus: null, providerCode: null, category: null, reason: null };
/** Its workspace was deleted. */
const GONE = { ...SILENT, category: "internal_error", state: "failed" } as const;
/** After so much it is looked at again whether what belongs to other links still does, or a claim works. */
const LATER_MS = 1_000;
/** The longest timer there is. */
const MAX_TIMER_MS = 2_147_483_647;
