// Who is told, and by which way: each receiver of each `[[alerts]]` block, once.

import { createHash } from "node:crypto";
import type { AlertConfig } from "../../config/config.ts";
import { type Level, listWays, type Trouble, type Way } from "./trouble.ts";
import type { NoticeKind } from "./watch.ts";

export interface Target {
  /** Names it in the database, where the address of a webhook must not stand: it is a secret. */
  key: string;
  way: Way;
  /** An address, a URL or a number. */
  to: string;
  /** As it may be shown. */
  shown: string;
  least: Level;
  /** Of an SMS; else null. */
  sms: { from: string; route: string } | null;
}

const WAYS: Record<AlertConfig["kind"], Way> = { email: "mail", webhook: "webhook", sms: "sms" };

/** As the configuration calls the ways. */
export const KINDS = { mail: "email", webhook: "webhook", sms: "sms" } as const;

/** A receiver of several blocks is told once, of what the widest of them wants. */
export function listTargets(alerts: readonly AlertConfig[]): Target[] {
  const found = new Map<string, Target>();
  for (const { kind, to, least, from, route } of alerts) {
    const way = WAYS[kind];
    const sms = way === "sms" && from !== null && route !== null ? { from, route } : null;
    for (const receiver of to) {
      const key = `${way} ${way === "webhook" ? hash(receiver) : receiver}`;
      const known = found.get(key);
      const widest = known?.least === "warning" ? "warning" : least;
      found.set(key, {
        key,
        way,
        to: receiver,
        shown: show(way, receiver),
        least: widest,
        sms: sms ?? known?.sms ?? null,
      });
    }
  }
  return [...found.values()];
}

export function wants({ least }: Pick<Target, "least">, level: Level): boolean {
  return least === "warning" || level === "problem";
}

/** Whether the way to it is not itself the trouble. */
export function isWayOpen(target: Pick<Target, "way" | "sms">, troubles: readonly Trouble[]): boolean {
  return troubles.every((trouble) => {
    if (!listWays(trouble).includes(target.way)) return true;
    return target.way === "sms" && trouble.about !== undefined && trouble.about !== target.sms?.route;
  });
}

/** Names the trouble that a webhook does not take alerts. */
export function brokenId({ key }: Pick<Target, "key">): string {
  return `alerts.${key.replace(" ", ".")}`;
}

/** Whether it says that this very webhook fails. The webhook itself hears of it only at its end, or where nothing else waits for it. */
export function isOwnTrouble(target: Pick<Target, "key">, { id, kind }: { id: string; kind: NoticeKind }): boolean {
  return kind !== "ended" && id === brokenId(target);
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Of a webhook only the host: the path is what lets anybody write there. */
function show(way: Way, receiver: string): string {
  return way === "webhook" ? (URL.parse(receiver)?.host ?? "") : receiver;
}
