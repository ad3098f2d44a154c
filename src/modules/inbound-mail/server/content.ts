import type { InboundLimits } from "./limits.ts";
import type { Place } from "./connection-limits.ts";
import { type ContentFault, ContentScan } from "./content-scan.ts";

/** Why a message is not taken. */
export type MessageFault = ContentFault | "too_large" | "no_room";

const FIRST_BYTES = 16 * 1024;

/**
 * A message as it comes in. What is at fault is let go at once. It is kept in one piece of memory that grows:
 * a client that sends byte by byte would make the list of pieces many times as large as the message.
 */
export class Content {
  /** Including bytes that were discarded. */
  receivedBytes = 0;
  #fault: MessageFault | null = null;
  #bytes = new Uint8Array();
  readonly #scan = new ContentScan();
  readonly #limits: Pick<InboundLimits, "messageBytes">;
  readonly #place: Pick<Place, "takeRoom">;

  constructor(limits: Pick<InboundLimits, "messageBytes">, place: Pick<Place, "takeRoom">) {
    this.#limits = limits;
    this.#place = place;
  }

  get fault(): MessageFault | null {
    return this.#fault;
  }

  add(piece: Uint8Array): void {
    const at = this.receivedBytes;
    this.receivedBytes += piece.length;
    if (this.#fault !== null) return;
    if (this.receivedBytes > this.#limits.messageBytes) return this.#refuse("too_large");
    this.#scan.read(piece);
    if (this.#scan.fault !== null) return this.#refuse(this.#scan.fault);
    if (!this.#grow()) return this.#refuse("no_room");
    this.#bytes.set(piece, at);
  }

  /** The final dot has come; the message, or null: it has a fault. */
  end(): Uint8Array | null {
    this.#scan.end();
    if (this.#fault === null && this.#scan.fault !== null) this.#refuse(this.#scan.fault);
    return this.#fault === null ? this.#bytes.subarray(0, this.receivedBytes) : null;
  }

  /** Gives the memory back; once the message is kept, or will not be. */
  letGo(): void {
    this.#place.takeRoom(-this.#bytes.length);
    this.#bytes = new Uint8Array();
  }

  #refuse(fault: MessageFault): void {
    this.#fault = fault;
    this.letGo();
  }

  #grow(): boolean {
    if (this.receivedBytes <= this.#bytes.length) return true;
    const wanted = Math.max(FIRST_BYTES, 2 * this.#bytes.length, this.receivedBytes);
    const size = Math.min(wanted, this.#limits.messageBytes);
    if (!this.#place.takeRoom(size - this.#bytes.length)) return false;
    const larger = new Uint8Array(size);
    larger.set(this.#bytes);
    this.#bytes = larger;
    return true;
  }
}
