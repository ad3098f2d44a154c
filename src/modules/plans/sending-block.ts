// Blocks a workspace's sending by its rates of bounces and complaints. A list of addresses that do not exist, or of people
// who never asked, costs the operator's address its reputation with every large provider, and so the mail of all
// workspaces. New email of a workspace is refused once too many of its recipients bounced hard or complained; accepted
// email goes on.
//
// Outcomes count by UTC day, over today and the six days before. The counts of a transaction are written once, and the
// decision is made right after, in the same transaction: counters and block are never apart, whatever ends the process. A
// block stays until the operator lifts it; then a new window begins.
//
// A report that comes by mail proves nothing: its token shows that the sender has seen the email, as every recipient has,
// and an attacker with a few mailboxes could block the workspace by forged reports. So reports count up to a cap for each
// organizational domain of the recipients: mailboxes, reporting hosts and the report's words cost an attacker nothing, a
// registered domain does. Complaints of a listed feedback provider (modules/inbound-mail/feedback-provider.ts) have no cap;
// bounces always have it, since large providers refuse while we are connected.
//
// A reply of the recipient's server on our own connection has no cap: it is our own observation. A cap by domain would
// not help there, since an attacker who fills a shop's form with invalid addresses can name any domain, and a bought list,
// mostly of one large provider, must still be blocked.

import type { Clock } from "../../platform/clock.ts";
import type { TransactionListener } from "../../platform/db/open.ts";
import { Tally } from "../../platform/db/tally.ts";
import type { Log } from "../../platform/log.ts";
import { DAY_MS, dayAt } from "./quota.ts";
import type { RateSums, ReportedName, UsageStore } from "./store.ts";

/** Today and the days before it that count. */
const WINDOW_DAYS = 7;
/** At this percentage of the emails answered, and this many, new email is refused. At half of both there is a warning. */
const BOUNCES = { percent: 8, least: 20, digits: 1, words: "bounced hard" };
const COMPLAINTS = { percent: 0.3, least: 5, digits: 2, words: "were complained about" };
/** Reports about recipients of one organizational domain that count in a window. */
const CAPS: Record<ReportedName, number> = { hard_bounces: 5, complaints: 2 };

/** The first and the last UTC day that count at `now`. */
export function windowAt(now: number): { first: string; last: string } {
  return { first: dayAt(now - (WINDOW_DAYS - 1) * DAY_MS), last: dayAt(now) };
}

type RateVerdict =
  | { kind: "well" }
  /** `reason`: a sentence with the figures. */
  | { kind: "warning" | "blocked"; reason: string };

