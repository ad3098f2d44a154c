// How many segments wait for each route, and since when.
// It is counted when somebody asks, and not again for a while, since it walks the queue's index.

import type { Clock } from "../../../platform/clock.ts";
import type { MessageStore } from "./message-store.ts";
import type { SegmentStore } from "./segment-store.ts";

export interface WaitingFigures {
  waiting: number;
  /** Unix ms; null: none waits. */
  oldestAt: number | null;
}

const FRESH_MS = 10_000;
/** More are not counted: it takes some milliseconds of the loop. */
const MAX_COUNTED = 100_000;

interface WaitingStores {
  segments: Pick<SegmentStore, "waiting">;
  messages: Pick<MessageStore, "byId">;
}

export class WaitingCount {
  readonly #sms: WaitingStores;
  readonly #clock: Pick<Clock, "now">;
  readonly #taken = new Map<string, WaitingFigures & { at: number }>();

  constructor(sms: WaitingStores, clock: Pick<Clock, "now">) {
    this.#sms = sms;
    this.#clock = clock;
  }

  /** Whether there may be more than this count says. */
  isAtLimit(count: number): boolean {
    return count >= MAX_COUNTED;
  }

  get(route: string): WaitingFigures {
    const now = this.#clock.now();
    const known = this.#taken.get(route);
    // A clock that was set back must not keep old figures fresh.
    if (known !== undefined && now >= known.at && now < known.at + FRESH_MS) return known;
    const { count: waiting, oldestId } = this.#sms.segments.waiting(route, MAX_COUNTED);
    const oldestAt = oldestId === null ? null : (this.#sms.messages.byId(oldestId)?.createdAt ?? null);
    const taken = { waiting, oldestAt, at: now };
    this.#taken.set(route, taken);
    return taken;
  }
}
