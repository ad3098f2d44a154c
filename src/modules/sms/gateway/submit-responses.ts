// submit_sm_resp and what stands for it: what becomes of segments that were handed to a link. All of it is inside a
// transaction, and answers with the work that waits again.

import type { Context } from "../../../platform/context.ts";
import type { SubmitResponse } from "../../../protocols/smpp/submit-queue.ts";
import { nextStep, findStatusRule, type Step } from "../../../protocols/smpp/submit-outcome.ts";
import { hex } from "../../../protocols/smpp/pdu/status.ts";
import type { StatusRule } from "../../../protocols/smpp/pdu/status-table.ts";
import { splitAsUcs2 } from "../encoding/segment.ts";
import {
  getWords,
  SILENT,
  toReadyWork,
  type ExpectedSegment,
  type ReadyWork,
  type SegmentRow,
  type ProviderWords,
} from "../queue/segment-read-store.ts";
import { idKey, MAX_ID } from "../receipts/message-id.ts";
import type { Receipts } from "../receipts/process.ts";
import type { SmsStores } from "../stores.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { Links } from "./links.ts";
import { acceptFirst, dueBeside, NOTHING_WRONG, releaseParts, resolveUncertain } from "./resolve-uncertain.ts";
import type { Route } from "./route-settings.ts";
import { isReceiptExpected, type Submission } from "./submission.ts";

export interface SubmitResponsesDeps extends Pick<Context, "log"> {
  sms: Pick<SmsStores, "segments" | "messages" | "afterCommit">;
  routes: ReadonlyMap<string, Route>;
  receipts: Receipts;
  breaker: Pick<CircuitBreaker, "isOpen" | "isMostlyFull">;
  links: Pick<Links, "pause">;
  lostResponseWaitMs: number;
}

export class SubmitResponses {
  readonly #deps: SubmitResponsesDeps;

  constructor(deps: SubmitResponsesDeps) {
    this.#deps = deps;
  }

  handleResponse(
    submission: Submission,
    response: Pick<SubmitResponse<Submission>, "status" | "messageId">,
    now: number,
  ): ReadyWork[] {
    const { routes, sms } = this.#deps;
    const rule = findStatusRule(response.status, routes.get(submission.route)?.statuses);
    if (rule.action === "accept") return this.#accept(submission, response.messageId, now);
    // Another claim of it has its own answer; and what a receipt has resolved is not refused any more.
    const rows = sms.segments
      .listByMessage(submission.messageId)
      .filter(({ seq }) => submission.seqs.includes(seq))
      .filter((row) => row.leaseEpoch === submission.leaseEpoch && isOpen(row));
    return this.#refused(rows, rule, response.status, now);
  }

  /** The connection is gone, or the answer did not come in time. */
  handleLostResponse(submission: Submission, now: number): ReadyWork[] {
    const { segments } = this.#deps.sms;
    const lost = submission.seqs.map((seq) => segments.unknown(fence(submission, seq), { now, giveUpAt: now }));
    return submission.seqs.flatMap((seq, index) => {
      const row = lost[index] === true ? segments.find(submission.messageId, seq) : undefined;
      // Evidence of one part of a message that went whole has resolved the others.
      return row?.state === "unknown" ? this.resolve(row, now) : [];
    });
  }

  /** Of a segment that is `unknown`. */
  resolve(row: SegmentRow, now: number): ReadyWork[] {
    return resolveUncertain(row, now, {
      ...this.#deps,
      applyEvidence: (each, at) => this.#applyEvidence(each, at),
    });
  }

  /** Nothing of it was written: `reason` null, it waits as before; else it never can be. */
  unsent(submission: Submission, reason: string | null, now: number): ReadyWork[] {
    const { sms, log } = this.#deps;
    const { segments, afterCommit } = sms;
    return submission.seqs.flatMap((seq) => {
      const row = segments.find(submission.messageId, seq);
      if (row === undefined) return [];
      if (reason !== null) {
        segments.end(fence(submission, seq), { state: "failed", now }, { ...SILENT, category: "internal_error" });
        afterCommit.run(() => log.error("sms submit", new Error(reason), { message: submission.messageId, seq }));
        return [];
      }
      // It keeps its position; otherwise later parts would overtake it.
      const nextAt = dueBeside(row, row.nextAt, sms);
      segments.retry(fence(submission, seq), { now, nextAt, isCounted: false, isResend: false }, getWords(row));
      return [toReadyWork(row, nextAt)];
    });
  }

