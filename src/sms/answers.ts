import type { Log } from "../log.ts";
import { isFrequent, nextStep, outcomeOf, type Step, statusText } from "../smpp/outcome.ts";
import type { StatusRule } from "../smpp/statuses.ts";
import { type Flight, isReported } from "./flight.ts";
import { idKey } from "./receipt-id.ts";
import type { Receipts } from "./receipts.ts";
import type { Route } from "./route-settings.ts";
import type { ReadyWork } from "./segment-read-store.ts";
import type { Fence, SegmentRow, SegmentStore, Words } from "./segment-store.ts";
import type { MessageStore } from "./store.ts";
import { decideUnknown, releaseParts } from "./unknown.ts";

// What becomes of segments that were handed to a link: answered, at last or too late; not answered; not written at
// all. Everything here is inside a transaction, and tells the work that waits again.

export interface AnswersParts {
  sms: { segments: SegmentStore; messages: Pick<MessageStore, "byId"> };
  routes: ReadonlyMap<string, Route>;
  receipts: Receipts;
  unknownWaitMs: number;
  log: Log;
  /** The whole route rests. */
  pause: (route: string, ms: number) => void;
}

export interface GivenAnswer {
  status: number;
  messageId: string;
}

/** Longer ones are cut (SMPP 3.4 §4.4.2). */
const MAX_ID = 65;
const NOTHING_WRONG: Words = { providerStatus: "ESME_ROK", providerCode: null, category: null, reason: null };
const ANSWERS_LOOKED_AT = 50;

export class Answers {
  readonly #parts: AnswersParts;
  /** Of each route's last answers, whether they were of a kind that makes it rest when it is frequent. */
  readonly #full = new Map<string, boolean[]>();

  constructor(parts: AnswersParts) {
    this.#parts = parts;
  }

  answered(flight: Flight, answer: GivenAnswer, now: number): ReadyWork[] {
    const rule = outcomeOf(answer.status, this.#parts.routes.get(flight.route)?.statuses);
    if (rule.action === "accept") {
      return this.#accept(flight, answer.messageId, now);
    }
    const work: ReadyWork[] = [];
    for (const seq of flight.seqs) {
      const row = this.#parts.sms.segments.one(flight.messageId, seq);
      // Another claim of it has its own answer; and what a receipt has proved is not refused any more.
      if (row === undefined || row.leaseEpoch !== flight.leaseEpoch || !isOpen(row)) continue;
      work.push(...this.#refused(row, rule, answer.status, now));
    }
    return work;
  }

  /** The connection is gone, or the answer did not come in time. */
  unanswered(flight: Flight, now: number): ReadyWork[] {
    const { segments } = this.#parts.sms;
    const giveUpAt = now;
    const lost = flight.seqs.map((seq) => segments.unknown(fence(flight, seq), { now, giveUpAt }));
    return flight.seqs.flatMap((seq, index) => {
      const row = lost[index] === true ? segments.one(flight.messageId, seq) : undefined;
      return row === undefined ? [] : this.decide(row, now);
    });
  }

  /** Of a segment that is `unknown`. */
  decide(row: SegmentRow, now: number): ReadyWork[] {
    const { sms, routes, receipts, unknownWaitMs } = this.#parts;
    return decideUnknown(row, now, {
      sms,
      routes,
      unknownWaitMs,
      proofOf: (each) => receipts.proofOf(each, sms.messages.byId(each.messageId)?.recipient ?? null),
      prove: (each, orphan, at) => receipts.prove(each, orphan, at),
    });
  }

  /** Nothing of it was written: `reason` null, it waits as before; else it never can be. */
  unsent(flight: Flight, reason: string | null, now: number): ReadyWork[] {
    const { segments } = this.#parts.sms;
    return flight.seqs.flatMap((seq) => {
      const row = segments.one(flight.messageId, seq);
      if (row === undefined) return [];
      const { providerStatus, providerCode, category, reason: before, route, priority, workspaceId } = row;
      if (reason !== null) {
        segments.end(fence(flight, seq), { state: "failed", now }, { ...NOTHING_SAID, category: "internal_error" });
        this.#parts.log.bug("sms submit", new Error(reason), { message: flight.messageId, seq });
        return [];
      }
      const said = { providerStatus, providerCode, category, reason: before };
      segments.retry(fence(flight, seq), { now, nextAt: now, isCounted: false, isResend: false }, said);
      return [{ route, priority, workspaceId, nextAt: now }];
    });
  }

  #accept(flight: Flight, id: string, now: number): ReadyWork[] {
    const { segments, messages } = this.#parts.sms;
    const smscIdKey = idKey(id);
    const smscId = smscIdKey === null ? null : id.trim().slice(0, MAX_ID);
    const route = this.#parts.routes.get(flight.route);
    const rows = flight.seqs.flatMap((seq) => segments.one(flight.messageId, seq) ?? []);
    for (const row of rows) {
      const expectsReceipt = smscIdKey !== null && route !== undefined && isReported(route, row);
      const isOurs = row.leaseEpoch === flight.leaseEpoch && row.acceptedAt === null;
      if (isOurs) segments.accept(row, { smscId, smscIdKey, expectsReceipt, now }, NOTHING_WRONG);
      // It was sent twice, or a receipt came first: this id may have receipts as well.
      else if (smscIdKey !== null) segments.addId(row.messageId, row.seq, smscIdKey);
    }
    const released = rows.flatMap((row) => releaseParts(row, now, segments));
    if (smscId === null || rows.length === 0) return released;
    this.#parts.receipts.join(rows, () => messages.byId(flight.messageId)?.recipient ?? "", smscId, now);
    return released;
  }

  #refused(row: SegmentRow, rule: StatusRule, status: number, now: number): ReadyWork[] {
    const { segments } = this.#parts.sms;
    const { log } = this.#parts;
    if (rule.isAlarming)
      log.event("sms.refused", { route: row.route, status: rule.name, code: statusText(status) }, "warn");
    if (row.smscIdKey2 !== null) {
      // It was sent twice, and the first is known to have been taken.
      const answer = { smscId: row.smscIdKey2, smscIdKey: row.smscIdKey2, expectsReceipt: true, now };
      segments.accept(row, answer, NOTHING_WRONG);
      return [];
    }
    const others = segments.of(row.messageId).filter(({ seq }) => seq !== row.seq);
    const to = this.#standIn(row, others);
    const tried = { retries: Math.max(0, row.attempts - 1), canReroute: to !== null, canReencode: false };
    const step = nextStep(rule, tried);
    const said = { providerStatus: rule.name, providerCode: statusText(status), category: rule.category, reason: null };
    this.#rest(row.route, rule, step);
    return this.#follow(row, { step, said, to, now });
  }

