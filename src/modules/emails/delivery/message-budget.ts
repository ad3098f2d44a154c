// How many bytes of messages are in delivery at once. From its composing until a server has taken it a message is in
// memory whole: a hundred of the largest, for servers that read slowly, took 590 MB. No workspace holds more of the
// budget than it leaves free. Those that find none wait, in the order in which they came.

import { Shares } from "../../../platform/shares.ts";

const MIB = 1024 * 1024;
const MIN_BUDGET = 16 * MIB;
const MAX_BUDGET = 512 * MIB;
const SHARE_OF_MEMORY = 16;
/** Smaller ones are not counted: as many as there can be fit beside all else. */
const LARGE_BYTES = 64 * 1024;
/** Bytes transmitted for each byte of the content: most of it is base64, with line ends. */
const GROWTH = 1.4;

/** The budget on a machine or in a cgroup of `memoryBytes`. */
export function messageBudgetFor(memoryBytes: number): number {
  return Math.min(MAX_BUDGET, Math.max(MIN_BUDGET, Math.floor(memoryBytes / SHARE_OF_MEMORY)));
}

interface Waiter {
  owner: string;
  bytes: number;
  /** Counted towards the budget; one message is always let in, however large it is. */
  isCounted: boolean;
  admit(): void;
}

export class MessageBudget {
  readonly #shares: Shares;
  readonly #waiting = new Set<Waiter>();
  #count = 0;

  constructor(totalBytes: number) {
    this.#shares = new Shares(totalBytes);
  }

  /** Waits for room for a content of so many bytes; the returned function gives it back. Null: `signal` was aborted first. */
  take(workspaceId: number, contentBytes: number, signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null);
    if (contentBytes < LARGE_BYTES) return Promise.resolve(() => undefined);
    const [owner, bytes] = [String(workspaceId), Math.ceil(contentBytes * GROWTH)];
    return new Promise((resolve) => {
      const leave = () => {
        signal.removeEventListener("abort", cancel);
        this.#waiting.delete(waiter);
      };
      const cancel = () => {
        leave();
        resolve(null);
      };
      const admit = () => {
        leave();
        let isOver = false;
        resolve(() => {
          if (!isOver) this.#giveBack(waiter);
          isOver = true;
        });
      };
      const waiter: Waiter = { owner, bytes, isCounted: false, admit };
      this.#waiting.add(waiter);
      signal.addEventListener("abort", cancel, { once: true });
      this.#serve();
    });
  }

  #serve(): void {
    for (const waiter of this.#waiting) {
      waiter.isCounted = this.#shares.take(waiter.owner, waiter.bytes);
      if (!waiter.isCounted && this.#count > 0) continue;
      this.#count += 1;
      waiter.admit();
    }
  }

  #giveBack({ owner, bytes, isCounted }: Waiter): void {
    if (isCounted) this.#shares.giveBack(owner, bytes);
    this.#count -= 1;
    this.#serve();
  }
}
