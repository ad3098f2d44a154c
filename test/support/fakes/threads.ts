// Threads of the product that outlive an instance: to load one costs more than all else that most tests do.

import type { Answers, Calls, ThreadPort } from "../../../src/platform/worker-threads/worker-thread.ts";
import { openThread } from "../../../src/server/start-mail-worker.ts";

const idle: ThreadPort[] = [];

/** A thread that an earlier instance has ended, else a new one. */
export function openKeptThread(): ThreadPort {
  return new Lease(idle.pop() ?? openThread());
}

/** One instance's use of a thread. */
class Lease implements ThreadPort {
  readonly #thread: ThreadPort;
  readonly #ended = new AbortController();
  #awaited = 0;
  #isDead = false;

  constructor(thread: ThreadPort) {
    this.#thread = thread;
    this.addEventListener("message", () => void (this.#awaited -= 1));
    for (const type of ["error", "close"] as const) this.addEventListener(type, () => void (this.#isDead = true));
  }

  postMessage(message: Calls, transfer: ArrayBuffer[]): void {
    this.#thread.postMessage(message, transfer);
    this.#awaited += 1;
  }

  addEventListener(type: "message", listener: (event: MessageEvent<Answers>) => void): void;
  addEventListener(type: "error" | "close", listener: (event: Event) => void): void;
  addEventListener(type: string, listener: never): void {
    (this.#thread as EventTarget & ThreadPort).addEventListener(type, listener, { signal: this.#ended.signal });
  }

  /** One that still works at something is not for the next. */
  terminate(): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    if (this.#awaited > 0 || this.#isDead) this.#thread.terminate();
    else idle.push(this.#thread);
  }

  unref(): void {
    this.#thread.unref();
  }
}