  #follow(row: SegmentRow, next: { step: Step; said: Words; to: string | null; now: number }): ReadyWork[] {
    const { segments } = this.#parts.sms;
    const { step, said, to, now } = next;
    const { messageId, priority, workspaceId } = row;
    switch (step.kind) {
      case "retry": {
        const nextAt = now + step.afterMs;
        segments.retry(row, { now, nextAt, isCounted: step.isCounted, isResend: false }, said);
        // The parts of a text go in their order.
        if (row.parts > 1) segments.delayReady(messageId, nextAt);
        return [{ route: row.route, priority, workspaceId, nextAt }];
      }
      case "reroute":
        segments.retry(row, { now, nextAt: now, isCounted: true, isResend: false }, said);
        if (to !== null) segments.moveReady(messageId, { route: to, isRefused: true });
        return [{ route: to ?? row.route, priority, workspaceId, nextAt: now }];
      case "failed":
        segments.end(row, { state: "failed", now }, { ...said, category: step.category });
        return [];
      case "accepted":
      case "reencode":
        throw new Error(`${said.providerStatus ?? ""}: no refusal`);
    }
  }

  /** The route that takes a text over: none where part of it is gone already, or may be. */
  #standIn(row: SegmentRow, others: SegmentRow[]): string | null {
    const isWhole = others.every(({ state, resends }) => state === "ready" && resends === 0);
    if (!isWhole || row.reroutes > 0 || row.resends > 0) return null;
    const failover = this.#parts.routes.get(row.route)?.config.failover ?? [];
    return failover.find((name) => this.#parts.routes.has(name)) ?? null;
  }

  #rest(route: string, { pausesRoute }: StatusRule, step: Step): void {
    if (pausesRoute !== "when_frequent" || step.kind !== "retry") return;
    const full = this.#full.get(route) ?? [];
    full.push(true);
    if (full.length > ANSWERS_LOOKED_AT) full.shift();
    this.#full.set(route, full);
    if (isFrequent(full.filter(Boolean).length)) {
      this.#parts.pause(route, step.afterMs);
      full.length = 0;
    }
  }
}

const NOTHING_SAID: Words = { providerStatus: null, providerCode: null, category: null, reason: null };

function fence({ messageId, leaseEpoch }: Flight, seq: number): Fence {
  return { messageId, seq, state: "in_flight", leaseEpoch };
}

function isOpen({ state, acceptedAt }: SegmentRow): boolean {
  return acceptedAt === null && (state === "in_flight" || state === "unknown");
}
