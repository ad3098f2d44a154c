// What waits for one system id: receipts and texts, kept until they are acknowledged, whatever becomes of the
// connections meanwhile.

import type { Delivery } from "./codec.ts";
import type { Conversation } from "./conversation.ts";

export interface Item {
  delivery: Delivery;
  /** The connection it should go over, or should not, while there is a choice. */
  wanted: Conversation | null;
  shunned: Conversation | null;
}

export class Mailbox {
  /** Bound and receiving. */
  readonly receivers = new Set<Conversation>();
  #waiting: Item[] = [];
  #next = 0;

  get size(): number {
    return this.#waiting.length - this.#next;
  }

  put(item: Item): void {
    this.#waiting.push(item);
    this.pump();
  }

  /** Of a connection that is gone: they come first. */
  putBack(items: Item[]): void {
    this.#waiting = [...items, ...this.#waiting.slice(this.#next)];
    this.#next = 0;
    this.pump();
  }

  /** Sends what there is room for. */
  pump(): void {
    for (let item = this.#waiting[this.#next]; item !== undefined; item = this.#waiting[this.#next]) {
      const receiver = this.#receiverFor(item);
      if (receiver === null) return;
      this.#next += 1;
      receiver.deliver(item);
    }
    this.#waiting = [];
    this.#next = 0;
  }

  #receiverFor({ wanted, shunned }: Item): Conversation | null {
    if (wanted !== null && this.receivers.has(wanted)) return wanted.hasRoom ? wanted : null;
    let last: Conversation | null = null;
    for (const receiver of this.receivers) {
      if (!receiver.hasRoom) continue;
      if (receiver !== shunned) return receiver;
      if (this.receivers.size === 1) last = receiver;
    }
    return last;
  }
}
