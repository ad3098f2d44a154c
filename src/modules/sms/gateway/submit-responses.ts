import type { AfterCommit } from "../../../platform/db/after-commit.ts";
import type { Log } from "../../../platform/log.ts";
import { nextStep, outcomeOf, type Step, statusText } from "../../../protocols/smpp/submit-outcome.ts";
import type { StatusRule } from "../../../protocols/smpp/pdu/status-table.ts";
import { type Submission, isReported } from "./submission.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { idKey, MAX_ID } from "../receipts/message-id.ts";
import type { Receipts } from "../receipts/process.ts";
import type { Route } from "./route-settings.ts";
import { splitAsUcs2 } from "../encoding/segment.ts";
import type { ReadyWork, SegmentRow } from "../queue/segment-read-store.ts";
import type { Fence, SegmentStore, Words } from "../queue/segment-store.ts";
import type { MessageStore } from "../queue/message-store.ts";
import { acceptFirst, resolveUncertain, dueBeside, NOTHING_WRONG, releaseParts } from "./resolve-uncertain.ts";
import type { WorkStore } from "../queue/work-store.ts";

// submit_sm_resp and what stands for it: what becomes of segments that were handed to a link: answered, at last or too late; not answered; not written at
// all. Everything here is inside a transaction, and tells the work that waits again.

export interface SubmitResponsesDeps {
  sms: {
    segments: SegmentStore;
    messages: Pick<MessageStore, "byId">;
    work: Pick<WorkStore, "recode">;
    facts: Pick<AfterCommit, "run">;
  };
  routes: ReadonlyMap<string, Route>;
  receipts: Receipts;
  health: CircuitBreaker;
  lostResponseWaitMs: number;
  log: Log;
  /** The whole route rests. */
  pause: (route: string, ms: number) => void;
}

export interface GivenAnswer {
  status: number;
  messageId: string;
}

export class SubmitResponses {
  readonly #deps: SubmitResponsesDeps;

  constructor(deps: SubmitResponsesDeps) {
    this.#deps = deps;
  }

  /** Outside of transactions, which may be run again: what an answer says of the SMSC; `status` null: it did not come. */
  heard(route: string, status: number | null): void {
    const { routes, health } = this.#deps;
    if (status === null) health.unanswered(route);
    else health.answered(route, outcomeOf(status, routes.get(route)?.statuses));
  }

  answered(flight: Submission, answer: GivenAnswer, now: number): ReadyWork[] {
    const { routes, sms } = this.#deps;
    const rule = outcomeOf(answer.status, routes.get(flight.route)?.statuses);
    if (rule.action === "accept") {
      return this.#accept(flight, answer.messageId, now);
    }
    // Another claim of it has its own answer; and what a receipt has proved is not refused any more.
    const rows = sms.segments
      .of(flight.messageId)
      .filter(({ seq }) => flight.seqs.includes(seq))
      .filter((row) => row.leaseEpoch === flight.leaseEpoch && isOpen(row));
    return this.#refused(rows, rule, answer.status, now);
  }

  /** The connection is gone, or the answer did not come in time. */
  unanswered(flight: Submission, now: number): ReadyWork[] {
    const { segments } = this.#deps.sms;
    const giveUpAt = now;
    const lost = flight.seqs.map((seq) => segments.unknown(fence(flight, seq), { now, giveUpAt }));
    return flight.seqs.flatMap((seq, index) => {
      const row = lost[index] === true ? segments.one(flight.messageId, seq) : undefined;
      // What told of one part of a text that went whole has told of the others.
      return row?.state === "unknown" ? this.decide(row, now) : [];
    });
  }

  /** Of a segment that is `unknown`. */
  decide(row: SegmentRow, now: number): ReadyWork[] {
    const { sms, routes, receipts, lostResponseWaitMs } = this.#deps;
    return resolveUncertain(row, now, {
      sms,
      routes,
      lostResponseWaitMs,
      prove: (each, at) => receipts.prove(each, sms.messages.byId(each.messageId)?.recipient ?? null, at),
    });
  }

  /** Nothing of it was written: `reason` null, it waits as before; else it never can be. */
  unsent(flight: Submission, reason: string | null, now: number): ReadyWork[] {
    const { sms, log } = this.#deps;
    const { segments, facts } = sms;
    return flight.seqs.flatMap((seq) => {
      const row = segments.one(flight.messageId, seq);
      if (row === undefined) return [];
      const { providerStatus, providerCode, category, reason: before, route, priority, workspaceId } = row;
      if (reason !== null) {
        segments.end(fence(flight, seq), { state: "failed", now }, { ...NOTHING_SAID, category: "internal_error" });
        facts.run(() => log.error("sms submit", new Error(reason), { message: flight.messageId, seq }));
        return [];
      }
      const said = { providerStatus, providerCode, category, reason: before };
      // In its old place: later, the parts behind it would go before it.
      const nextAt = dueBeside(row, row.nextAt, sms);
      segments.retry(fence(flight, seq), { now, nextAt, isCounted: false, isResend: false }, said);
      return [{ route, priority, workspaceId, nextAt }];
    });
  }

