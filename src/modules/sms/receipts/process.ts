// Finds the segment that a receipt is about, and writes what it says. Everything here is inside a transaction.
// A receipt that fits nothing is kept: its response may be on its way, or lost.

import type { Inbound } from "../../../protocols/smpp/pdu/pdu.ts";
import { findFailureCategory, isUnknownSubscriber } from "./failure.ts";
import type { FinalReceipt } from "./invalid-numbers.ts";
import { isSameNumber, type NumberingPlan, numberKey } from "../encoding/phone-number.ts";
import type { OrphanRow } from "./orphan-store.ts";
import { candidateKeys, type Conversion, idKey } from "./message-id.ts";
import { isFinalState, type Receipt } from "./parse.ts";
import type { Route } from "../gateway/route-settings.ts";
import { advance, hasLastWord, toSegmentState } from "../queue/status.ts";
import { isReceiptTo, type KeptReceipt, UncertainMatcher } from "./match-uncertain.ts";
import type { SmsStores } from "../stores.ts";
import { releaseParts } from "../gateway/resolve-uncertain.ts";
import type { ReadyWork, SegmentRow, ProviderWords } from "../queue/segment-read-store.ts";

/** So many receipts have to agree before their way of writing ids is taken for the SMSC's. */
const AGREEING = 20;
/** Our own names and short codes have fewer. */
const PHONE_DIGITS = 9;
/** The fact learned about a route: its conversion of ids. */
export const LEARNED = "ids";

export interface ReceiptDeps {
  sms: SmsStores;
  routes: ReadonlyMap<string, Route>;
  numbering: NumberingPlan;
  /** Outside of transactions: what the network said of a number, for good. */
  onLastWord?: (word: FinalReceipt) => void;
}

export type ReceiptPdu = Pick<Inbound, "source" | "destination" | "userMessageReference" | "bytes">;

export class Receipts {
  readonly #deps: ReceiptDeps;
  /** How many orphans each route may have; none is common, and then nothing is looked up. */
  readonly #orphans = new Map<string, number>();
  /** This and what was learned: of receipts that are durable. */
  readonly #agreeing = new Map<string, { conversion: Conversion; count: number }>();
  readonly #learned = new Map<string, Conversion | null>();
  readonly #uncertain: UncertainMatcher;

  constructor(deps: ReceiptDeps) {
    this.#deps = deps;
    this.#uncertain = new UncertainMatcher({ ...deps, areIdsKnown: (route) => this.#findConversion(route) !== null });
    this.recount();
  }

