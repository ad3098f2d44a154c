import type { Clock } from "../clock.ts";
import { type Follower, Tally } from "../db/tally.ts";
import type { Log } from "../log.ts";
import { DAY_MS, dayAt } from "./quota.ts";
import type { RateName, RateSums, UsageStore } from "./store.ts";

// Sending is blocked by its rates (decisions §11): a list of addresses that do not exist, or of people
// who never asked, costs the operator's address its name with every large provider, and with it the mail
// of everybody here. So new email of a workspace is refused once too many of its recipients bounced
// hard or complained; what was accepted goes on.
//
// The outcomes count by UTC day, over today and the six days before. What the closures of a transaction
// counted is written once, and the decision is made right after, in the same transaction: counters and
// block are never apart, whatever ends the process. A block stays until the operator lifts it, and then
// everything is forgotten: a new window.

/** Today and the days before it that count. */
const WINDOW_DAYS = 7;
/** At this share of the emails answered, and this many, new email is refused. At half of both the log says so. */
const BOUNCES = { percent: 8, least: 20, digits: 1, words: "bounced hard" };
const COMPLAINTS = { percent: 0.3, least: 5, digits: 2, words: "were complained about" };

/** The first and the last UTC day that count at `now`. */
export function windowAt(now: number): { first: string; last: string } {
  return { first: dayAt(now - (WINDOW_DAYS - 1) * DAY_MS), last: dayAt(now) };
}

type RateVerdict =
  | { kind: "well" }
  /** `reason`: a sentence with the figures. */
  | { kind: "warning" | "blocked"; reason: string };

/** What the sums of a window mean for new email. */
export function judgeRates(sums: RateSums): RateVerdict {
  const bounces = { ...BOUNCES, count: sums.hard_bounces, of: sums.answered };
  const complaints = { ...COMPLAINTS, count: sums.complaints, of: sums.answered };
  for (const [kind, part] of [
    ["blocked", 1],
    ["warning", 0.5],
  ] as const) {
    const reached = [bounces, complaints].filter((rate) => isReached(rate, part));
    if (reached.length > 0) return { kind, reason: reached.map(describe).join("; ") };
  }
  return { kind: "well" };
}

type Rate = typeof BOUNCES & { count: number; of: number };

/** Whether `part` of the limit is reached. Nothing of nothing is no rate. */
function isReached({ count, of, percent, least }: Rate, part: number): boolean {
  // In thousandths of a percent, so that whole numbers are compared: 0.15 % of 2,000 is exactly 3.
  return of > 0 && count >= least * part && count * 100_000 >= of * Math.round(percent * part * 1_000);
}

function describe({ count, of, percent, digits, words }: Rate): string {
  const [many, all] = [count.toLocaleString("en"), of.toLocaleString("en")];
  const share = ((100 * count) / of).toFixed(digits);
  return `${many} of ${all} emails answered in the last ${WINDOW_DAYS} days ${words} (${share} %; the limit is ${percent} %)`;
}

const EVENTS = { warning: "workspace.sending_warning", blocked: "workspace.sending_blocked" } as const;

/** What is kept of a workspace's rates beside the counters. Unix ms; null: not. */
interface RateState {
  uid: string;
  rateBlockedAt: number | null;
  rateBlockReason: string | null;
  rateWarnedAt: number | null;
}

interface RateParts {
  usage: UsageStore;
  workspaces: {
    /** As the running transaction sees it; undefined: it was deleted. */
    byId(id: number): RateState | undefined;
    update(id: number, change: Partial<Omit<RateState, "uid">>): unknown;
  };
  /** Told inside the transaction that blocks. */
  blocked: (block: { workspaceId: number; workspace: string; reason: string; at: number }) => void;
  clock: Pick<Clock, "now">;
  log: Log;
  /** False: outcomes are counted and nothing follows from them. */
  isBlocking: boolean;
}

/** Counts the outcomes of emails and blocks who has too many bad ones. A follower of the transactions. */
export class SendingRates implements Follower {
  readonly #parts: RateParts;
  readonly #tally: Tally<{ workspaceId: number; name: RateName; day: string }>;
  readonly #changed = new Set<number>();
  readonly #toTell: { event: (typeof EVENTS)[keyof typeof EVENTS]; workspace: string; reason: string }[] = [];

