import type { Clock } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import type { MessageFault } from "./content.ts";
import type { Destination } from "../inbound-message.ts";
import type { RecipientRefusal } from "./recipients.ts";

/** Why a client was refused: all places are taken, or those of its network; pombo stops. */
export type ClientRefusal = "all" | "network" | "stopping";
/** Why a message was not taken; `unavailable`: it could not be stored. */
export type MessageRefusal = MessageFault | "unavailable";

/** Called as it happens; must not throw. */
export interface InboundCounts {
  /** Of a message taken, for each kind of its recipients. */
  message(kind: Destination["kind"]): void;
  clientRefused(why: ClientRefusal): void;
  recipientRefused(why: RecipientRefusal | "unavailable"): void;
  messageRefused(why: MessageRefusal): void;
}

/** How a message that is at fault is refused; `enhanced` as in RFC 3463. */
export const FAULTS: Record<MessageFault, { code: number; enhanced: string; words: string }> = {
  bare_line_end: { code: 554, enhanced: "5.6.0", words: "Lines must end with CR LF, and with nothing else" },
  header: { code: 554, enhanced: "5.6.0", words: "The message's header is too long" },
  too_large: { code: 552, enhanced: "5.3.4", words: "The message is too large" },
  no_room: { code: 451, enhanced: "4.3.0", words: "Too much mail is coming in at the moment, come back later" },
};

/** A refusal as the library takes it; it puts the enhanced code in front. */
export function refusal(code: number, words: string): Error {
  return Object.assign(new Error(words), { responseCode: code });
}

const LOG_AFTER_MS = 60_000;

/** Counts refusals and logs them in one line a minute: a stranger must not be able to fill the log. */
export class Refusals {
  readonly #deps: { counts: InboundCounts; log: Log; clock: Clock };
  readonly #sums = new Map<string, number>();
  #cancel: (() => void) | null = null;

  constructor(deps: { counts: InboundCounts; log: Log; clock: Clock }) {
    this.#deps = deps;
  }

  client(why: ClientRefusal): void {
    this.#deps.counts.clientRefused(why);
    this.#add(`clients_${why}`);
  }

  recipient(why: RecipientRefusal | "unavailable"): void {
    this.#deps.counts.recipientRefused(why);
    this.#add(`recipients_${why}`);
  }

  message(why: MessageRefusal): void {
    this.#deps.counts.messageRefused(why);
    this.#add(`messages_${why}`);
  }

  /** Logs what was counted since the last line. */
  stop(): void {
    this.#cancel?.();
    this.#write();
  }

  #add(what: string): void {
    this.#sums.set(what, (this.#sums.get(what) ?? 0) + 1);
    this.#cancel ??= this.#deps.clock.after(LOG_AFTER_MS, () => this.#write());
  }

  #write(): void {
    this.#cancel = null;
    if (this.#sums.size === 0) return;
    // Mail that would have been taken and was not is the operator's matter; strangers are not.
    const isOurs = ["clients_all", "messages_unavailable", "messages_no_room", "recipients_unavailable"].some((what) =>
      this.#sums.has(what),
    );
    const fields = Object.fromEntries(this.#sums);
    this.#sums.clear();
    this.#deps.log.event("inbound.refused", fields, isOurs ? "warn" : "info");
  }
}