  /** A receipt that came by a link of the route; the work that waited for it. */
  take(routeName: string, receipt: Receipt, pdu: ReceiptPdu, now: number): ReadyWork[] {
    const found = this.#findById(routeName, receipt, pdu, now) ?? this.#findUnanswered(routeName, receipt, pdu, now);
    if (found !== null) return found.flatMap((row) => this.#apply(row, receipt, now));
    this.#keep(routeName, receipt, pdu, now);
    if (pdu.userMessageReference !== null) return [];
    const { subscriber: recipient } = this.#readAddresses(pdu);
    return this.#uncertain
      .pairParts(routeName, recipient, now)
      .flatMap(({ segment, orphan }) => this.#settle([segment], orphan, now));
  }

  /** The segments have this id now: receipts that came before it are applied. `getRecipient` null: it was erased. */
  join(rows: SegmentRow[], getRecipient: () => string | null, smscId: string, now: number): void {
    const [first] = rows;
    if (first === undefined || this.countUnmatched(first.route) === 0) return;
    const { orphans, segments } = this.#deps.sms;
    const recipient = getRecipient();
    const kept = candidateKeys(smscId).flatMap(({ key }) => orphans.bySmscId(first.route, key));
    for (const orphan of kept.toSorted((a, b) => a.id - b.id)) {
      if (recipient !== null && !isReceiptTo(orphan, recipient)) continue;
      const own = rows.flatMap(({ messageId, seq }) => segments.find(messageId, seq) ?? []);
      // An SMSC that gives an id again: this receipt is that of a part whose answer is still to come.
      const isAwaited = () => recipient !== null && this.#uncertain.isAwaited(first.route, recipient, now);
      if (own.every(hasLastWord) && isAwaited()) continue;
      for (const row of own) this.#apply(row, JSON.parse(orphan.receipt) as Receipt, now);
      this.#remove(orphan);
    }
  }

  /** Applies kept receipts that are about a segment whose outcome is unknown. Null: there are none. */
  applyEvidence(row: SegmentRow, recipient: string | null, now: number): ReadyWork[] | null {
    if (recipient === null || this.countUnmatched(row.route) === 0) return null;
    const { segments } = this.#deps.sms;
    const orphans = this.#uncertain.findEvidence(row, recipient, now);
    const rows = this.#uncertain.isWhole(row.route)
      ? segments
          .listByMessage(row.messageId)
          .filter(({ state, leaseEpoch }) => state === row.state && leaseEpoch === row.leaseEpoch)
      : [row];
    const work = orphans.flatMap((orphan) => this.#settle(rows, orphan, now));
    if (orphans.length > 0) return work;
    const together = this.#uncertain.pairParts(row.route, recipient, now);
    if (together.length === 0) return null;
    return together.flatMap(({ segment, orphan }) => this.#settle([segment], orphan, now));
  }

  #settle(rows: SegmentRow[], orphan: OrphanRow, now: number): ReadyWork[] {
    const { segments } = this.#deps.sms;
    const receipt = JSON.parse(orphan.receipt) as Receipt;
    const work = rows.flatMap(({ messageId, seq }) => {
      // As the orphan before left it.
      const row = segments.find(messageId, seq);
      return row === undefined ? [] : this.#apply(row, receipt, now);
    });
    if (orphan.smscIdKey !== null)
      for (const { messageId, seq } of rows) segments.addId(messageId, seq, orphan.smscIdKey);
    this.#remove(orphan);
    return work;
  }

  /** By its id, however the SMSC writes that, and by its number. Null: there is none. */
  #findById(routeName: string, receipt: Receipt, pdu: ReceiptPdu, now: number): SegmentRow[] | null {
    const { source, destination } = pdu;
    const { id } = receipt;
    if (id === null) return null;
    for (const { key, conversion } of this.#inOrder(routeName, candidateKeys(id))) {
      const all = this.#deps.sms.segments.bySmscId(routeName, key);
      const toNumber = all.filter(({ message }) =>
        [source, destination].some(({ address }) => isSameNumber(address, message.recipient)),
      );
      // Only the id of an erased message is known.
      const found = toNumber.length > 0 ? toNumber : all.filter(({ message }) => message.isErased);
      const [best] = [...found.filter(({ segment }) => !hasLastWord(segment)), ...found];
      if (best === undefined) continue;
      // An SMSC that gives an id again: it may be about a segment in flight, and waits for the response as an orphan.
      if (hasLastWord(best.segment) && this.#uncertain.isAwaited(routeName, best.message.recipient, now)) return null;
      this.#learn(routeName, conversion, now);
      this.#uncertain.learn(best.segment, receipt);
      // One id for all of a message that was sent whole.
      const meant = this.#uncertain.isWhole(routeName)
        ? found.filter(({ segment }) => segment.messageId === best.segment.messageId)
        : [best];
      return meant.map(({ segment }) => segment);
    }
    return null;
  }

  #inOrder(routeName: string, keys: ReturnType<typeof candidateKeys>) {
    const first = this.#findConversion(routeName);
    return first === null ? keys : keys.toSorted((a, b) => +(b.conversion === first) - +(a.conversion === first));
  }

  #findConversion(routeName: string): Conversion | null {
    const configured = this.#deps.routes.get(routeName)?.config.messageIdFormat ?? "auto";
    if (configured !== "auto") return configured;
    const known = this.#learned.get(routeName);
    if (known !== undefined) return known;
    const stored = this.#deps.sms.links.learned(routeName, LEARNED) as Conversion | null;
    this.#learned.set(routeName, stored);
    return stored;
  }

  #learn(routeName: string, conversion: Conversion, now: number): void {
    if (this.#findConversion(routeName) === conversion) return;
    const { links, afterCommit } = this.#deps.sms;
    const agreed = () => {
      const before = this.#agreeing.get(routeName);
      return before?.conversion === conversion ? before.count + 1 : 1;
    };
    // Those of the same transaction do not count yet.
    const isSure = agreed() >= AGREEING;
    if (isSure) links.learn({ route: routeName, name: LEARNED, value: conversion, learnedAt: now });
    afterCommit.run(() => {
      this.#agreeing.set(routeName, { conversion, count: agreed() });
      if (isSure) this.#learned.set(routeName, conversion);
    });
  }

  /** One whose answer was lost. */
  #findUnanswered(routeName: string, receipt: Receipt, pdu: ReceiptPdu, now: number): SegmentRow[] | null {
    const addresses = [pdu.source.address, pdu.destination.address];
    const told = { receipt, addresses, recipients: addresses, umr: pdu.userMessageReference };
    const meant = this.#uncertain.findMeant(routeName, told, now);
    const key = receipt.id === null ? null : idKey(receipt.id);
    if (key !== null) for (const { messageId, seq } of meant ?? []) this.#deps.sms.segments.addId(messageId, seq, key);
    return meant;
  }