  constructor(parts: RateParts) {
    this.#parts = parts;
    this.#tally = new Tally((counter, amount) => {
      parts.usage.add(counter, amount);
      this.#changed.add(counter.workspaceId);
    });
  }

  /** Inside the transaction that ends an email: its recipient's own server has answered about it. */
  answered(workspaceId: number, isHardBounce: boolean): void {
    const day = dayAt(this.#parts.clock.now());
    this.#tally.add({ workspaceId, name: "answered", day }, 1);
    if (isHardBounce) this.#tally.add({ workspaceId, name: "hard_bounces", day }, 1);
  }

  /**
   * Inside a transaction: an email that was taken at `answeredAt`, and counted as answered then, has bounced
   * hard after all. It counts on that day, beside the mail that it is a part of.
   */
  bouncedLater(workspaceId: number, answeredAt: number): void {
    const day = dayAt(answeredAt);
    // What was before a lift is forgotten.
    if (this.#parts.usage.ofDay(workspaceId, "answered", day) === 0) return;
    this.#tally.add({ workspaceId, name: "hard_bounces", day }, 1);
  }

  /** Inside the transaction that ends an email: the complaint about it came before the answer to it was known. */
  answeredByComplaint(workspaceId: number): void {
    const day = dayAt(this.#parts.clock.now());
    this.#tally.add({ workspaceId, name: "answered", day }, 1);
    this.#tally.add({ workspaceId, name: "complaints", day }, 1);
  }

  /**
   * Inside a transaction: an email that was answered at `answeredAt` is complained about. It counts on that
   * day, beside the mail that it is about: last week's campaign must not weigh on today's few emails.
   */
  complained(workspaceId: number, answeredAt: number): void {
    const day = dayAt(answeredAt);
    // What went through a relay was not counted, and what was before a lift is forgotten.
    if (this.#parts.usage.ofDay(workspaceId, "answered", day) === 0) return;
    this.#tally.add({ workspaceId, name: "complaints", day }, 1);
  }

  /** Inside a transaction: lifts the block and starts a new window. */
  forgetRates(workspaceId: number): void {
    const { usage, workspaces } = this.#parts;
    this.#tally.drop((counter) => counter.workspaceId === workspaceId);
    usage.forgetRates(workspaceId);
    workspaces.update(workspaceId, { rateBlockedAt: null, rateBlockReason: null, rateWarnedAt: null });
  }

  keep(): void {
    this.#tally.keep();
  }

  undo(): void {
    this.#tally.undo();
  }

  flush(): void {
    this.#tally.flush();
    for (const workspaceId of this.#changed) this.#decide(workspaceId);
    this.#changed.clear();
  }

  reset(): void {
    this.#tally.reset();
    this.#changed.clear();
    this.#toTell.length = 0;
  }

  committed(): void {
    for (const { event, ...facts } of this.#toTell) this.#parts.log.event(event, facts, "warn");
    this.#toTell.length = 0;
  }

  #decide(workspaceId: number): void {
    const { usage, workspaces, clock, isBlocking } = this.#parts;
    if (!isBlocking) return;
    const now = clock.now();
    const { first, last } = windowAt(now);
    const verdict = judgeRates(usage.rates(workspaceId, first, last));
    if (verdict.kind === "well") return;
    const state = workspaces.byId(workspaceId);
    // A block keeps the figures that it was set with.
    if (state === undefined || state.rateBlockedAt !== null) return;
    const { kind, reason } = verdict;
    if (kind === "blocked") {
      workspaces.update(workspaceId, { rateBlockedAt: now, rateBlockReason: reason });
      this.#parts.blocked({ workspaceId, workspace: state.uid, reason, at: now });
    } else if (state.rateWarnedAt !== null && dayAt(state.rateWarnedAt) === last) return;
    else workspaces.update(workspaceId, { rateWarnedAt: now });
    this.#toTell.push({ event: EVENTS[kind], workspace: state.uid, reason });
  }
}