/** Decides from the sums of a window. */
export function classifyRates(sums: Pick<RateSums, "answered" | ReportedName>): RateVerdict {
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

/** The rates of a window beside the limits at which new email is refused. */
export function describeRates(sums: Pick<RateSums, "answered" | ReportedName>) {
  const { answered, hard_bounces: bounces, complaints } = sums;
  const toRate = (count: number, { percent, least, digits }: typeof BOUNCES) => ({
    count,
    percent: answered === 0 ? 0 : Number(((100 * count) / answered).toFixed(digits)),
    limitPercent: percent,
    limitCount: least,
  });
  return { answered, bounces: toRate(bounces, BOUNCES), complaints: toRate(complaints, COMPLAINTS) };
}

type Rate = typeof BOUNCES & { count: number; of: number };

/** Whether `part` of the limit is reached. Nothing of nothing is no rate. */
function isReached({ count, of, percent, least }: Rate, part: number): boolean {
  // In thousandths of a percent, so that whole numbers are compared: 0.15 % of 2,000 is exactly 3.
  return of > 0 && count >= least * part && count * 100_000 >= of * Math.round(percent * part * 1_000);
}

function describe({ count, of, percent, digits, words }: Rate): string {
  const [many, all] = [count.toLocaleString("en"), of.toLocaleString("en")];
  const rate = ((100 * count) / of).toFixed(digits);
  return `${many} of ${all} emails answered in the last ${WINDOW_DAYS} days ${words} (${rate} %; the limit is ${percent} %)`;
}

const EVENTS = {
  warning: "workspace.sending_warning",
  blocked: "workspace.sending_blocked",
  capped: "workspace.reports_capped",
} as const;

/** State of a workspace's rates beside the counters. Unix ms; null: not. */
interface RateState {
  uid: string;
  rateBlockedAt: number | null;
  rateBlockReason: string | null;
  rateWarnedAt: number | null;
  reportsWarnedAt: number | null;
  reportsWarning: string | null;
}

/** A workspace has come near the limits, or over them. */
export interface RateNotice {
  kind: "warning" | "blocked";
  workspaceId: number;
  workspace: string;
  /** A sentence with the figures. */
  reason: string;
  at: number;
}

interface RateDeps {
  usage: UsageStore;
  workspaces: {
    /** As the running transaction sees it; undefined: it was deleted. */
    byId(id: number): RateState | undefined;
    update(id: number, change: Partial<Omit<RateState, "uid">>): unknown;
  };
  /** Called inside the transaction that warns or blocks. */
  notify: (notice: RateNotice) => void;
  clock: Pick<Clock, "now">;
  log: Log;
  /** False: outcomes are counted and nothing follows from them. */
  isBlocking: boolean;
}

/** The outcome that a report by mail claims for an email. */
export interface ReportedOutcome {
  name: ReportedName;
  /** The organizational domain of the email's recipient; null: there is no cap. */
  domain: string | null;
  /** When it was answered by its recipient's server; null: it was in the queue until now, and counts as answered. */
  answeredAt: number | null;
}

interface Counter {
  workspaceId: number;
  name: "answered" | ReportedName;
  /** Where it has a cap; else "". */
  domain: string;
  day: string;
}

/** Counts the outcomes of emails and blocks who has too many bad ones. A follower of the transactions. */
export class SendingRates implements TransactionListener {
  readonly #deps: RateDeps;
  readonly #tally: Tally<Pick<Counter, keyof Counter>>;
  readonly #changed = new Set<number>();
  readonly #toLog: { event: (typeof EVENTS)[keyof typeof EVENTS]; workspace: string; reason: string }[] = [];

  constructor(deps: RateDeps) {
    this.#deps = deps;
    this.#tally = new Tally((counter, amount) => {
      this.#write(counter, amount);
      this.#changed.add(counter.workspaceId);
    });
  }

  /** Inside the transaction that ends an email: its recipient's own server has answered about it. */
  answered(workspaceId: number, isHardBounce: boolean): void {
    const day = dayAt(this.#deps.clock.now());
    this.#tally.add({ workspaceId, name: "answered", domain: "", day }, 1);
    if (isHardBounce) this.#tally.add({ workspaceId, name: "hard_bounces", domain: "", day }, 1);
  }

  /**
   * Inside a transaction: a hard bounce or a complaint came by mail. It counts on the day on which the email was
   * answered, beside the mail that it is about: last week's campaign must not weigh on today's few emails.
   */
  reported(workspaceId: number, { name, domain, answeredAt }: ReportedOutcome): void {
    const now = this.#deps.clock.now();
    const day = dayAt(answeredAt ?? now);
    if (answeredAt === null) this.#tally.add({ workspaceId, name: "answered", domain: "", day }, 1);
    // Mail through a relay was not counted; mail from before a lift, or before the window, is forgotten.
    else if (day < windowAt(now).first || this.#deps.usage.ofDay(workspaceId, "answered", day) === 0) return;
    this.#tally.add({ workspaceId, name, domain: domain ?? "", day }, 1);
  }

  /** Inside a transaction: lifts the block and starts a new window. */
  forgetRates(workspaceId: number): void {
    const { usage, workspaces } = this.#deps;
    this.#tally.drop((counter) => counter.workspaceId === workspaceId);
    usage.forgetRates(workspaceId);
    const warned = { rateWarnedAt: null, reportsWarnedAt: null, reportsWarning: null };
    workspaces.update(workspaceId, { rateBlockedAt: null, rateBlockReason: null, ...warned });
  }

  onRelease(): void {
    this.#tally.onRelease();
  }

  onRollbackTo(): void {
    this.#tally.onRollbackTo();
  }

  beforeCommit(): void {
    this.#tally.beforeCommit();
    for (const workspaceId of this.#changed) this.#decide(workspaceId);
    this.#changed.clear();
  }

  onRollback(): void {
    this.#tally.onRollback();
    this.#changed.clear();
    this.#toLog.length = 0;
  }

  onCommit(): void {
    for (const { event, ...facts } of this.#toLog) this.#deps.log.event(event, facts, "warn");
    this.#toLog.length = 0;
  }

  #write({ workspaceId, name, domain, day }: Counter, amount: number): void {
    const { usage, clock } = this.#deps;
    if (domain === "" || name === "answered") return usage.add({ workspaceId, name, day }, amount);
    const { first } = windowAt(clock.now());
    // Only counted ones: so it never counts too many, whatever window is looked at later.
    const left = Math.max(0, CAPS[name] - usage.countedSince({ workspaceId, name, domain }, first));
    const counted = Math.min(amount, left);
    usage.addReported({ workspaceId, name, domain, day }, { count: amount, counted }, first);
    const capped = amount - counted;
    if (counted > 0) usage.add({ workspaceId, name, day }, counted);
    if (capped > 0) usage.add({ workspaceId, name: `capped_${name}`, day }, capped);
  }

  #decide(workspaceId: number): void {
    const { usage, workspaces, clock, isBlocking } = this.#deps;
    if (!isBlocking) return;
    const now = clock.now();
    const { first, last } = windowAt(now);
    const sums = usage.rates(workspaceId, first, last);
    const verdict = classifyRates(sums);
    const believed = classifyRates({
      answered: sums.answered,
      hard_bounces: sums.hard_bounces + sums.capped_hard_bounces,
      complaints: sums.complaints + sums.capped_complaints,
    });
    if (believed.kind === "well") return;
    const state = workspaces.byId(workspaceId);
    // A block keeps the figures that it was set with.
    if (state === undefined || state.rateBlockedAt !== null) return;
    const { uid: workspace, rateWarnedAt, reportsWarnedAt } = state;
    const isDue = (warnedAt: number | null) => warnedAt === null || dayAt(warnedAt) !== last;
    const notify = (kind: RateNotice["kind"], reason: string) => {
      this.#deps.notify({ kind, workspaceId, workspace, reason, at: now });
      this.#toLog.push({ event: EVENTS[kind], workspace, reason });
    };
    if (verdict.kind === "blocked") {
      workspaces.update(workspaceId, { rateBlockedAt: now, rateBlockReason: verdict.reason });
      notify("blocked", verdict.reason);
      return;
    }
    if (verdict.kind === "warning" && isDue(rateWarnedAt)) {
      workspaces.update(workspaceId, { rateWarnedAt: now });
      notify("warning", verdict.reason);
    }
    if (believed.kind === "blocked" && isDue(reportsWarnedAt)) {
      const reason = believed.reason + this.#whoseReports(workspaceId, sums, first);
      workspaces.update(workspaceId, { reportsWarnedAt: now, reportsWarning: reason });
      this.#toLog.push({ event: EVENTS.capped, workspace, reason });
    }
  }

  /** The domain about whose recipients most was reported, for the operator. */
  #whoseReports(workspaceId: number, sums: RateSums, first: string): string {
    const name = sums.capped_complaints > 0 ? "complaints" : "hard_bounces";
    const most = this.#deps.usage.mostReported(workspaceId, name, first);
    if (most === undefined) return "";
    const what = name === "complaints" ? "complaints" : "hard bounces";
    return `; ${most.count} ${what} came by mail about recipients at ${most.domain}, and ${CAPS[name]} of a domain count`;
  }
}