  #apply(row: SegmentRow, receipt: Receipt, now: number): ReadyWork[] {
    const isEvidence = row.acceptedAt === null || row.state === "ready";
    // One of two submits that arrived is enough.
    const isSecondCopy = row.resends > 0 && receipt.state === "delivered" && row.receiptState !== "delivered";
    const next = advance(row.receiptState, receipt.state) ?? (isEvidence || isSecondCopy ? receipt.state : null);
    if (next === null) return [];
    const { errors } = this.#deps.routes.get(row.route) ?? {};
    const isBad = isFinalState(next) && next !== "delivered";
    const said: ProviderWords = {
      providerStatus: receipt.word ?? next.toUpperCase(),
      providerCode: next === "delivered" ? null : receipt.errorCode,
      category: isBad ? findFailureCategory(receipt, errors) : null,
      reason: null,
    };
    if (isFinalState(next)) this.#reportLastWord(row, receipt, now);
    this.#deps.sms.segments.receipt(row, { state: toSegmentState(next), receiptState: next, now }, said);
    return releaseParts(row, now, this.#deps.sms.segments);
  }

  /** Once a message, however many parts it has. */
  #reportLastWord({ messageId, route, workspaceId }: SegmentRow, receipt: Receipt, at: number): void {
    const { sms, routes, onLastWord } = this.#deps;
    const message = sms.messages.byId(messageId);
    if (message === undefined || message.isErased) return;
    const address = message.recipient;
    if (onLastWord === undefined || sms.segments.listByMessage(messageId).some(hasLastWord)) return;
    const isRefused = receipt.state === "undeliverable" || receipt.state === "rejected";
    const isInvalid = isRefused && isUnknownSubscriber(receipt, routes.get(route)?.errors);
    sms.afterCommit.run(() => onLastWord({ route, workspaceId, address, isInvalid, at }));
  }

  #keep(route: string, receipt: Receipt, pdu: ReceiptPdu, now: number): void {
    const addresses = this.#readAddresses(pdu);
    this.#deps.sms.orphans.insert({
      route,
      smscId: receipt.id,
      smscIdKey: receipt.id === null ? null : idKey(receipt.id),
      numberKey: numberKey(addresses.subscriber),
      umr: pdu.userMessageReference,
      receiptState: receipt.state,
      receipt: JSON.stringify({ ...receipt, ...addresses } satisfies KeptReceipt),
      raw: pdu.bytes,
      receivedAt: now,
    });
    this.#orphans.set(route, this.countUnmatched(route) + 1);
  }

  /** Its route's count stays: too high a one costs a look, too low a one would lose receipts. */
  #remove({ id }: OrphanRow): void {
    this.#deps.sms.orphans.remove(id);
  }

  /** How many of a route fit nothing; too many rather than too few. */
  countUnmatched(route: string): number {
    return this.#orphans.get(route) ?? 0;
  }

  /** Outside of transactions, now and then: how many there really are. */
  recount(): void {
    this.#orphans.clear();
    for (const { route, count } of this.#deps.sms.orphans.counts()) this.#orphans.set(route, count);
  }

  /** The subscriber's address comes first in a receipt, but for SMSCs that swap the two. */
  #readAddresses({ source, destination }: ReceiptPdu): Pick<KeptReceipt, "subscriber" | "sender"> {
    const isPhone = ({ address }: ReceiptPdu["source"]) =>
      this.#deps.numbering.allows(this.#deps.numbering.toE164(address)) || countDigits(address) >= PHONE_DIGITS;
    const isSwapped = !isPhone(source) && isPhone(destination);
    const [subscriber, sender] = isSwapped ? [destination, source] : [source, destination];
    return { subscriber: subscriber.address, sender: sender.address };
  }
}

function countDigits(address: string): number {
  return address.replace(/\D/g, "").length;
}
