// Changes of SMS segments that an internal error keeps from being written; the others of their transaction are written.

import type { Context } from "../../../platform/context.ts";
import { FailedWrites } from "../../../platform/db/failed-writes.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { HealthIssue } from "../../../platform/health-issue.ts";
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
    super(deps.clock);
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

  reportError(where: string, error: unknown, { messageId, seq }: Segment): void {
    this.#deps.log.error(where, error, { id: this.#findUid(messageId), seq });
  }

  get issue(): HealthIssue | null {
    const { first, size } = this;
    if (first === null) return null;
    const what = size === 1 ? "one part of a text" : `${size} parts of texts`;
    const name = this.#findUid(Number.parseInt(first.key, 10));
    const reason =
      `By a bug in pombo it could not be written down what became of ${what} (the first: of ${name}; see "internal_error" in the ` +
      "log). Meanwhile they are not sent again, and writing is tried once a minute. All others go on. What remains needs " +
      "another version: pombo update, whose start takes them for texts whose answer was lost.";
    return { component: "sms", reason, since: first.since, isAdvisory: true };
  }

  /** As the operator knows it; never throws. */
  #findUid(messageId: number): string {
    try {
      return this.#deps.messages.byId(messageId)?.uid ?? `message ${messageId}`;
    } catch {
      return `message ${messageId}`;
    }
  }
}

function toKey({ messageId, seq }: Segment): string {
  return `${messageId} ${seq}`;
}
