// The deliveries of the last days, counted by provider and by sending domain.

import { findRules, PROVIDERS } from "../../../protocols/smtp/providers.ts";
import type { Category } from "../../../protocols/smtp/replies/rules.ts";
import type { AttemptLook, DeliveryStore } from "./delivery-store.ts";
import { readRecent } from "./read-recent.ts";
import { findWord, type KnownWord } from "../rules.ts";

const SPAN_MS = 7 * 86_400_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Providers told of: those with most mail. */
const MAX_PROVIDERS = 10;

export interface ProviderCounts {
  name: string;
  attempts: number;
  /** First attempts, and those of them that delivered. */
  firsts: number;
  firstDelivered: number;
  deferred: number;
  refused: number;
  /** Emails a day, at the pace of the span that was read. */
  perDay: number;
  /** From the acceptance to the delivery. */
  medianSeconds: number | null;
  /** Of refusals and deferrals, the most frequent first. */
  categories: [Category, number][];
  words: Map<KnownWord, { count: number; reply: string; lastAt: number }>;
}

export interface DeliveryCounts {
  /** Those with most mail first. */
  providers: ProviderCounts[];
  /** By the sending domain. */
  delivered: Map<string, number>;
  complaints: Map<string, number>;
}

/** `rest` lets others have a turn between pages. */
export async function countDeliveries(
  store: DeliveryStore,
  { now, rest }: { now: number; rest: () => Promise<void> },
): Promise<DeliveryCounts> {
  const { rows, isCut } = await readRecent(store.listBefore, (row) => row.emailId, { since: now - SPAN_MS, rest });
  const oldest = rows.reduce((least, { createdAt }) => Math.min(least, createdAt), now);
  // What was sent in the first hours of an instance is no pace of a day; what fills a look in less than a day is.
  const shortest = isCut ? HOUR_MS : DAY_MS;
  const days = Math.max(shortest, now - oldest) / DAY_MS;
  const byProvider = Map.groupBy(
    rows.filter(({ host }) => host !== null),
    ({ host }) => findRules(host ?? "", PROVIDERS)?.name ?? shorten(host ?? ""),
  );
  const delivered = new Map<string, number>();
  for (const { outcome, senderDomain } of rows)
    if (outcome === "delivered") delivered.set(senderDomain, (delivered.get(senderDomain) ?? 0) + 1);
  const first = rows.reduce((least, { emailId }) => Math.min(least, emailId), Number.MAX_SAFE_INTEGER);
  const complaints = rows.length === 0 ? [] : store.countComplaints(first);
  return {
    providers: [...byProvider]
      .map(([name, own]) => countProvider(name, own, days))
      .toSorted((left, right) => right.attempts - left.attempts)
      .slice(0, MAX_PROVIDERS),
    delivered,
    complaints: new Map(complaints.map(({ senderDomain, count }) => [senderDomain, count])),
  };
}

/** mx1.a.example.net → example.net, so that the hosts of one site are one. */
function shorten(host: string): string {
  return host.split(".").slice(-2).join(".");
}

function countProvider(name: string, rows: readonly AttemptLook[], days: number): ProviderCounts {
  const firsts = rows.filter(({ number }) => number === 1);
  const seconds = rows
    .filter(({ outcome }) => outcome === "delivered")
    .map(({ createdAt, endedAt }) => (endedAt - createdAt) / 1_000)
    .toSorted((left, right) => left - right);
  const failed = rows.filter(({ outcome }) => outcome === "deferred" || outcome === "bounced");
  const words: ProviderCounts["words"] = new Map();
  for (const { code, enhancedCode, reply, endedAt } of failed) {
    const word = findWord(name, `${code ?? ""} ${enhancedCode ?? ""} ${reply ?? ""}`);
    if (word === null) continue;
    const present = words.get(word);
    if (present === undefined) words.set(word, { count: 1, reply: reply ?? "", lastAt: endedAt });
    else Object.assign(present, { count: present.count + 1, lastAt: Math.max(present.lastAt, endedAt) });
  }
  const categories = Map.groupBy(failed, ({ category }) => (category ?? "unknown") as Category);
  return {
    name,
    attempts: rows.length,
    firsts: firsts.length,
    firstDelivered: firsts.filter(({ outcome }) => outcome === "delivered").length,
    deferred: rows.filter(({ outcome }) => outcome === "deferred").length,
    refused: rows.filter(({ outcome }) => outcome === "bounced").length,
    perDay: new Set(rows.map(({ emailId }) => emailId)).size / days,
    medianSeconds: seconds[Math.floor(seconds.length / 2)] ?? null,
    categories: [...categories]
      .map(([category, own]): [Category, number] => [category, own.length])
      .toSorted((left, right) => right[1] - left[1]),
    words,
  };
}
