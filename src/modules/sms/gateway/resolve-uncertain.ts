// Resolves segments that the SMSC may have or not: the connection broke, no response came, or pombo was killed.
// A message of one segment is sent once more, marked, under the same user_message_reference. Any other is held for a
// while, since its response or its receipt may come late, and then given up.

import type { Route } from "./route-settings.ts";
import type { SegmentStore } from "../queue/segment-store.ts";
import type { SegmentBatch } from "../queue/failed-writes.ts";
import type { SmsStores } from "../stores.ts";
import {
  getWords,
  toReadyWork,
  type ReadyWork,
  type SegmentRow,
  type ProviderWords,
} from "../queue/segment-read-store.ts";

export interface ResolveUncertainDeps {
  sms: Pick<SmsStores, "segments" | "messages">;
  routes: ReadonlyMap<string, Route>;
  /** Applies receipts that came before; null: there are none. */
  applyEvidence: (row: SegmentRow, now: number) => ReadyWork[] | null;
  lostResponseWaitMs: number;
}

/** Inside a transaction: the segment is `unknown` now, or was found so. The work that it became, if it is sent again. */
export function resolveUncertain(row: SegmentRow, now: number, deps: ResolveUncertainDeps): ReadyWork[] {
  const { segments, messages } = deps.sms;
  const resolved = deps.applyEvidence(row, now);
  if (resolved !== null) return resolved;
  if (acceptFirst(row, now, segments)) return releaseParts(row, now, segments);
  if (isSentAgain(row, deps)) {
    const { messageId } = row;
    // At the head of its line: as old as it is.
    const nextAt = Math.min(now, messages.byId(messageId)?.createdAt ?? now);
    segments.retry(row, { now, nextAt, isCounted: true, isResend: true }, getWords(row));
    // Those behind it may have been held, where the route had another policy before a start.
    if (row.parts > 1 && !isBesideUncertain(row, segments)) segments.delayReady(messageId, nextAt);
    return [toReadyWork(row, nextAt)];
  }
  // Its waiting begins when it is looked at first.
  const isDelayed = row.nextAt > (row.changedAt ?? 0);
  if (!isDelayed) {
    const giveUpAt = now + deps.lostResponseWaitMs;
    segments.unknown(row, { now, giveUpAt });
    // The parts behind it are worth nothing without it. Until the message's own end: they go on, or are ended, with what
    // becomes known of it, and not at the moment at which that is decided.
    if (row.parts > 1) segments.delayReady(row.messageId, messages.byId(row.messageId)?.expiresAt ?? giveUpAt);
  }
  if (isDelayed && row.nextAt <= now) {
    const words = { ...getWords(row), category: "outcome_unknown", reason: null } as const;
    segments.end(row, { state: "failed", now }, words);
  }
  return [];
}

interface DueDeps {
  sms: { segments: Pick<SegmentStore, "unknownDue" | "find"> };
  responses: { resolve(row: SegmentRow, now: number): ReadyWork[] };
}

export function buildUncertainBatch(now: number, { sms, responses }: DueDeps): SegmentBatch<SegmentRow> {
  return {
    where: "sms uncertain",
    find: (limit) => sms.segments.unknownDue(now, limit),
    act({ messageId, seq }) {
      const row = sms.segments.find(messageId, seq);
      return row?.state === "unknown" ? responses.resolve(row, now) : [];
    },
  };
}

export const NOTHING_WRONG: ProviderWords = {
  providerStatus: "ESME_ROK",
  providerCode: null,
  category: null,
  reason: null,
};

/** Inside a transaction: whether it was sent twice, and the first is known to have been taken; then it is accepted. */
export function acceptFirst(row: SegmentRow, now: number, segments: Pick<SegmentStore, "accept">): boolean {
  const { smscIdKey2: key } = row;
  if (key === null) return false;
  return segments.accept(row, { smscId: key, smscIdKey: key, expectsReceipt: true, now }, NOTHING_WRONG);
}

/** Inside a transaction: what became of a part is known; those behind it go on, unless another one is uncertain. */
export function releaseParts(
  before: SegmentRow,
  now: number,
  segments: Pick<SegmentStore, "delayReady" | "listByMessage">,
): ReadyWork[] {
  if (before.state !== "unknown" || before.parts === 1) return [];
  const { messageId } = before;
  if (segments.listByMessage(messageId).some(({ state }) => state === "unknown")) return [];
  segments.delayReady(messageId, now);
  return [toReadyWork(before, now)];
}

/**
 * Inside a transaction: when a part that waits again is due, which was to be at `nextAt`. While another part of its
 * message is uncertain that is the message's own end, as for those behind it: what is decided of it releases all of them.
 */
export function dueBeside(
  row: SegmentRow,
  nextAt: number,
  { segments, messages }: ResolveUncertainDeps["sms"],
): number {
  if (row.parts === 1 || !isBesideUncertain(row, segments)) return nextAt;
  return Math.max(nextAt, messages.byId(row.messageId)?.expiresAt ?? nextAt);
}

function isBesideUncertain({ messageId, seq }: SegmentRow, segments: Pick<SegmentStore, "listByMessage">): boolean {
  return segments.listByMessage(messageId).some((other) => other.seq !== seq && other.state === "unknown");
}

function isSentAgain(
  { route, resends, parts: total, priority }: SegmentRow,
  { routes }: ResolveUncertainDeps,
): boolean {
  const policy = routes.get(route)?.config.onLostResponse ?? "hold";
  if (resends > 0 || policy === "hold") return false;
  return policy === "retry" || (total === 1 && priority !== "bulk");
}
