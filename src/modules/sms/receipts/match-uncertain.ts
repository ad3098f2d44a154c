// Finds the segment of a receipt with an unknown id, since the response with that id was lost.
// It is the one with the same user_message_reference, else the only one to the number that it fits by how the message
// begins, by the sender and by the submit date. Where two fit, neither is taken: a wrong message must not be called
// delivered.

import { isSameNumber, type NumberingPlan, numberKey } from "../encoding/phone-number.ts";
import type { SmsStores } from "../stores.ts";
import type { OrphanRow } from "./orphan-store.ts";
import type { Receipt } from "./parse.ts";
import { isAbout, isSameSender, isSubmittedIn } from "./match.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { FoundSegment, SegmentRow } from "../queue/segment-read-store.ts";

/** How far back a segment without an answer may have been sent. */
const LOOK_BACK_MS = 72 * 3_600_000;

export interface UncertainDeps {
  sms: Pick<SmsStores, "segments" | "orphans" | "messages">;
  routes: ReadonlyMap<string, Route>;
  numbering: Pick<NumberingPlan, "toE164">;
  /** Whether receipts of the route are known to write ids so that ours are found. */
  areIdsKnown: (route: string) => boolean;
}

/** What counts of a receipt here, as it comes and as it is kept. */
export interface ReceiptFacts {
  receipt: Pick<Receipt, "text" | "submitDate">;
  /** Its two addresses, whichever comes first; of an orphan only the sender. */
  addresses: string[];
  /** Of the subscriber. */
  recipients: string[];
  umr: number | null;
}

/** The addresses are as the SMSC wrote them. */
export type KeptReceipt = Receipt & { sender: string; subscriber: string };

interface Candidate {
  segment: SegmentRow;
  /** The message begins as the receipt says; null: it does not say. */
  isAlike: boolean | null;
  /** It was submitted when the receipt says; null: it does not say. */
  isInTime: boolean | null;
}

export class UncertainMatcher {
  readonly #deps: UncertainDeps;
  /** By route: how far its submit dates are ahead of our clock, by the last receipt whose id was known. */
  readonly #offsets = new Map<string, number>();

  constructor(deps: UncertainDeps) {
    this.#deps = deps;
  }

  /** A receipt whose id was known: when the SMSC says that the segment came, and when it went. */
  learn({ route, submittedAt, resends }: SegmentRow, { submitDate }: Pick<Receipt, "submitDate">): void {
    if (submitDate !== null && submittedAt !== null && resends === 0)
      this.#offsets.set(route, submitDate - submittedAt);
  }

  /** Its messages go in one submit each, whatever their segments: one id, one receipt. */
  isWhole(route: string): boolean {
    return this.#deps.routes.get(route)?.config.segmentation === "payload";
  }

  isAwaited(route: string, recipient: string, now: number): boolean {
    return this.#openTo(route, [recipient], now).some(({ state }) => state === "in_flight");
  }

  /** The segments that a receipt is about; null: that cannot be known. */
  findMeant(route: string, told: ReceiptFacts, now: number): SegmentRow[] | null {
    const open = this.#openTo(route, told.recipients, now);
    const only = this.#only(route, told, open);
    // What is in flight will have its answer.
    if (only === null || only.state === "in_flight") return null;
    return this.isWhole(route) ? open.filter(({ messageId }) => messageId === only.messageId) : [only];
  }

  /** Kept receipts that are about a segment whose outcome is unknown; empty: that cannot be known. */
  findEvidence(row: SegmentRow, recipient: string, now: number): OrphanRow[] {
    const { segments, messages } = this.#deps.sms;
    const isTwice = row.resends > 0;
    const since = isTwice ? messages.byId(row.messageId)?.createdAt : row.submittedAt;
    const kept = this.#kept(row.route, recipient, since ?? 0);
    // It went under the reference of its first part.
    const { umr: own } = (this.isWhole(row.route) ? segments.find(row.messageId, 1) : undefined) ?? row;
    const named = kept.filter(({ umr }) => umr === own);
    if (named.length > 0) return named;
    const open = this.#openTo(row.route, [recipient], now);
    const fitting = kept.filter((orphan) => {
      const only = orphan.umr === null ? this.#only(row.route, parseOrphan(orphan, recipient), open) : null;
      return only?.messageId === row.messageId && (only.seq === row.seq || this.isWhole(row.route));
    });
    // Each submit had an id of its own.
    return new Set(fitting.map(({ smscIdKey }) => smscIdKey)).size <= 1 + row.resends ? fitting : [];
  }

