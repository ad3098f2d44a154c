// The live streams of open dashboards: what changed in their workspace, once a second.

import type { Clock } from "../../platform/clock.ts";
import type { ChangeKind, Changes } from "../../platform/db/changes.ts";
import { AppError } from "../../platform/errors.ts";

const MAX_STREAMS = 200;
const MAX_OF_USER = 4;
/** What changes is told once in so long, and whether a reader may still read is asked. */
const TICK_MS = 1_000;
/** Proxies, and Bun itself, end connections that are silent for a minute. */
const COMMENT_TICKS = 20;
/** A reader that has not taken so much, though it was sent, is dropped. */
const MAX_UNREAD_BYTES = 64 * 1024;

export interface Reader {
  /** Whose it is, of whom each may have a few. */
  owner: string;
  workspaceId: number;
  /** Emails on its screen whose status it is told: the key inside by the public id. */
  emails: Map<number, string>;
  /** Domains whose pages are open: their records are looked after. */
  domains: number[];
  /** Changes of these alone are told; absent: of all kinds. */
  kinds?: readonly ChangeKind[];
  /** Whether its session and membership are as they were. */
  mayRead(): boolean;
}

export interface StreamDeps {
  changes: Pick<Changes, "watch">;
  clock: Pick<Clock, "after">;
  /** The status of an email by its key inside; null: it is gone. */
  findStatus: (id: number) => string | null;
  /** Until the returned function is called. */
  watchDomain: (id: number) => () => void;
}

interface Stream {
  reader: Reader;
  controller: ReadableStreamDefaultController<Uint8Array>;
  unwatch: () => void;
  /** Changed rows since the last tick. */
  changed: Partial<Record<ChangeKind, number>>;
  changedEmails: Set<number>;
  silentTicks: number;
}

const encoder = new TextEncoder();

export class LiveStreams {
  readonly #deps: StreamDeps;
  readonly #open = new Set<Stream>();
  #cancelTick: (() => void) | null = null;
  #isClosed = false;

  constructor(deps: StreamDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#open.size;
  }

  /** The bytes of a new stream. Throws RATE_LIMITED or UNAVAILABLE where there are too many. */
  open(reader: Reader): ReadableStream<Uint8Array> {
    this.#requireRoom(reader.owner);
    let stream: Stream | null = null;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          stream = this.#add(reader, controller);
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
    if (own < MAX_OF_USER) return;
    throw new AppError("RATE_LIMITED", `${MAX_OF_USER} live streams of yours are open, and no more may be`, {
      retryAfterS: 30,
      hint: "Close a tab.",
    });
  }

  #add(reader: Reader, controller: Stream["controller"]): Stream {
    const unwatchAll: (() => void)[] = [];
    const stream: Stream = {
      reader,
      controller,
      unwatch() {
        for (const unwatch of unwatchAll.splice(0)) unwatch();
      },
      changed: {},
      // What changed between the page's reading and now is told at once.
      changedEmails: new Set(reader.emails.keys()),
      silentTicks: 0,
    };
    unwatchAll.push(
      this.#deps.changes.watch(reader.workspaceId, (kind, id) => {
        if (reader.kinds?.includes(kind) === false) return;
        stream.changed[kind] = (stream.changed[kind] ?? 0) + 1;
        if (kind === "emails" && id !== null && reader.emails.has(id)) stream.changedEmails.add(id);
      }),
      ...reader.domains.map((id) => this.#deps.watchDomain(id)),
    );
    this.#open.add(stream);
    this.#send(stream, `: open\n\n${this.#writeEmails(stream)}`);
    this.#schedule();
    return stream;
  }

  #schedule(): void {
    if (this.#cancelTick !== null || this.#open.size === 0) return;
    this.#cancelTick = this.#deps.clock.after(TICK_MS, () => {
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
    const words = this.#writeEmails(stream) + writeChanged(stream);
    stream.silentTicks += 1;
    if (words !== "") this.#send(stream, words);
    else if (stream.silentTicks >= COMMENT_TICKS) this.#send(stream, ":\n\n");
  }

  #writeEmails(stream: Stream): string {
    const events = Array.from(stream.changedEmails, (key) => {
      const status = this.#deps.findStatus(key);
      const data = JSON.stringify({ id: stream.reader.emails.get(key), status });
      return status === null ? "" : `event: email\ndata: ${data}\n\n`;
    });
    stream.changedEmails.clear();
    return events.join("");
  }

  #send(stream: Stream, words: string): void {
    stream.silentTicks = 0;
    stream.controller.enqueue(encoder.encode(words));
    if ((stream.controller.desiredSize ?? 0) <= 0) this.#end(stream);
  }

  #end(stream: Stream): void {
    if (this.#remove(stream)) stream.controller.close();
  }

  /** False: it was gone before. */
  #remove(stream: Stream): boolean {
    stream.unwatch();
    const wasOpen = this.#open.delete(stream);
    if (this.#open.size > 0) return wasOpen;
    this.#cancelTick?.();
    this.#cancelTick = null;
    return wasOpen;
  }
}

function writeChanged(stream: Stream): string {
  const data = JSON.stringify(stream.changed);
  stream.changed = {};
  return data === "{}" ? "" : `event: changed\ndata: ${data}\n\n`;
}
