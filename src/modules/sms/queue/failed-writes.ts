// Changes of SMS segments that an internal error keeps from being written; the others of their transaction are written.

import type { Context } from "../../../platform/context.ts";
import { FailedWrites } from "../../../platform/db/failed-writes.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { MessageStore } from "./message-store.ts";
import type { ReadyWork, SegmentRow } from "./segment-read-store.ts";

export interface FailedSmsWritesDeps extends Pick<Context, "commit" | "clock" | "log"> {
  messages: Pick<MessageStore, "byId">;
  nudge: (work: ReadyWork) => void;
}

/** Done in one transaction. */
const BATCH = 500;
/** So many that are kept are looked past; more of them are no error of single messages any more. */
const MAX_KEPT = 5_000;

type Segment = Pick<SegmentRow, "messageId" | "seq">;

/** Changes that share a transaction. */
export interface SegmentBatch<T extends Segment> {
  /** For the log. */
  where: string;
  /** Inside a transaction: the first ones, those that are kept among them; what is beyond `limit` comes the next time. */
  find: (limit: number) => T[];
  /** Inside a transaction; called again, perhaps much later, after an internal error. */
  act: (each: T) => ReadyWork[];
}

/** By message and part; each stays meanwhile as it was: in flight, unknown, waiting. */
export class FailedSmsWrites extends FailedWrites<string> {
  readonly #deps: FailedSmsWritesDeps;

  constructor(deps: FailedSmsWritesDeps) {
    super({
      ...deps,
      component: "sms",
      noun: { one: "part of an SMS", many: "parts of SMS" },
      atNextStart: "treats them as SMS whose response was lost",
      getName(key) {
        const messageId = Number.parseInt(key, 10);
        return deps.messages.byId(messageId)?.uid ?? `message ${messageId}`;
      },
    });
    this.#deps = deps;
  }

  /** Up to 500 in one transaction; after an internal error one in each, and those that fail are kept. How many there were. */
  async run<T extends Segment>({ where, find, act }: SegmentBatch<T>): Promise<number> {
    const { commit, nudge } = this.#deps;
    const findOpen = () => {
      const found = find(BATCH + Math.min(this.size, MAX_KEPT));
      return found.filter((each) => !this.has(toKey(each))).slice(0, BATCH);
    };
    const writeOne = async (each: T) => {
      for (const work of await commit(() => act(each))) nudge(work);
    };
    try {
      const { count, works } = await commit(() => {
        const found = findOpen();
        return { count: found.length, works: found.flatMap(act) };
      });
      for (const work of works) nudge(work);
      return count;
    } catch (error) {
      if (isStorageError(error)) throw error;
    }
    const found = await commit(findOpen);
    await Promise.all(
      found.map((each) =>
        writeOne(each).catch((error: unknown) => {
          if (isStorageError(error)) throw error;
          this.reportError(where, error, each);
          this.keepSegment(each, () => writeOne(each));
        }),
      ),
    );
    return found.length;
  }

  /** Keeps what is to be written of a segment whose error was reported. */
  keepSegment(segment: Segment, write: () => Promise<unknown>): void {
    this.keep(toKey(segment), write);
  }

  reportError(where: string, error: unknown, segment: Segment): void {
    this.#deps.log.error(where, error, { id: this.getName(toKey(segment)), seq: segment.seq });
  }
}

function toKey({ messageId, seq }: Segment): string {
  return `${messageId} ${seq}`;
}
