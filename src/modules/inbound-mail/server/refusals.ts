import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import type { MessageFault } from "./content.ts";
import type { Destination } from "../inbound-message.ts";
import type { Stranger } from "./recipients.ts";

/** Why a client was sent away: all places are taken, or those of its network; pombo stops. */
export type Crowd = "all" | "network" | "stopping";
/** Why a message was not taken; `trouble` is ours. */
export type MessageRefusal = MessageFault | "trouble";

/** Told of each as it happens; must not throw. */
export interface InboundCounts {
  /** Of a message taken, each kind that its recipients are of. */
  letter(kind: Destination["kind"]): void;
  clientRefused(why: Crowd): void;
  recipientRefused(why: Stranger | "trouble"): void;
  letterRefused(why: MessageRefusal): void;
}

const TELL_AFTER_MS = 60_000;

/** What was refused, in one line of the log a minute: a stranger must not be able to fill it. */
export class Refusals {
  readonly #parts: { counts: InboundCounts; log: Log; clock: Clock };
  readonly #sums = new Map<string, number>();
  #cancel: (() => void) | null = null;

  constructor(parts: { counts: InboundCounts; log: Log; clock: Clock }) {
    this.#parts = parts;
  }

  client(why: Crowd): void {
    this.#parts.counts.clientRefused(why);
    this.#add(`clients_${why}`);
  }

  recipient(why: Stranger | "trouble"): void {
    this.#parts.counts.recipientRefused(why);
    this.#add(`recipients_${why}`);
  }

  letter(why: MessageRefusal): void {
    this.#parts.counts.letterRefused(why);
    this.#add(`letters_${why}`);
  }

  /** What is summed up is told now. */
  stop(): void {
    this.#cancel?.();
    this.#tell();
  }

  #add(what: string): void {
    this.#sums.set(what, (this.#sums.get(what) ?? 0) + 1);
    this.#cancel ??= this.#parts.clock.after(TELL_AFTER_MS, () => this.#tell());
  }

  #tell(): void {
    this.#cancel = null;
    if (this.#sums.size === 0) return;
    // Mail that would have been taken and was not is the operator's matter; strangers are not.
    const isOurs = ["clients_all", "letters_trouble", "letters_no_room", "recipients_trouble"].some((what) =>
      this.#sums.has(what),
    );
    const fields = Object.fromEntries(this.#sums);
    this.#sums.clear();
    this.#parts.log.event("inbound.refused", fields, isOurs ? "warn" : "info");
  }
}
