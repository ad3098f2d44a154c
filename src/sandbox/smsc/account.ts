/**
 * What waits to be delivered to one account of the sandbox's SMSC: receipts, and what subscribers write. It
 * goes by any connection of the account that receives, in order, some at a time, and stays until it is
 * taken: a dropped connection or a refusal for now (0x64) only puts it off, for a while.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Deliver } from "../../protocols/smpp/pdu/smsc-pdu.ts";
import type { SmscSession } from "./session.ts";

/** Without an answer, at most. */
const WINDOW = 50;
const AGAIN_MS = 1_000;
const MAX_TRIES = 60;
/** More are not kept. */
const MAX_WAITING = 100_000;

interface Waiting {
  message: Deliver;
  tries: number;
}

export class SmscAccount {
  readonly #clock: Clock;
  readonly #lost: (message: Deliver) => void;
  readonly #sessions = new Set<SmscSession>();
  #waiting: Waiting[] = [];
  #underWay = 0;
  #isStopped = false;
  #cancel: (() => void) | null = null;

  /** `lost`: called for what is given up. */
  constructor(clock: Clock, lost: (message: Deliver) => void) {
    this.#clock = clock;
    this.#lost = lost;
  }

  /** Whether anything can be delivered now. */
  get isConnected(): boolean {
    return this.#receiver() !== undefined;
  }

  join(session: SmscSession): void {
    this.#sessions.add(session);
    this.#pump();
  }

  leave(session: SmscSession): void {
    this.#sessions.delete(session);
  }

  /** Once it can be; after what waits already. */
  deliver(message: Deliver): void {
    if (this.#waiting.length >= MAX_WAITING) return this.#lost(message);
    this.#waiting.push({ message, tries: 0 });
    this.#pump();
  }

  /** At once or not at all: true when it was taken. */
  async deliverNow(message: Deliver): Promise<boolean> {
    return (await this.#receiver()?.deliver(message)) === 0;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    this.#waiting = [];
    for (const session of this.#sessions) session.close();
  }

  #receiver(): SmscSession | undefined {
    return [...this.#sessions].find(({ isReceiving }) => isReceiving);
  }

  #pump(): void {
    while (this.#underWay < WINDOW && this.#cancel === null) {
      const session = this.#receiver();
      const next = session === undefined ? undefined : this.#waiting.shift();
      if (session === undefined || next === undefined) return;
      this.#underWay += 1;
      void session.deliver(next.message).then((status) => {
        this.#underWay -= 1;
        if (status !== 0) this.#putOff(next);
        this.#pump();
      });
    }
  }

  #putOff({ message, tries }: Waiting): void {
    if (this.#isStopped) return;
    if (tries + 1 >= MAX_TRIES) return this.#lost(message);
    this.#waiting.unshift({ message, tries: tries + 1 });
    this.#cancel ??= this.#clock.after(AGAIN_MS, () => {
      this.#cancel = null;
      this.#pump();
    });
  }
}