  #accept(flight: Submission, id: string, now: number): ReadyWork[] {
    const { segments, messages } = this.#deps.sms;
    const smscIdKey = idKey(id);
    const smscId = smscIdKey === null ? null : id.trim().slice(0, MAX_ID);
    const route = this.#deps.routes.get(flight.route);
    const rows = flight.seqs.flatMap((seq) => segments.one(flight.messageId, seq) ?? []);
    for (const row of rows) {
      const expectsReceipt = smscIdKey !== null && route !== undefined && isReported(route, row);
      // The late answer of a first submit counts as well, unless the second will have its own.
      const isMeant = row.leaseEpoch === flight.leaseEpoch || row.state !== "in_flight";
      if (isMeant && row.acceptedAt === null)
        segments.accept(row, { smscId, smscIdKey, expectsReceipt, now }, NOTHING_WRONG);
      // It was sent twice, or a receipt came first: this id may have receipts as well.
      else if (smscIdKey !== null) segments.addId(row.messageId, row.seq, smscIdKey);
    }
    const released = rows.flatMap((row) => releaseParts(row, now, segments));
    if (smscId === null || rows.length === 0) return released;
    this.#deps.receipts.join(rows, () => messages.byId(flight.messageId)?.recipient ?? "", smscId, now);
    return released;
  }

  /** `rows`: several only of a text that went whole, and those are alike. */
  #refused(rows: SegmentRow[], rule: StatusRule, status: number, now: number): ReadyWork[] {
    const [first] = rows;
    if (first === undefined) return [];
    const { sms, log } = this.#deps;
    const code = statusText(status);
    const told = { route: first.route, status: rule.name, code };
    if (rule.isAlarming) sms.facts.run(() => log.event("sms.refused", told, "warn"));
    const others = sms.segments.of(first.messageId).filter((row) => rows.every(({ seq }) => seq !== row.seq));
    const isWhole = others.every(({ state, resends }) => state === "ready" && resends === 0) && first.resends === 0;
    const to = isWhole ? this.#standIn(first) : null;
    const recoded = isWhole && rule.action === "reencode" ? this.#recoded(first) : null;
    const retries = first.retries?.[status] ?? 0;
    const step = nextStep(rule, { retries, canReroute: to !== null, canReencode: recoded !== null });
    this.#rest(first.route, rule, step);
    if (step.kind === "reencode" && recoded !== null) sms.work.recode(first.messageId, recoded);
    const said = { providerStatus: rule.name, providerCode: code, category: rule.category, reason: null };
    return rows.flatMap((row) => this.#follow(row, { step, said, status, to, now }));
  }

  #follow(
    row: SegmentRow,
    { step, said, status, to, now }: { step: Step; said: Words; status: number; to: string | null; now: number },
  ): ReadyWork[] {
    const { segments } = this.#deps.sms;
    const { messageId, priority, workspaceId } = row;
    if (acceptFirst(row, now, segments)) return [];
    const proved = row.resends === 0 ? null : this.#proveFirst(row, now);
    if (proved !== null) return proved;
    switch (step.kind) {
      case "retry": {
        const nextAt = dueBeside(row, now + step.afterMs, this.#deps.sms);
        const { isCounted } = step;
        const retries = isCounted ? { ...row.retries, [status]: (row.retries?.[status] ?? 0) + 1 } : undefined;
        segments.retry(row, { now, nextAt, isCounted, isResend: false, ...(retries && { retries }) }, said);
        // The parts of a text go in their order.
        if (row.parts > 1) segments.delayReady(messageId, nextAt);
        return [{ route: row.route, priority, workspaceId, nextAt }];
      }
      case "reroute":
        segments.retry(row, { now, nextAt: now, isCounted: true, isResend: false }, said);
        if (row.parts > 1) segments.delayReady(messageId, now);
        if (to !== null) segments.moveReady(messageId, { route: to, isRefused: true });
        return [{ route: to ?? row.route, priority, workspaceId, nextAt: now }];
      case "failed":
        segments.end(row, { state: "failed", now }, { ...said, category: step.category });
        return [];
      case "reencode":
        segments.retry(row, { now, nextAt: now, isCounted: true, isResend: false }, said);
        if (row.parts > 1) segments.delayReady(messageId, now);
        return [{ route: row.route, priority, workspaceId, nextAt: now }];
      case "accepted":
        throw new Error(`${said.providerStatus ?? ""}: no refusal`);
    }
  }

  /** The second submit was refused; a receipt of the first may have come meanwhile. */
  #proveFirst(row: SegmentRow, now: number): ReadyWork[] | null {
    const { receipts, sms } = this.#deps;
    return receipts.prove(row, sms.messages.byId(row.messageId)?.recipient ?? null, now);
  }

  /** The route that takes a refused text over, which happens once. */
  #standIn({ route, reroutes }: SegmentRow): string | null {
    const { routes, health } = this.#deps;
    if (reroutes > 0) return null;
    const others = (routes.get(route)?.config.failover ?? []).filter((name) => routes.has(name));
    return others.find((name) => !health.isOpen(name)) ?? others[0] ?? null;
  }

  /** The text in UTF-16, where that takes as many parts: they are paid for. */
  #recoded({ messageId, route, parts }: SegmentRow): Uint8Array[] | null {
    const { sms, routes } = this.#deps;
    const message = sms.messages.byId(messageId);
    const config = routes.get(route)?.config;
    if (message === undefined || message.encoding === "ucs2" || config?.reencode !== true) return null;
    const split = splitAsUcs2(message.sentText ?? message.body, config.segmentation);
    return split.parts.length === parts ? split.parts : null;
  }

  #rest(route: string, { pausesRoute }: StatusRule, step: Step): void {
    if (pausesRoute !== "when_frequent" || step.kind !== "retry") return;
    if (this.#deps.health.isMostlyFull(route)) this.#deps.pause(route, step.afterMs);
  }
}

const NOTHING_SAID: Words = { providerStatus: null, providerCode: null, category: null, reason: null };

function fence({ messageId, leaseEpoch }: Submission, seq: number): Fence {
  return { messageId, seq, state: "in_flight", leaseEpoch };
}

function isOpen({ state, acceptedAt }: SegmentRow): boolean {
  return acceptedAt === null && (state === "in_flight" || state === "unknown");
}
