// The octets of a message as they come in, in blocks of their own memory, which a thread can be given. The first ones are
// for everybody; beyond them a message waits for room until all of it fits, so that two can never wait for each other.

import type { Clock } from "../../platform/clock.ts";
import type { MessageBudget } from "../emails/delivery/message-budget.ts";
import type { SubmissionLimits } from "./limits.ts";

/** Why a message is not kept. */
export type IntakeFault = "too_large" | "more_than_declared" | "no_room";

/** Most messages fit into the first block; the last size goes on. */
const BLOCKS = [16 * 1024, 64 * 1024, 1024 * 1024] as const;
/** More than was declared may come, by this factor. */
const ESTIMATE = 1.125;

export interface IntakeDeps {
  clock: Pick<Clock, "after">;
  budget: Pick<MessageBudget, "take">;
  limits: Pick<SubmissionLimits, "messageBytes" | "firstBytes" | "roomMs">;
}

export interface IncomingMessage {
  workspaceId: number;
  /** As MAIL has said (RFC 1870); null: it has not. */
  declaredBytes: number | null;
}

export class Intake {
  /** Including octets that were discarded. */
  receivedBytes = 0;
  fault: IntakeFault | null = null;
  readonly #deps: IntakeDeps;
  readonly #message: IncomingMessage;
  #blocks: Uint8Array[] = [];
  #block: Uint8Array = new Uint8Array();
  /** Octets in the last block. */
  #used = 0;
  /** There is room for so many. */
  #mostBytes: number;
  #giveBack: () => void = () => {};
  /** Ends the wait for room. */
  #stopWaiting: () => void = () => {};

  constructor(message: IncomingMessage, deps: IntakeDeps) {
    this.#message = message;
    this.#deps = deps;
    this.#mostBytes = deps.limits.firstBytes;
  }

  /** Whether so many more octets can be added now. */
  hasRoomFor(bytes: number): boolean {
    const isFirst = this.#mostBytes === this.#deps.limits.firstBytes;
    return this.fault !== null || !isFirst || this.receivedBytes + bytes <= this.#mostBytes;
  }

  /** Waits for room for all of the message; without it, and for what is too large, there is a fault. */
  async waitForRoom(): Promise<void> {
    const { limits, budget, clock } = this.#deps;
    const { workspaceId, declaredBytes } = this.#message;
    const ended = new AbortController();
    this.#stopWaiting = () => ended.abort();
    const cancel = clock.after(limits.roomMs, this.#stopWaiting);
    // RFC 1870 §5: what is declared is an estimate.
    const bytes = (declaredBytes ?? limits.messageBytes) * ESTIMATE + limits.firstBytes;
    const mostBytes = Math.ceil(Math.min(bytes, limits.messageBytes));
    const giveBack = await budget.take(workspaceId, mostBytes, ended.signal);
    cancel();
    if (giveBack === null) return this.#refuse("no_room");
    // Its client has gone between the admission and now.
    if (ended.signal.aborted) return giveBack();
    this.#mostBytes = mostBytes;
    this.#giveBack = giveBack;
  }

  add(piece: Uint8Array): void {
    this.receivedBytes += piece.length;
    if (this.fault !== null) return;
    if (this.receivedBytes > this.#deps.limits.messageBytes) return this.#refuse("too_large");
    if (this.receivedBytes > this.#mostBytes) return this.#refuse("more_than_declared");
    for (let at = 0; at < piece.length;) {
      if (this.#used === this.#block.length) this.#open();
      const part = piece.subarray(at, at + this.#block.length - this.#used);
      this.#block.set(part, this.#used);
      this.#used += part.length;
      at += part.length;
    }
  }

  /** The final dot has come: the message in pieces, each the whole of its memory. */
  end(): Uint8Array[] {
    const last = new Uint8Array(this.#block.subarray(0, this.#used));
    const pieces = this.#used === 0 ? this.#blocks : [...this.#blocks, last];
    this.#blocks = [];
    this.#block = new Uint8Array();
    this.#used = 0;
    return pieces;
  }

  /** Gives the room back; once the message is kept, or will not be. */
  letGo(): void {
    this.#stopWaiting();
    this.end();
    this.#giveBack();
    this.#giveBack = () => {};
  }

  #open(): void {
    if (this.#used > 0) this.#blocks.push(this.#block);
    this.#block = Buffer.allocUnsafeSlow(BLOCKS[this.#blocks.length] ?? BLOCKS[2]);
    this.#used = 0;
  }

  #refuse(fault: IntakeFault): void {
    this.fault = fault;
    this.letGo();
  }
}
