// The status of one link for operators: its state, its last error, counts since the start, and its last PDUs.
// All of it is in memory; what happened to its connection is also kept in the database.

import type { Clock } from "../../../platform/clock.ts";
import { RECEIPT_STATES } from "../../../platform/db/schema/sms.ts";
import type { LinkState } from "../../../protocols/smpp/link.ts";
import type { Unbound } from "../../../protocols/smpp/persistent-session.ts";
import type { Slowed } from "../../../protocols/smpp/submit-queue.ts";
import { findStatusRule } from "../../../protocols/smpp/submit-outcome.ts";
import type { Direction } from "../../../protocols/smpp/session/events.ts";
import { adviceOnBind } from "./link-advice.ts";
import type { ReceiptState } from "../receipts/parse.ts";
import type { Route } from "./route-settings.ts";

/** What became of a submit. `later`: a refusal for now; `unanswered` and `lost`: its outcome is unknown. */
export const SUBMIT_OUTCOMES = ["accepted", "throttled", "later", "refused", "unanswered", "lost"] as const;
export type SubmitOutcome = (typeof SUBMIT_OUTCOMES)[number];

export interface LinkCounts {
  submits: Record<SubmitOutcome, number>;
  /** Connections that ended, or could not be made. */
  ends: { lost: number; refused: number };
  /** Times that it was slowed down. */
  throttled: number;
  receipts: Record<ReceiptState, number>;
  /** From subscribers. */
  texts: number;
}

/** What is wrong with a link, or was. */
export interface LinkError {
  /** Unix ms. */
  at: number;
  reason: string;
  /** As `ESME_RINVPASWD`; null: it was no answer. */
  statusName: string | null;
  /** What to do; null: it passes by itself. */
  advice: string | null;
}

export interface SeenPdu {
  at: number;
  direction: Direction;
  bytes: Buffer;
}

export interface LinkSnapshot {
  /** `waiting`: until `retryAt`. `refused`: the same, after a bind that was refused. */
  state: "bound" | "partly" | "connecting" | "waiting" | "refused" | "closed";
  /** Unix ms: bound since then, or not bound since then. */
  since: number;
  retryAt: number | null;
  error: LinkError | null;
  counts: LinkCounts;
}

export interface LinkChange {
  kind: "bound" | "lost" | "refused" | "throttled";
  detail: string | null;
}

const KEPT_PDUS = 50;
/** Longer ones, of a whole message in message_payload, are cut. */
const KEPT_BYTES = 1_024;

export class LinkStatus {
  readonly counts: LinkCounts = {
    submits: { accepted: 0, throttled: 0, later: 0, refused: 0, unanswered: 0, lost: 0 },
    ends: { lost: 0, refused: 0 },
    throttled: 0,
    receipts: Object.fromEntries(RECEIPT_STATES.map((state) => [state, 0])) as LinkCounts["receipts"],
    texts: 0,
  };
  readonly #route: Route;
  readonly #clock: Clock;
  readonly #pdus: SeenPdu[] = [];
  #next = 0;
  #since: number;
  #retryAt: number | null = null;
  #isRefused = false;
  #error: LinkError | null = null;

  constructor(route: Route, clock: Clock) {
    this.#route = route;
    this.#clock = clock;
    this.#since = clock.now();
  }

  bound(role: string): LinkChange {
    this.#since = this.#clock.now();
    this.#retryAt = null;
    this.#isRefused = false;
    return { kind: "bound", detail: role };
  }

  /** Null: it was closed by us. */
  unbound({ reason, refusedWith, retryInMs }: Unbound): LinkChange | null {
    const now = this.#clock.now();
    if (this.#retryAt === null) this.#since = now;
    this.#retryAt = retryInMs === null ? null : now + retryInMs;
    if (retryInMs === null) return null;
    this.#isRefused = refusedWith !== null;
    this.counts.ends[this.#isRefused ? "refused" : "lost"] += 1;
    const statusName = refusedWith === null ? null : findStatusRule(refusedWith).name;
    this.#error = { at: now, reason, statusName, advice: adviceOnBind(refusedWith, reason) };
    const detail = statusName === null ? reason : `${reason} ${statusName}`;
    return { kind: this.#isRefused ? "refused" : "lost", detail };
  }

  /** Null: that it is throttled is known. */
  throttled({ ratePerSecond, isNews }: Slowed): LinkChange | null {
    this.counts.throttled += 1;
    if (!isNews) return null;
    return { kind: "throttled", detail: `${Math.round(ratePerSecond * 10) / 10} a second from now on` };
  }

  /** A submit's response is committed, or needs no commit. */
  responded(status: number): void {
    const { action, category, name } = findStatusRule(status, this.#route.statuses);
    const isLater = action === "retry" ? "later" : "refused";
    const outcome = action === "accept" ? "accepted" : category === "throttled" ? "throttled" : isLater;
    this.counts.submits[outcome] += 1;
    if (outcome === "accepted") return;
    this.#error = { at: this.#clock.now(), reason: "a submit was refused", statusName: name, advice: null };
  }

  uncertain(outcome: "unanswered" | "lost"): void {
    this.counts.submits[outcome] += 1;
    if (outcome === "lost") return;
    const reason = "a submit was not answered in time";
    this.#error = { at: this.#clock.now(), reason, statusName: null, advice: null };
  }

  /** A receipt of this state, or a subscriber's message (null), is committed. */
  received(receipt: ReceiptState | null): void {
    if (receipt === null) this.counts.texts += 1;
    else this.counts.receipts[receipt] += 1;
  }

  seen(direction: Direction, pdu: Buffer): void {
    const bytes = pdu.length > KEPT_BYTES ? Buffer.from(pdu.subarray(0, KEPT_BYTES)) : pdu;
    this.#pdus[this.#next] = { at: this.#clock.now(), direction, bytes };
    this.#next = (this.#next + 1) % KEPT_PDUS;
  }

  /** The last ones, the newest first. */
  get pdus(): SeenPdu[] {
    return [...this.#pdus.slice(this.#next), ...this.#pdus.slice(0, this.#next)].toReversed();
  }

  sight({ state }: Pick<LinkState, "state">): LinkSnapshot {
    return {
      state: state === "unbound" ? this.#unboundState() : state,
      since: this.#since,
      retryAt: state === "unbound" ? this.#retryAt : null,
      error: this.#error,
      counts: this.counts,
    };
  }

  #unboundState(): LinkSnapshot["state"] {
    if (this.#retryAt === null || this.#retryAt <= this.#clock.now()) return "connecting";
    return this.#isRefused ? "refused" : "waiting";
  }
}
