import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import { FailedWrites } from "../../../platform/db/failed-writes.ts";
import type { Log } from "../../../platform/log.ts";
import type { ReadyWork, SegmentRow } from "./segment-read-store.ts";
import type { MessageStore } from "./message-store.ts";

// What a bug keeps from being written of texts: of those alone, whoever shares a transaction with them.

export interface FailedSmsWritesDeps {
  messages: Pick<MessageStore, "byId">;
  commit: Commit;
  clock: Clock;
  log: Log;
  nudge: (work: ReadyWork) => void;
}

/** Done in one transaction. */
const SHARE = 500;
/** It is looked behind so many that are kept; more of them are no bug of some texts any more. */
const MAX_KEPT = 5_000;

type Segment = Pick<SegmentRow, "messageId" | "seq">;

/** Things to do that share a transaction. */
export interface Share<T extends Segment> {
  /** For the log. */
  where: string;
  /** Inside a transaction: the first ones, those that are kept among them; what is beyond `limit` comes the next time. */
  find: (limit: number) => T[];
  /** Inside a transaction; called again, perhaps much later, where it has a bug. */
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

  /** Up to 500 in one transaction; where one has a bug, each goes alone, and that one is kept. How many there were. */
  async run<T extends Segment>({ where, find, act }: Share<T>): Promise<number> {
    const { commit, nudge } = this.#deps;
    const open = () => {
      const found = find(SHARE + Math.min(this.size, MAX_KEPT));
      return found.filter((each) => !this.has(keyOf(each))).slice(0, SHARE);
    };
    const one = async (each: T) => {
      for (const work of await commit(() => act(each))) nudge(work);
    };
    try {
      const { count, works } = await commit(() => {
        const found = open();
        return { count: found.length, works: found.flatMap(act) };
      });
      for (const work of works) nudge(work);
      return count;
    } catch (error) {
      if (isStorageError(error)) throw error;
    }
    const found = await commit(open);
    await Promise.all(
      found.map((each) =>
        one(each).catch((error: unknown) => {
          if (isStorageError(error)) throw error;
          this.tellBug(where, error, each);
          this.keep(keyOf(each), () => one(each));
        }),
      ),
    );
    return found.length;
  }

  /** Keeps what is to be written of a segment that was told as a bug's. */
  keepSegment(segment: Segment, write: () => Promise<unknown>): void {
    this.keep(keyOf(segment), write);
  }

  tellBug(where: string, error: unknown, segment: Segment): void {
    this.#deps.log.error(where, error, { id: this.getName(keyOf(segment)), seq: segment.seq });
  }
}

function keyOf({ messageId, seq }: Segment): string {
  return `${messageId} ${seq}`;
}