  #accept(submission: Submission, id: string, now: number): ReadyWork[] {
    const { segments, messages } = this.#deps.sms;
    const smscIdKey = idKey(id);
    const smscId = smscIdKey === null ? null : id.trim().slice(0, MAX_ID);
    const route = this.#deps.routes.get(submission.route);
    const rows = submission.seqs.flatMap((seq) => segments.find(submission.messageId, seq) ?? []);
    for (const row of rows) {
      const expectsReceipt = smscIdKey !== null && route !== undefined && isReceiptExpected(route, row);
      // The late answer of a first submit counts as well, unless the second will have its own.
      const isMeant = row.leaseEpoch === submission.leaseEpoch || row.state !== "in_flight";
      if (isMeant && row.acceptedAt === null)
        segments.accept(row, { smscId, smscIdKey, expectsReceipt, now }, NOTHING_WRONG);
      // It was sent twice, or a receipt came first: this id may have receipts as well.
      else if (smscIdKey !== null) segments.addId(row.messageId, row.seq, smscIdKey);
    }
    const released = rows.flatMap((row) => releaseParts(row, now, segments));
    if (smscId === null || rows.length === 0) return released;
    this.#deps.receipts.join(rows, () => findRecipient(submission.messageId, messages), smscId, now);
    return released;
  }

  /** `rows`: several only of a message that went whole, and those are alike. */
  #refused(rows: SegmentRow[], rule: StatusRule, status: number, now: number): ReadyWork[] {
    const [first] = rows;
    if (first === undefined) return [];
    const { sms, log } = this.#deps;
    const code = hex(status);
    const told = { route: first.route, status: rule.name, code };
    if (rule.isAlarming) sms.afterCommit.run(() => log.event("sms.refused", told, "warn"));
    const others = sms.segments
      .listByMessage(first.messageId)
      .filter((row) => rows.every(({ seq }) => seq !== row.seq));
    const isWhole = others.every(({ state, resends }) => state === "ready" && resends === 0) && first.resends === 0;
    const to = isWhole ? this.#standIn(first) : null;
    const recoded = isWhole && rule.action === "reencode" ? this.#recoded(first) : null;
    const retries = first.retries?.[status] ?? 0;
    const step = nextStep(rule, { retries, canReroute: to !== null, canReencode: recoded !== null });
    this.#rest(first.route, rule, step);
    if (step.kind === "reencode" && recoded !== null) sms.segments.recode(first.messageId, recoded);
    const said = { providerStatus: rule.name, providerCode: code, category: rule.category, reason: null };
    return rows.flatMap((row) => this.#follow(row, { step, said, status, to, now }));
  }

  #follow(
    row: SegmentRow,
    {
      step,
      said,
      status,
      to,
      now,
    }: { step: Step; said: ProviderWords; status: number; to: string | null; now: number },
  ): ReadyWork[] {
    const { segments } = this.#deps.sms;
    const { messageId } = row;
    if (acceptFirst(row, now, segments)) return [];
    // The second submit was refused; a receipt of the first may have come meanwhile.
    const resolved = row.resends === 0 ? null : this.#applyEvidence(row, now);
    if (resolved !== null) return resolved;
    switch (step.kind) {
      case "retry": {
        const nextAt = dueBeside(row, now + step.afterMs, this.#deps.sms);
        const { isCounted } = step;
        const retries = isCounted ? { ...row.retries, [status]: (row.retries?.[status] ?? 0) + 1 } : undefined;
        segments.retry(row, { now, nextAt, isCounted, isResend: false, ...(retries && { retries }) }, said);
        // The parts of a message go in their order.
        if (row.parts > 1) segments.delayReady(messageId, nextAt);
        return [toReadyWork(row, nextAt)];
      }
      case "reroute":
      case "reencode":
        segments.retry(row, { now, nextAt: now, isCounted: true, isResend: false }, said);
        if (row.parts > 1) segments.delayReady(messageId, now);
        if (step.kind === "reencode" || to === null) return [toReadyWork(row, now)];
        segments.moveReady(messageId, { route: to, isRefused: true });
        return [toReadyWork({ ...row, route: to }, now)];
      case "failed":
        segments.end(row, { state: "failed", now }, { ...said, category: step.category });
        return [];
      case "accepted":
        throw new Error(`${said.providerStatus ?? ""}: no refusal`);
    }
  }

  #applyEvidence(row: SegmentRow, now: number): ReadyWork[] | null {
    const { receipts, sms } = this.#deps;
    return receipts.applyEvidence(row, findRecipient(row.messageId, sms.messages), now);
  }

  /** The route that takes a refused message over, which happens once. */
  #standIn({ route, reroutes }: SegmentRow): string | null {
    const { routes, breaker } = this.#deps;
    if (reroutes > 0) return null;
    const others = (routes.get(route)?.config.failover ?? []).filter((name) => routes.has(name));
    return others.find((name) => !breaker.isOpen(name)) ?? others[0] ?? null;
  }

  /** The message in UTF-16, where that takes as many parts: they are paid for. */
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
    if (this.#deps.breaker.isMostlyFull(route)) this.#deps.links.pause(route, step.afterMs);
  }
}

function fence({ messageId, leaseEpoch }: Submission, seq: number): ExpectedSegment {
  return { messageId, seq, state: "in_flight", leaseEpoch };
}

function isOpen({ state, acceptedAt }: SegmentRow): boolean {
  return acceptedAt === null && (state === "in_flight" || state === "unknown");
}

/** Null: it was erased, or its message is gone. */
function findRecipient(messageId: number, messages: Pick<SmsStores["messages"], "byId">): string | null {
  const message = messages.byId(messageId);
  return message === undefined || message.isErased ? null : message.recipient;
}
