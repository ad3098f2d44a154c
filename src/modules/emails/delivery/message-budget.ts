// How many bytes of messages are in delivery, or handed in, at once. From its composing until a server has taken it a message is in
// memory whole: a hundred of the largest, for servers that read slowly, took 590 MB.

const MIB = 1024 * 1024;
const MIN_BUDGET = 16 * MIB;
const SHARE_OF_MEMORY = 16;

export interface BudgetRules {
  /** Smaller ones are not counted: as many as there can be fit beside all else. */
  countedBytes: number;
  /** Up to this size they are counted, and never wait. */
  largeBytes: number;
  /** Large ones that wait, of one workspace and of all. */
  maxOwnWaiting: number;
  maxWaiting: number;
  /** Bytes in memory for each byte of the content. */
  growth: number;
  /** Room that a workspace which has some already does not get: others may come who have none. */
  reservedBytes: number;
}

const DELIVERY: BudgetRules = {
  countedBytes: 64 * 1024,
  largeBytes: MIB,
  // Each is a job, of which small messages need the rest.
  maxOwnWaiting: 8,
  maxWaiting: 16,
  // Most of what is transmitted is base64, with line ends.
  growth: 1.4,
  // A transmission ends, however slow the server.
  reservedBytes: 0,
};

/** The configured budget, or what a machine or cgroup of `memoryBytes` bears. */
export function messageBudgetFor(configuredBytes: number, memoryBytes: number): number {
  return Math.min(configuredBytes, Math.max(MIN_BUDGET, Math.floor(memoryBytes / SHARE_OF_MEMORY)));
}

interface Message {
  workspaceId: number;
  bytes: number;
}

interface Waiter extends Message {
  admit(): void;
}

/**
 * Large messages wait in the order in which they came. While several workspaces have some that wait, none gets more than
 * half, and those that would are passed; otherwise nobody is passed, so that the largest get on too. A workspace that has some in
 * delivery already leaves the reserved room to others. One that is larger than all goes when no other large one is in delivery.
 */
export class MessageBudget {
  readonly #totalBytes: number;
  readonly #rules: BudgetRules;
  readonly #waiting = new Set<Waiter>();
  #bytes = 0;
  /** The large messages in delivery take these bytes, by workspace. */
  readonly #large = new Map<number, number>();

  constructor(totalBytes: number, rules: BudgetRules = DELIVERY) {
    this.#totalBytes = totalBytes;
    this.#rules = rules;
  }

  /**
   * Waits for room for a content of so many bytes; the returned function gives it back. Null: `signal` was aborted first,
   * or too many wait already.
   */
  take(workspaceId: number, contentBytes: number, signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null);
    const { growth, countedBytes, largeBytes, maxOwnWaiting, maxWaiting } = this.#rules;
    const message = { workspaceId, bytes: Math.ceil(contentBytes * growth) };
    if (message.bytes < countedBytes) return Promise.resolve(() => undefined);
    if (message.bytes <= largeBytes) return Promise.resolve(this.#admit(message));
    const own = [...this.#waiting].filter((each) => each.workspaceId === workspaceId);
    if (own.length >= maxOwnWaiting || this.#waiting.size >= maxWaiting) return Promise.resolve(null);
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
        resolve(this.#admit(message));
      };
      const waiter: Waiter = { ...message, admit };
      this.#waiting.add(waiter);
      signal.addEventListener("abort", cancel, { once: true });
      this.#serve();
    });
  }

  /** What gives it back, once. */
  #admit(message: Message): () => void {
    this.#count(message, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count(message, -1);
      this.#serve();
    };
  }

  #count({ workspaceId, bytes }: Message, sign: 1 | -1): void {
    this.#bytes += sign * bytes;
    if (bytes <= this.#rules.largeBytes) return;
    const own = (this.#large.get(workspaceId) ?? 0) + sign * bytes;
    if (own > 0) this.#large.set(workspaceId, own);
    else this.#large.delete(workspaceId);
  }

  #serve(): void {
    for (let next = this.#findNext(); next !== undefined; next = this.#findNext()) next.admit();
  }

  #findNext(): Waiter | undefined {
    const waiting = [...this.#waiting];
    const first = waiting.find((each) => {
      const doesAnotherWait = waiting.some(({ workspaceId }) => workspaceId !== each.workspaceId);
      return (!doesAnotherWait || !this.#isBeyondHalf(each)) && !this.#isReserved(each);
    });
    const hasRoom = first !== undefined && this.#bytes + first.bytes <= this.#totalBytes;
    return hasRoom || this.#large.size === 0 ? first : undefined;
  }

  #isReserved({ workspaceId, bytes }: Message): boolean {
    const { reservedBytes } = this.#rules;
    return this.#large.has(workspaceId) && this.#bytes + bytes > this.#totalBytes - reservedBytes;
  }

  /** One message of each workspace never is, so that it gets on whatever its size. */
  #isBeyondHalf({ workspaceId, bytes }: Message): boolean {
    const own = this.#large.get(workspaceId) ?? 0;
    return own > 0 && 2 * (own + bytes) > this.#totalBytes;
  }
}