  /**
   * The parts of one message that are uncertain, with a kept receipt each: where there are as many, and all say the same,
   * it does not matter which is whose. Empty: that cannot be known.
   */
  pairParts(route: string, recipient: string, now: number): { segment: SegmentRow; orphan: OrphanRow }[] {
    if (this.isWhole(route)) return [];
    const open = this.#openTo(route, [recipient], now);
    const parts = open.filter((row) => row.parts > 1 && row.resends === 0 && isUncertain(row));
    for (const own of Map.groupBy(parts, ({ messageId }) => messageId).values()) {
      const since = Math.min(...own.map(({ submittedAt }) => submittedAt ?? 0));
      const kept = this.#kept(route, recipient, since).filter((orphan) => {
        const fitting = orphan.umr === null ? this.#fitting(route, parseOrphan(orphan, recipient), open) : [];
        return (
          fitting.length > 0 && fitting.every(({ segment, isInTime }) => own.includes(segment) && isInTime === true)
        );
      });
      const isEach = [own.length, new Set(kept.map(({ smscIdKey }) => smscIdKey)).size].every((n) => n === kept.length);
      const isOneWord = new Set(kept.map(({ receiptState }) => receiptState)).size === 1;
      if (isEach && isOneWord && own.every(({ state }) => state !== "in_flight"))
        return own.flatMap((segment, index) => (kept[index] === undefined ? [] : [{ segment, orphan: kept[index] }]));
    }
    return [];
  }

  /** In the order in which they came. */
  #kept(route: string, recipient: string, since: number): OrphanRow[] {
    const key = numberKey(recipient);
    const found = key === null ? [] : this.#deps.sms.orphans.byNumber(route, key, since);
    return found.filter((orphan) => isReceiptTo(orphan, recipient)).toSorted((a, b) => a.id - b.id);
  }

  /** In the order of their parts. */
  #openTo(route: string, recipients: string[], now: number): SegmentRow[] {
    const { segments } = this.#deps.sms;
    const found: FoundSegment[] = recipients.flatMap((each) =>
      segments.openTo(route, this.#deps.numbering.toE164(each), now - LOOK_BACK_MS),
    );
    return found
      .map(({ segment }) => segment)
      .filter((row) => isUncertain(row) || !this.#deps.areIdsKnown(route) || row.smscIdKey === null)
      .toSorted((a, b) => a.messageId - b.messageId || a.seq - b.seq);
  }

  #only(route: string, told: ReceiptFacts, open: SegmentRow[]): SegmentRow | null {
    const rows = this.isWhole(route) ? open.filter(({ seq }) => seq === 1) : open;
    if (told.umr !== null) {
      const [only, second] = rows.filter((row) => row.umr === told.umr && isUncertain(row));
      return second === undefined ? (only ?? null) : null;
    }
    const fitting = this.#fitting(route, told, rows);
    const alike = fitting.filter(({ isAlike }) => isAlike === true);
    const isSplit = fitting.some(({ segment }) => segment.parts > 1) && !this.isWhole(route);
    const [only, second] = alike.length > 0 && !isSplit ? alike : fitting;
    if (only === undefined || second !== undefined || !isUncertain(only.segment)) return null;
    // Of several parts, and of two submits, each has a receipt: that it fits no other message is not enough.
    const isSure = isSplit ? only.isInTime === true : only.isInTime === true || only.isAlike === true;
    return isSure || (!isSplit && only.segment.resends === 0) ? only.segment : null;
  }

  /** Those that nothing speaks against, and that begin as it says, or have its sender where it says nothing. */
  #fitting(route: string, { receipt, addresses }: ReceiptFacts, rows: SegmentRow[]): Candidate[] {
    const offset = this.#offsets.get(route) ?? null;
    return rows.flatMap((segment) => {
      const message = this.#deps.sms.messages.byId(segment.messageId);
      if (message === undefined) return [];
      const begins = isAbout(receipt.text, message.sentText ?? message.body);
      // A later part does not begin as its message does.
      const isAlike = segment.seq === 1 || this.isWhole(route) ? begins : begins === true ? false : null;
      const to = segment.submittedAt ?? message.createdAt;
      // When the first of two submits went, no row says.
      const from = segment.resends > 0 ? message.createdAt : to;
      const isInTime = isSubmittedIn(receipt.submitDate, { from, to }, offset);
      const isMeant = isAlike ?? this.#isFrom(addresses, message.sender, route);
      return isMeant && isInTime !== false ? [{ segment, isAlike, isInTime }] : [];
    });
  }

  #isFrom(addresses: string[], sender: string, route: string): boolean {
    const { senders = [] } = this.#deps.routes.get(route)?.config ?? {};
    const names = [sender, ...senders.filter(({ name }) => name === sender).map(({ as }) => as)];
    return addresses.some((address) => names.some((name) => isSameSender(address, name)));
  }
}

export function isReceiptTo(orphan: OrphanRow, recipient: string): boolean {
  return isSameNumber((JSON.parse(orphan.receipt) as KeptReceipt).subscriber, recipient);
}

function parseOrphan(orphan: OrphanRow, recipient: string): ReceiptFacts {
  const receipt = JSON.parse(orphan.receipt) as KeptReceipt;
  return { receipt, addresses: [receipt.sender], recipients: [recipient], umr: orphan.umr };
}

/** Its id is unknown, or one of its ids is. */
function isUncertain({ smscIdKey, state, resends }: SegmentRow): boolean {
  return resends > 0 || (smscIdKey === null && state !== "accepted");
}
