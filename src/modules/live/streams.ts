// Open live streams, whatever they tell of: how many there may be, how slow a reader may be, and when each ends.

import type { Clock } from "../../platform/clock.ts";
import { AppError } from "../../platform/errors.ts";

const MAX_STREAMS = 200;
const MAX_OF_OWNER = 4;
/** What changes is told once in so long, and whether a reader may still read is asked. */
const TICK_MS = 1_000;
/** Proxies, and Bun itself, end connections that are silent for a minute. */
const COMMENT_TICKS = 20;
/** A reader that has not taken so much, though it was sent, is dropped. */
const MAX_UNREAD_BYTES = 64 * 1024;

export interface Reader {
  /** A person, or a key: each may have so many streams. */
  owner: string;
  /** Whether its session and membership, or its key, are as they were. */
  mayRead(): boolean;
}

/** What a stream tells, as server-sent events. */
export interface Source {
  /** What there is to say at once. What comes between two ticks goes to `tell`. */
  open(tell: (words: string) => void): string;
  /** What there is to say once a second; "": nothing. */
  tick(): string;
  close(): void;
}

interface Stream {
  reader: Reader;
  source: Source;
  controller: ReadableStreamDefaultController<Uint8Array>;
  silentTicks: number;
}

const encoder = new TextEncoder();

export class LiveStreams {
  readonly #clock: Pick<Clock, "after">;
  readonly #open = new Set<Stream>();
  #cancelTick: (() => void) | null = null;
  #isClosed = false;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#open.size;
  }

  /** The bytes of a new stream. Throws RATE_LIMITED or UNAVAILABLE where there are too many. */
  open(reader: Reader, source: Source): ReadableStream<Uint8Array> {
    this.#requireRoom(reader.owner);
    let stream: Stream | null = null;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          stream = { reader, source, controller, silentTicks: 0 };
          this.#add(stream);
        },
        cancel: () => {
          if (stream !== null) this.#remove(stream);
        },
      },
      { highWaterMark: MAX_UNREAD_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
    );
  }

  /** Ends all streams, as at a stop. Their readers connect again. */
  close(): void {
    this.#isClosed = true;
    for (const stream of Array.from(this.#open)) this.#end(stream);
  }

  #requireRoom(owner: string): void {
    if (this.#isClosed || this.#open.size >= MAX_STREAMS)
      throw new AppError("UNAVAILABLE", `${MAX_STREAMS} live streams are open on this instance, and no more`, {
        retryAfterS: 30,
        hint: "Everything else works: pages show changes when they are loaded again.",
      });
    const own = Array.from(this.#open).filter(({ reader }) => reader.owner === owner).length;
    if (own < MAX_OF_OWNER) return;
    throw new AppError("RATE_LIMITED", `A person or a key may have ${MAX_OF_OWNER} live streams, and these are open`, {
      retryAfterS: 30,
      hint: "Close a tab.",
    });
  }

  #add(stream: Stream): void {
    this.#open.add(stream);
    this.#send(stream, `: open\n\n${stream.source.open((words) => this.#send(stream, words))}`);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#cancelTick !== null || this.#open.size === 0) return;
    this.#cancelTick = this.#clock.after(TICK_MS, () => {
      this.#cancelTick = null;
      for (const stream of Array.from(this.#open)) this.#tick(stream);
      this.#schedule();
    });
  }

  #tick(stream: Stream): void {
    if (!stream.reader.mayRead()) {
      this.#send(stream, "event: ended\ndata: {}\n\n");
      return this.#end(stream);
    }
    const words = stream.source.tick();
    stream.silentTicks += 1;
    if (words !== "") this.#send(stream, words);
    else if (stream.silentTicks >= COMMENT_TICKS) this.#send(stream, ":\n\n");
  }

  #send(stream: Stream, words: string): void {
    if (!this.#open.has(stream)) return;
    stream.silentTicks = 0;
    stream.controller.enqueue(encoder.encode(words));
    if ((stream.controller.desiredSize ?? 0) <= 0) this.#end(stream);
  }

  #end(stream: Stream): void {
    if (this.#remove(stream)) stream.controller.close();
  }

  /** False: it was gone before. */
  #remove(stream: Stream): boolean {
    const wasOpen = this.#open.delete(stream);
    if (wasOpen) stream.source.close();
    if (this.#open.size > 0) return wasOpen;
    this.#cancelTick?.();
    this.#cancelTick = null;
    return wasOpen;
  }
}

/** One server-sent event. */
export function writeEvent(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
